"""Callbacks: each change of a video told to the address its client left, signed, until it is taken."""

import asyncio
import hashlib
import hmac
import json
import time
from collections.abc import Callable

import httpx

from shortdrama_pipeline.rehearsal.book import Book, Json, Request
from shortdrama_pipeline.rehearsal.faults import ON_CALLBACK, Faults

TRIES = 6
FIRST_PAUSE_S = 0.2
TIMEOUT_S = 10


class Notices:
    """Sends from the book, so a restart sends what was not taken yet. Order is not promised."""

    def __init__(self, book: Book, faults: Faults, *, key: str, item_of: Callable[[Request], Json]) -> None:
        self._book = book
        self._faults = faults
        self._key = key.encode()
        self._item_of = item_of
        self._client = httpx.AsyncClient(timeout=TIMEOUT_S, trust_env=False)
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self) -> None:
        for event_id, url, body in self._book.unsent_notices():
            self._begin(event_id, url, body, None)

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._client.aclose()

    def tell(self, request: Request) -> None:
        """Record and send the present state of a video, if its client wants to hear."""
        if request.callback_url is None:
            return
        body = json.dumps(self._item_of(request), ensure_ascii=False).encode()
        event_id = f"evt_{request.request_id}_{request.status}"
        fault = None
        if request.status not in ("queued", "running"):
            subject = request.request_id + request.client_id + json.dumps(request.params, ensure_ascii=False)
            fault = self._faults.take(ON_CALLBACK, kind="video", subject=subject)
        name = None if fault is None else fault.name
        if name == "callback_lost":
            return
        self._book.record_notice(event_id=event_id, url=request.callback_url, body=body)
        self._begin(event_id, request.callback_url, body, name)

    def _begin(self, event_id: str, url: str, body: bytes, fault: str | None) -> None:
        task = asyncio.create_task(self._send(event_id, url, body, fault))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _send(self, event_id: str, url: str, body: bytes, fault: str | None) -> None:
        await self._until_taken(event_id, url, body, fault)
        if fault == "callback_duplicate":
            await self._until_taken(event_id, url, body, None)
        if fault == "callback_reorder":  # an older state arrives after the end
            older = json.loads(body) | {"status": "running", "progress": 10, "result": None, "error": None}
            await self._until_taken(f"{event_id}_late", url, json.dumps(older).encode(), None)
        self._book.record_notice_sent(event_id)

    async def _until_taken(self, event_id: str, url: str, body: bytes, fault: str | None) -> None:
        """Give up after some tries: whoever missed a callback can still ask."""
        pause_s = FIRST_PAUSE_S
        for _ in range(TRIES):
            try:
                answer = await self._client.post(
                    url, content=body, headers=self._headers(event_id, body, fault)
                )
            except httpx.HTTPError:
                answer = None
            if answer is not None and answer.is_success:
                return
            await asyncio.sleep(pause_s)
            pause_s *= 2

    def _headers(self, event_id: str, body: bytes, fault: str | None) -> dict[str, str]:
        age_s = 3600 if fault == "callback_old" else 0
        timestamp = str(int(time.time()) - age_s)
        signature = hmac.new(
            self._key, f"{timestamp}.{event_id}.".encode() + body, hashlib.sha256
        ).hexdigest()
        headers = {
            "Content-Type": "application/json",
            "X-Rehearsal-Timestamp": timestamp,
            "X-Rehearsal-Event": event_id,
        }
        if fault != "callback_unsigned":
            headers["X-Rehearsal-Signature"] = "0" * 64 if fault == "callback_bad_signature" else signature
        return headers
