"""Inbound messages: verified or not, they only make a query come sooner (P-7.6 to P-7.9, F06)."""

import asyncio
import hashlib
import hmac
import json
import threading
import time

import httpx
import pytest

from shortdrama_pipeline.rules.states import MediaKind
from shortdrama_pipeline.services.callbacks import BODY_BYTES_MAX, Verdict, receive
from shortdrama_pipeline.studio.callbacks import callback_app
from tests.engine.conftest import Shop

KEY = b"rehearsal-key-of-tests"
CHANNEL = "rehearsal-video"
NOW = 1_700_000_000


def signed(body: bytes, *, event: str = "e1", at: int = NOW, key: bytes = KEY) -> dict[str, str]:
    text = f"{at}.{event}.".encode() + body
    return {
        "X-Rehearsal-Timestamp": str(at),
        "X-Rehearsal-Event": event,
        "X-Rehearsal-Signature": hmac.new(key, text, hashlib.sha256).hexdigest(),
    }


def message(external_id: str = "rv_1", status: str = "succeeded") -> bytes:
    return json.dumps({"id": external_id, "status": status}).encode()


def test_p7_6_only_a_fresh_right_signature_over_the_raw_body_counts_and_once(shop: Shop) -> None:
    shop.vendor.polls_until_done = 10_000
    shop.order(MediaKind.VIDEO)
    shop.drain(seconds_max=2)
    body = message()
    told = [
        (signed(body, key=b"wrong"), body),
        (signed(body), json.dumps(json.loads(body), indent=1).encode()),
        (signed(body, at=NOW - 301), body),
        ({}, body),
    ]
    for headers, raw in told:
        got = receive(shop.studio, CHANNEL, headers=headers, raw_body=raw, now_s=NOW)
        assert got.verdict is Verdict.REFUSED
    good = [receive(shop.studio, CHANNEL, headers=signed(body), raw_body=body, now_s=NOW) for _ in range(3)]
    assert [each.verdict for each in good] == [Verdict.WOKE, Verdict.REPEATED, Verdict.REPEATED]
    assert len(shop.rows("select 1 from callbacks")) == 1
    assert shop.rows("select state from tasks") == [{"state": "waitingProvider"}]


def test_p7_7_an_unsigned_message_wakes_and_never_decides(shop: Shop) -> None:
    shop.with_contract(callback_signed=False)
    shop.vendor.polls_until_done = 10_000
    (task_id,) = shop.order(MediaKind.VIDEO)
    shop.drain(seconds_max=2)
    for status in ("failed", "succeeded", "processing"):
        receive(shop.studio, CHANNEL, headers={}, raw_body=message(status=status), now_s=NOW)
    assert shop.states(task_id) == ("waitingProvider", ["accepted"], "reserved")
    assert shop.rows("select 1 from tasks where next_action_at <= clock_timestamp()")


@pytest.mark.parametrize("status", ["processing", "failed", "succeeded"])
def test_p7_9_a_late_message_never_moves_an_end(shop: Shop, status: str) -> None:
    (task_id,) = shop.order(MediaKind.VIDEO)
    shop.drain()
    before = shop.snapshot()
    body = message(status=status)
    receive(shop.studio, CHANNEL, headers=signed(body), raw_body=body, now_s=NOW)
    shop.drain()
    assert shop.snapshot() == before
    assert shop.states(task_id)[0] == "succeeded"


def test_unknown_ids_and_strange_bodies_are_answered_alike_and_do_nothing(shop: Shop) -> None:
    body = message("rv_unknown")
    for channel, raw in ((CHANNEL, body), ("nobody", body), (CHANNEL, b"\xff\x00"), (CHANNEL, b"[]")):
        got = receive(shop.studio, channel, headers=signed(raw), raw_body=raw, now_s=NOW)
        assert (got.verdict, got.status) == (Verdict.IGNORED, 202)


def test_the_endpoint_verifies_and_bounds_what_it_reads(shop: Shop) -> None:
    body, now = message("rv_9"), int(time.time())
    tried = [(body, signed(body, at=now)), (body, {}), (b"x" * (BODY_BYTES_MAX + 1), {})]

    async def call() -> list[int]:
        transport = httpx.ASGITransport(callback_app(shop.studio))
        async with httpx.AsyncClient(transport=transport, base_url="http://studio") as client:
            return [
                (await client.post(f"/callbacks/{CHANNEL}", content=raw, headers=headers)).status_code
                for raw, headers in tried
            ]

    assert asyncio.run(call()) == [202, 401, 413]


def test_f06_many_callbacks_beside_the_polls_end_once(shop: Shop) -> None:
    shop.vendor.polls_until_done = 4
    ids = shop.order(*[MediaKind.VIDEO] * 6)
    stop = threading.Event()

    def shout() -> None:
        number = 0
        while not stop.wait(0.02):
            number += 1
            body = message(f"rv_{number % 6 + 1}")
            receive(shop.studio, CHANNEL, headers=signed(body, event=f"e{number}"), raw_body=body, now_s=NOW)

    crowd = [threading.Thread(target=shout) for _ in range(2)]
    for each in crowd:
        each.start()
    shop.drain()
    stop.set()
    for each in crowd:
        each.join()
    assert [shop.states(each) for each in ids] == [("succeeded", ["completed"], "settled")] * 6
    assert len(shop.rows("select 1 from versions where attempt_id is not null")) == 6
    assert len(shop.rows("select 1 from ledger_entries where business_key like 'settle:%'")) == 6
