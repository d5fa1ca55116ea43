"""V-16, D-15: the rehearsal provider's real book beside ours, and every way a statement can be wrong."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from shortdrama_pipeline.cli import app, output, session
from shortdrama_pipeline.errors import ShortdramaError, UnknownId, UsageError
from shortdrama_pipeline.rehearsal import serving
from shortdrama_pipeline.rules.states import MediaKind
from shortdrama_pipeline.services.statements import reconcile_statement
from tests.engine.conftest import PERSON, Shop
from tests.fake_vendor import Fault

IMAGE, VIDEO, TEXT = MediaKind.IMAGE, MediaKind.VIDEO, MediaKind.TEXT


@pytest.fixture
def real(shop: Shop, home: Path) -> Iterator[Shop]:
    """The shop, buying from a real server process of the rehearsal provider."""
    running = serving.start(home / "rehearsal")
    bindings = {name: replace(each, base_url=running.base_url) for name, each in shop.studio.bindings.items()}
    shop.studio = replace(shop.studio, bindings=bindings)
    try:
        yield shop
    finally:
        running.stop()


class Shell:
    """Commands in this process, on the studio of the test."""

    def __init__(self, capsys: pytest.CaptureFixture[str], home: Path) -> None:
        self._capsys, self._home = capsys, home

    def json(self, *words: str, code: int = 0) -> Any:  # noqa: ANN401 - a JSON document
        self._capsys.readouterr()
        arguments = [*words, "--json", "--home", str(self._home), "--actor", PERSON]
        assert app.run(arguments) == code, self._capsys.readouterr()
        return json.loads(self._capsys.readouterr().out)


@pytest.fixture
def shell(
    shop: Shop, home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Shell:
    monkeypatch.setattr(output, "options", output.Options())
    monkeypatch.setattr(session, "open_studio", lambda: shop.studio)
    return Shell(capsys, home)


def test_the_book_as_it_is_printed_agrees_with_ours_after_real_orders(
    real: Shop, shell: Shell, tmp_path: Path
) -> None:
    ids = real.order(TEXT, VIDEO, VIDEO)
    real.drain(seconds_max=60)
    assert {real.states(each)[0] for each in ids} == {"succeeded"}
    statement = tmp_path / "statement.json"
    book = shell.json("rehearsal", "book")
    statement.write_text(json.dumps(book))
    told = shell.json("wallet", "reconcile", "--statement", str(statement))
    assert told["ok"]
    assert told["checked"] == 6
    assert told["billed"] == told["booked"]
    assert told["problems"] == []
    lost = book["entries"].pop()
    book["entries"][0]["charged"]["micros"] += 1
    book["entries"].append(book["entries"][1])
    book["entries"].append(lost | {"request_id": "rq_elsewhere", "client_id": "somebody"})
    statement.write_text(json.dumps(book))
    told = shell.json("wallet", "reconcile", "--statement", str(statement), code=6)
    kinds = sorted(each["kind"] for each in told["problems"])
    assert kinds == ["amount_differs", "billed_twice", "not_billed", "unknown_to_us"]
    assert all(each["hint"] for each in told["problems"])


def test_what_the_vendor_charged_for_a_lost_answer_is_shown_with_its_task(
    real: Shop, shell: Shell, tmp_path: Path
) -> None:
    """The vendor accepted and charged; we never heard of it, and no look-up is offered."""
    real.with_contract(lookup_by_client_id=False)
    rules = {"rules": [{"fault": "drop_after_accept", "kind": "video", "times": 1}]}
    _script(real, rules)
    (task_id,) = real.order(VIDEO)
    real.drain(seconds_max=20)
    assert real.states(task_id) == ("needsReconciliation", ["outcomeUnknown"], "reserved")
    statement = tmp_path / "statement.json"
    statement.write_text(json.dumps(shell.json("rehearsal", "book")))
    told = shell.json("wallet", "reconcile", "--statement", str(statement), code=6)
    (problem,) = told["problems"]
    assert (problem["kind"], problem["task_id"]) == ("not_accepted_by_us", task_id)
    shell.json("task", "adopt", task_id, "--external-id", problem["external_id"], "--note", "the statement")
    real.drain(seconds_max=60)
    assert real.states(task_id) == ("succeeded", ["completed"], "settled")
    assert shell.json("wallet", "reconcile", "--statement", str(statement))["ok"]


def _script(shop: Shop, rules: object) -> None:
    binding = shop.studio.bindings["rehearsal-video"]
    key = Path(binding.credential.removeprefix("file:")).read_text()
    headers = {"Authorization": f"Bearer {key}"}
    address = f"{binding.base_url}/v1/rehearsal/faults"
    httpx.post(address, json=rules, headers=headers, trust_env=False).raise_for_status()


def write(tmp_path: Path, text: str | bytes) -> Path:
    place = tmp_path / "statement"
    place.write_bytes(text if isinstance(text, bytes) else text.encode())
    return place


def test_a_csv_says_the_same_and_only_the_named_bindings_and_times_count(shop: Shop, tmp_path: Path) -> None:
    shop.order(IMAGE, VIDEO)
    shop.drain()
    rows = shop.rows("select external_id, provider_cost_micros as micros from provider_attempts order by 1")
    lines = ["request_id,micros,currency", *(f"{each['external_id']},{each['micros']},XRH" for each in rows)]
    statement = write(tmp_path, "\ufeff" + "\r\n".join(lines) + "\r\n")
    assert reconcile_statement(shop.studio, statement).differences == ()
    only = reconcile_statement(shop.studio, statement, bindings=["rehearsal-image"])
    assert [each.kind for each in only.differences] == ["unknown_to_us"]
    (times,) = shop.rows("select clock_timestamp() as now")
    empty = write(tmp_path, "request_id,micros,currency\n")
    assert len(reconcile_statement(shop.studio, empty).differences) == 2
    assert reconcile_statement(shop.studio, empty, since=times["now"]).differences == ()
    assert len(reconcile_statement(shop.studio, empty, until=times["now"]).differences) == 2
    with pytest.raises(UnknownId):
        reconcile_statement(shop.studio, statement, bindings=["nobody"])


BROKEN: list[tuple[str | bytes, str]] = [
    ("", "line 1"),
    ("{", "line 1"),
    ('{"entries": [\n{"request_id": "r"\n', "line 3"),
    ('{"entries": {}}', "line 1"),
    ('{"entries": [{"request_id": "r", "charged": {"micros": 1, "currency": "XRH"}}, 5]}', "entry 2"),
    ('[{"request_id": "r", "charged": {"micros": 1.5, "currency": "XRH"}}]', "entry 1: charged.micros"),
    ('[{"request_id": "r", "charged": {"micros": -1, "currency": "XRH"}}]', "entry 1: charged.micros"),
    ('[{"request_id": "r", "charged": {"micros": true, "currency": "XRH"}}]', "entry 1: charged.micros"),
    ('[{"request_id": "r", "charged": {"micros": 1, "currency": "¥"}}]', "entry 1: charged.currency"),
    ('[{"request_id": "", "charged": {"micros": 1, "currency": "XRH"}}]', "entry 1: request_id"),
    ('[{"charged": {"micros": 1, "currency": "XRH"}}]', "entry 1: request_id"),
    ("[" * 100_000, "line 1"),
    ("id,amount\nr,1\n", "line 1"),
    ("request_id,micros,currency\nr1,1,XRH\nr2,one,XRH\n", "line 3: micros"),
    ("request_id,micros,currency\nr1,1,XRH\nr2,1\n", "line 3: currency"),
    ("request_id,micros,currency\nr1,1,XRH,more\n", "line 2"),
    ('request_id,micros,currency\n"r1,1,XRH\n', "line 2"),
    ("request_id,micros,currency\nr1,99999999999999999999999,XRH\n", "line 2: micros"),
    (b"request_id,micros,currency\nr1,1,XRH\n\xff\xfe,1,XRH\n", "line 3"),
]


@pytest.mark.parametrize(("text", "where"), BROKEN)
def test_a_statement_that_cannot_be_read_is_refused_with_its_line(
    shop: Shop, tmp_path: Path, text: str | bytes, where: str
) -> None:
    with pytest.raises(UsageError) as caught:
        reconcile_statement(shop.studio, write(tmp_path, text))
    assert where in caught.value.message
    assert caught.value.hint


def test_a_statement_that_is_missing_or_too_large_is_refused(
    shop: Shop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UsageError, match="no file"):
        reconcile_statement(shop.studio, tmp_path / "none")
    with pytest.raises(ShortdramaError):
        reconcile_statement(shop.studio, tmp_path)
    large = tmp_path / "large"
    with large.open("wb") as out:
        out.truncate(101 * 1024 * 1024)
    with pytest.raises(UsageError, match="too large"):
        reconcile_statement(shop.studio, large)


def test_reading_a_statement_writes_nothing(shop: Shop, tmp_path: Path) -> None:
    shop.vendor.script("images", Fault())
    shop.order(IMAGE)
    shop.drain()
    before = shop.snapshot()
    reconcile_statement(shop.studio, write(tmp_path, "[]"))
    assert shop.snapshot() == before
