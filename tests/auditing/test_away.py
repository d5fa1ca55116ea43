"""The database is away: reading answers with its age, paying is refused, and nothing bursts after (G-303)."""

import json
from pathlib import Path
from typing import Any

import pytest

from shortdrama_pipeline.cli import app
from shortdrama_pipeline.store import server

NOWHERE = "postgresql+psycopg://nobody@127.0.0.1:9/none?connect_timeout=1"


@pytest.fixture
def say(
    db_url: str, home: Path, pg_server: server.Server, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Any:  # fmt: skip  # noqa: ANN401 - a function of the test
    def run(*words: str, away: bool = False, code: int = 0) -> Any:  # noqa: ANN401 - a JSON document
        monkeypatch.setenv("SHORTDRAMA_DATABASE__URL", NOWHERE if away else db_url)
        assert app.run([*words, "--home", str(home), "--json", "--actor", "person:lin"]) == code
        return json.loads(capsys.readouterr().out)

    return run


def test_reading_answers_with_what_was_said_last_and_since_when(say: Any) -> None:  # noqa: ANN401
    say("wallet", "top-up", "100", "--key", "k")
    fresh = say("wallet", "show")
    stale = say("wallet", "show", away=True)
    assert stale.pop("stale_as_of").endswith("Z")
    assert stale == fresh
    assert "stale_as_of" not in say("wallet", "show")


def test_what_was_never_asked_is_not_made_up(say: Any) -> None:  # noqa: ANN401
    say("wallet", "show")
    assert say("task", "list", away=True, code=7)["error"]["code"] == "outside"
    assert say("episode", "list", "--series", "s", away=True, code=7)["error"]["hint"]


def test_a_paid_action_is_refused_never_answered_from_memory(say: Any) -> None:  # noqa: ANN401
    error = say("quote", "confirm", "quote_x", "--idempotency-key", "k", away=True, code=7)["error"]
    assert error["code"] == "outside"
    assert error["hint"]


def test_the_memory_holds_no_more_than_it_may(
    say: Any,  # noqa: ANN401
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("shortdrama_pipeline.cli.answers.KEPT_MAX", 2)
    for words in (("wallet", "show"), ("task", "list"), ("episode", "list"), ("work", "status")):
        say(*words)
    assert len(list((home / "cache" / "answers").iterdir())) == 2
