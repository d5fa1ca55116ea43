"""The task centre: what may be done, by whom, and what it can never cause (P-4.3, P-4.4, P-13)."""

import json
import logging
import re
import threading
from pathlib import Path

import pytest

from shortdrama_pipeline.errors import GrantRefused, Refusal, UnknownId
from shortdrama_pipeline.rules.states import MediaKind
from shortdrama_pipeline.services.granting import revoke_grant
from shortdrama_pipeline.services.task_actions import (
    cancel_task,
    compensate_task,
    list_tasks,
    query_task,
    regenerate_task,
    release_hold,
    show_task,
    transfer_task,
)
from tests.engine.conftest import PERSON, Shop
from tests.fake_vendor import Fault, error

IMAGE, VIDEO = MediaKind.IMAGE, MediaKind.VIDEO


def test_p4_3_a_queued_task_is_cancelled_and_its_price_comes_back(shop: Shop) -> None:
    (task_id,) = shop.order(IMAGE)
    assert cancel_task(shop.studio, task_id, actor=PERSON)["cancelled"] == [task_id]
    shop.drain()
    assert shop.states(task_id) == ("cancelled", [], "released")
    assert shop.vendor.posts() == []
    assert shop.balances()["wallet:studio:reserved CNY"] == 0


def test_p4_3_of_a_cancel_and_a_claim_exactly_one_wins(shop: Shop) -> None:
    ids = shop.order(*[IMAGE] * 12)
    refused: list[str] = []

    def cancel_all() -> None:
        for each in reversed(ids):
            try:
                cancel_task(shop.studio, each, actor=PERSON)
            except Refusal:
                refused.append(each)

    crowd = threading.Thread(target=cancel_all)
    crowd.start()
    shop.drain(limit=2)
    crowd.join()
    ends = {each: shop.states(each) for each in ids}
    assert {end[0] for end in ends.values()} <= {"cancelled", "succeeded"}
    assert len(shop.vendor.posts()) == sum(end[0] == "succeeded" for end in ends.values()) == len(refused)


def test_p4_4_what_was_sent_cannot_be_cancelled_and_nothing_is_promised(shop: Shop) -> None:
    shop.vendor.polls_until_done = 10_000
    (task_id,) = shop.order(VIDEO)
    shop.drain(seconds_max=2)
    with pytest.raises(Refusal, match="cost cannot be saved"):
        cancel_task(shop.studio, task_id, actor=PERSON)
    assert shop.states(task_id) == ("waitingProvider", ["accepted"], "reserved")


def test_p3_8_a_revoked_grant_stops_what_has_not_started(shop: Shop) -> None:
    shop.vendor.polls_until_done = 3
    (started,) = shop.order(VIDEO)
    shop.drain(seconds_max=1)
    (waiting,) = shop.order(IMAGE)
    for each in shop.rows("select grant_id from tasks"):
        revoke_grant(shop.studio, each["grant_id"], actor=PERSON)
    shop.drain()
    assert shop.states(started)[0] == "succeeded"
    assert shop.states(waiting) == ("failed", [], "released")
    assert shop.task(waiting)["reason"]["code"] == "grantRevoked"
    assert len(shop.vendor.posts("images")) == 0


def test_p13_4_query_and_transfer_never_post_and_regenerate_yields_a_quote(shop: Shop) -> None:
    shop.with_contract(lookup_by_client_id=False)
    shop.vendor.script("images", Fault(accepts=True, then="drop"))
    (task_id,) = shop.order(IMAGE)
    shop.drain()
    posts = len(shop.vendor.posts())
    query_task(shop.studio, task_id, actor=PERSON)
    with pytest.raises(Refusal):
        transfer_task(shop.studio, task_id, actor=PERSON)
    with pytest.raises(Refusal):
        regenerate_task(shop.studio, task_id, actor=PERSON)
    assert len(shop.vendor.posts()) == posts
    (done,) = shop.order(VIDEO)
    shop.drain()
    planned = regenerate_task(shop.studio, done, actor=PERSON)
    assert planned.quote_id
    assert len(shop.rows("select 1 from executions")) == 2
    assert len(shop.vendor.posts()) == posts + 1


def test_p13_4_compensation_touches_the_ledger_alone_and_once(shop: Shop) -> None:
    (task_id,) = shop.order(IMAGE)
    shop.drain()
    seen = len(shop.vendor.seen)
    for _ in range(2):
        compensate_task(shop.studio, task_id, actor=PERSON, note="too late")
    assert len(shop.rows("select 1 from ledger_entries where business_key like 'compensate:%'")) == 1
    assert len(shop.rows("select 1 from audit_log where action = 'task.compensate'")) == 1
    assert shop.states(task_id) == ("succeeded", ["completed"], "settled")
    assert len(shop.vendor.seen) == seen


def test_a_mended_hold_is_released_by_a_person_and_sent_under_the_same_confirmation(shop: Shop) -> None:
    shop.vendor.script("images", error(402, "insufficient_balance"))
    (task_id,) = shop.order(IMAGE)
    shop.drain()
    shop.make_due()
    shop.drain()
    assert len(shop.vendor.posts()) == 1
    release_hold(shop.studio, task_id, actor=PERSON)
    shop.drain()
    assert shop.states(task_id) == ("succeeded", ["rejectedBeforeAcceptance", "completed"], "settled")


def test_d22_an_agent_may_look_and_do_nothing_else(shop: Shop) -> None:
    (task_id,) = shop.order(IMAGE)
    for action in (cancel_task, query_task, transfer_task, release_hold):
        with pytest.raises(GrantRefused):
            action(shop.studio, task_id, actor="agent:helper")
    with pytest.raises(UnknownId):
        show_task(shop.studio, "task_nobody")


def test_p13_1_the_list_shows_no_vendor_word_and_the_detail_no_secret(shop: Shop) -> None:
    shop.vendor.script("images", error(422, "content_refused"))
    shop.order(IMAGE, VIDEO)
    shop.drain()
    listed = json.dumps(list_tasks(shop.studio), default=str)
    assert "vendor text" not in listed
    assert "rv_1" not in listed
    for each in shop.rows("select task_id from tasks"):
        shown = json.dumps(show_task(shop.studio, each["task_id"]), default=str)
        assert "rehearsal-key-of-tests" not in shown
        assert {"actions", "history", "lease_token", "expires_at", "owner"} <= set(json.loads(shown))


def test_v14_no_key_and_no_media_stand_in_rows_logs_or_receipts(
    shop: Shop, home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    echo = json.dumps({"error": {"code": "odd", "message": "Bearer rehearsal-key-of-tests"}})
    shop.vendor.script("images", Fault(status=500, answer=echo), error(400, "invalid_params"))
    shop.order(*[IMAGE] * 3, VIDEO)
    shop.drain()
    texts = [caplog.text, *(path.read_text() for path in home.glob("receipts/**/*.json"))]
    names = shop.rows("select table_name from information_schema.tables where table_schema = 'public'")
    texts += [json.dumps(shop.rows(f"select * from {each['table_name']}"), default=str) for each in names]
    for text in texts:
        assert "rehearsal-key-of-tests" not in text
        assert not re.search(r"iVBORw0KGgo", text)


def test_only_one_function_can_send_a_paid_create() -> None:
    root = Path(__file__).parents[2]
    rooms = ("shortdrama_pipeline", "assets", "sensors", "resources")
    sources = {path: path.read_text() for room in rooms for path in (root / room).rglob("*.py")}
    ours = {path: text for path, text in sources.items() if "rehearsal" not in path.parts}
    clients = [path.name for path, text in ours.items() if re.search(r"httpx\.(Async)?Client\(", text)]
    assert clients == ["transport.py"]
    callers = [
        (path.name, line)
        for path, text in ours.items()
        for line in text.splitlines()
        if "send_paid_create(" in line and "def " not in line
    ]
    assert [name for name, _ in callers] == ["submitting.py"]
    posts = [
        path.name
        for path, text in ours.items()
        if re.search(r"(client|session|httpx|requests)\.(post|put|patch|request)\(", text)
    ]
    assert posts == ["dev.py"]  # asks Dagster's own page on this machine whether it is up
