"""What a file really is, measured from its bytes: never from its name or from what a vendor says.

The kind is decided by the first bytes, then only the demuxer of that kind opens the file: a playlist
or a page dressed as a film never reaches a parser that would follow its links. Every look is bounded
in bytes, pixels, streams, packets and seconds (P-12.7). Whatever does not hold is MediaInvalid.
"""

import time
import warnings
from collections.abc import Mapping
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import NotRequired, TypedDict

import av
import av.error
from av.container import InputContainer
from av.video.frame import VideoFrame
from av.video.stream import VideoStream
from PIL import Image, UnidentifiedImageError

from shortdrama_pipeline.errors import Fact, MediaInvalid
from shortdrama_pipeline.rules.states import MediaKind

BYTES_MAX = 4 * 10**9
PIXELS_MAX = 8192 * 8192
SIDE_MAX = 16_384
DURATION_MS_MAX = 30 * 60_000
STREAMS_MAX = 8
PACKETS_MAX = 600_000
SECONDS_MAX = 30
HEAD_BYTES = 64
BLACK_LUMA_MAX = 20  # of 255: darker than this on every sampled picture is "black"
FROZEN_STEPS_MAX = 2  # luma steps, in any of 32 x 32 cells, between the sampled pictures

_AGAIN = "Transfer the result again (`task transfer`); if it stays so, the vendor's result is broken"

_NO_LINKS = {"enable_drefs": "0", "use_absolute_path": "0"}  # a film may not point at other files

# first bytes -> (media type, demuxer). RIFF, ISO media and EBML are told apart further on.
_MAGIC: tuple[tuple[bytes, str, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", "image/png", ""),
    (b"\xff\xd8\xff", "image/jpeg", ""),
    (b"GIF8", "image/gif", ""),
    (b"\x1a\x45\xdf\xa3", "video/webm", "matroska"),
    (b"ID3", "audio/mpeg", "mp3"),
    (b"OggS", "audio/ogg", "ogg"),
    (b"fLaC", "audio/flac", "flac"),
)


class Probe(TypedDict):
    """Whole numbers only. Pictures have a size; films have all; sound has no size."""

    media_type: str
    bytes: int
    codec: str
    width: NotRequired[int]  # as shown: rotation and sample aspect ratio applied
    height: NotRequired[int]
    coded_width: NotRequired[int]
    coded_height: NotRequired[int]
    rotation: NotRequired[int]  # degrees clockwise: 0, 90, 180, 270
    sample_aspect: NotRequired[list[int]]
    frame_rate: NotRequired[list[int]]
    frames: NotRequired[int]
    duration_ms: NotRequired[int]
    has_audio: NotRequired[bool]
    sample_rate: NotRequired[int]
    channels: NotRequired[int]
    black: NotRequired[bool]  # a hint for a person, not a refusal
    frozen: NotRequired[bool]


def probe(path: Path, *, bytes_max: int = BYTES_MAX, duration_ms_max: int = DURATION_MS_MAX) -> Probe:
    """Measure one complete local file. Raises MediaInvalid with what is wrong (F07)."""
    size = path.stat().st_size
    if size == 0:
        raise _invalid("zero bytes")
    if size > bytes_max:
        raise _invalid("larger than this kind may be", bytes=size, bytes_max=bytes_max)
    with path.open("rb") as source:
        media_type, demuxer = _sniff(source.read(HEAD_BYTES))
    if media_type.startswith("image/"):
        return _probe_image(path, media_type, size)
    try:
        with av.open(str(path), format=demuxer, options=dict(_NO_LINKS)) as opened:
            return _probe_streams(opened, media_type, size, duration_ms_max)
    except (av.error.FFmpegError, ValueError, OverflowError) as error:
        raise _invalid(f"cannot be read to its end ({type(error).__name__}); it may be cut off") from error


def require(kind: MediaKind | str, found: Probe, expectations: Mapping[str, object]) -> None:
    """Refuse a result that is not what was asked for. `expectations` are the item's params.

    A film may differ a little in size and length, as vendors do: the same aspect within 8 %, no side
    under half of what was asked, not more than a fifth too short, not more than three times too long.
    """
    wanted = {
        MediaKind.IMAGE: "image/",
        MediaKind.VIDEO: "video/",
        MediaKind.LIPSYNC: "video/",
        MediaKind.SPEECH: "audio/",
        MediaKind.MUSIC: "audio/",
    }.get(MediaKind(kind))
    if wanted is None or not found["media_type"].startswith(wanted):
        raise _invalid(f"{found['media_type']} where {kind} was asked for", media_type=found["media_type"])
    _require_size(found, expectations)
    _require_duration(found, expectations)


def _require_size(found: Probe, expectations: Mapping[str, object]) -> None:
    width, height = expectations.get("width"), expectations.get("height")
    if not isinstance(width, int) or not isinstance(height, int) or "width" not in found:
        return
    have = (found["width"], found["height"])
    aspect_off = abs(have[0] * height - have[1] * width) * 100 > 8 * have[1] * width
    if aspect_off or have[0] * 2 < width or have[1] * 2 < height:
        raise _invalid(
            f"{have[0]}x{have[1]} where {width}x{height} was asked for", width=have[0], height=have[1]
        )


def _require_duration(found: Probe, expectations: Mapping[str, object]) -> None:
    if "duration_ms" not in found:
        return
    have = found["duration_ms"]
    if have <= 0:
        raise _invalid("no duration", duration_ms=have)
    frames, rate = expectations.get("duration_frames"), expectations.get("frame_rate", [24, 1])
    asked = expectations.get("duration_ms")
    if isinstance(frames, int) and isinstance(rate, list | tuple):
        asked = frames * 1000 * int(rate[1]) // int(rate[0])
    if isinstance(asked, int) and not asked * 4 // 5 <= have <= asked * 3 + 10_000:
        raise _invalid(f"{have} ms where {asked} ms were asked for", duration_ms=have, asked_ms=asked)


def demuxer_of(path: Path) -> str:
    """Return the one demuxer that may open the file, by its first bytes."""
    with path.open("rb") as source:
        return _sniff(source.read(HEAD_BYTES))[1]


# --- by kind ------------------------------------------------------------------------------------


def _sniff(head: bytes) -> tuple[str, str]:
    for magic, media_type, demuxer in _MAGIC:
        if head.startswith(magic):
            return media_type, demuxer
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image/webp", ""
    if head[:4] in {b"RIFF", b"RF64"} and head[8:12] == b"WAVE":
        return "audio/wav", "wav"
    if head[4:8] in {b"ftyp", b"moov", b"mdat", b"free", b"wide", b"skip"}:
        return "video/mp4", "mov"
    if len(head) > 1 and head[0] == 0xFF and head[1] & 0xE0 == 0xE0:  # an MPEG audio or ADTS frame
        return ("audio/aac", "aac") if head[1] & 0xF6 == 0xF0 else ("audio/mpeg", "mp3")
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    if start in {b"<", b"{", b"["} or head.isascii():
        raise _invalid("text (a page or an error message), not media")
    raise _invalid("bytes of no known media kind")


def _probe_image(path: Path, media_type: str, size: int) -> Probe:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(path) as image:
                width, height = image.size
                if width * height > PIXELS_MAX or max(width, height) > SIDE_MAX:
                    raise _invalid("more pixels than a picture may have", width=width, height=height)
                image.load()
                turned = image.getexif().get(0x0112, 1) in {5, 6, 7, 8}
                codec = (image.format or "").lower()
    except (
        UnidentifiedImageError,
        OSError,
        SyntaxError,
        ValueError,
        Image.DecompressionBombError,
        Image.DecompressionBombWarning,
    ) as error:
        raise _invalid(f"not a whole picture ({type(error).__name__})") from error
    if turned:
        width, height = height, width
    return {"media_type": media_type, "bytes": size, "codec": codec, "width": width, "height": height}


def _probe_streams(opened: InputContainer, media_type: str, size: int, duration_ms_max: int) -> Probe:
    if len(opened.streams) > STREAMS_MAX:
        raise _invalid("too many streams", streams=len(opened.streams))
    video = next((each for each in opened.streams.video if not _is_cover(each)), None)
    audio = opened.streams.audio[0] if opened.streams.audio else None
    if video is None and audio is None:
        raise _invalid("no picture and no sound in it")
    claimed_ms = int(opened.duration or 0) // 1000
    if claimed_ms > duration_ms_max:
        raise _invalid(
            "longer than this kind may be", duration_ms=claimed_ms, duration_ms_max=duration_ms_max
        )
    stats = _count(opened)
    found: Probe = {"media_type": media_type, "bytes": size, "codec": ""}
    if audio is not None:
        found |= {
            "codec": audio.codec_context.name, "has_audio": True,
            "sample_rate": audio.codec_context.sample_rate, "channels": audio.codec_context.channels,
            "duration_ms": stats[audio.index].end_ms,
        }  # fmt: skip
        if video is None and media_type.startswith("video/"):
            found["media_type"] = "audio/mp4" if media_type == "video/mp4" else "audio/webm"
    if video is not None:
        found |= _video_facts(opened, video, stats[video.index], media_type)
        found["has_audio"] = audio is not None
    if not 0 < found["duration_ms"] <= duration_ms_max:
        raise _invalid("no duration, or longer than this kind may be", duration_ms=found["duration_ms"])
    if claimed_ms and found["duration_ms"] * 10 < claimed_ms * 9 - 1000:
        raise _invalid("cut off", duration_ms=found["duration_ms"], claimed_ms=claimed_ms)
    return found


class _Counted:
    """What reading every packet of one stream tells."""

    def __init__(self) -> None:
        self.packets = 0
        self.first: Fraction | None = None
        self.last = Fraction(0)

    def add(self, start: Fraction, length: Fraction) -> None:
        self.packets += 1
        self.first = start if self.first is None else min(self.first, start)
        self.last = max(self.last, start + length)

    @property
    def end_ms(self) -> int:
        return round((self.last - (self.first or Fraction(0))) * 1000)


def _count(opened: InputContainer) -> dict[int, _Counted]:
    """Read the whole file without decoding it: the truth about length, and whether it is whole."""
    counted = {each.index: _Counted() for each in opened.streams}
    until = time.monotonic() + SECONDS_MAX
    for number, packet in enumerate(opened.demux()):
        if packet.size == 0 or packet.pts is None:
            continue
        if packet.is_corrupt:
            raise _invalid("cut off or damaged in the middle")
        if number > PACKETS_MAX or time.monotonic() > until:
            raise _invalid("takes too long to read", packets=number)
        base = Fraction(packet.time_base)
        counted[packet.stream.index].add(packet.pts * base, (packet.duration or 0) * base)
    for stream in opened.streams:
        expected = stream.frames
        if stream.type == "video" and expected and counted[stream.index].packets < expected:
            raise _invalid("cut off", frames=counted[stream.index].packets, claimed_frames=expected)
    return counted


def _video_facts(opened: InputContainer, video: VideoStream, counted: _Counted, media_type: str) -> Probe:
    context = video.codec_context
    width, height = context.width, context.height
    if width <= 0 or height <= 0 or width * height > PIXELS_MAX or max(width, height) > SIDE_MAX:
        raise _invalid("a picture size that cannot be", width=width, height=height)
    pictures = _sample(opened, video, counted)
    rotation = round(-getattr(pictures[0], "rotation", 0)) % 360
    aspect = Fraction(video.sample_aspect_ratio or 1)
    if not Fraction(1, 8) <= aspect <= 8:
        aspect = Fraction(1)
    shown = (round(width * aspect), height)
    if rotation in {90, 270}:
        shown = shown[::-1]
    rate = Fraction(video.average_rate or 0)
    if counted.packets == 0 or rate <= 0:
        raise _invalid("no pictures in it")
    lumas = [_luma(each) for each in pictures]
    return {
        "media_type": media_type, "bytes": opened.size, "codec": context.name,
        "width": shown[0], "height": shown[1], "coded_width": width, "coded_height": height,
        "rotation": rotation, "sample_aspect": [aspect.numerator, aspect.denominator],
        "frame_rate": [rate.numerator, rate.denominator], "frames": counted.packets,
        "duration_ms": counted.end_ms,
        "black": all(max(each) <= BLACK_LUMA_MAX for each in lumas),
        "frozen": len(lumas) > 1 and all(_same(lumas[0], each) for each in lumas[1:]),
    }  # fmt: skip


def _sample(opened: InputContainer, video: VideoStream, counted: _Counted) -> list[VideoFrame]:
    """Decode the first picture and one near each third: proof that it decodes, and hints.

    A seek lands on a key picture; where all land on the same one, a second of pictures is decoded.
    """
    pictures: list[VideoFrame] = []
    first = counted.first or Fraction(0)
    length = counted.last - first
    for third in range(3):
        base = Fraction(video.time_base or 1)
        opened.seek(int((first + length * third / 3) / base), stream=video)
        picture = next(iter(opened.decode(video)), None)
        if picture is not None:
            pictures.append(picture)
    if not pictures:
        raise _invalid("no picture of it can be decoded")
    if len({each.pts for each in pictures}) == 1:
        pictures[1:] = list(islice(opened.decode(video), 24))[-1:]
    return pictures


def _luma(picture: VideoFrame) -> list[int]:
    small = picture.reformat(width=32, height=32, format="gray")
    return [int(each) for each in bytes(small.planes[0])]


def _same(one: list[int], other: list[int]) -> bool:
    return max(abs(a - b) for a, b in zip(one, other, strict=True)) <= FROZEN_STEPS_MAX


def _is_cover(stream: VideoStream) -> bool:
    return bool(stream.disposition & type(stream.disposition).attached_pic)


def _invalid(what: str, **facts: Fact) -> MediaInvalid:
    return MediaInvalid(f"Not usable media: {what}", hint=_AGAIN, **facts)
