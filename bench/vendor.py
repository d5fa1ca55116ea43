"""A loopback vendor that costs next to nothing per request, in a process of its own.

POST /jobs {"client_id"} -> {"id"}; GET /jobs?ids=a,b -> {"jobs": {id: status}}; GET /stats -> counts and
arrival times (monotonic ns). A job answers `running` until it was asked `--polls` times.
"""

import asyncio
import json
import sys
import time
from collections.abc import Iterator


class Book:
    """What arrived."""

    def __init__(self, polls: int) -> None:
        self.polls = polls
        self.arrived: dict[str, int] = {}
        self.asked: dict[str, int] = {}
        self.posts = 0
        self.gets = 0
        self.twice = 0


class Line(asyncio.Protocol):
    """One connection, HTTP/1.1 kept alive."""

    def __init__(self, book: Book) -> None:
        self._book = book
        self._buffer = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        assert self._transport is not None
        for answer in self._answers():
            self._transport.write(answer)

    def _answers(self) -> Iterator[bytes]:
        while (end := self._buffer.find(b"\r\n\r\n")) >= 0:
            head = self._buffer[:end]
            lower = head.lower()
            at = lower.find(b"content-length:")
            length = int(lower[at + 15 :].split(b"\r\n", 1)[0]) if at >= 0 else 0
            if len(self._buffer) < end + 4 + length:
                return
            body = self._buffer[end + 4 : end + 4 + length]
            self._buffer = self._buffer[end + 4 + length :]
            yield self._answer(head, body)

    def _answer(self, head: bytes, body: bytes) -> bytes:
        book = self._book
        if head.startswith(b"POST"):
            name = json.loads(body)["client_id"]
            book.posts += 1
            book.twice += name in book.arrived
            book.arrived[name] = time.monotonic_ns()
            return _response({"id": f"job-{name}"})
        path = head.split(b" ", 2)[1].decode()
        if path.startswith("/stats"):
            return _response(
                {"posts": book.posts, "gets": book.gets, "twice": book.twice, "arrived": book.arrived}
            )
        book.gets += 1
        states = {}
        for each in path.partition("ids=")[2].split(","):
            book.asked[each] = book.asked.get(each, 0) + 1
            states[each] = "succeeded" if book.asked[each] >= book.polls else "running"
        return _response({"jobs": states})


def _response(body: object) -> bytes:
    text = json.dumps(body).encode()
    return b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b" % (
        len(text),
        text,
    )


async def serve(polls: int) -> None:
    book = Book(polls)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Line(book), "127.0.0.1", 0, backlog=4096)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1])))
