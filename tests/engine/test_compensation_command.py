"""`shortdrama compensation` as a person uses it: ask, run, issue a token, decide; exact codes."""

import json
from pathlib import Path
from typing import Any

import pytest

from shortdrama_pipeline.cli import app, output, session
from shortdrama_pipeline.rules.states import MediaKind
from tests.engine.conftest import PERSON, Shop
from tests.engine.test_compensating import BREAK_REFUNDS, MEND_REFUNDS


class Shell:
    def __init__(self, capsys: pytest.CaptureFixture[str], home: Path) -> None:
        self._capsys, self._home = capsys, home

    def __call__(self, *words: str, code: int = 0, actor: str = PERSON) -> Any:  # noqa: ANN401 - a JSON document
        self._capsys.readouterr()
        arguments = ["compensation", *words, "--json", "--home", str(self._home), "--actor", actor]
        assert app.run(arguments) == code, self._capsys.readouterr()
        return json.loads(self._capsys.readouterr().out)


@pytest.fixture
def shell(
    shop: Shop, home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Shell:
    monkeypatch.setattr(output, "options", output.Options())
    monkeypatch.setattr(session, "open_studio", lambda: shop.studio)
    return Shell(capsys, home)


def test_a_refund_from_request_to_decision(shop: Shop, shell: Shell, tmp_path: Path) -> None:
    (task_id,) = shop.order(MediaKind.IMAGE)
    shop.drain()
    asked = ("request", "--id", "c1", "--order", task_id, "--op", "refund", "--reason", "blurred")
    assert shell(*asked)["state"] == "pending"
    assert shell(*asked)["retry_count"] == 0
    shell("request", "--id", "c1", "--order", task_id, "--op", "cancel", "--reason", "x", code=5)
    shell("request", "--id", "c2", "--order", "task_none", "--op", "refund", "--reason", "x", code=3)
    shell("request", "--id", "c2", "--order", task_id, "--op", "bribe", "--reason", "x", code=2)
    shell(
        "request",
        "--id",
        "c2",
        "--order",
        task_id,
        "--op",
        "refund",
        "--reason",
        "x",
        code=4,
        actor="agent:a",
    )
    shop.run(BREAK_REFUNDS)
    assert [shell("run", code=code)["manual_review"] for code in (0, 0, 6)] == [0, 0, 1]
    shop.run(MEND_REFUNDS)
    assert [
        each["compensation_id"] for each in shell("list", "--state", "manualReview")["compensations"]
    ] == ["c1"]
    wrong = shell("token", "issue", "--operator", "person:wang", "--scope", "query")
    shell("decide", "c1", "approve", "--audit-token", wrong["audit_token"], code=4)
    shell("token", "issue", "--operator", "agent:a", "--scope", "compensate", code=4)
    shell("token", "issue", "--operator", "person:wang", "--scope", "everything", code=2)
    issued = shell("token", "issue", "--operator", "person:wang", "--scope", "compensate")
    assert set(issued) == {"audit_token", "operator_id", "scope", "expires_at", "jti"}
    place = tmp_path / "token"
    place.write_text(issued["audit_token"])
    shell("decide", "c1", "modify", "--audit-token", f"@{place}", code=2)
    assert shell("decide", "c1", "approve", "--audit-token", f"@{place}")["state"] == "done"
    shell("decide", "c1", "approve", "--audit-token", f"@{place}", code=4)
    shell("decide", "none", "reject", "--audit-token", f"@{place}", code=3)
    shown = shell("show", "c1")
    assert shown["audit"][0]["actor"] == "person:wang"
    assert shown["audit"][0]["facts"]["before"]["state"] == "manualReview"
    assert issued["audit_token"] not in json.dumps(shown)
    assert shop.balances()["platform:compensation CNY"] < 0
