"""The server as a client meets it: four kinds, the book, the look-up, restarts."""

import base64
import hashlib
import io
import signal
import threading
import wave
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from PIL import Image

from shortdrama_pipeline.rehearsal import serving
from shortdrama_pipeline.rehearsal.book import read_entries
from shortdrama_pipeline.rehearsal.prices import price_micros
from tests.rehearsal_.conftest import MODEL, PARAMS, PATHS, Desk, open_desk


def test_a_server_tells_what_it_has_spent_itself(tmp_path: Path) -> None:
    assert serving.cpu_s(tmp_path) == 0
    running = serving.start(tmp_path)
    try:
        assert 0 < serving.cpu_s(tmp_path) < 60
    finally:
        running.stop()


def test_an_outline_is_answered_at_once(desk: Desk) -> None:
    answer = desk.post("text", "at-once-text").json()
    assert answer["output"]["title"]
    assert answer["charged_micros"] == price_micros("text", PARAMS["text"])


def test_an_image_is_answered_as_png_with_its_seed(desk: Desk) -> None:
    answer = desk.post("image", "at-once-image").json()
    (picture,) = answer["images"]
    assert picture["seed"] == 5
    assert Image.open(io.BytesIO(base64.b64decode(picture["base64"]))).size == (96, 128)


def test_speech_is_answered_as_wav_with_its_length(desk: Desk) -> None:
    audio = desk.post("speech", "at-once-speech").json()["audio"]
    with wave.open(io.BytesIO(base64.b64decode(audio["base64"]))) as sound:
        assert sound.getframerate() == 48_000
        assert abs(sound.getnframes() / 48 - audio["duration_ms"]) < 1


def test_a_video_is_a_job_that_ends_with_a_link(desk: Desk) -> None:
    answer = desk.post("video", "a-job")
    assert answer.status_code == 202
    ended = desk.ended(answer.json()["id"])
    result = ended["result"]
    assert isinstance(result, dict)
    assert result["duration_ms"] == 250
    assert not desk.book("a-job")[0]["delivered"]
    assert httpx.get(result["url"], trust_env=False).content[4:8] == b"ftyp"
    desk.until(lambda: bool(desk.book("a-job")[0]["delivered"]))


def test_what_is_charged_is_the_estimate(desk: Desk) -> None:
    for kind, params in PARAMS.items():
        desk.post(kind, f"estimate-{kind}")
        (entry,) = desk.book(f"estimate-{kind}")
        assert entry["charged"] == {"micros": price_micros(kind, params), "currency": "XRH"}


def test_a_second_post_of_one_client_is_a_second_purchase(desk: Desk) -> None:
    for _ in range(2):
        desk.post("image", "bought-twice")
    assert len({each["request_id"] for each in desk.book("bought-twice")}) == 2
    found = desk.http.get("/v1/requests", params={"client_id": "bought-twice"}).json()["requests"]
    assert len(found) == 2


def test_the_look_up_brings_a_synchronous_answer_again(desk: Desk) -> None:
    answer = desk.post("speech", "again").json()
    (found,) = desk.http.get("/v1/requests", params={"client_id": "again"}).json()["requests"]
    assert found["request_id"] == answer["request_id"]
    assert found["audio"] == answer["audio"]


def test_the_look_up_waits_for_what_is_just_arriving(desk: Desk) -> None:
    desk.script({"fault": "slow_before_accept", "seconds": 0.8, "match": "arriving"})
    with ThreadPoolExecutor(1) as pool:
        posted = pool.submit(desk.post, "video", "arriving")
        threading.Event().wait(0.3)
        found = desk.http.get("/v1/requests", params={"client_id": "arriving"}).json()["requests"]
        assert [each["id"] for each in found] == [posted.result().json()["id"]]


def test_an_unknown_id_is_left_out_of_a_query(desk: Desk) -> None:
    assert desk.http.get("/v1/videos", params={"ids": "rv_nobody"}).json() == {"videos": []}


def test_a_wrong_key_is_refused_and_booked_as_not_accepted(desk: Desk) -> None:
    body = {"client_id": "no-key", "model": MODEL, "params": PARAMS["image"]}
    answer = httpx.post(
        desk.running.base_url + PATHS["image"],
        json=body,
        headers={"Authorization": "Bearer wrong"},
        trust_env=False,
    )
    assert (answer.status_code, answer.json()["error"]["code"]) == (401, "bad_key")
    (entry,) = desk.book("no-key")
    assert (entry["accepted"], entry["charged"]) == (False, {"micros": 0, "currency": "XRH"})


@pytest.mark.parametrize(
    ("kind", "change", "word"),
    [
        ("speech", {"voice": "nobody"}, "voice"),
        ("speech", {"text": "   "}, "text"),
        ("video", {"frame_rate": [0, 1]}, "frame_rate"),
        ("video", {"width": 91}, "width"),
        ("image", {"width": 9}, "width"),
        ("text", {"task": "poem"}, "task"),
    ],
)
def test_what_cannot_be_made_is_refused_by_its_field(
    desk: Desk, kind: str, change: dict[str, object], word: str
) -> None:
    answer = desk.post(kind, "unmakable", params=PARAMS[kind] | change)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid_params")
    assert word in answer.json()["error"]["message"]


def test_media_must_be_what_their_name_says(desk: Desk) -> None:
    media = {hashlib.sha256(b"one").hexdigest(): base64.b64encode(b"other").decode()}
    assert desk.post("image", "media", media=media).json()["error"]["code"] == "invalid_params"


def test_queries_are_quick_while_films_are_made(desk: Desk) -> None:
    films = [desk.post("video", f"busy-{index}").json()["id"] for index in range(6)]
    for _ in range(5):
        assert desk.http.get("/v1/health").elapsed.total_seconds() < 1
    assert all(desk.ended(each)["status"] == "succeeded" for each in films)


def test_a_killed_server_finishes_its_jobs_under_their_old_ids(home: Path) -> None:
    with open_desk(serving.start(home)) as desk:
        desk.script({"fault": "no_id", "match": "elsewhere", "times": 7})
        first = desk.post("video", "kept").json()["id"]
        image = desk.post("image", "kept-image").json()
        desk.running.process.send_signal(signal.SIGKILL)
        desk.running.process.wait()
    assert [each.accepted for each in read_entries(home / "book.sqlite")] == [True, True]
    with open_desk(serving.start(home)) as again:
        assert again.running.base_url == desk.running.base_url
        assert again.ended(first)["status"] == "succeeded"
        assert again.http.get("/v1/rehearsal/faults").json()["rules"][0]["times_left"] == 7
        (found,) = again.http.get("/v1/requests", params={"client_id": "kept-image"}).json()["requests"]
        assert found["images"] == image["images"]
        assert len(again.http.get("/v1/rehearsal/book").json()["entries"]) == 2


def test_one_home_is_served_once(desk: Desk) -> None:
    home = Path(str(desk.running.process.args[3]))  # type: ignore[index]
    with pytest.raises(serving.AlreadyServing):
        serving.serve(home)
