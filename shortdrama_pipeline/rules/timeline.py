"""A timeline as values, on an exact frame grid; what the cut renders and a TimelineVersion stores.

All places and lengths are whole frames at `frame_rate` (frames per second as a fraction
`numerator/denominator`); audio offsets are milliseconds from the start of the film.
"""

from dataclasses import asdict, dataclass


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
