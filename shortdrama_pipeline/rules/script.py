"""A script as values: what every reader yields, what storyboard and audio read.

Plain JSON in both directions (`to_json`, `from_json`), since a ScriptVersion stores it.
"""

from dataclasses import asdict, dataclass
from enum import StrEnum


class LineKind(StrEnum):
    """How a line is heard. ACTION is seen, not heard."""

    DIALOGUE = "dialogue"
    NARRATION = "narration"
    INNER = "inner"  # inner voice (内心独白, V.O. of the character's thoughts)
    ACTION = "action"


# The `manner` of an ACTION that is an instruction and not seen: kept so that no word of the script is lost.
TRANSITION = "transition"  # "CUT TO:", 淡出: the cut follows it
PRESENT = "characters"  # "人物：林晚、顾沉": who is in the scene
ATTRIBUTION = "attribution"  # of prose, "女曰：", "said Mrs. Bennet": told by who speaks
INSTRUCTIONS = (TRANSITION, PRESENT, ATTRIBUTION)


@dataclass(frozen=True, slots=True)
class Line:
    """One thing said or done.

    `speaker` is a character's id for DIALOGUE and INNER, None for NARRATION and ACTION, and the
    empty string for DIALOGUE whose speaker the text does not name (a person must choose).
    `source_line` is the 1-based line of the file it came from; `manner` a parenthetical.
    """

    kind: LineKind
    text: str
    speaker: str | None
    manner: str
    source_line: int


@dataclass(frozen=True, slots=True)
class Character:
    """A person of the script. `id` is stable within the script: c1, c2, … in order of appearance."""

    id: str
    name: str
    description: str


@dataclass(frozen=True, slots=True)
class Scene:
    """`id` is s1, s2, …; `place` the location's name; `time_of_day` free text; `props` names."""

    id: str
    heading: str
    place: str
    time_of_day: str
    props: tuple[str, ...]
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Script:
    """`language` is a BCP 47 tag, zh-CN or en-US. `title` may be empty, `scenes` may not."""

    title: str
    language: str
    logline: str
    characters: tuple[Character, ...]
    scenes: tuple[Scene, ...]

    def character(self, character_id: str) -> Character:
        return next(each for each in self.characters if each.id == character_id)


def to_json(script: Script) -> dict[str, object]:
    """Return the form a ScriptVersion stores."""
    return asdict(script)


def from_json(content: dict[str, object]) -> Script:
    """Read back what `to_json` wrote; trusts it, since only `to_json` writes it."""
    raw: dict[str, list[dict[str, object]]] = content  # type: ignore[assignment]
    return Script(
        title=str(content["title"]),
        language=str(content["language"]),
        logline=str(content["logline"]),
        characters=tuple(
            Character(id=str(c["id"]), name=str(c["name"]), description=str(c["description"]))
            for c in raw["characters"]
        ),
        scenes=tuple(_scene(each) for each in raw["scenes"]),
    )


def _scene(raw: dict[str, object]) -> Scene:
    lines: list[dict[str, object]] = raw["lines"]  # type: ignore[assignment]
    props: list[str] = raw["props"]  # type: ignore[assignment]
    return Scene(
        id=str(raw["id"]),
        heading=str(raw["heading"]),
        place=str(raw["place"]),
        time_of_day=str(raw["time_of_day"]),
        props=tuple(props),
        lines=tuple(
            Line(
                kind=LineKind(str(each["kind"])),
                text=str(each["text"]),
                speaker=None if each["speaker"] is None else str(each["speaker"]),
                manner=str(each["manner"]),
                source_line=int(str(each["source_line"])),
            )
            for each in lines
        ),
    )
