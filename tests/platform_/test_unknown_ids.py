"""A mistyped id at any verb: exit code 3, its JSON names the id, and nothing is written."""

import json
from pathlib import Path

import pytest
import sqlalchemy as sa

from shortdrama_pipeline.cli import app
from shortdrama_pipeline.store.database import Database
from shortdrama_pipeline.store.tables import audit_log, metadata

COMMANDS = [
    "series show nope",
    "episode show nope",
    "episode run nope",
    "stage plan nope outline",
    "stage show nope outline",
    "version list nope",
    "version show nope",
    "version select nope",
    "version confirm nope",
    "version reject nope --note bad",
    "version stale nope",
    "quote show nope",
    "quote confirm nope --idempotency-key k",
    "grant show nope",
    "grant revoke nope",
    "batch show nope",
    "task show nope",
    "task cancel nope",
    "task query nope",
    "task transfer nope",
    "export build nope",
    "export show nope",
    "provider check nope",
    "provider contract nope",
]


def rows(db: Database) -> dict[str, int]:
    """Count every table; the shipped price list may be published by whoever opens first."""
    shipped = {"price_versions", audit_log.name}
    with db.read() as tx:
        return {
            name: int(tx.scalar(sa.select(sa.func.count()).select_from(table)) or 0)
            for name, table in metadata.tables.items()
            if name not in shipped
        }


@pytest.fixture(autouse=True)
def _on_a_clone(db_url: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHORTDRAMA_DATABASE__URL", db_url)
    monkeypatch.setenv("SHORTDRAMA_HOME", str(home))


def test_an_unknown_id_ends_with_3_and_is_named(db: Database, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = {}
    before = rows(db)
    for command in COMMANDS:
        code = app.run([*command.split(), "--json", "--actor", "person:a"])
        error = json.loads(capsys.readouterr().out).get("error", {})
        if (
            code != 3
            or error.get("code") != "unknown_id"
            or "nope" not in error["message"]
            or not error["hint"]
        ):
            wrong[command] = (code, error)
    assert wrong == {}
    assert rows(db) == before
