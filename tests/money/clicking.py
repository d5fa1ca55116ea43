"""A process that clicks, to be killed while it does."""

from pathlib import Path

from shortdrama_pipeline.media.object_store import LocalObjectStore
from shortdrama_pipeline.services.confirming import confirm_quote
from shortdrama_pipeline.services.context import Studio
from shortdrama_pipeline.services.opening import bindings_of
from shortdrama_pipeline.settings import Settings
from shortdrama_pipeline.store.database import Database


def confirm_all(url: str, home: Path, quote_ids: list[str]) -> None:
    """Confirm every Quote under its own id as key."""
    settings = Settings(home=home)
    studio = Studio(settings, Database(url), LocalObjectStore(home / "media"), bindings_of(settings), {})
    for quote_id in quote_ids:
        confirm_quote(studio, quote_id, idempotency_key=quote_id, actor="person:lin")
