"""One real server process for the tests that only ask; a fresh one where its life is the matter."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest

from shortdrama_pipeline.rehearsal import serving

MODEL = "animatic-1"
SHOT = {
    "id": "s1-01",
    "size": "medium",
    "move": "push_in",
    "characters": ["林晚"],
    "place": "医院走廊",
    "time_of_day": "夜",
    "action": "林晚走来",
    "line": "你还要瞒我多久？",
    "speaker": "林晚",
}
PARAMS: dict[str, dict[str, object]] = {
    "text": {"task": "outline", "language": "zh-CN", "brief": {"genre": "豪门"}, "seed": 1},
    "image": {"subject_kind": "prop", "title": "手机", "width": 96, "height": 128, "seed": 5},
    "speech": {"text": "你好。", "voice": "female-1", "language": "zh-CN"},
    "video": {"width": 90, "height": 160, "frame_rate": [24, 1], "duration_frames": 6, "shot": SHOT},
}
PATHS = {"text": "/v1/text", "image": "/v1/images", "speech": "/v1/speech", "video": "/v1/videos"}


@dataclass(frozen=True, slots=True)
class Desk:
    """A client of one server."""

    running: serving.Running
    http: httpx.Client = field(repr=False)

    def post(self, kind: str, client_id: str, **changes: object) -> httpx.Response:
        body = {"client_id": client_id, "model": MODEL, "params": PARAMS[kind]} | changes
        return self.http.post(PATHS[kind], json=body)

    def script(self, *rules: dict[str, object]) -> None:
        self.http.post("/v1/rehearsal/faults", json={"rules": list(rules)}).raise_for_status()

    def book(self, client_id: str) -> list[dict[str, object]]:
        entries = self.http.get("/v1/rehearsal/book").json()["entries"]
        return [each for each in entries if each["client_id"] == client_id]

    def ended(self, video_id: str) -> dict[str, object]:
        """Ask until the video has ended."""

        def item() -> dict[str, object]:
            (found,) = self.http.get("/v1/videos", params={"ids": video_id}).json()["videos"]
            return dict(found)

        self.until(lambda: item()["status"] not in ("queued", "running"))
        return item()

    @staticmethod
    def until(is_so: Callable[[], bool]) -> None:
        pause = threading.Event()
        for _ in range(600):
            if is_so():
                return
            pause.wait(0.05)
        raise AssertionError("It did not come to pass")


@contextmanager
def open_desk(running: serving.Running) -> Iterator[Desk]:
    """Speak to a server we started, and end it."""
    headers = {"Authorization": f"Bearer {running.key}"}
    try:
        with httpx.Client(base_url=running.base_url, headers=headers, timeout=60, trust_env=False) as client:
            yield Desk(running, client)
    finally:
        running.stop()


@pytest.fixture(scope="session")
def _served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    with open_desk(serving.start(tmp_path_factory.mktemp("rehearsal"))) as desk:
        yield desk


@pytest.fixture
def desk(_served: Desk) -> Desk:
    """The server, without any fault in force."""
    _served.script()
    return _served


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "rehearsal"
