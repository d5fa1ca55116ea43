"""Callbacks as a receiver sees them, verified by the adapter."""

import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from shortdrama_pipeline.providers.ports import CallbackNotice
from shortdrama_pipeline.providers.rehearsal import RehearsalAdapter
from tests.rehearsal_.conftest import Desk

Call = tuple[dict[str, str], bytes]


class Receiver:
    """A loopback address that keeps what is posted to it; refuses the first `refusals` calls."""

    def __init__(self, refusals: int = 0) -> None:
        self.calls: list[Call] = []
        self.refusals = refusals
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.calls.append((dict(self.headers), body))
                refuse = len(receiver.calls) <= receiver.refusals
                self.send_response(503 if refuse else 204)
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
                """Stay quiet."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/callbacks/x"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def wait_for(self, count: int) -> list[Call]:
        pause = threading.Event()
        for _ in range(400):
            if len(self.calls) >= count:
                break
            pause.wait(0.05)
        return self.calls

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    opened = Receiver()
    yield opened
    opened.close()


def read(desk: Desk, call: Call, **changes: object) -> CallbackNotice | None:
    headers, body = call
    options: dict[str, object] = {"secret": desk.running.key.encode(), "now_s": int(time.time())} | changes
    return RehearsalAdapter().read_callback(headers, body, **options)  # type: ignore[arg-type]


def states(calls: list[Call]) -> list[str]:
    return [json.loads(body)["status"] for _, body in calls]


def test_a_video_is_told_signed_from_running_to_its_end(desk: Desk, receiver: Receiver) -> None:
    video_id = desk.post("video", "told", callback_url=receiver.url).json()["id"]
    calls = receiver.wait_for(2)
    assert sorted(states(calls)) == ["running", "succeeded"]
    for call in calls:
        notice = read(desk, call)
        assert notice is not None
        assert (notice.external_id, notice.verified) == (video_id, True)
    headers, body = calls[-1]
    assert not read(desk, (headers, body + b" ")).verified  # type: ignore[union-attr]
    assert not read(desk, calls[-1], now_s=int(time.time()) + 301).verified  # type: ignore[union-attr]
    assert not read(desk, calls[-1], secret=b"other").verified  # type: ignore[union-attr]
    assert not read(desk, calls[-1], secret=None).verified  # type: ignore[union-attr]


def test_a_refused_callback_is_sent_again_under_the_same_event(desk: Desk) -> None:
    receiver = Receiver(refusals=2)
    desk.post("video", "again-told", callback_url=receiver.url)
    calls = receiver.wait_for(4)
    receiver.close()
    events = [headers["X-Rehearsal-Event"] for headers, _ in calls]
    assert len(set(events)) == 2


@pytest.mark.parametrize(
    ("fault", "verified"),
    [("callback_bad_signature", False), ("callback_unsigned", False), ("callback_old", False)],
)
def test_a_callback_of_doubtful_origin_is_not_verified(
    desk: Desk, receiver: Receiver, fault: str, verified: bool
) -> None:
    desk.script({"fault": fault, "kind": "video", "match": fault})
    desk.post("video", fault, callback_url=receiver.url)
    calls = receiver.wait_for(2)
    last = next(call for call in calls if json.loads(call[1])["status"] == "succeeded")
    notice = read(desk, last)
    assert notice is not None
    assert notice.verified is verified


def test_callbacks_can_come_twice_and_late(desk: Desk, receiver: Receiver) -> None:
    desk.script(
        {"fault": "callback_duplicate", "match": "cb-twice"},
        {"fault": "callback_reorder", "match": "cb-late"},
    )
    desk.post("video", "cb-twice", callback_url=receiver.url)
    assert states(receiver.wait_for(3)).count("succeeded") == 2
    receiver.calls.clear()
    desk.post("video", "cb-late", callback_url=receiver.url)
    calls = receiver.wait_for(3)
    assert states(calls)[-1] == "running"
    assert read(desk, calls[-1]).verified  # type: ignore[union-attr]


def test_a_lost_callback_leaves_the_query_to_tell(desk: Desk, receiver: Receiver) -> None:
    desk.script({"fault": "callback_lost", "match": "cb-lost"})
    video_id = desk.post("video", "cb-lost", callback_url=receiver.url).json()["id"]
    assert desk.ended(video_id)["status"] == "succeeded"
    assert "succeeded" not in states(receiver.calls)
