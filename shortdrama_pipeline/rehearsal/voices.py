"""The voices on offer: one name for each language, one timbre each, so that a character keeps its own."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Voice:
    """How the synthesiser is set. `variant` is an espeak-ng voice file; pitch and range are 0 to 99.

    `rate` is a percentage of the language's own tempo.
    """

    name: str
    kind: str  # female, male, old_woman, old_man, girl, boy, narrator
    variant: str
    pitch: int
    range: int
    rate: int


_VOICES = (
    Voice("narrator", "narrator", "m3", 40, 45, 96),
    Voice("female-1", "female", "f2", 58, 55, 100),
    Voice("female-2", "female", "Annie", 66, 62, 104),
    Voice("female-3", "female", "f4", 48, 48, 96),
    Voice("female-4", "female", "linda", 62, 70, 106),
    Voice("male-1", "male", "m1", 42, 52, 100),
    Voice("male-2", "male", "m7", 32, 46, 97),
    Voice("male-3", "male", "michael", 52, 60, 105),
    Voice("male-4", "male", "benjamin", 24, 40, 94),
    Voice("old-woman-1", "old_woman", "grandma", 50, 58, 90),
    Voice("old-man-1", "old_man", "grandpa", 30, 50, 88),
    Voice("girl-1", "girl", "f5", 86, 78, 106),
    Voice("boy-1", "boy", "f3", 78, 66, 106),
)
LANGUAGES = ("zh-CN", "en-US")


def find_voice(name: str, language: str) -> Voice | None:
    """Return the voice of this name, or None where the language or the name is not offered."""
    if language not in LANGUAGES:
        return None
    return next((each for each in _VOICES if each.name == name), None)


def offered() -> list[dict[str, object]]:
    """Return what GET /v1/voices lists."""
    return [{"name": each.name, "kind": each.kind, "languages": list(LANGUAGES)} for each in _VOICES]
