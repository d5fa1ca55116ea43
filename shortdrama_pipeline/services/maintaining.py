"""What an operator does to the database as a whole."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from shortdrama_pipeline.errors import Outside, UsageError
from shortdrama_pipeline.services import opening
from shortdrama_pipeline.settings import Settings
from shortdrama_pipeline.store import backup, schema, server


@dataclass(frozen=True, slots=True)
class Upgraded:
    """Where the tables now stand."""

    url: str
    revision: str


def upgrade_database(settings: Settings) -> Upgraded:
    """Bring the tables to this version; a no-op when they are there."""
    opening.make_home(settings.home)
    url = opening.database_url(settings)
    return Upgraded(url=url, revision=schema.upgrade(url))


def stop_database(settings: Settings) -> bool:
    """Stop the embedded server; False when none was running."""
    if settings.database.url != "embedded":
        raise UsageError(
            "The database is not the embedded one",
            hint="Stop it where it is run; shortdrama did not start it",
        )
    return server.stop(settings.home)


def back_up_database(settings: Settings, file: Path, *, environment: Mapping[str, str]) -> int:
    """Write the facts to `file`; return its bytes. The media folder is to be copied beside it."""
    if not file.absolute().parent.is_dir():
        raise UsageError(f"There is no folder {file.absolute().parent}", hint="Make it, or name another file")
    return backup.backup(opening.database_url(settings), file, environment=environment)


def restore_database(
    settings: Settings, file: Path, *, into_empty: bool, now: datetime, environment: Mapping[str, str]
) -> str | None:
    """Put the facts of `file` in place; return the name under which former facts are kept, if any."""
    url = opening.database_url(settings)
    kept = backup.restore(url, file, into_empty=into_empty, now=now, environment=environment)
    try:
        schema.upgrade(url)
    except Outside as error:
        raise Outside(
            f"Restored, but the tables could not be brought up to date: {error.message}",
            hint="`shortdrama db upgrade` tries again",
        ) from error
    return kept
