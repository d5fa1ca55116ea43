"""The cut: shots, chosen takes and spoken lines become a Timeline. Pure; the same input, the same film."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shortdrama_pipeline.errors import NotReady
from shortdrama_pipeline.rules import cues
from shortdrama_pipeline.rules.shots import FRAME_RATE, Shot
from shortdrama_pipeline.rules.timeline import (
    AudioClip,
    Subtitle,
    Timeline,
    VideoClip,
    check,
    frames_of,
    ms_of,
)

AIR_MS = 250  # the picture stays this long after the last word of a shot
BREATH_MS = 120  # between two lines of one shot
TRANSITION_FRAMES = 12
LINE_MS_MAX = 120_000


@dataclass(frozen=True, slots=True)
class Take:
    """The selected video of a shot. `frames` and `frame_rate` are as probed (P-12.7)."""

    version_id: str
    sha256: str
    frames: int
    frame_rate: tuple[int, int]
    has_audio: bool = False


@dataclass(frozen=True, slots=True)
class Speech:
    """The selected sound of a line. `duration_ms` is as probed."""

    version_id: str
    sha256: str
    duration_ms: int


def assemble(
    shots: Sequence[Shot],
    takes: Mapping[str, Take],
    speeches: Mapping[str, Speech],
    *,
    title: str,
    language: str,
    width: int = 1080,
    height: int = 1920,
    frame_rate: tuple[int, int] = (FRAME_RATE, 1),
) -> Timeline:
    """Lay the shots end to end, each as long as planned and never shorter than its speech and air.

    `takes` are by shot id, `speeches` by line id; entries that no shot asks for are left aside.
    A line starts at its place in the shot, later if the one before is still heard. Where a shot
    must last longer than its take, the last picture is held. Raises NotReady naming the place.
    """
    video: list[VideoClip] = []
    audio: list[AudioClip] = []
    subtitles: list[Subtitle] = []
    start = 0
    for shot in sorted(shots, key=lambda each: each.order):
        sounds = _place_lines(shot, speeches, ms_of(start, frame_rate))
        frames = _length(shot, sounds, start, frame_rate)
        video.append(_clip(shot, takes, start=start, frames=frames, before=video[-1:], rate=frame_rate))
        audio += sounds
        subtitles += _subtitles(shot, sounds)
        start += frames
    timeline = Timeline(
        title, language, width, height, frame_rate, tuple(video), tuple(audio), tuple(subtitles)
    )
    check(timeline)
    return timeline


def _place_lines(shot: Shot, speeches: Mapping[str, Speech], shot_start_ms: int) -> list[AudioClip]:
    sounds: list[AudioClip] = []
    free = 0
    for line in shot.lines:
        speech = speeches.get(line.line_id)
        place = f"line {line.line_id}"
        if speech is None:
            raise _missing(place, "its speech is not there or not selected")
        if not 0 < speech.duration_ms <= LINE_MS_MAX:
            raise _missing(place, f"its speech lasts {speech.duration_ms} ms")
        if line.start_ms < 0:
            raise _missing(place, f"it starts {-line.start_ms} ms before its shot")
        begin = max(line.start_ms, free)
        free = begin + speech.duration_ms + BREATH_MS
        sounds.append(
            AudioClip(
                line.line_id, line.kind, speech.version_id, speech.sha256, shot_start_ms + begin,
                speech.duration_ms, 0,
            )
        )  # fmt: skip
    return sounds


def _length(shot: Shot, sounds: list[AudioClip], start: int, rate: tuple[int, int]) -> int:
    if shot.duration_frames <= 0:
        raise _missing(f"shot {shot.id}", f"its length is {shot.duration_frames} frames")
    planned = -(-shot.duration_frames * rate[0] // (FRAME_RATE * rate[1]))
    if not sounds:
        return planned
    heard_until = sounds[-1].start_ms + sounds[-1].duration_ms + AIR_MS
    return max(planned, frames_of(heard_until, rate) - start)


def _clip(
    shot: Shot,
    takes: Mapping[str, Take],
    *,
    start: int,
    frames: int,
    before: list[VideoClip],
    rate: tuple[int, int],
) -> VideoClip:
    take = takes.get(shot.id)
    place = f"shot {shot.id}"
    if take is None:
        raise _missing(place, "its video is not there or not selected")
    if take.frames <= 0 or min(take.frame_rate) <= 0:
        raise _missing(place, "its video has no pictures")
    usable = max(1, take.frames * rate[0] * take.frame_rate[1] // (rate[1] * take.frame_rate[0]))
    kind = shot.transition_in
    if kind == "dissolve" and not before:
        kind = "fade"  # there is nothing to dissolve from
    shortest = min([frames, *(each.frames for each in before)])
    length = 0 if kind == "cut" else min(TRANSITION_FRAMES, shortest // 2)
    return VideoClip(
        shot_id=shot.id,
        version_id=take.version_id,
        sha256=take.sha256,
        start=start,
        frames=frames,
        source_in=0,
        source_frames=min(usable, frames),
        transition_in=kind if length else "cut",
        transition_frames=length,
        keep_native_audio=take.has_audio and not shot.lines,  # a model that speaks would double our voices
    )


def _subtitles(shot: Shot, sounds: list[AudioClip]) -> list[Subtitle]:
    shown: list[Subtitle] = []
    for line, sound in zip(shot.lines, sounds, strict=True):
        texts = cues.split_text(line.text)
        if sound.duration_ms < len(texts):
            texts = [" ".join(texts)]
        if not texts:
            continue
        weights = [max(1, cues.units(each)) for each in texts]
        spans = cues.spread(weights, start_ms=sound.start_ms, duration_ms=sound.duration_ms)
        shown += [
            Subtitle(line.line_id, text, line.kind, begin, end)
            for text, (begin, end) in zip(texts, spans, strict=True)
        ]
    return shown


def _missing(place: str, what: str) -> NotReady:
    return NotReady(
        f"The film cannot be cut at {place}: {what}",
        hint="Generate or select it (`version select`), then build the timeline again",
        place=place,
    )
