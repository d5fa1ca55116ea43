"""A loopback vendor that speaks the rehearsal protocol, keeps a log, and misbehaves as scripted.

Each paid create takes the next `Fault` of its kind, if one is scripted. `accepts` decides whether the
vendor's book has the request whatever is answered: "failed, and charged all the same" is one line.
"""

import base64
import functools
import io
import json
import struct
import threading
import time
import wave
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any
from urllib.parse import parse_qs, urlsplit

import av
import numpy as np
from PIL import Image

Json = dict[str, Any]
WIDTH, HEIGHT, FRAMES = 90, 160, 24
COST = {"text": 2_000, "images": 10_000, "speech": 1_000, "videos": 100_000}


@dataclass(frozen=True, slots=True)
class Fault:
    """How one create misbehaves. `answer` None is the honest answer."""

    accepts: bool = True
    status: int = 200
    answer: bytes | str | None = None
    headers: tuple[tuple[str, str], ...] = ()
    pause_s: float = 0
    then: str = ""  # "drop": close without an answer; "stall": keep silent; "cut": half a body


def error(status: int, code: str, *, accepts: bool = False, **headers: str) -> Fault:
    """An error answer of the protocol."""
    body = json.dumps({"error": {"code": code, "message": f"vendor text about {code}"}})
    return Fault(accepts=accepts, status=status, answer=body, headers=tuple(headers.items()))


@dataclass(slots=True)
class Seen:
    """One request as it arrived."""

    method: str
    path: str
    body: Json
    headers: dict[str, str]
    at: float


@dataclass(slots=True)
class Job:
    """What the vendor made, or makes, for one request."""

    kind: str
    client_id: str
    external_id: str
    body: Json
    status: str = "succeeded"
    answer: Json = field(default_factory=dict)
    queries: int = 0
    received_at: str = ""


class FakeVendor:
    """Start with `serving()`. Everything is readable from the test's thread."""

    def __init__(self) -> None:
        self.seen: list[Seen] = []
        self.jobs: dict[str, Job] = {}
        self.faults: dict[str, list[Fault]] = {}
        self.on_post: list[Callable[[Seen], None]] = []
        self.on_query: Callable[[Job], Json | None] | None = None
        self.query_faults: list[Fault] = []
        self.file_faults: list[Fault] = []
        self.polls_until_done = 1
        self.list_fields = {"id", "client_id", "model", "seed", "received_at", "status"}
        self.list_page = 100
        self.key = ""
        self.port = 0
        self.files: dict[str, bytes] = {}
        self.size = (WIDTH, HEIGHT)
        self.as_asked = (
            False  # pictures of the size asked for, films of half of it and of the length asked for
        )
        self._lock = threading.Lock()
        self._closing = threading.Event()

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def script(self, kind: str, *faults: Fault) -> None:
        """Queue faults for the next creates of `text`, `images`, `speech` or `videos`."""
        self.faults.setdefault(kind, []).extend(faults)

    def posts(self, kind: str = "") -> list[Seen]:
        return [each for each in self.seen if each.method == "POST" and kind in each.path]

    def gets(self, path: str = "") -> list[Seen]:
        return [each for each in self.seen if each.method == "GET" and path in each.path]

    @contextmanager
    def serving(self) -> Iterator["FakeVendor"]:
        vendor = self

        class Handler(_Handler):
            server_vendor = vendor

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 512

            def handle_error(self, *_: object) -> None:
                """A client that went away is part of the tests."""

        server = Server(("127.0.0.1", self.port), Handler)
        self.port = server.server_address[1]
        self._closing.clear()
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._closing.set()
            server.shutdown()
            server.server_close()
            thread.join(timeout=5)

    # --- what the handler asks ----------------------------------------------------------------------

    def create(self, seen: Seen, kind: str) -> tuple[Fault, Job | None]:
        with self._lock:
            waiting = self.faults.get(kind, [])
            fault = waiting.pop(0) if waiting else Fault()
        for hook in self.on_post:
            hook(seen)
        if not fault.accepts:
            return fault, None
        with self._lock:
            number = len(self.jobs) + 1
            external_id = f"rv_{number}" if kind == "videos" else f"rq_{number}"
            job = Job(kind, str(seen.body.get("client_id")), external_id, seen.body, received_at=now())
            self.jobs[external_id] = job
        job.answer = self._answer(job)
        if kind == "videos":
            job.status = "queued"
        return fault, job

    def _answer(self, job: Job) -> Json:
        charged = {"charged_micros": COST[job.kind], "currency": "XRH"}
        seed = int(job.body.get("params", {}).get("seed") or len(self.jobs))
        match job.kind:
            case "text":
                return {"request_id": job.external_id, "output": outline(), **charged}
            case "images":
                asked = job.body["params"] if self.as_asked else {}
                png = picture(seed, asked.get("width", self.size[0]), asked.get("height", self.size[1]))
                image = {"slot": 0, "media_type": "image/png", "base64": _b64(png), "seed": seed}
                return {"request_id": job.external_id, "images": [image], **charged}
            case "speech":
                audio = {"media_type": "audio/wav", "base64": _b64(sound(seed)), "duration_ms": 500}
                return {"request_id": job.external_id, "audio": audio, **charged}
            case _:
                return {"id": job.external_id, "status": "queued"}

    def query(self, external_id: str) -> Json:
        job = self.jobs.get(external_id)
        if job is None:
            return {"id": external_id, "status": "unheard-of"}
        job.queries += 1
        if self.on_query is not None:
            answer = self.on_query(job)
            if answer is not None:
                return {"id": external_id, "charged_micros": 0, "currency": "XRH", "result": None} | answer
        if job.queries < self.polls_until_done:
            return {"id": external_id, "status": "running", "progress": 40, "result": None, "error": None}
        return self.finished(job)

    def finished(self, job: Job) -> Json:
        token = f"{job.external_id}-{len(self.files)}"
        seed = int(job.body.get("params", {}).get("seed") or 1)
        asked = job.body["params"] if self.as_asked else {}
        width, height = asked.get("width", 2 * WIDTH) // 2, asked.get("height", 2 * HEIGHT) // 2
        frames = asked.get("duration_frames", FRAMES)
        self.files[token] = film(seed % 16, width, height, frames)
        url = f"{self.base_url}/v1/files/{token}"
        result = {"url": url, "media_type": "video/mp4", "duration_ms": frames * 1000 // 24}
        job.status = "succeeded"
        return {
            "id": job.external_id,
            "status": "succeeded",
            "progress": 100,
            "result": result,
            "error": None,
            "charged_micros": COST["videos"],
            "currency": "XRH",
        }

    def lookup(self, client_id: str) -> list[Json]:
        found = [each for each in self.jobs.values() if each.client_id == client_id]
        kinds = {"videos": "video", "images": "image", "speech": "speech", "text": "text"}
        return [
            each.answer
            | {
                "client_id": client_id,
                "kind": kinds[each.kind],
                "id": each.external_id,
                "status": each.status,
            }
            for each in found
        ]

    def list_jobs(self, asked: dict[str, list[str]]) -> Json:
        """The list by time, a page at a time; `list_fields` says what it tells of a job."""
        since, until = asked["since"][0], asked["until"][0]
        jobs = [
            {
                "id": each.external_id,
                "client_id": each.client_id,
                "model": each.body.get("model"),
                "seed": each.body.get("params", {}).get("seed"),
                "received_at": each.received_at,
                "status": each.status,
            }
            for each in self.jobs.values()
            if each.kind == "videos" and since <= each.received_at <= until
        ]
        start = int(asked.get("after", ["0"])[0])
        page = jobs[start : start + self.list_page]
        more = start + len(page) < len(jobs)
        shown = [{name: each[name] for name in each if name in self.list_fields} for each in page]
        return {"jobs": shown, "next": str(start + len(page)) if more else None}

    def wait_closing(self, seconds: float) -> None:
        self._closing.wait(seconds)


class _Handler(BaseHTTPRequestHandler):
    server_vendor: FakeVendor
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    disable_nagle_algorithm = True

    def log_message(self, *_: object) -> None:
        """The log is `seen`."""

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        seen = self._note(json.loads(raw))
        kind = seen.path.rsplit("/", 1)[-1]
        if self._wrong_key(seen):
            return
        fault, job = self.server_vendor.create(seen, kind)
        honest = job.answer if job else {"error": {"code": "not_made", "message": ""}}
        status = (
            fault.status if fault.answer is not None or job is None else (202 if kind == "videos" else 200)
        )
        self._send(fault, status, honest)

    def do_GET(self) -> None:
        seen = self._note({})
        vendor = self.server_vendor
        parts = urlsplit(self.path)
        asked = parse_qs(parts.query)
        if parts.path.startswith("/v1/files/"):
            self._send_file(parts.path.rsplit("/", 1)[-1])
            return
        if self._wrong_key(seen):
            return
        fault = vendor.query_faults.pop(0) if vendor.query_faults else Fault()
        if parts.path == "/v1/videos":
            body: Json = {"videos": [vendor.query(each) for each in asked["ids"][0].split(",")]}
        elif parts.path == "/v1/jobs":
            body = vendor.list_jobs(asked)
        elif parts.path == "/v1/requests":
            body = {"requests": vendor.lookup(asked["client_id"][0])}
        else:
            body = {"ok": True}
        self._send(fault, fault.status, body)

    def _note(self, body: Json) -> Seen:
        headers = {name.lower(): value for name, value in self.headers.items()}
        seen = Seen(self.command, self.path, body, headers, time.monotonic())
        self.server_vendor.seen.append(seen)
        return seen

    def _wrong_key(self, seen: Seen) -> bool:
        wanted = self.server_vendor.key
        if not wanted or seen.headers.get("authorization") == f"Bearer {wanted}":
            return False
        self._send(error(401, "bad_key"), 401, {})
        return True

    def _send(self, fault: Fault, status: int, honest: Json) -> None:
        if fault.pause_s:
            self.server_vendor.wait_closing(fault.pause_s)
        body = fault.answer if fault.answer is not None else json.dumps(honest)
        self._write(fault, status, body.encode() if isinstance(body, str) else body, "application/json")

    def _send_file(self, token: str) -> None:
        vendor = self.server_vendor
        fault = vendor.file_faults.pop(0) if vendor.file_faults else Fault()
        data = vendor.files.get(token)
        if fault.answer is None and data is None:
            self._write(Fault(), 404, b"gone", "text/plain")
            return
        body = fault.answer if fault.answer is not None else data or b""
        self._write(fault, fault.status, body.encode() if isinstance(body, str) else body, "video/mp4")

    def _write(self, fault: Fault, status: int, body: bytes, media_type: str) -> None:
        if fault.then == "drop":
            self.close_connection = True
            return
        if fault.then == "stall":
            self.server_vendor.wait_closing(30)
            self.close_connection = True
            return
        self.send_response(status)
        self.send_header("content-type", media_type)
        for name, value in fault.headers:
            self.send_header(name.replace("_", "-"), value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        if fault.then == "cut":
            self.wfile.write(body[: len(body) // 2])
            self.close_connection = True
            return
        self.wfile.write(body)


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


# --- small real media -------------------------------------------------------------------------------


def outline() -> Json:
    return {
        "title": "雨夜",
        "logline": "一封信改变一切",
        "language": "zh-CN",
        "synopsis": "一个雨夜，一封信。",
        "beats": ["开端", "转折", "结局"],
        "characters": [{"id": "c1", "name": "林夏", "description": "记者"}],
    }


@functools.cache
def picture(seed: int, width: int = WIDTH, height: int = HEIGHT) -> bytes:
    out = io.BytesIO()
    colour = (seed * 37 % 256, seed * 91 % 256, seed // 256 % 256)
    Image.new("RGB", (width, height), colour).save(out, "PNG")
    return out.getvalue()


@functools.cache
def sound(seed: int) -> bytes:
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(48_000)
        file.writeframes(struct.pack("<h", seed % 3000) * 24_000)
    return out.getvalue()


@functools.cache
def film(seed: int, width: int = WIDTH, height: int = HEIGHT, frames: int = FRAMES) -> bytes:
    with NamedTemporaryFile(suffix=".mp4") as file:
        with av.open(file.name, "w") as out:
            stream = out.add_stream("libx264", rate=24, options={"preset": "ultrafast"})
            stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
            for number in range(frames):
                shade = np.full((height, width, 3), (seed * 16 + number * 4) % 256, dtype=np.uint8)
                frame = av.VideoFrame.from_ndarray(shade, format="rgb24")
                for packet in stream.encode(frame):
                    out.mux(packet)
            for packet in stream.encode():
                out.mux(packet)
        return Path(file.name).read_bytes()


def _b64(data: bytes) -> str:
    return base64.b64encode(data).decode()
