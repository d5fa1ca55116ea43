"""Answers no honest server gives: dropped connections, cut bodies, pages instead of JSON."""

import asyncio
from collections.abc import Callable

import uvicorn
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from shortdrama_pipeline.rehearsal.faults import Fault

PAGE = "<!doctype html><title>502</title><h1>Bad gateway</h1><p>The rehearsal stage door is shut.</p>"
_TRANSPORTS: dict[tuple[str, int], asyncio.Transport] = {}


class DroppableProtocol(H11Protocol):
    """Keeps each connection's transport by its client's address, so that an answer can drop it."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if self.client is not None:
            _TRANSPORTS[self.client] = transport

    def connection_lost(self, exc: Exception | None) -> None:
        if self.client is not None:
            _TRANSPORTS.pop(self.client, None)
        super().connection_lost(exc)


class Dropped(Response):
    """Nothing comes back: the connection is reset."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - ASGI's form
        transport = _TRANSPORTS.get(tuple(scope["client"]))
        if transport is not None:
            transport.abort()
        await asyncio.sleep(0.01)  # lets the server notice, so that it sends no answer of its own


class Cut(Response):
    """The head promises the whole body; half of it comes, then the connection closes."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - ASGI's form
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        half = bytes(self.body[: len(self.body) // 2])
        await send({"type": "http.response.body", "body": half, "more_body": True})
        transport = _TRANSPORTS.get(tuple(scope["client"]))
        if transport is not None:
            transport.close()
        await asyncio.sleep(0.05)


def cut(answer: Response) -> Cut:
    """Return the same answer, cut in the middle."""
    return Cut(bytes(answer.body), status_code=answer.status_code, media_type=answer.media_type)


def server_error(fault: Fault) -> JSONResponse:
    status = fault.integer("status", 500)
    return JSONResponse({"error": {"code": "server_error", "message": "Scripted"}}, status_code=status)


def html(fault: Fault) -> HTMLResponse:
    return HTMLResponse(PAGE, status_code=fault.integer("status", 200))


def of_fault(fault: Fault, whole: Response) -> Response:
    """Return the answer that `fault` puts in place of the whole one."""
    kinds: dict[str, Callable[[], Response]] = {
        "drop": Dropped,
        "error": lambda: server_error(fault),
        "html": lambda: html(fault),
        "no_id": lambda: JSONResponse({"status": "queued"}, status_code=whole.status_code),
        "empty": lambda: Response(b"", status_code=200),
        "malformed": lambda: Response(bytes(whole.body[:-1]) + b",,", media_type="application/json"),
        "truncated": lambda: cut(whole),
    }
    return next(make() for name, make in kinds.items() if name in fault.name)


def configuration(app: object, *, port: int) -> uvicorn.Config:
    """Return uvicorn's settings for this server: loopback, quiet, quick to stop."""
    return uvicorn.Config(
        app,  # type: ignore[arg-type]
        host="127.0.0.1",
        port=port,
        http=DroppableProtocol,
        ws="none",
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=3,
    )
