"""Where a text model's answer becomes an outline or a script: checked by pydantic, or refused.

An outline is {"title", "logline", "language", "synopsis", "beats": [...], "characters": [{"id", "name",
"description"}]}; a script is the form of `rules.script.to_json`.
"""

import json
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from shortdrama_pipeline.errors import MediaInvalid
from shortdrama_pipeline.rules import script as scripts
from shortdrama_pipeline.rules.script import LineKind

CHARACTERS_MAX = 60
SCENES_MAX = 200
LINES_MAX = 500
TEXT_MAX = 4_000


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class _Character(_Part):
    id: str = Field(pattern=r"^c[0-9]{1,3}$")
    name: str = Field(min_length=1, max_length=200)
    description: str = Field(default="", max_length=TEXT_MAX)


class _Outline(_Part):
    title: str = Field(min_length=1, max_length=200)
    logline: str = Field(default="", max_length=TEXT_MAX)
    language: str = Field(min_length=2, max_length=20)
    synopsis: str = Field(default="", max_length=20_000)
    beats: tuple[str, ...] = Field(default=(), max_length=200)
    characters: tuple[_Character, ...] = Field(max_length=CHARACTERS_MAX)


class _Line(_Part):
    kind: Literal["dialogue", "narration", "inner", "action"]
    text: str = Field(min_length=1, max_length=TEXT_MAX)
    speaker: str | None = None
    manner: str = Field(default="", max_length=200)
    source_line: int = Field(default=0, ge=0)


class _Scene(_Part):
    id: str = Field(pattern=r"^s[0-9]{1,4}$")
    heading: str = Field(default="", max_length=500)
    place: str = Field(default="", max_length=200)
    time_of_day: str = Field(default="", max_length=100)
    props: tuple[str, ...] = ()
    lines: tuple[_Line, ...] = Field(min_length=1, max_length=LINES_MAX)


class _Script(_Part):
    title: str = Field(default="", max_length=200)
    language: str = Field(min_length=2, max_length=20)
    logline: str = Field(default="", max_length=TEXT_MAX)
    characters: tuple[_Character, ...] = Field(max_length=CHARACTERS_MAX)
    scenes: tuple[_Scene, ...] = Field(min_length=1, max_length=SCENES_MAX)


def read_outline(text: str) -> dict[str, object]:
    """Return the content of a StoryOutlineVersion; MediaInvalid says what is wrong with the answer."""
    try:
        outline = _Outline.model_validate_json(text)
    except ValidationError as error:
        raise _unusable("outline", error) from error
    _check_characters("outline", outline.characters)
    return outline.model_dump(mode="json")


def read_script(text: str) -> dict[str, object]:
    """Return the content of a ScriptVersion; MediaInvalid says what is wrong with the answer."""
    try:
        raw = _Script.model_validate_json(text)
    except ValidationError as error:
        raise _unusable("script", error) from error
    known = _check_characters("script", raw.characters)
    ids = [scene.id for scene in raw.scenes]
    if len(set(ids)) != len(ids):
        raise _invalid("script", "two scenes share one id")
    for scene in raw.scenes:
        for line in scene.lines:
            _check_speaker(line, known)
    script = scripts.from_json(json.loads(raw.model_dump_json()))
    if not any(line.kind is not LineKind.ACTION for scene in script.scenes for line in scene.lines):
        raise _invalid("script", "nobody says anything")
    return scripts.to_json(script)


def _check_characters(what: str, characters: tuple[_Character, ...]) -> set[str]:
    ids = [each.id for each in characters]
    if len(set(ids)) != len(ids):
        raise _invalid(what, "two characters share one id")
    return set(ids)


def _check_speaker(line: _Line, known: set[str]) -> None:
    speaks = line.kind in ("dialogue", "inner")
    if speaks and line.speaker not in known:
        raise _invalid("script", f"{line.speaker!r} speaks but is not among the characters")
    if not speaks and line.speaker:
        raise _invalid("script", f"a line of {line.kind} has a speaker")


def _unusable(what: str, error: ValidationError) -> MediaInvalid:
    first = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    return _invalid(what, f"{place or 'the answer'}: {first['msg']}")


def _invalid(what: str, why: str) -> MediaInvalid:
    return MediaInvalid(
        f"The text model's {what} cannot be used: {why}",
        hint=f"The answer is kept; import a {what} of your own, or quote a new one with `stage plan`",
        what=what,
        why=why,
    )
