"""The type and length of a file come from its bytes; what is broken never becomes media (F07, S8)."""

import struct
import zlib
from pathlib import Path

import pytest
from PIL import Image

from shortdrama_pipeline.errors import MediaInvalid
from shortdrama_pipeline.media.probe import Probe, probe, require
from shortdrama_pipeline.media.tools import run_ffmpeg
from shortdrama_pipeline.rules.states import MediaKind
from tests.media.making import clip, voice


def test_a_film_is_measured(tmp_path: Path) -> None:
    film = clip(tmp_path / "film.mp4", rate="25", frames=50, sound=22_050)
    found = probe(film.rename(tmp_path / "wrong-name.png"))
    assert found["media_type"] == "video/mp4"
    assert (found["width"], found["height"], found["rotation"]) == (108, 192, 0)
    assert (found["frame_rate"], found["frames"], found["duration_ms"]) == ([25, 1], 50, 2000)
    assert (found["has_audio"], found["sample_rate"], found["channels"]) == (True, 22_050, 1)
    assert (found["black"], found["frozen"]) == (False, False)


def test_a_turned_film_is_measured_as_it_is_shown(tmp_path: Path) -> None:
    plain = clip(tmp_path / "plain.mp4", size="192x108")
    run_ffmpeg(["-display_rotation", "90", "-i", plain, "-c", "copy", tmp_path / "turned.mp4"])
    found = probe(tmp_path / "turned.mp4")
    assert (found["width"], found["height"], found["rotation"]) == (108, 192, 270)
    assert (found["coded_width"], found["coded_height"]) == (192, 108)


def test_pixels_that_are_not_square_count_as_shown(tmp_path: Path) -> None:
    run_ffmpeg(
        [
            "-i",
            clip(tmp_path / "a.mp4", size="96x192"),
            "-vf",
            "setsar=9/8",
            "-c:v",
            "libx264",
            tmp_path / "b.mp4",
        ]
    )
    found = probe(tmp_path / "b.mp4")
    assert (found["width"], found["height"], found["sample_aspect"]) == (108, 192, [9, 8])


def test_black_and_frozen_are_hints(tmp_path: Path) -> None:
    found = probe(clip(tmp_path / "black.mp4", colour="black"))
    assert (found["black"], found["frozen"]) == (True, True)


@pytest.mark.parametrize("rate", [8_000, 44_100, 48_000])
def test_speech_is_measured(tmp_path: Path, rate: int) -> None:
    found = probe(voice(tmp_path / "voice", ms=1234, rate=rate, channels=2))
    assert (found["media_type"], found["duration_ms"], found["channels"]) == ("audio/wav", 1234, 2)


@pytest.mark.parametrize(
    ("suffix", "media_type"),
    [("mp3", "audio/mpeg"), ("m4a", "audio/mp4"), ("flac", "audio/flac"), ("ogg", "audio/ogg")],
)
def test_other_sound_is_known_by_its_bytes(tmp_path: Path, suffix: str, media_type: str) -> None:
    run_ffmpeg(["-i", voice(tmp_path / "v.wav"), tmp_path / f"v.{suffix}"])
    found = probe((tmp_path / f"v.{suffix}").rename(tmp_path / "v.bin"))
    assert found["media_type"] == media_type
    assert abs(found["duration_ms"] - 1000) < 120


@pytest.mark.parametrize(
    ("form", "media_type"), [("PNG", "image/png"), ("JPEG", "image/jpeg"), ("WEBP", "image/webp")]
)
def test_a_picture_is_known_by_its_bytes(tmp_path: Path, form: str, media_type: str) -> None:
    Image.new("RGB", (60, 40), "red").save(tmp_path / "picture.png", form)
    found = probe(tmp_path / "picture.png")
    assert (found["media_type"], found["width"], found["height"]) == (media_type, 60, 40)


def test_a_picture_lying_on_its_side_is_measured_upright(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.new("RGB", (60, 40)).save(tmp_path / "p.jpg", exif=exif)
    assert (probe(tmp_path / "p.jpg")["width"], probe(tmp_path / "p.jpg")["height"]) == (40, 60)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"<!doctype html><html><body>Session ended</body></html>",
        b'{"error": {"code": "expired"}}',
        b"#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd\n",
        b"plain words",
        bytes(range(200, 256)) * 20,
        b"\x00\x00\x00\x18ftypmp42" + b"\x00" * 400,
        b"\xff\xd8\xff\xe0" + b"\x00" * 100,
        b"RIFF\x00\x00\x00\x00WAVE",
        b"\x1a\x45\xdf\xa3" + b"\x00" * 50,
    ],
)
def test_what_is_no_media_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "film.mp4"
    path.write_bytes(content)
    with pytest.raises(MediaInvalid) as refused:
        probe(path)
    assert refused.value.hint


@pytest.mark.parametrize("front", [True, False])
@pytest.mark.parametrize("percent", [1, 30, 60, 97])
def test_a_film_cut_off_anywhere_is_refused(tmp_path: Path, percent: int, front: bool) -> None:
    whole = clip(tmp_path / "whole.mp4", sound=48_000)
    if front:
        run_ffmpeg(["-i", whole, "-c", "copy", "-movflags", "+faststart", tmp_path / "front.mp4"])
        whole = tmp_path / "front.mp4"
    content = whole.read_bytes()
    path = tmp_path / "cut.mp4"
    path.write_bytes(content[: len(content) * percent // 100])
    with pytest.raises(MediaInvalid):
        probe(path)


def test_a_cut_off_picture_and_voice_are_refused(tmp_path: Path) -> None:
    Image.effect_noise((200, 200), 80).save(tmp_path / "p.png")
    voice(tmp_path / "v.wav")
    for path in (tmp_path / "p.png", tmp_path / "v.wav"):
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
        with pytest.raises(MediaInvalid):
            probe(path)


def test_a_picture_bomb_is_refused_without_unpacking_it(tmp_path: Path) -> None:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">L", len(data)) + kind + data + struct.pack(">L", zlib.crc32(kind + data))

    header = struct.pack(">LLBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0)
    body = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(bytes(99)))
    (tmp_path / "bomb.png").write_bytes(b"\x89PNG\r\n\x1a\n" + body)
    with pytest.raises(MediaInvalid):
        probe(tmp_path / "bomb.png")


def test_limits_are_of_what_is_measured_not_of_what_is_claimed(tmp_path: Path) -> None:
    film = clip(tmp_path / "f.mp4")
    with pytest.raises(MediaInvalid):
        probe(film, duration_ms_max=1999)
    with pytest.raises(MediaInvalid):
        probe(film, bytes_max=100)
    assert probe(film, duration_ms_max=2000)["duration_ms"] == 2000


VIDEO: Probe = {
    "media_type": "video/mp4", "bytes": 9, "codec": "h264", "width": 1080, "height": 1920,
    "duration_ms": 5000,
}  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "changes", "asked", "fits"),
    [
        (
            MediaKind.VIDEO,
            {},
            {"width": 1080, "height": 1920, "duration_frames": 120, "frame_rate": [24, 1]},
            True,
        ),
        (MediaKind.VIDEO, {"height": 1882}, {"width": 1080, "height": 1920}, True),
        (MediaKind.VIDEO, {"width": 720, "height": 1280}, {"width": 1080, "height": 1920}, True),
        (MediaKind.VIDEO, {"width": 480, "height": 854}, {"width": 1080, "height": 1920}, False),
        (MediaKind.VIDEO, {"width": 1920, "height": 1080}, {"width": 1080, "height": 1920}, False),
        (MediaKind.VIDEO, {}, {"duration_frames": 240}, False),
        (MediaKind.VIDEO, {"duration_ms": 29_000}, {"duration_frames": 120}, False),
        (MediaKind.VIDEO, {"media_type": "image/png"}, {}, False),
        (MediaKind.VIDEO, {"media_type": "audio/mp4"}, {}, False),
        (MediaKind.IMAGE, {"media_type": "image/webp"}, {"width": 1080, "height": 1920}, True),
        (MediaKind.SPEECH, {"media_type": "audio/wav"}, {}, True),
        (MediaKind.SPEECH, {"media_type": "audio/wav", "duration_ms": 0}, {}, False),
        (MediaKind.SPEECH, {}, {}, False),
        (MediaKind.MUSIC, {"media_type": "audio/mpeg"}, {"duration_ms": 5100}, True),
        (MediaKind.LIPSYNC, {}, {}, True),
        (MediaKind.TEXT, {}, {}, False),
    ],
)
def test_a_result_must_be_what_was_asked_for(
    kind: MediaKind, changes: dict[str, object], asked: dict[str, object], fits: bool
) -> None:
    found: Probe = {**VIDEO, **changes}  # type: ignore[typeddict-item]
    if fits:
        require(kind, found, asked)
    else:
        with pytest.raises(MediaInvalid):
            require(kind, found, asked)
