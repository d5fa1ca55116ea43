"""The one HTTP seam to vendors: one paid create, status queries, result downloads.

No request here is ever repeated by the library, no redirect followed by it, no proxy or netrc taken
from the environment. What a transport error proves is decided here and nowhere else (D-14).
"""

import hashlib
import json
import ssl
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING
from urllib.parse import urljoin

import httpx

from shortdrama_pipeline.crashpoints import Point, reach
from shortdrama_pipeline.errors import EgressRefused, MediaInvalid, Outside
from shortdrama_pipeline.providers import egress
from shortdrama_pipeline.providers.ports import Binding, HttpAnswer, HttpCall

if TYPE_CHECKING:
    import aiohttp

ANSWER_BYTES_MAX = 96 * 1024 * 1024  # pictures come back as base64 inside one answer
QUERY_BYTES_MAX = 16 * 1024 * 1024
QUERY_CONNECTIONS_MAX = 64
QUERY_PATIENCE = 6  # a whole answer may take so many times what one piece of it may
CONNECT_S = 5
DOWNLOAD_READ_S = 30
REDIRECTS_MAX = 4
CHUNK_BYTES = 1 << 18
GONE = frozenset({401, 403, 404, 410})  # a link that lived; ask the vendor for a fresh one
_NEVER_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)


@dataclass(frozen=True, slots=True)
class Encoded:
    """The exact bytes of a request without its credential, and their digest (V-1)."""

    method: str
    url: str
    body: bytes = field(repr=False)
    timeout_s: int
    digest: str


@dataclass(frozen=True, slots=True)
class NeverSent:
    """Proof: no request byte left this machine (D-14)."""

    why: str


@dataclass(frozen=True, slots=True)
class Silent:
    """The request may have arrived. Nothing is proven."""

    why: str


class ResultGone(Outside):
    """The link does not answer any more; the result may still exist under a fresh one."""

    code = "result_gone"


class _NotOursAnyMore(Exception):
    """Raised in front of the first request byte when the lease has run out (P-6.9)."""


def encode(binding: Binding, call: HttpCall) -> Encoded:
    """Freeze a call into bytes. The same call gives the same digest."""
    body = b"" if call.json is None else _dump(call.json)
    url = binding.base_url.rstrip("/") + call.path
    head = f"{call.method}\n{url}\n".encode()
    return Encoded(
        call.method, url, body, call.timeout_s, "sha256:" + hashlib.sha256(head + body).hexdigest()
    )


async def send_paid_create(
    request: Encoded, *, secret: str, may_send: Callable[[], bool]
) -> HttpAnswer | NeverSent | Silent:
    """Send one paid create, once, over a connection of its own (D-18). Only the fence's owner calls this.

    `may_send` is asked last, when the connection stands and before the first request byte.
    """

    async def before_each_step(step: str, _info: object) -> None:
        if step.endswith("send_request_headers.started"):
            reach(Point.POST_CONNECTED)
            if not may_send():
                raise _NotOursAnyMore
        elif step.endswith("receive_response_headers.started"):
            reach(Point.POST_SENT)

    _answer_sniffio_fast()
    timeout = httpx.Timeout(request.timeout_s, connect=CONNECT_S).as_dict()
    try:
        async with WIRES.create(request.url) as wire:
            return await _exchange(
                wire,
                httpx.Request(
                    request.method,
                    request.url,
                    content=request.body,
                    headers=_headers(secret),
                    extensions={"trace": before_each_step, "timeout": timeout},
                ),
                bytes_max=ANSWER_BYTES_MAX,
            )
    except _NotOursAnyMore:
        return NeverSent("leaseRunOut")
    except _NEVER_SENT as error:
        return NeverSent(type(error).__name__)
    except Exception as error:  # noqa: BLE001 - whatever it was, the request may have arrived
        return Silent(type(error).__name__)


class QueryClient:
    """Asks vendors for status over kept connections. It can send nothing but GET.

    Aiohttp carries it, an order of magnitude faster than httpx's pool. A read over a kept connection that
    turns out closed is sent once more over another: reading twice is harmless, so a paid create never
    travels this way.
    """

    def __init__(self) -> None:
        import aiohttp  # noqa: F401 - takes a third of a second: now, not in front of the first answer

        self._wires: dict[bool, httpx.AsyncBaseTransport] = {}

    async def ask(self, binding: Binding, call: HttpCall, *, secret: str) -> HttpAnswer | Silent:
        """One status read. A transport error says nothing about the job (F04)."""
        assert call.method == "GET"
        assert call.json is None
        from aiohttp import ClientError

        url = binding.base_url.rstrip("/") + call.path
        timeout = httpx.Timeout(call.timeout_s, connect=CONNECT_S).as_dict()
        try:
            request = httpx.Request("GET", url, headers=_headers(secret), extensions={"timeout": timeout})
            return await _exchange(self._wire(url), request, bytes_max=QUERY_BYTES_MAX)
        except (httpx.HTTPError, httpx.InvalidURL, ClientError, OSError, ValueError, Outside) as error:
            return Silent(type(error).__name__)

    async def close(self) -> None:
        for wire in self._wires.values():
            await wire.aclose()
        self._wires.clear()

    def _wire(self, url: str) -> httpx.AsyncBaseTransport:
        secure = url.startswith("https:")
        if secure not in self._wires:
            self._wires[secure] = WIRES.query(url)
        return self._wires[secure]


class KeptConnections(httpx.AsyncBaseTransport):
    """Reads over aiohttp, without cookies, proxies or netrc; aiohttp's errors pass as they are."""

    def __init__(self, verify: ssl.SSLContext) -> None:
        import aiohttp

        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=QUERY_CONNECTIONS_MAX, ssl=verify),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            trust_env=False,
        )

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        from aiohttp import ClientTimeout
        from yarl import URL

        assert request.method == "GET"
        timeout = request.extensions["timeout"]
        answer = await self._session.get(
            URL(str(request.url), encoded=True),  # as it was written: a vendor may tell %2C from a comma
            headers=request.headers,
            allow_redirects=False,
            timeout=ClientTimeout(
                total=timeout["read"] * QUERY_PATIENCE,
                sock_connect=timeout["connect"],
                sock_read=timeout["read"],
            ),
        )
        return httpx.Response(
            answer.status, headers=answer.raw_headers, stream=_Body(answer), request=request
        )

    async def aclose(self) -> None:
        await self._session.close()


class _Body(httpx.AsyncByteStream):
    def __init__(self, answer: "aiohttp.ClientResponse") -> None:
        self._answer = answer

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._answer.content.iter_any():
            yield chunk

    async def aclose(self) -> None:
        self._answer.close()


def download(
    url: str, binding: Binding, *, bytes_max: int, resolve: egress.Resolve = egress.resolve_system
) -> Iterator[bytes]:
    """Stream a result from an allowed place; no credential travels with it.

    Raises EgressRefused before any connection, ResultGone for a dead link, MediaInvalid above `bytes_max`,
    Outside for everything that may go better next time.
    """
    for _ in range(REDIRECTS_MAX + 1):
        target = egress.allow(url, binding, resolve=resolve)
        with _fetching(target) as response:
            location = response.headers.get("location")
            if response.is_redirect and location:
                url = urljoin(url, location)
                continue
            yield from _checked_chunks(response, bytes_max)
            return
    raise EgressRefused(
        f"A result of {binding.id} is redirected too often",
        hint="Query the task again for a fresh link",
        binding_id=binding.id,
    )


class _fetching:  # noqa: N801 - used like a function
    """One GET to one checked address, its transport errors told as Outside."""

    def __init__(self, target: egress.Target) -> None:
        address = f"[{target.address}]" if ":" in target.address else target.address
        pinned = target.url._replace(netloc=f"{address}:{target.port}", fragment="").geturl()
        self._client = httpx.Client(
            transport=WIRES.fetch(f"{target.scheme}:"),
            trust_env=False,
            follow_redirects=False,
            timeout=httpx.Timeout(DOWNLOAD_READ_S, connect=CONNECT_S),
        )
        self._request = self._client.build_request(
            "GET",
            pinned,
            headers={"host": target.host_header, "accept-encoding": "identity"},
            extensions={"sni_hostname": target.host},
        )

    def __enter__(self) -> httpx.Response:
        try:
            self._response = self._client.send(self._request, stream=True)
        except (httpx.HTTPError, OSError) as error:
            self._client.close()
            raise _interrupted(error) from error
        return self._response

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        self._response.close()
        self._client.close()
        if isinstance(error, httpx.HTTPError):
            raise _interrupted(error) from error


def _checked_chunks(response: httpx.Response, bytes_max: int) -> Iterator[bytes]:
    if response.status_code in GONE:
        raise ResultGone(
            f"The result link answers {response.status_code}",
            hint="Query the task for a fresh link: shortdrama task query",
            status=response.status_code,
        )
    if response.status_code != 200:
        raise Outside(
            f"The result link answers {response.status_code}",
            hint="Transfer again later: shortdrama task transfer",
            status=response.status_code,
        )
    claimed = response.headers.get("content-length", "")
    length = int(claimed) if claimed.isdecimal() else None
    if length is not None and length > bytes_max:
        raise _too_large(bytes_max)
    size = 0
    for chunk in response.iter_raw(CHUNK_BYTES):
        size += len(chunk)
        if size > bytes_max:
            raise _too_large(bytes_max)
        yield chunk
    if length is not None and size != length:
        raise Outside("The download broke off", hint="Transfer again: shortdrama task transfer", bytes=size)


def _too_large(bytes_max: int) -> MediaInvalid:
    return MediaInvalid(
        "The result is larger than this kind may be", hint="Ask the vendor what it sent", bytes_max=bytes_max
    )


def _interrupted(error: Exception) -> Outside:
    return Outside(
        f"The download was interrupted ({type(error).__name__})",
        hint="It is tried again under the same result: shortdrama task transfer",
    )


async def _exchange(wire: httpx.AsyncBaseTransport, request: httpx.Request, *, bytes_max: int) -> HttpAnswer:
    """One request, one answer. Httpx's client is left out: it only adds redirects, cookies and time."""
    response = await wire.handle_async_request(request)
    try:
        return await _read(response, bytes_max=bytes_max)
    finally:
        await response.aclose()


async def _read(response: httpx.Response, *, bytes_max: int) -> HttpAnswer:
    body = bytearray()
    chunks: AsyncIterator[bytes] = response.aiter_bytes()
    async for chunk in chunks:
        body += chunk
        if len(body) > bytes_max:
            raise Outside(
                "The vendor's answer is too large", hint="Look at the vendor's console", bytes_max=bytes_max
            )
    headers = {name.lower(): value for name, value in response.headers.items()}
    return HttpAnswer(response.status_code, headers, bytes(body))


def _headers(secret: str) -> dict[str, str]:
    return {
        "authorization": f"Bearer {secret}",
        "accept": "application/json",
        "accept-encoding": "identity",
        "content-type": "application/json",
        "user-agent": "shortdrama-pipeline",
    }


def _dump(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode()


def _tls(url: str) -> ssl.SSLContext:
    """One context for all connections: making one takes longer than a request over loopback."""
    return _context() if url.startswith("https:") else _unused_context()


@cache
def _unused_context() -> ssl.SSLContext:
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


@cache
def _answer_sniffio_fast() -> None:
    """Httpcore looks for `sniffio` eight times per request; where it is absent, each look searches all paths.

    Naming it absent once gives the same answer without the search: a quarter of a request's CPU time.
    """
    if "sniffio" not in sys.modules and find_spec("sniffio") is None:
        sys.modules["sniffio"] = None  # type: ignore[assignment]


@cache
def _context() -> ssl.SSLContext:
    return httpx.create_ssl_context(trust_env=False)


def _create_wire(url: str) -> httpx.AsyncBaseTransport:
    return httpx.AsyncHTTPTransport(verify=_tls(url), trust_env=False, retries=0)


def _query_wire(url: str) -> httpx.AsyncBaseTransport:
    return KeptConnections(_tls(url))


def _fetch_wire(url: str) -> httpx.BaseTransport:
    return httpx.HTTPTransport(verify=_tls(url), trust_env=False)


@dataclass(slots=True)
class Wires:
    """What carries the bytes of each kind of request; the simulator puts a vendor without a network there."""

    create: Callable[[str], httpx.AsyncBaseTransport] = _create_wire
    query: Callable[[str], httpx.AsyncBaseTransport] = _query_wire
    fetch: Callable[[str], httpx.BaseTransport] = _fetch_wire


WIRES = Wires()
