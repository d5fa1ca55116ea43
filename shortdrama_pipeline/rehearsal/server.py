"""The server: ten addresses on loopback, one book, one bench.

Every request is committed to the book before its answer leaves. The look-up waits for what is just
arriving, so what it does not list was not accepted.
"""

import asyncio
import contextlib
import hashlib
import hmac
import json
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route

from shortdrama_pipeline.rehearsal import answers, faults, misanswers, requests, voices
from shortdrama_pipeline.rehearsal.bench import Bench
from shortdrama_pipeline.rehearsal.book import Book, Json, new_request_id
from shortdrama_pipeline.rehearsal.book import Request as Booked
from shortdrama_pipeline.rehearsal.faults import Fault, Faults
from shortdrama_pipeline.rehearsal.notices import Notices
from shortdrama_pipeline.rehearsal.prices import price_micros
from shortdrama_pipeline.rehearsal.refusals import STATUS_BY_CODE, Refused

LINK_S = 86_400
ARRIVAL_WAIT_S = 10
IDS_MAX = 50
JOBS_PAGE = 100
KINDS = {"text": "text", "images": "image", "speech": "speech", "videos": "video"}
Handler = Callable[[Request], Awaitable[Response]]


class Provider:
    """One open provider: its home, its book, its bench. `base_url` is where it can be reached."""

    def __init__(self, home: Path, *, base_url: str, key: str) -> None:
        self.base_url = base_url
        self._key = key
        self.book = Book(home / "book.sqlite")
        self.faults = Faults(self.book)
        self.faults.load_file(home / "faults.json")
        self.notices = Notices(self.book, self.faults, key=key, item_of=self.item)
        self.bench = Bench(self.book, home, on_change=self._changed)
        self._arriving: set[asyncio.Future[None]] = set()

    @contextlib.asynccontextmanager
    async def open(self, _app: Starlette) -> AsyncIterator[None]:
        self.bench.start()
        self.notices.start()
        yield
        await self.bench.stop()
        await self.notices.stop()
        self.book.close()

    def item(self, request: Booked) -> Json:
        return answers.item(request, url=self._link(request))

    def _changed(self, request: Booked) -> None:
        if request.kind == "video":
            self.notices.tell(request)

    def _link(self, request: Booked) -> str:
        expires_at_s = int(time.time()) + LINK_S
        token = f"{request.request_id}.{expires_at_s}"
        return f"{self.base_url}/v1/files/{token}.{self._seal(token)}"

    def _seal(self, token: str) -> str:
        return hmac.new(self._key.encode(), token.encode(), hashlib.sha256).hexdigest()[:32]

    def _check_key(self, request: Request) -> None:
        given = request.headers.get("authorization", "")
        if not hmac.compare_digest(given.encode(), f"Bearer {self._key}".encode()):
            raise Refused("bad_key", "The key is not known here")

    # --- creating ---------------------------------------------------------------------------------

    async def create(self, request: Request) -> Response:
        """Book first, answer after; a synchronous kind answers when its result is whole."""
        kind = KINDS[request.url.path.rsplit("/", 1)[-1]]
        with self._arrival():
            body = await _body(request)
            asked = requests.read(body)
            fault = self.faults.take(faults.BEFORE_ACCEPT, kind=kind, subject=asked.subject)
            if fault is not None and fault.name == "slow_before_accept":
                await asyncio.sleep(fault.seconds)
            elif fault is not None:
                return self._not_accepted(kind, asked, fault)
            try:
                self._check_key(request)
                checked = requests.check(kind, asked)
            except Refused as refusal:
                self.book.record_refused(client_id=asked.client_id, kind=kind, code=refusal.code)
                raise
            booked = self._accept(kind, asked, checked)
        made = self.bench.put(booked)
        misdeed = self.faults.take(faults.AFTER_ACCEPT, kind=kind, subject=asked.subject)
        if misdeed is not None and misdeed.name == "slow_answer":
            await asyncio.sleep(misdeed.seconds)
            misdeed = None
        if misdeed is not None and "truncated" not in misdeed.name and "malformed" not in misdeed.name:
            return misanswers.of_fault(misdeed, JSONResponse({}, status_code=202 if kind == "video" else 200))
        answer = await self._answer(request, booked, made)
        return answer if misdeed is None else misanswers.of_fault(misdeed, answer)

    async def _answer(self, request: Request, booked: Booked, made: asyncio.Future[Booked]) -> Response:
        if booked.kind == "video":
            return JSONResponse({"id": booked.request_id, "status": "queued"}, status_code=202)
        ended = await made
        if ended.status != "succeeded":
            error = {"code": ended.error_code, "message": ended.error_message}
            return JSONResponse({"request_id": ended.request_id, "error": error}, status_code=500)
        whole = answers.inline(ended, answers.result_path(self.bench.results, ended))
        if await request.is_disconnected():
            return JSONResponse(whole)
        return JSONResponse(whole, background=BackgroundTask(self._delivered, ended.request_id))

    async def _delivered(self, request_id: str) -> None:
        self.book.record_delivered(request_id)

    def _not_accepted(self, kind: str, asked: requests.Asked, fault: Fault) -> Response:
        self.book.record_refused(client_id=asked.client_id, kind=kind, code=fault.name)
        if fault.name in STATUS_BY_CODE:
            retry_after_s = fault.integer("retry_after_s", 1) if fault.name == "rate_limited" else None
            raise Refused(fault.name, "Refused by a scripted rule", retry_after_s=retry_after_s)
        return misanswers.of_fault(fault, JSONResponse({}))

    def _accept(self, kind: str, asked: requests.Asked, checked: requests.Checked) -> Booked:
        """Media to disk, then the committed entry: from there on the request is accepted and charged."""
        for name, data in checked.media.items():
            _write_whole(self.bench.inputs / name, data)
        fate = self.faults.take(faults.FATES, kind=kind, subject=asked.subject) if kind == "video" else None
        return self.book.record_accepted(
            request_id=new_request_id(kind),
            client_id=asked.client_id,
            kind=kind,
            params=checked.params,
            charged_micros=price_micros(kind, checked.params),
            callback_url=checked.callback_url,
            fate=None if fate is None else fate.options,
        )

    @contextlib.contextmanager
    def _arrival(self) -> Iterator[None]:
        settled: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._arriving.add(settled)
        try:
            yield
        finally:
            self._arriving.discard(settled)
            settled.set_result(None)

    # --- asking -----------------------------------------------------------------------------------

    async def query(self, request: Request) -> Response:
        self._check_key(request)
        ids = [each for each in request.query_params.get("ids", "").split(",") if each]
        if not 0 < len(ids) <= IDS_MAX:
            raise Refused("invalid_params", f"ids: between 1 and {IDS_MAX}")
        found = [each for each in map(self.book.find, ids) if each is not None and each.kind == "video"]
        subject = " ".join(_subject(each) for each in found)
        fault = self.faults.take(faults.ON_QUERY, kind="video", subject=subject)
        if fault is not None and fault.name == "query_slow":
            await asyncio.sleep(fault.seconds)
            fault = None
        items = [self._queried(each) for each in found]
        whole = JSONResponse({"videos": [each for each in items if each is not None]})
        if fault is None:
            return whole
        code = fault.name.removeprefix("query_")
        if code in STATUS_BY_CODE:
            raise Refused(code, "A scripted rule", retry_after_s=fault.integer("retry_after_s", 1))
        return misanswers.of_fault(fault, whole)

    def _queried(self, request: Booked) -> Json | None:
        fault = self.faults.take(faults.ON_QUERY_ITEM, kind="video", subject=_subject(request))
        if fault is not None and fault.name == "query_missing":
            return None
        if fault is not None:
            return self.item(request) | {
                "status": str(fault.options.get("word", "levitating")),
                "result": None,
            }
        return self.item(request)

    async def look_up(self, request: Request) -> Response:
        """List what was accepted under a client's identity, once nothing is on its way in any more."""
        self._check_key(request)
        client_id = request.query_params.get("client_id", "")
        fault = self.faults.take(faults.ON_LOOKUP, kind="*", subject=client_id)
        if fault is not None:
            return misanswers.of_fault(fault, JSONResponse({}))
        if self._arriving:
            _, waiting = await asyncio.wait(set(self._arriving), timeout=ARRIVAL_WAIT_S)
            if waiting:
                error = {"code": "busy", "message": "A request is still arriving; ask again"}
                return JSONResponse({"error": error}, status_code=503)
        found = self.book.accepted_of(client_id)
        known = [answers.found(each, answers.result_path(self.bench.results, each)) for each in found]
        return JSONResponse({"requests": known})

    async def list_jobs(self, request: Request) -> Response:
        """List accepted videos by the time they came, oldest first, a page at a time."""
        self._check_key(request)
        asked = request.query_params
        found = self.book.accepted_between(
            asked.get("since", ""), asked.get("until", "~"), after=asked.get("after", ""), most=JOBS_PAGE
        )
        following = found[-1].request_id if len(found) == JOBS_PAGE else None
        jobs = [answers.listed(each, model=requests.MODEL) for each in found]
        return JSONResponse({"jobs": jobs, "next": following})

    async def fetch(self, request: Request) -> Response:
        """A finished file, by a link that carries its own seal and end."""
        token, _, seal = request.path_params["token"].rpartition(".")
        request_id, _, expires_at_s = token.rpartition(".")
        booked = self.book.find(request_id)
        if booked is None or not hmac.compare_digest(seal.encode(), self._seal(token).encode()):
            return _error("not_found", "No such file", status=404)
        fault = self.faults.take(faults.ON_FILE, kind=booked.kind, subject=_subject(booked))
        if int(expires_at_s) < time.time() or (fault is not None and fault.name == "expired_url"):
            return _error("link_expired", "Query again for a fresh link", status=410)
        path = answers.result_path(self.bench.results, booked)
        if fault is not None and fault.name == "file_slow":
            await asyncio.sleep(fault.seconds)
        elif fault is not None:
            return misanswers.of_fault(fault, Response(path.read_bytes(), media_type="video/mp4"))
        done = BackgroundTask(self._delivered, request_id)
        return FileResponse(path, media_type="video/mp4", background=done)

    # --- about itself -----------------------------------------------------------------------------

    async def health(self, _request: Request) -> Response:
        """Say who we are, and what answering has cost; making is other processes' work."""
        cpu_ms = round(time.process_time() * 1000)
        return JSONResponse({"ok": True, "identity": identity(self._key), "cpu_ms": cpu_ms})

    async def list_voices(self, _request: Request) -> Response:
        return JSONResponse({"voices": voices.offered()})

    async def book_entries(self, request: Request) -> Response:
        self._check_key(request)
        return JSONResponse({"entries": [each.entry() for each in self.book.entries()]})

    async def script_faults(self, request: Request) -> Response:
        """GET shows the rules, POST puts others in their place."""
        self._check_key(request)
        if request.method == "POST":
            try:
                self.faults.replace(await request.json())
            except ValueError as error:
                raise Refused("invalid_params", "The rules are not JSON") from error
        return JSONResponse({"rules": self.faults.in_force()})


def build_app(provider: Provider) -> Starlette:
    """Return the ASGI application over an open provider."""
    creating = [Route(f"/v1/{each}", provider.create, methods=["POST"]) for each in KINDS]
    return Starlette(
        routes=[
            *creating,
            Route("/v1/videos", provider.query, methods=["GET"]),
            Route("/v1/requests", provider.look_up, methods=["GET"]),
            Route("/v1/jobs", provider.list_jobs, methods=["GET"]),
            Route("/v1/files/{token}", provider.fetch, methods=["GET"]),
            Route("/v1/health", provider.health, methods=["GET"]),
            Route("/v1/voices", provider.list_voices, methods=["GET"]),
            Route("/v1/rehearsal/book", provider.book_entries, methods=["GET"]),
            Route("/v1/rehearsal/faults", provider.script_faults, methods=["GET", "POST"]),
        ],
        exception_handlers={Refused: _refusal, ClientDisconnect: _nobody},
        lifespan=provider.open,
    )


def identity(key: str) -> str:
    """Return what tells one home's server from another's, without telling the key."""
    return hashlib.sha256(f"identity:{key}".encode()).hexdigest()[:16]


async def _refusal(_request: Request, refused: Exception) -> Response:
    assert isinstance(refused, Refused)
    headers = {} if refused.retry_after_s is None else {"Retry-After": str(refused.retry_after_s)}
    return _error(refused.code, refused.message, status=refused.status, headers=headers)


async def _nobody(_request: Request, _gone: Exception) -> Response:
    """The client left before its request was whole: nothing was accepted, nobody reads this."""
    return Response(status_code=400)


def _error(code: str, message: str, *, status: int, headers: dict[str, str] | None = None) -> Response:
    return JSONResponse({"error": {"code": code, "message": message}}, status_code=status, headers=headers)


async def _body(request: Request) -> bytes:
    chunks, size = [], 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > requests.BODY_BYTES_MAX:
            raise Refused("invalid_params", f"The body is larger than {requests.BODY_BYTES_MAX} bytes")
        chunks.append(chunk)
    return b"".join(chunks)


def _subject(request: Booked) -> str:
    return f"{request.request_id} {request.client_id} {json.dumps(request.params, ensure_ascii=False)}"


def _write_whole(path: Path, data: bytes) -> None:
    if path.exists():
        return
    partial = path.with_name(f"{path.name}.partial")
    with partial.open("wb") as handle:
        handle.write(data)
        handle.flush()
        os.fsync(handle.fileno())
    partial.replace(path)
