"""What carries status reads: its errors are told as silence, and it takes nothing from its surroundings."""

import asyncio
import socket
import ssl
import struct
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from shortdrama_pipeline.providers import transport
from shortdrama_pipeline.providers.ports import Binding, HttpAnswer, HttpCall
from shortdrama_pipeline.providers.transport import NeverSent, QueryClient, Silent, encode, send_paid_create

# A worthless certificate for localhost that no authority ever signed.
CERTIFICATE = """\
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgvXXmjIhkHIzNswxI
llXD4i+n2DzT/0GvM+Sr34QqMUehRANCAAQPZBFc1MfiU68XoCMMX4uTJMWdi4/y
ALRBT8q9mpmRwj9yx4kqquiQbZFOoIYxhGkr0FR6vqgi1hgryCQUHl/f
-----END PRIVATE KEY-----
-----BEGIN CERTIFICATE-----
MIIBnDCCAUGgAwIBAgIUVCQ9zdfis+/GbMt8zYXAf35mLSowCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTIwMTAyMzMzMFoYDzIxMjYxMTA3
MDIzMzMwWjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAAQPZBFc1MfiU68XoCMMX4uTJMWdi4/yALRBT8q9mpmRwj9yx4kqquiQ
bZFOoIYxhGkr0FR6vqgi1hgryCQUHl/fo28wbTAdBgNVHQ4EFgQUeDZFGLrkRD5H
Wrh+Zpzibr5BFZgwHwYDVR0jBBgwFoAUeDZFGLrkRD5HWrh+Zpzibr5BFZgwDwYD
VR0TAQH/BAUwAwEB/zAaBgNVHREEEzARgglsb2NhbGhvc3SHBH8AAAEwCgYIKoZI
zj0EAwIDSQAwRgIhAIU9g+vay3LpHj7dgzIyslZni2f7JGdoLiD/TbxjpDBBAiEA
pluIHl9zYx1ob0quGZZs+3wKtJ5F7Z5lmwmjHtHQXoA=
-----END CERTIFICATE-----
"""
OK = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}"
GET = HttpCall("GET", "/jobs?ids=a", None, 1)


@dataclass
class Line:
    """One connection of a scripted vendor: what it heard, and how to answer."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    heard: list[bytes]

    async def hear(self) -> bytes:
        head = await self.reader.readuntil(b"\r\n\r\n")
        self.heard.append(head)
        return head

    async def say(self, *parts: bytes) -> None:
        for part in parts:
            self.writer.write(part)
            await self.writer.drain()

    def reset(self) -> None:
        """Sever the connection: the peer gets a reset, not an end."""
        raw: socket.socket = self.writer.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()


Script = Callable[[Line], Awaitable[None]]


@dataclass
class Seen:
    """What came back, and what arrived."""

    answers: list[HttpAnswer | Silent]
    heads: list[bytes] = field(default_factory=list)
    connections: int = 0

    @property
    def silence(self) -> str:
        (answer,) = self.answers
        assert isinstance(answer, Silent), answer
        return answer.why


def binding(base_url: str) -> Binding:
    return Binding("v", "image", "any", "m", base_url, "file:/nowhere", (), True, 600, 16)


def ask(
    script: Script, *, times: int = 1, scheme: str = "http", tls: ssl.SSLContext | None = None, path: str = ""
) -> Seen:
    """Ask a scripted vendor `times` times, one after the other, over one client."""
    seen = Seen([])

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.connections += 1
        try:
            await script(Line(reader, writer, seen.heads))
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def run() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
        port = server.sockets[0].getsockname()[1]
        client = QueryClient()
        call = HttpCall(GET.method, path or GET.path, None, GET.timeout_s)
        for _ in range(times):
            seen.answers.append(await client.ask(binding(f"{scheme}://localhost:{port}"), call, secret="key"))
        await client.close()
        server.close()

    asyncio.run(run())
    return seen


def ask_at(base_url: str) -> HttpAnswer | Silent:
    async def run() -> HttpAnswer | Silent:
        client = QueryClient()
        try:
            return await client.ask(binding(base_url), GET, secret="key")
        finally:
            await client.close()

    return asyncio.run(run())


async def answer_all(line: Line) -> None:
    while True:
        await line.hear()
        await line.say(OK)


# --- answers ------------------------------------------------------------------------------------------


def test_an_answer_comes_back_with_status_headers_in_lower_case_and_body() -> None:
    async def script(line: Line) -> None:
        await line.hear()
        await line.say(b"HTTP/1.1 429 Too Many\r\nRetry-After: 7\r\nContent-Length: 4\r\n\r\nbusy")

    (answer,) = ask(script).answers
    assert isinstance(answer, HttpAnswer)
    assert (answer.status, answer.headers["retry-after"], answer.body) == (429, "7", b"busy")


def test_a_body_in_chunks_is_put_together() -> None:
    async def script(line: Line) -> None:
        await line.hear()
        await line.say(
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", b"2\r\n[1\r\n", b"3\r\n,2]\r\n0\r\n\r\n"
        )

    (answer,) = ask(script).answers
    assert isinstance(answer, HttpAnswer)
    assert answer.body == b"[1,2]"


def test_connections_are_kept_between_reads() -> None:
    seen = ask(answer_all, times=3)
    assert all(isinstance(each, HttpAnswer) for each in seen.answers)
    assert seen.connections == 1


def test_the_path_and_its_encoding_arrive_as_they_were_written() -> None:
    seen = ask(answer_all, path="/jobs?ids=a%2Cb,c&x=%20")
    assert seen.heads[0].split(b"\r\n")[0] == b"GET /jobs?ids=a%2Cb,c&x=%20 HTTP/1.1"


def test_a_redirect_is_an_answer_and_is_not_followed() -> None:
    async def script(line: Line) -> None:
        await line.hear()
        await line.say(b"HTTP/1.1 302 Found\r\nlocation: /elsewhere\r\ncontent-length: 0\r\n\r\n")
        await answer_all(line)

    seen = ask(script)
    (answer,) = seen.answers
    assert isinstance(answer, HttpAnswer)
    assert answer.status == 302
    assert len(seen.heads) == 1


# --- silence ------------------------------------------------------------------------------------------


def test_a_refused_connection_is_silence() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    assert ask_at(f"http://127.0.0.1:{port}") == Silent("ClientConnectorError")


def test_a_name_nobody_knows_is_silence() -> None:
    assert ask_at("http://vendor.invalid") == Silent("ClientConnectorDNSError")


def test_an_address_that_is_none_is_silence() -> None:
    assert isinstance(ask_at("http://[nonsense"), Silent)


def test_a_vendor_that_does_not_answer_in_time_is_silence() -> None:
    async def script(line: Line) -> None:
        await line.hear()
        await asyncio.sleep(5)

    started = time.monotonic()
    assert ask(script).silence == "SocketTimeoutError"
    assert time.monotonic() - started < 4


def test_a_connection_severed_before_the_answer_is_silence() -> None:
    async def script(line: Line) -> None:
        await line.hear()
        line.reset()

    assert ask(script).silence in {"ClientOSError", "ServerDisconnectedError"}


@pytest.mark.parametrize("severed", [True, False], ids=["reset", "closed"])
def test_a_body_that_breaks_off_is_silence_and_never_half_an_answer(severed: bool) -> None:
    async def script(line: Line) -> None:
        await line.hear()
        await line.say(b'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"jobs":')
        await asyncio.sleep(0.05)
        if severed:
            line.reset()

    assert ask(script).silence in {"ClientPayloadError", "ClientOSError"}


def test_a_chunked_body_without_its_end_is_silence() -> None:
    async def script(line: Line) -> None:
        await line.hear()
        await line.say(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n")

    assert ask(script).silence == "ClientPayloadError"


def test_an_answer_that_only_trickles_ends_in_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "QUERY_PATIENCE", 1)

    async def script(line: Line) -> None:
        await line.hear()
        await line.say(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n")
        for _ in range(30):
            await line.say(b"x")
            await asyncio.sleep(0.1)

    assert ask(script).silence == "TimeoutError"


def test_an_answer_that_is_not_http_is_silence() -> None:
    async def script(line: Line) -> None:
        await line.hear()
        await line.say(b"220 mail.example ESMTP\r\n\r\n")

    assert ask(script).silence == "ClientResponseError"


def test_a_body_above_the_bound_is_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "QUERY_BYTES_MAX", 1000)

    async def script(line: Line) -> None:
        await line.hear()
        await line.say(b"HTTP/1.1 200 OK\r\ncontent-length: 1001\r\n\r\n", b"x" * 1001)

    assert ask(script).silence == "Outside"


def test_after_a_silence_the_next_read_gets_a_connection_of_its_own() -> None:
    lines = 0

    async def script(line: Line) -> None:
        nonlocal lines
        lines += 1
        await line.hear()
        if lines == 1:
            await line.say(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{")
            return
        await line.say(OK)

    first, second = ask(script, times=2).answers
    assert isinstance(first, Silent)
    assert isinstance(second, HttpAnswer)


# --- surroundings -------------------------------------------------------------------------------------


def test_proxies_and_netrc_of_the_surroundings_are_not_used(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine localhost login thief password stolen\n")
    netrc.chmod(0o600)
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.setenv("NETRC", str(netrc))
    seen = ask(answer_all)
    assert isinstance(seen.answers[0], HttpAnswer)
    assert headers_of(seen.heads[0])["authorization"] == "Bearer key"


def test_a_cookie_one_answer_sets_does_not_travel_with_the_next_read() -> None:
    async def script(line: Line) -> None:
        while True:
            await line.hear()
            await line.say(OK.replace(b"content-type", b"set-cookie: a=b; Path=/\r\ncontent-type"))

    seen = ask(script, times=2)
    assert "cookie" not in headers_of(seen.heads[1])


def test_a_certificate_nobody_vouches_for_is_silence(tmp_path: Path) -> None:
    assert ask(answer_all, scheme="https", tls=serving(tmp_path)).silence == "ClientConnectorCertificateError"


def test_a_certificate_that_is_vouched_for_is_accepted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    context = ssl.create_default_context(cadata=CERTIFICATE)
    monkeypatch.setattr(transport, "_context", lambda: context)
    (answer,) = ask(answer_all, scheme="https", tls=serving(tmp_path)).answers
    assert isinstance(answer, HttpAnswer)


# --- what may be sent ---------------------------------------------------------------------------------


def test_nothing_but_a_plain_read_can_be_sent_this_way() -> None:
    async def run() -> None:
        for call in (HttpCall("POST", "/jobs", None, 1), HttpCall("GET", "/jobs", {"paid": True}, 1)):
            with pytest.raises(AssertionError):
                await QueryClient().ask(binding("http://127.0.0.1:9"), call, secret="key")

    asyncio.run(run())


def test_a_paid_create_over_the_other_transport_is_not_sent_again_when_it_is_severed() -> None:
    heard: list[bytes] = []

    async def run() -> HttpAnswer | NeverSent | Silent:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            line = Line(reader, writer, heard)
            await line.hear()
            line.reset()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        base_url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        request = encode(binding(base_url), HttpCall("POST", "/jobs", {}, 1))
        answer = await send_paid_create(request, secret="key", may_send=lambda: True)
        server.close()
        return answer

    assert isinstance(asyncio.run(run()), Silent)
    assert len(heard) == 1


def headers_of(head: bytes) -> Mapping[str, str]:
    lines = head.decode().split("\r\n")[1:]
    return {name.lower(): value.strip() for name, _, value in (each.partition(":") for each in lines)}


def serving(folder: Path) -> ssl.SSLContext:
    file = folder / "certificate.pem"
    file.write_text(CERTIFICATE)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    return context
