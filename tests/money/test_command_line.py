"""The money commands: exact JSON, exit codes, and words for people."""

import json
from pathlib import Path
from typing import Any

import pytest

from shortdrama_pipeline.cli import app, output, session
from shortdrama_pipeline.cli.amounts import read_amount
from shortdrama_pipeline.errors import UsageError
from shortdrama_pipeline.rules.money import Money
from tests.money.conftest import IMAGE_MICROS, PERSON, Rich

CNY_012 = {"micros": 3 * IMAGE_MICROS, "currency": "CNY"}


class Shell:
    """Runs commands in this process on the studio of the test."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def json(self, *words: str, code: int = 0) -> Any:  # noqa: ANN401 - a JSON document
        assert app.run([*words, "--json", "--actor", PERSON]) == code, self._capsys.readouterr()
        return json.loads(self._capsys.readouterr().out)

    def text(self, *words: str) -> str:
        assert app.run([*words, "--actor", PERSON]) == 0
        return self._capsys.readouterr().out


@pytest.fixture
def shell(rich: Rich, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shell:
    monkeypatch.setattr(output, "options", output.Options())
    monkeypatch.setattr(session, "open_studio", lambda: rich.studio)
    return Shell(capsys)


def test_a_quote_is_shown_and_confirmed_once(rich: Rich, shell: Shell) -> None:
    quote_id = rich.plan().quote_id
    quote = shell.json("quote", "show", quote_id)
    assert (quote["state"], quote["total"], quote["stage"]) == ("open", CNY_012, "storyboard")
    assert len(quote["items"]) == 3
    assert quote["items"][0]["cost_max"] == {"micros": IMAGE_MICROS, "currency": "XRH"}
    first = shell.json("quote", "confirm", quote_id, "--idempotency-key", "k")
    again = shell.json("quote", "confirm", quote_id, "--idempotency-key", "k")
    assert set(first) == {"execution_id", "task_ids", "created"}
    assert (first["created"], again) == (True, first | {"created": False})
    assert shell.json("quote", "show", quote_id)["execution_id"] == first["execution_id"]


def test_a_quote_reads_like_an_offer(rich: Rich, shell: Shell) -> None:
    told = shell.text("quote", "show", rich.plan().quote_id)
    assert "合计" in told
    assert "0.12 CNY" in told
    assert "3 次" in told


def test_an_expired_quote_leaves_with_4_and_names_the_new_one(rich: Rich, shell: Shell) -> None:
    quote_id = rich.plan(quote_valid_s=0).quote_id
    error = shell.json("quote", "confirm", quote_id, "--idempotency-key", "k", code=4)["error"]
    assert error["code"] == "quote_not_confirmable"
    new_quote_id = error["facts"]["new_quote_id"]
    assert shell.json("quote", "show", new_quote_id)["state"] == "open"
    assert shell.json("quote", "show", quote_id)["new_quote_id"] == new_quote_id
    shell.json("quote", "show", "quote_none", code=3)


def test_the_wallet_and_its_book(rich: Rich, shell: Shell) -> None:
    topped = shell.json("wallet", "top-up", "49.90", "--key", "more")
    assert topped["available"] == {"micros": 149_900_000, "currency": "CNY"}
    assert set(topped) == {"wallet", "available", "reserved", "settled", "provider_spend"}
    shell.json("wallet", "top-up", "1", "--key", "more", code=5)
    entries = shell.json("wallet", "ledger")["entries"]
    assert [each["business_key"] for each in entries] == ["topup:more", "topup:first"]
    verified = shell.json("wallet", "verify")
    assert verified == {"ok": True, "checked": verified["checked"], "problems": []}
    rich.run("update balances set balance_micros = balance_micros + 1")
    assert not shell.json("wallet", "verify", code=6)["ok"]
    assert not shell.json("audit", "verify", code=6)["ok"]
    assert "可用" in shell.text("wallet", "show")


def test_a_grant_is_issued_listed_shown_and_revoked(shell: Shell) -> None:
    grant = shell.json("grant", "issue", "--limit", "10", "--kind", "image", "--uses", "2", "--days", "1")
    assert {"grant_id", "kind", "limit", "left", "scope", "expires_at"} <= set(grant)
    assert (grant["kind"], grant["left"]) == ("budget", {"micros": 10_000_000, "currency": "CNY"})
    assert shell.json("grant", "list")["grants"] == [grant]
    assert shell.json("grant", "revoke", grant["grant_id"])["revoked"] == [grant["grant_id"]]
    assert shell.json("grant", "show", grant["grant_id"])["revoked_at"]
    shell.json("grant", "issue", "--limit", "10", "--kind", "perfume", code=2)


def test_providers_are_listed_checked_and_priced(shell: Shell, tmp_path: Path) -> None:
    providers = shell.json("provider", "list")["providers"]
    assert [each["binding"] for each in providers] == [
        f"rehearsal-{kind}" for kind in ("text", "image", "video", "speech")
    ]
    assert shell.json("provider", "check", "rehearsal-image")["ok"]
    shell.json("provider", "check", "none", code=3)
    assert shell.json("provider", "contract", "rehearsal-image")["protocol"] == "rehearsal"
    file = tmp_path / "p.toml"
    file.write_text("[[price]]\nbinding = 1\n")
    shell.json("provider", "prices", "publish", str(file), code=2)
    assert "0.04 CNY per image" in shell.text("provider", "list")


def test_every_decision_is_in_the_log_with_its_actor(rich: Rich, shell: Shell) -> None:
    shell.json("quote", "confirm", rich.plan().quote_id, "--idempotency-key", "k")
    decisions = shell.json("audit", "log")["decisions"]
    assert [(each["actor"], each["action"]) for each in decisions[:3]] == [
        (PERSON, "quote.confirm"),
        (PERSON, "quote.open"),
        (PERSON, "wallet.top-up"),
    ]


def test_a_batch_that_does_not_exist_is_unknown(shell: Shell) -> None:
    for verb in ("show", "continue"):
        shell.json("batch", verb, "batch_none", code=3)
    shell.json("batch", "confirm", "batch_none", "--idempotency-key", "k", code=3)
    shell.json("batch", "plan", "--episodes", "2026-W99-0", "--stage", "shots", code=3)
    shell.json("batch", "plan", "--episodes", "2026-W32-0", "--stage", "shotz", code=2)


@pytest.mark.parametrize(
    ("text", "micros"), [("100", 100_000_000), ("49.90", 49_900_000), ("0.000001 CNY", 1)]
)
def test_an_amount_is_read_exactly(text: str, micros: int) -> None:
    assert read_amount(text, currency="CNY") == Money(micros, "CNY")


@pytest.mark.parametrize("text", ["", "ten", "1 USD", "0.0000001", "NaN", "Infinity", "1e999999"])
def test_what_is_no_amount_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        read_amount(text, currency="CNY")


def test_a_bill_is_laid_beside_the_book(shell: Shell, tmp_path: Path) -> None:
    bill = tmp_path / "bill"
    bill.write_text('{"entries": []}')
    told = shell.json("wallet", "reconcile", "--statement", str(bill))
    assert (told["ok"], told["checked"], told["problems"]) == (True, 0, [])
    bill.write_text("request_id,micros,currency\nr1,5,XRH\n")
    (problem,) = shell.json("wallet", "reconcile", "--statement", str(bill), code=6)["problems"]
    assert (problem["kind"], problem["external_id"]) == ("unknown_to_us", "r1")
    for text in ("request_id,micros,currency\nr1,-5,XRH\n", "[1]", "{", "\x00"):
        bill.write_text(text)
        shell.json("wallet", "reconcile", "--statement", str(bill), code=2)
