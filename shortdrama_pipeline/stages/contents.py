"""Where a person's edit becomes a content: read back as the stages will read it, or refused with its place.

A content that cannot be read takes its whole episode down, since every look at an episode reads all
that is chosen. So whatever does not come back exactly as it went in is no content (P-11.4).
"""

import json
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from shortdrama_pipeline.errors import NotReady
from shortdrama_pipeline.rules import bible
from shortdrama_pipeline.rules import script as scripts
from shortdrama_pipeline.rules import shots as shot_values
from shortdrama_pipeline.rules import timeline as timelines
from shortdrama_pipeline.rules.script import Character, Line, LineKind, Script
from shortdrama_pipeline.rules.shots import MOVES, SIZES, Shot
from shortdrama_pipeline.rules.states import VersionKind

TEXT_CHARACTERS_MAX = 20_000  # of one text; what is longer is no line and no description
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_SCENE_ID = re.compile(r"s[0-9]{1,4}")
_CHARACTER_ID = re.compile(r"c[0-9]{1,3}")


@dataclass(frozen=True, slots=True)
class _Outline:
    title: str
    language: str
    logline: str = ""
    synopsis: str = ""
    beats: tuple[str, ...] = ()
    characters: tuple[Character, ...] = ()


@dataclass(frozen=True, slots=True)
class _Voice:
    voice: str
    language: str


@dataclass(frozen=True, slots=True)
class _Reference:
    """What a dialogue reference holds: `line:<id>/content`."""

    line_id: str
    kind: str
    speaker: str | None
    text: str
    manner: str


Form = TypeVar("Form")


def check_content(kind: str, subject: str, role: str, content: Mapping[str, object]) -> None:
    """Refuse (NotReady) a content of `subject` and `role` that the stages could not read back.

    Covers what a person may edit: outlines, scripts, shots, dialogue references, settings and voices.
    """
    _check_texts("", content)
    name = subject.partition(":")[2]
    match kind, subject.partition(":")[0], role:
        case VersionKind.SCRIPT, _, _:
            _read(Script, content)
            _check_script(scripts.from_json(dict(content)))
        case VersionKind.STORY_OUTLINE, _, _:
            outline = _read(_Outline, content)
            _check_language(outline.language)
            _check_characters(outline.characters)
        case VersionKind.SHOT, "shot", _:
            _read(Shot, content)
            _check_shot(shot_values.from_json(dict(content)), shot_id=name)
        case VersionKind.SHOT, "line", _:
            line = _read(_Reference, content)
            _require_same("line_id", line.line_id, name)
            _require_one_of("kind", line.kind, timelines.SPOKEN)
            _require_text("text", line.text)
        case VersionKind.ASSET, "character", "voice":
            voice = _read(_Voice, content)
            _require_text("voice", voice.voice)
            _check_language(voice.language)
        case VersionKind.ASSET, named, "content":
            entry = _read(bible.Entry, content)
            _require_same("kind", entry.kind, named)
            _require_same("slug", entry.slug, name)
            _require_text("name", entry.name)
        case _:
            raise NotReady(
                f"{subject}#{role} is not edited",
                hint="Edit the script, the outline, a shot, a line or a setting",
                subject=subject,
            )


def _read(form: type[Form], content: Mapping[str, object]) -> Form:
    """Return the content as `form`: no field too few, none too many, none of another type."""
    adapter = TypeAdapter(form)
    try:
        made = adapter.validate_json(json.dumps(content), strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise _unreadable(".".join(map(str, first["loc"])), str(first["msg"])) from None
    back = adapter.dump_python(made, mode="json")
    for place, left, right in _unequal("", back, content):
        raise _unreadable(place, "it is not known here" if left is None else f"{right!r} is read as {left!r}")
    return made


def _unequal(place: str, back: object, given: object) -> Iterable[tuple[str, object, object]]:
    if isinstance(back, Mapping) and isinstance(given, Mapping):
        for name in given:
            yield from _unequal(f"{place}.{name}".lstrip("."), back.get(name), given.get(name))
    elif isinstance(back, list) and isinstance(given, list | tuple) and len(back) == len(given):
        for n, (left, right) in enumerate(zip(back, given, strict=True)):
            yield from _unequal(f"{place}.{n}", left, right)
    elif back != given:
        yield place, back, given


def _check_texts(place: str, value: object) -> None:
    """Refuse what no database or model takes: zero characters, half surrogates, texts without end."""
    match value:
        case str():
            if _UNSTORABLE.search(value):
                raise _unreadable(place, "it holds a character that cannot be stored")
            if len(value) > TEXT_CHARACTERS_MAX:
                raise _unreadable(place, f"more than {TEXT_CHARACTERS_MAX} characters")
        case Mapping():
            for name, each in value.items():
                _check_texts(place, str(name))
                _check_texts(f"{place}.{name}".lstrip("."), each)
        case list() | tuple():
            for n, each in enumerate(value):
                _check_texts(f"{place}.{n}", each)
        case float():
            raise _unreadable(place, "only whole numbers are stored")
        case _:
            pass


def _check_script(script: Script) -> None:
    _check_language(script.language)
    known = _check_characters(script.characters)
    if not script.scenes:
        raise _unreadable("scenes", "a script has at least one")
    seen: set[str] = set()
    for n, scene in enumerate(script.scenes):
        if not _SCENE_ID.fullmatch(scene.id) or scene.id in seen:
            raise _unreadable(f"scenes.{n}.id", f"{scene.id!r} is no id of its own, such as s1")
        seen.add(scene.id)
        for k, line in enumerate(scene.lines):
            _check_line(f"scenes.{n}.lines.{k}", line, known)


def _check_line(place: str, line: Line, known: Collection[str]) -> None:
    _require_text(f"{place}.text", line.text)
    if line.source_line < 0:
        raise _unreadable(f"{place}.source_line", "it is negative")
    if line.kind in {LineKind.DIALOGUE, LineKind.INNER}:
        if line.speaker is None or (line.speaker and line.speaker not in known):
            raise _unreadable(f"{place}.speaker", f"{line.speaker!r} is not among the characters")
    elif line.speaker is not None:
        raise _unreadable(f"{place}.speaker", f"a line of {line.kind} has none")


def _check_characters(characters: Iterable[Character]) -> set[str]:
    seen: set[str] = set()
    for n, each in enumerate(characters):
        if not _CHARACTER_ID.fullmatch(each.id) or each.id in seen:
            raise _unreadable(f"characters.{n}.id", f"{each.id!r} is no id of its own, such as c1")
        _require_text(f"characters.{n}.name", each.name)
        seen.add(each.id)
    return seen


def _check_shot(shot: Shot, *, shot_id: str) -> None:
    _require_same("id", shot.id, shot_id)
    _require_one_of("size", shot.size, SIZES)
    _require_one_of("move", shot.move, MOVES)
    _require_one_of("transition_in", shot.transition_in, timelines.TRANSITIONS)
    for n, line in enumerate(shot.lines):
        _require_one_of(f"lines.{n}.kind", line.kind, timelines.SPOKEN)
        _require_text(f"lines.{n}.text", line.text)
        if line.start_ms < 0 or line.estimated_ms < 0:
            raise _unreadable(f"lines.{n}", "a time is negative")


def _check_language(language: str) -> None:
    if not re.fullmatch(r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*", language):
        raise _unreadable("language", f"{language!r} is no language such as zh-CN or en-US")


def _require_same(place: str, found: str, wanted: str) -> None:
    if found != wanted:
        raise _unreadable(place, f"{found!r} is not {wanted!r}, which it is the content of")


def _require_one_of(place: str, found: str, known: Collection[str]) -> None:
    if found not in known:
        raise _unreadable(place, f"{found!r} is none of {', '.join(known)}")


def _require_text(place: str, text: str) -> None:
    if not text.strip():
        raise _unreadable(place, "it is empty")


def _unreadable(place: str, why: str) -> NotReady:
    return NotReady(
        f"The new content cannot be read at {place or 'its top'}: {why}",
        hint="Start from the content that `shortdrama version show` prints",
        place=place,
        why=why,
    )
