"""A shot as values: what the storyboard stage makes of a script, one ShotVersion each.

`plan_shots` (in `storyboard.py`) decides; here stand only the nouns.
"""

from dataclasses import asdict, dataclass

FRAME_RATE = 24  # frames per second an animatic or a model is asked for, unless the plan says otherwise
SIZES = ("wide", "full", "medium", "close", "detail")
MOVES = ("still", "push_in", "pull_out", "pan_left", "pan_right", "tilt_up", "tilt_down")


@dataclass(frozen=True, slots=True)
class ShotLine:
    """A spoken line inside a shot. `line_id` is `<scene id>-l<n>`, n counted over the scene's spoken lines.

    `start_ms` is its offset within the shot, `estimated_ms` the expected length of its speech.
    """

    line_id: str
    kind: str  # dialogue, narration, inner
    speaker: str | None
    text: str
    manner: str
    start_ms: int
    estimated_ms: int


@dataclass(frozen=True, slots=True)
class Shot:
    """One cut. `id` is `<scene id>-<nn>`, such as s1-03. `duration_frames` counts at FRAME_RATE.

    `size` is one of SIZES, `move` one of MOVES. `characters` and `props` are those seen.
    """

    id: str
    scene_id: str
    order: int
    size: str
    move: str
    place: str
    time_of_day: str
    characters: tuple[str, ...]
    props: tuple[str, ...]
    action: str
    lines: tuple[ShotLine, ...]
    duration_frames: int
    transition_in: str  # cut, fade, dissolve


def to_json(shot: Shot) -> dict[str, object]:
    """Return the form a ShotVersion stores."""
    return asdict(shot)


def from_json(content: dict[str, object]) -> Shot:
    """Read back what `to_json` wrote."""
    fields = dict(content)
    lines: list[dict[str, object]] = fields.pop("lines")  # type: ignore[assignment]
    for name in ("characters", "props"):
        fields[name] = tuple(fields[name])  # type: ignore[arg-type]
    return Shot(**fields, lines=tuple(ShotLine(**each) for each in lines))  # type: ignore[arg-type]
