"""A timeline as values, on an exact frame grid; what the cut renders and a TimelineVersion stores.

All places and lengths are whole frames at `frame_rate` (frames per second as a fraction
`numerator/denominator`); audio offsets are milliseconds from the start of the film.
"""

from collections.abc import Collection, Iterator
from dataclasses import asdict, dataclass

from shortdrama_pipeline.errors import Fact, NotReady

TRANSITIONS = ("cut", "fade", "dissolve")
SPOKEN = ("dialogue", "narration", "inner")
AUDIO_ROLES = (*SPOKEN, "music", "effect")
FRAME_RATES = ((24, 1), (25, 1), (30, 1), (30000, 1001), (24000, 1001), (60, 1))
SIDE_MAX = 4096
CLIPS_MAX = 2000
DURATION_MS_MAX = 30 * 60_000
GAIN_MB_MAX = 2400  # beyond 24 dB something else is wrong


@dataclass(frozen=True, slots=True)
class VideoClip:
    """One shot on the picture track.

    `source_in` and `source_frames` are frames of the timeline's rate taken from the file;
    `frames` is its length on the track: when longer than `source_frames` the last picture is held.
    `version_id` and `sha256` name the exact file. `transition_in` is cut, fade or dissolve.
    """

    shot_id: str
    version_id: str
    sha256: str
    start: int
    frames: int
    source_in: int
    source_frames: int
    transition_in: str
    transition_frames: int
    keep_native_audio: bool


@dataclass(frozen=True, slots=True)
class AudioClip:
    """One spoken line, music cue or effect. `role` is dialogue, narration, inner, music or effect."""

    line_id: str
    role: str
    version_id: str
    sha256: str
    start_ms: int
    duration_ms: int
    gain_mb: int  # millibel: 1/100 dB


@dataclass(frozen=True, slots=True)
class Subtitle:
    """Text from the script, shown literally."""

    line_id: str
    text: str
    kind: str  # dialogue, narration, inner
    start_ms: int
    end_ms: int


@dataclass(frozen=True, slots=True)
class Timeline:
    """A whole episode. Clips are in order, without gap or overlap."""

    title: str
    language: str
    width: int
    height: int
    frame_rate: tuple[int, int]
    video: tuple[VideoClip, ...]
    audio: tuple[AudioClip, ...]
    subtitles: tuple[Subtitle, ...]

    @property
    def frames(self) -> int:
        last = self.video[-1]
        return last.start + last.frames

    @property
    def duration_ms(self) -> int:
        """Rounded up, so that nothing that ends with the film ends after it."""
        return ms_of(self.frames, self.frame_rate)


def ms_of(frames: int, frame_rate: tuple[int, int]) -> int:
    """Return the millisecond at or just after a frame boundary."""
    return -(-frames * 1000 * frame_rate[1] // frame_rate[0])


def frames_of(ms: int, frame_rate: tuple[int, int]) -> int:
    """Return the fewest whole frames that last at least `ms`."""
    return -(-ms * frame_rate[0] // (1000 * frame_rate[1]))


def check(timeline: Timeline, *, shot_ids: Collection[str] | None = None) -> None:
    """Refuse a timeline that cannot be rendered as it says, naming the place (P-12.2).

    `shot_ids`, when given, are the episode's shots: a clip of any other is refused.
    """
    _check_frame(timeline)
    _check_video(timeline, shot_ids)
    _check_audio(timeline)
    _check_subtitles(timeline)


def _check_frame(timeline: Timeline) -> None:
    if timeline.frame_rate not in FRAME_RATES:
        raise _not_ready("frame rate", f"{timeline.frame_rate[0]}/{timeline.frame_rate[1]} is not offered")
    width, height = timeline.width, timeline.height
    if not (0 < width <= SIDE_MAX and 0 < height <= SIDE_MAX) or width % 2 or height % 2:
        raise _not_ready("picture", f"{width}x{height} is not a size that can be rendered")
    if not timeline.video:
        raise _not_ready("picture track", "it is empty")
    if len(timeline.video) > CLIPS_MAX or timeline.duration_ms > DURATION_MS_MAX:
        raise _not_ready("picture track", "it is longer than an episode may be")


def _check_video(timeline: Timeline, shot_ids: Collection[str] | None) -> None:
    due = 0
    seen: set[str] = set()
    for clip in timeline.video:
        place = f"shot {clip.shot_id}"
        if shot_ids is not None and clip.shot_id not in shot_ids:
            raise _not_ready(place, "the storyboard has no such shot")
        if clip.shot_id in seen:
            raise _not_ready(place, "it stands on the track twice")
        if clip.frames <= 0 or clip.source_frames <= 0 or clip.source_in < 0:
            raise _not_ready(place, f"a length of {clip.frames} frames cannot be", frames=clip.frames)
        if clip.source_frames > clip.frames:
            raise _not_ready(place, "it takes more pictures than it shows")
        if clip.start != due:
            what = "a gap" if clip.start > due else "an overlap"
            raise _not_ready(place, f"{what} before it: starts at frame {clip.start}, due at {due}")
        if clip.transition_in not in TRANSITIONS or not 0 <= clip.transition_frames < max(clip.frames, 1):
            raise _not_ready(place, f"the transition {clip.transition_in} does not fit")
        _check_file(place, clip.sha256)
        seen.add(clip.shot_id)
        due += clip.frames


def _check_audio(timeline: Timeline) -> None:
    until = 0
    for clip in sorted(timeline.audio, key=lambda each: each.start_ms):
        place = f"line {clip.line_id}"
        if clip.role not in AUDIO_ROLES:
            raise _not_ready(place, f"{clip.role} is no kind of sound")
        if clip.duration_ms <= 0 or clip.start_ms < 0:
            raise _not_ready(
                place, f"a length of {clip.duration_ms} ms cannot be", duration_ms=clip.duration_ms
            )
        if clip.start_ms + clip.duration_ms > timeline.duration_ms:
            raise _not_ready(place, "it is heard after the film has ended")
        if clip.gain_mb > GAIN_MB_MAX:
            raise _not_ready(place, f"a gain of {clip.gain_mb} millibel is too much")
        _check_file(place, clip.sha256)
        if clip.role in SPOKEN:
            if clip.start_ms < until:
                raise _not_ready(place, "it is spoken while another line still is")
            until = clip.start_ms + clip.duration_ms


def _check_subtitles(timeline: Timeline) -> None:
    until = 0
    for cue in timeline.subtitles:
        place = f"subtitle of line {cue.line_id}"
        if not cue.text.strip():
            raise _not_ready(place, "it is empty")
        if cue.end_ms <= cue.start_ms:
            raise _not_ready(place, f"a length of {cue.end_ms - cue.start_ms} ms cannot be")
        if cue.start_ms < until:
            raise _not_ready(place, "it overlaps the one before")
        if cue.end_ms > timeline.duration_ms:
            raise _not_ready(place, "it is shown after the film has ended")
        until = cue.end_ms


def _check_file(place: str, sha256: str) -> None:
    if len(sha256) != 64:
        raise _not_ready(place, "it has no file")


def _not_ready(place: str, what: str, **facts: Fact) -> NotReady:
    return NotReady(
        f"The timeline is not ready at {place}: {what}",
        hint="Build the timeline again from the selected versions (`episode run`)",
        place=place,
        **facts,
    )


def files(timeline: Timeline) -> Iterator[tuple[str, str, str]]:
    """Yield (purpose, version_id, sha256) of everything the film is cut from, in order."""
    for clip in timeline.video:
        yield "video", clip.version_id, clip.sha256
    for sound in timeline.audio:
        yield "speech" if sound.role in SPOKEN else sound.role, sound.version_id, sound.sha256


def to_json(timeline: Timeline) -> dict[str, object]:
    """Return the form a TimelineVersion stores."""
    return asdict(timeline)


def from_json(content: dict[str, object]) -> Timeline:
    """Read back what `to_json` wrote."""
    raw: dict[str, list[dict[str, object]]] = content  # type: ignore[assignment]
    rate = [int(str(each)) for each in content["frame_rate"]]  # type: ignore[attr-defined]
    return Timeline(
        title=str(content["title"]),
        language=str(content["language"]),
        width=int(str(content["width"])),
        height=int(str(content["height"])),
        frame_rate=(rate[0], rate[1]),
        video=tuple(VideoClip(**each) for each in raw["video"]),  # type: ignore[arg-type]
        audio=tuple(AudioClip(**each) for each in raw["audio"]),  # type: ignore[arg-type]
        subtitles=tuple(Subtitle(**each) for each in raw["subtitles"]),  # type: ignore[arg-type]
    )
