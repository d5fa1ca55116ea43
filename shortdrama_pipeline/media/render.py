"""A timeline becomes a film: exact frames, exact samples, lettered, at −16 LUFS (P-2.9).

Nothing here knows of a vendor: a render reads stored files and writes into one folder, and may be
repeated as often as it fails (P-12.4).
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import av

from shortdrama_pipeline.errors import ToolFailed
from shortdrama_pipeline.media import fonts, loudness, mix, subtitles
from shortdrama_pipeline.media.loudness import RAW, Loudness
from shortdrama_pipeline.media.segments import (
    ASS_NAME,
    FONTS_NAME,
    Encoded,
    Segment,
    encode_segment,
    join,
    lay_out,
)
from shortdrama_pipeline.media.tools import run_ffmpeg
from shortdrama_pipeline.rules.renders import TIERS, RenderRequest, check_request
from shortdrama_pipeline.rules.timeline import Timeline, check

AV_DIFFERENCE_US_MAX = 40_000
LOUDNESS_OFF_MILLI_MAX = 1_000
TRUE_PEAK_MILLI_DB_MAX = -1_000
AUDIO_BITRATE = "192k"
AI_LABEL = "AI-generated content"

Progress = Callable[[int, int], None]  # (steps done, of)


@dataclass(frozen=True, slots=True)
class Film:
    """The finished files and what was measured on them."""

    film: Path
    clean: Path | None
    dialogue: Path
    width: int
    height: int
    frame_rate: tuple[int, int]
    frames: int
    duration_ms: int
    loudness: Loudness
    av_difference_us: int


def render(
    timeline: Timeline,
    request: RenderRequest,
    *,
    path_of: Callable[[str], Path],
    folder: Path,
    progress: Progress | None = None,
    workers: int | None = None,
) -> Film:
    """Render into `folder`, which the caller owns and removes; `path_of` maps a sha256 to its file.

    Raises NotReady before any work, ToolFailed or Outside on the way; then nothing in `folder` is a film.
    """
    check(timeline)
    check_request(request)
    if request.burned:
        subtitles.require_glyphs(timeline.subtitles)
    folder.mkdir(parents=True, exist_ok=True)
    segments = lay_out(timeline, request)
    told = _Steps(len(segments) + 3, progress)
    with ThreadPoolExecutor(workers or len(os.sched_getaffinity(0)), "render") as pool:
        try:
            sound = pool.submit(_sound, timeline, path_of, folder)
            pictures = _pictures(pool, segments, timeline, request, path_of=path_of, folder=folder, told=told)
            dialogue, track = sound.result()
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    told.step()
    frames = _join(pictures, segments, request, folder)
    film = _mux(folder / "picture.mp4", track, folder / "film.mp4", timeline.title)
    clean = None
    if TIERS[request.tier].clean:
        clean = _mux(folder / "picture_clean.mp4", track, folder / "film_clean.mp4", timeline.title)
    told.step()
    made = _judge(film, clean, dialogue, request, frames)
    told.step()
    return made


class _Steps:
    def __init__(self, total: int, progress: Progress | None) -> None:
        self.total, self.progress, self.done = total, progress, 0

    def step(self) -> None:
        self.done += 1
        if self.progress is not None:
            self.progress(self.done, self.total)


def _pictures(
    pool: ThreadPoolExecutor,
    segments: list[Segment],
    timeline: Timeline,
    request: RenderRequest,
    *,
    path_of: Callable[[str], Path],
    folder: Path,
    told: _Steps,
) -> list[Encoded]:
    (folder / ASS_NAME).write_text(
        subtitles.to_ass(
            timeline.subtitles, width=request.width, height=request.height, language=timeline.language
        ),
        encoding="utf-8",
    )
    fonts.gather_fonts(folder / FONTS_NAME)
    due = [
        pool.submit(
            encode_segment, segment, timeline.frame_rate, request, path_of=path_of,
            into=folder / f"segment_{number:04d}.mp4",
        )
        for number, segment in enumerate(segments)
    ]  # fmt: skip
    encoded = []
    for each in due:
        encoded.append(each.result())
        told.step()
    return encoded


def _sound(timeline: Timeline, path_of: Callable[[str], Path], folder: Path) -> tuple[Path, Path]:
    """Mix, normalise and encode; returns the dialogue stem and the film's track."""
    stems = mix.mix(timeline, path_of)
    raw, even, track = folder / "mix.f32", folder / "even.f32", folder / "track.m4a"
    stems.whole.tofile(raw)
    loudness.normalise(raw, even)
    run_ffmpeg([*RAW, "-i", even, "-c:a", "aac", "-b:a", AUDIO_BITRATE, "-map_metadata", "-1", track])
    stem, dialogue = folder / "dialogue.f32", folder / "dialogue.wav"
    stems.spoken.tofile(stem)
    run_ffmpeg([*RAW, "-i", stem, "-c:a", "pcm_s16le", "-map_metadata", "-1", "-bitexact", dialogue])
    for each in (raw, even, stem):
        each.unlink()
    return dialogue, track


def _join(pictures: list[Encoded], segments: list[Segment], request: RenderRequest, folder: Path) -> int:
    lengths = [each.frames for each in segments]
    burned = [each.burned for each in pictures]
    frames = join(
        list(zip(burned, lengths, strict=True)), folder / "picture.mp4", frame_rate=request.frame_rate
    )
    clean = [each.clean for each in pictures if each.clean is not None]
    if clean:
        join(
            list(zip(clean, lengths, strict=True)),
            folder / "picture_clean.mp4",
            frame_rate=request.frame_rate,
        )
    for path in {*burned, *clean}:
        path.unlink()
    return frames


def _mux(picture: Path, track: Path, into: Path, title: str) -> Path:
    run_ffmpeg(
        ["-i", picture, "-i", track, "-map", "0:v:0", "-map", "1:a:0", "-c", "copy", "-map_metadata", "-1",
         "-metadata", f"title={title}", "-metadata", f"comment={AI_LABEL}",
         "-movflags", "+faststart", "-brand", "mp42", into]
    )  # fmt: skip
    picture.unlink()
    return into


def _judge(film: Path, clean: Path | None, dialogue: Path, request: RenderRequest, frames: int) -> Film:
    """Measure the finished film; what does not hold is not delivered (P-2.9)."""
    heard = loudness.measure(film)
    rate = Fraction(*request.frame_rate)
    with av.open(str(film)) as opened:
        video, audio = opened.streams.video[0], opened.streams.audio[0]
        size = (video.codec_context.width, video.codec_context.height)
        found_rate, found_frames = Fraction(video.average_rate or 0), video.frames
        picture_s = Fraction(video.duration or 0) * Fraction(video.time_base or 1)
        sound_s = Fraction(audio.duration or 0) * Fraction(audio.time_base or 1)
    difference_us = abs(round((picture_s - sound_s) * 1_000_000))
    problems = [
        (size != (request.width, request.height), f"it is {size[0]}x{size[1]}"),
        (found_rate != rate, f"it runs at {found_rate}"),
        (found_frames != frames, f"it has {found_frames} pictures where {frames} are due"),
        (difference_us >= AV_DIFFERENCE_US_MAX, f"sound and picture differ by {difference_us} µs"),
        (heard.true_peak_milli_db > TRUE_PEAK_MILLI_DB_MAX, f"its true peak is {heard.true_peak_milli_db}"),
    ]
    for failed, what in problems:
        if failed:
            raise ToolFailed(f"The film is not fit for delivery: {what}", hint="Repeat the command")
    return Film(
        film=film, clean=clean, dialogue=dialogue, width=size[0], height=size[1],
        frame_rate=request.frame_rate, frames=frames, duration_ms=round(frames * 1000 / rate),
        loudness=heard, av_difference_us=difference_us,
    )  # fmt: skip
