"""A vendor without a network: scripted, with a book of its own, behind the product's wires.

It speaks the rehearsal protocol. Texts come in three manners, by the host they are asked of: at once
("inline"), or as a job ("job"); pictures and films are left to other tests. Requests travel through the
loop: a client that is gone by then changes nothing for the vendor.
"""

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx

from shortdrama_pipeline.providers.rehearsal import sign_callback
from tests.simulation.loop import SimLoop, current

Json = dict[str, Any]
COST = 2_000
CURRENCY = "XRH"
KEY = "sim-key"


@dataclass(slots=True)
class Job:
    """One accepted request in the vendor's book."""

    client_id: str
    external_id: str
    is_job: bool
    item: str
    entered_us: int
    ends_us: int
    outcome: str = "succeeded"  # succeeded | failed | expired
    charged: int = COST
    queries: int = 0
    links: int = 0
    word: str = ""  # an unknown status until healed
    announced: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body: bytes
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(slots=True)
class Post:
    """One paid create that arrived."""

    client_id: str
    item: str
    at_us: int


CREATE_FAULTS = (
    "refused", "lost", "dropped", "dropped-early", "timeout", "slow", "capacity", "capacity-later", "balance",
    "bad-key", "invalid", "content", "500-made", "500", "html", "empty", "no-id", "malformed", "429-made",
    "409", "cut", "fails", "fails-charged", "expires", "overcharges", "endless", "unknown-word", "unreadable",
)  # fmt: skip
_Headers = tuple[tuple[str, str], ...]
_REFUSALS: dict[str, tuple[int, str, _Headers]] = {
    "capacity": (429, "rate_limited", ()), "capacity-later": (429, "rate_limited", (("retry-after", "3"),)),
    "balance": (402, "insufficient_balance", ()), "bad-key": (401, "bad_key", ()),
    "invalid": (400, "invalid_params", ()), "content": (422, "content_refused", ()),
    "500": (500, "oops", ()), "409": (409, "conflict", ()),
}  # fmt: skip
QUERY_FAULTS = ("lost", "500", "malformed", "bad-key", "missing", "unknown-word", "slow", "429")
LOOKUP_FAULTS = ("lost", "500", "malformed", "twice", "slow")
FILE_FAULTS = ("cut", "gone", "500", "garbage", "refused", "elsewhere", "reset", "empty", "text")
CALLBACK_FAULTS = ("twice", "thrice", "forged", "old", "early", "unsigned", "never", "reordered")


class SimVendor:
    """`faults` are taken by (site, how manieth): "create", "query", "lookup", "file", "callback"."""

    def __init__(
        self,
        loop: SimLoop,
        *,
        seed: str,
        faults: Mapping[tuple[str, int], str],
        on_post: Callable[[Post, bytes, str], None],
        on_callback: Callable[[str, Mapping[str, str], bytes], None],
        tell: Callable[[str], None],
    ) -> None:
        self.loop = loop
        self.book: dict[str, Job] = {}
        self.posts: list[Post] = []
        self.healed = False
        self.files: dict[str, bytes] = {}
        self.key = KEY
        self.unrevoked = True
        self._faults = faults
        self._seen: dict[str, int] = {}
        self._random = Random(f"{seed} vendor")
        self._on_post = on_post
        self._on_callback = on_callback
        self._tell = tell
        self.hits: dict[str, int] = {}
        self._arriving: dict[str, str] = {}

    # --- the client's side -----------------------------------------------------------------------------

    async def carry(self, request: httpx.Request) -> httpx.Response:
        """Bring a request there and its answer back, as a network does."""
        process = current()
        process.check()
        trace = request.extensions.get("trace")
        read_s = float(request.extensions.get("timeout", {}).get("read") or 60)
        site = _site(request)
        fault = self.next_fault(site)
        await asyncio.sleep(self._pause(0.001, 0.02))
        process.check()
        if fault == "refused":
            raise httpx.ConnectError("refused", request=request)
        if trace is not None:
            await trace("http11.send_request_headers.started", {})
        answer: asyncio.Future[Answer | None] = self.loop.create_future()
        body = request.read() if request.method == "GET" else await request.aread()
        if fault != "lost" or site != "create":
            self._outside(self._pause(0.001, 0.2), lambda: self._arrive(request, body, site, fault, answer))
        else:
            self._tell(f"the vendor never sees {site}")
        if trace is not None:
            await trace("http11.receive_response_headers.started", {})
        try:
            async with asyncio.timeout(read_s):
                found = await answer
        except TimeoutError:
            raise httpx.ReadTimeout("silence", request=request) from None
        process.check()
        if found is None:
            raise httpx.RemoteProtocolError("the line broke", request=request)
        return httpx.Response(found.status, headers=list(found.headers), content=found.body, request=request)

    def fetch(self, request: httpx.Request) -> httpx.Response:
        """Answer a download."""
        current().check()
        fault = self.next_fault("file")
        data = self.files.get(urlsplit(str(request.url)).path.rsplit("/", 1)[-1])
        if fault == "refused":
            raise httpx.ConnectError("refused", request=request)
        if fault == "reset":
            raise httpx.ReadError("reset", request=request)
        if data is None or fault == "gone":
            return httpx.Response(404, content=b"gone", request=request)
        if fault == "500":
            return httpx.Response(500, content=b"", request=request)
        if fault == "elsewhere":
            return httpx.Response(302, headers={"location": "http://169.254.169.254/x"}, request=request)
        headers = {"content-length": str(len(data))}
        body = {
            "cut": data[: len(data) // 2], "garbage": b"\xff\xfe\x00" * 9, "empty": b"", "text": b"{}",
        }.get(fault, data)  # fmt: skip
        if fault in {"garbage", "empty", "text"}:
            headers["content-length"] = str(len(body))
        return httpx.Response(200, headers=headers, stream=_Once(body), request=request)

    # --- the vendor's side -----------------------------------------------------------------------------

    def next_fault(self, site: str) -> str:
        number = self._seen[site] = self._seen.get(site, 0) + 1
        fault = "" if self.healed else self._faults.get((site, number), "")
        if fault:
            self.hits[f"{site}:{fault}"] = self.hits.get(f"{site}:{fault}", 0) + 1
            self._tell(f"the vendor's {site} number {number}: {fault}")
        return fault

    def _pause(self, least: float, most: float) -> float:
        return least + (most - least) * self._random.random() ** 3

    def _outside(self, delay_s: float, work: Callable[[], object]) -> None:
        """What the vendor does goes on whatever becomes of who asked."""
        self.loop.call_later(delay_s, work, context=self.loop.context_of(self.loop.outside))

    def _arrive(
        self,
        request: httpx.Request,
        body: bytes,
        site: str,
        fault: str,
        answer: "asyncio.Future[Answer | None]",
    ) -> None:
        def reply(found: Answer | None, delay_s: float = 0) -> None:
            self._outside(delay_s + self._pause(0.001, 0.1), lambda: _resolve(answer, found))

        if site == "create":
            self._create(request, body, fault, reply)
            return
        if fault == "lost":
            return
        if site == "lookup" and self._must_wait(request):  # the contract that calls absence a proof
            self._outside(0.5, lambda: self._arrive(request, body, site, fault, answer))
            return
        if fault == "slow":
            reply(self._look(request, site, fault), 8.0)
            return
        reply(self._look(request, site, fault), self._pause(0.01, 0.2))

    def _must_wait(self, request: httpx.Request) -> bool:
        """Where absence is proof, a look-up waits for what is just arriving; elsewhere it does not."""
        asked = parse_qs(urlsplit(str(request.url)).query)["client_id"][0]
        return self._arriving.get(asked, "shy").split()[0] not in {"shy", "mute"}

    def _create(
        self, request: httpx.Request, raw: bytes, fault: str, reply: Callable[[Answer | None, float], None]
    ) -> None:
        body: Json = json.loads(raw)
        post = Post(str(body["client_id"]), str(body["params"]["item"]), self.loop.now_us)
        self.posts.append(post)
        self._on_post(post, raw, str(request.url))
        works_s = self._pause(0.02, 2.0)
        if not self.unrevoked:
            reply(_error(401, "bad_key"), works_s)
            return
        if fault in _REFUSALS:
            status, code, headers = _REFUSALS[fault]
            reply(_error(status, code, headers), works_s)
            return
        if fault == "dropped-early":  # the line breaks while the vendor still works on it
            reply(None, 0)
            self._arriving[post.client_id] = post.item
            self._outside(self._pause(0.5, 15.0), lambda: self._enter(post, body, fault))
            return

        def done() -> None:
            found = self._answer_to_create(self._enter(post, body, fault), fault)
            if fault != "timeout":
                reply(found, 30.0 if fault == "slow" else 0)

        self._outside(works_s, done)

    def _answer_to_create(self, job: Job, fault: str) -> Answer | None:
        honest = _dump(self._answer_of(job))
        special: dict[str, Answer | None] = {
            "dropped": None, "cut": None, "500-made": _error(500, "oops"),
            "429-made": _error(429, "slow_down"), "html": Answer(200, b"<html>ok</html>"),
            "empty": Answer(200, b""), "no-id": Answer(202, b'{"status": "queued"}'),
            "malformed": Answer(200, honest[:-7]),
        }  # fmt: skip
        return special.get(fault, Answer(202 if job.is_job else 200, honest))

    def _enter(self, post: Post, body: Json, fault: str) -> Job:
        """Write the book: from here on it is a paid request."""
        number = len(self.book) + 1
        now = self.loop.now_us
        is_job = bool(body["params"]["job"])
        job = Job(
            post.client_id,
            f"{'rv' if is_job else 'rq'}_{number}",
            is_job=is_job,
            item=post.item,
            entered_us=now,
            ends_us=now + int(self._pause(0.5, 12.0) * 1e6),
        )
        if is_job and fault in {"fails", "fails-charged"}:
            job.outcome, job.charged = "failed", COST if fault == "fails-charged" else 0
        if is_job and fault == "expires":
            job.outcome = "expired"
        if fault == "overcharges":
            job.charged = COST * 3
        if fault == "endless":
            job.ends_us = now + 80 * 1_000_000
        if fault == "unknown-word":
            job.word = "pondering"
        self.book[job.external_id] = job
        self._arriving.pop(post.client_id, None)
        self._tell(f"the vendor's book: {job.external_id} for {post.item}")
        if is_job:
            self._outside((job.ends_us - now) / 1e6, lambda: self._announce(job))
        elif fault == "unreadable":
            job.outcome = "unreadable"
        return job

    def _answer_of(self, job: Job) -> Json:
        if job.is_job:
            return {"id": job.external_id, "status": "queued"}
        output: Json = {"oops": True} if job.outcome == "unreadable" else outline(job.item)
        return {
            "request_id": job.external_id,
            "output": output,
            "charged_micros": job.charged,
            "currency": CURRENCY,
        }

    def _look(self, request: httpx.Request, site: str, fault: str) -> Answer:
        asked = parse_qs(urlsplit(str(request.url)).query)
        if fault == "bad-key" or not self.unrevoked:
            return _error(401, "bad_key")
        if fault in {"500", "429"}:
            return _error(int(fault), "oops", (("retry-after", "2"),) if fault == "429" else ())
        if fault == "malformed":
            return Answer(200, b'{"vid')
        if site == "lookup":
            wanted = asked["client_id"][0]
            found = [
                self._answer_of(each)
                | {"client_id": wanted, "kind": "video" if each.is_job else "text", "id": each.external_id}
                for each in self.book.values()
                if each.client_id == wanted
            ]
            return Answer(200, _dump({"requests": found * 2 if fault == "twice" else found}))
        videos = [self._status(each, fault) for each in asked["ids"][0].split(",")]
        return Answer(200, _dump({"videos": [] if fault == "missing" else videos}))

    def _status(self, external_id: str, fault: str) -> Json:
        job = self.book.get(external_id)
        body: Json = {
            "id": external_id,
            "result": None,
            "error": None,
            "charged_micros": 0,
            "currency": CURRENCY,
        }
        if job is None:
            return body | {"status": "unheard-of"}
        if fault == "unknown-word" or (job.word and not self.healed):
            return body | {"status": "pondering"}
        if self.loop.now_us < job.ends_us:
            return body | {"status": "running"}
        body["charged_micros"] = job.charged
        if job.outcome == "failed":
            return body | {"status": "failed", "error": {"code": "model_error", "message": "no"}}
        if job.outcome == "expired":
            return body | {"status": "expired"}
        job.links += 1
        token = f"{external_id}-{job.links}"
        self.files[token] = _dump(outline(job.item))
        url = f"http://127.0.0.1:9/v1/files/{token}"
        return body | {"status": "succeeded", "result": {"url": url, "media_type": "application/json"}}

    # --- callbacks --------------------------------------------------------------------------------------

    def _announce(self, job: Job) -> None:
        fault = self.next_fault("callback")
        if fault == "never":
            return
        raw = _dump(self._status(job.external_id, ""))
        age_s = 900 if fault == "old" else 0
        times = {"twice": 2, "thrice": 3}.get(fault, 1)
        event = f"ev-{job.external_id}"
        key = "another key" if fault == "forged" else self.key
        if fault == "reordered":
            late = _dump(
                {"id": job.external_id, "status": "running", "charged_micros": 0, "currency": CURRENCY}
            )
            self._post_callback(late, f"{event}-late", key, 0, 1.5)
        for number in range(times):
            self._post_callback(raw, event, key, age_s, 0.3 * number, signed=fault != "unsigned")

    def _post_callback(
        self, raw: bytes, event: str, key: str, age_s: int, delay_s: float, *, signed: bool = True
    ) -> None:
        def send() -> None:
            timestamp = str(self.loop.now_us // 1_000_000 - age_s + 1_700_000_000)
            signature = sign_callback(key.encode(), timestamp=timestamp, event_id=event, raw_body=raw)
            headers = {"x-rehearsal-timestamp": timestamp, "x-rehearsal-event": event}
            if signed:
                headers["x-rehearsal-signature"] = signature
            self._on_callback(event, headers, raw)

        self._outside(delay_s + self._pause(0.05, 3.0), send)


class CreateWire(httpx.AsyncBaseTransport):
    def __init__(self, vendor: SimVendor) -> None:
        self._vendor = vendor

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        return await self._vendor.carry(request)


class FetchWire(httpx.BaseTransport):
    def __init__(self, vendor: SimVendor) -> None:
        self._vendor = vendor

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        return self._vendor.fetch(request)


class _Once(httpx.SyncByteStream):
    def __init__(self, body: bytes) -> None:
        self._body = body

    def __iter__(self) -> Any:  # noqa: ANN401
        if self._body:
            yield self._body


def outline(item: str) -> Json:
    return {
        "title": f"雨夜 {item}", "logline": "一封信", "language": "zh-CN", "synopsis": item,
        "beats": ["开端"], "characters": [{"id": "c1", "name": "林夏", "description": "记者"}],
    }  # fmt: skip


def _site(request: httpx.Request) -> str:
    if request.method == "POST":
        return "create"
    return "lookup" if "/v1/requests" in str(request.url) else "query"


def _resolve(answer: "asyncio.Future[Answer | None]", found: Answer | None) -> None:
    if not answer.done():
        answer.set_result(found)


def _error(status: int, code: str, headers: tuple[tuple[str, str], ...] = ()) -> Answer:
    return Answer(status, _dump({"error": {"code": code, "message": "vendor text"}}), headers)


def _dump(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, sort_keys=True).encode()
