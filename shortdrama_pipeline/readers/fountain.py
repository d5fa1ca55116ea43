"""Fountain, after its syntax page (fountain.io/syntax), with the headings and cues of Chinese scripts.

Not in the script but in the remarks: boneyard, notes, sections, synopses, other title page fields.
Page breaks and emphasis marks are layout and leave no trace. Dual dialogue becomes two lines in order.
"""

import re
from dataclasses import dataclass

from shortdrama_pipeline.readers.building import ScriptBuilder
from shortdrama_pipeline.readers.cues import NAME_CHARACTERS_MAX, Cue, manner_kind, read_cue
from shortdrama_pipeline.readers.headings import Heading, read_heading
from shortdrama_pipeline.readers.marks import (
    is_cast_heading,
    is_transition,
    joined,
    read_cast_line,
    read_label,
    without_emphasis,
)
from shortdrama_pipeline.readers.outcome import ReadScript, TextLine, shown, unreadable

_TITLE_KEY = re.compile(r"^(?P<key>[^\s:：][^:：]{0,30}?)\s*[:：]\s*(?P<value>.*)$")
_TITLE = {"title", "标题", "剧名", "片名"}
_LOGLINE = {"logline", "简介", "梗概", "一句话", "故事梗概"}
_LANGUAGE = {"language", "lang", "语言"}
_KNOWN_KEYS = _TITLE | _LOGLINE | _LANGUAGE | {
    "credit", "author", "authors", "source", "notes", "draft date", "date", "contact", "copyright",
    "revision", "format", "series", "episode", "作者", "编剧", "版权", "日期", "来源", "集", "集数", "系列",
    "人物", "角色", "characters", "cast",
}  # fmt: skip
_PAGE_BREAK = re.compile(r"^={3,}\s*$")
NAME_ZH_MAX = 6
CUE_CHARACTERS_MAX = 40
_CASELESS_NAME = re.compile(rf"^[\u3400-\u9fff·]{{1,{NAME_ZH_MAX}}}$")
_PARENTHETICAL = re.compile(r"^[（(](?P<inside>.*)[)）]$")
_COLON_LINE = re.compile(r"^(?P<name>[^\s：:，。！？]{1,12})[：:]\s*\S")
_HAN = re.compile(r"[\u3400-\u9fff]")


@dataclass(slots=True)
class _Reader:
    lines: list[TextLine]
    builder: ScriptBuilder
    at: int = 0
    likely: frozenset[str] = frozenset()  # bare Chinese names that other lines bear out

    def peek(self, ahead: int = 0) -> str:
        place = self.at + ahead
        return self.lines[place].text if 0 <= place < len(self.lines) else ""

    @property
    def after_blank(self) -> bool:
        return self.at == 0 or not self.peek(-1).strip()


def read_fountain(lines: list[TextLine], *, language: str | None) -> ReadScript:
    """Read a Fountain script."""
    builder = ScriptBuilder()
    body = _without_comments(lines, builder)
    reader = _Reader(body, builder, likely=_likely_names(body))
    _title_page(reader)
    while reader.at < len(reader.lines):
        _element(reader)
    return builder.finish(language=language)


def _likely_names(lines: list[TextLine]) -> frozenset[str]:
    """Return the short Chinese lines above others that the script names more than once.

    Chinese has no capitals, and many writers leave out the @: a name is borne out by being named again.
    """
    texts = ["", *(each.text.strip() for each in lines), ""]
    found = {
        read_cue(text).name
        for before, text, after in zip(texts, texts[1:], texts[2:], strict=False)
        if not before and after and len(text) <= CUE_CHARACTERS_MAX and not read_heading(text)
    }
    names = {each for each in found if _CASELESS_NAME.match(each)}
    counts = dict.fromkeys(names, 0)
    for text in texts:
        for length in range(1, NAME_ZH_MAX + 1):
            for start in range(len(text) - length + 1):
                if text[start : start + length] in counts:
                    counts[text[start : start + length]] += 1
    return frozenset(name for name, count in counts.items() if count > 1)


# --- comments ---------------------------------------------------------------------------------------


def _without_comments(lines: list[TextLine], builder: ScriptBuilder) -> list[TextLine]:
    """Take out boneyard `/* */` and notes `[[ ]]`, each to a remark; lines keep their numbers."""
    kept: list[TextLine] = []
    inside: str | None = None  # what closes the comment that is open
    opened_at = 0
    comment: list[str] = []
    closes_later = _last_places(lines)
    for index, line in enumerate(lines):
        rest, outside, had = line.text, "", inside is not None
        while True:
            if inside is None:
                place, inside = _opener(rest, index, closes_later)
                if inside is None:
                    outside += rest
                    break
                outside, rest = outside + rest[:place], rest[place + 2 :]
                opened_at, comment, had = line.number, [], True
            end = rest.find(inside)
            if end < 0:
                comment.append(rest)
                break
            comment.append(rest[:end])
            kind = "boneyard" if inside == "*/" else "note"
            builder.remark(opened_at, f"{kind}: {shown(' '.join(comment))}")
            rest, inside = rest[end + 2 :], None
            if not outside or outside[-1].isspace():
                rest = rest.lstrip()  # the space on one side of the comment is enough
        if outside.strip() or not had:
            kept.append(TextLine(line.number, outside.rstrip() if had else outside))
    return kept


def _last_places(lines: list[TextLine]) -> dict[str, tuple[int, int]]:
    """Return where each closing mark stands last, so an opener without one stays text."""
    places = {"*/": (-1, -1), "]]": (-1, -1)}
    for index, line in enumerate(lines):
        for mark in places:
            found = line.text.rfind(mark)
            if found >= 0:
                places[mark] = (index, found)
    return places


def _opener(rest: str, index: int, closes_later: dict[str, tuple[int, int]]) -> tuple[int, str | None]:
    """Return the first comment that opens in the rest of the line and is closed somewhere."""
    found: list[tuple[int, str]] = []
    for opener, closer in (("/*", "*/"), ("[[", "]]")):
        place = rest.find(opener)
        closed = closes_later[closer][0] > index or (place >= 0 and rest.find(closer, place + 2) >= 0)
        if place >= 0 and closed:
            found.append((place, closer))
    return min(found) if found else (0, None)


# --- title page -------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Field:
    key: str
    number: int
    values: list[TextLine]

    @property
    def value(self) -> str:
        text = ""
        for each in self.values:
            text = joined(text, each.text)
        return text


def _title_page(reader: _Reader) -> None:
    while reader.at < len(reader.lines) and not reader.peek().strip():
        reader.at += 1
    fields = _title_fields(reader)
    if not any(each.key.casefold() in _KNOWN_KEYS for each in fields):
        return
    while reader.at < len(reader.lines) and reader.peek().strip():
        reader.at += 1
    for each in fields:
        _title_field(reader.builder, each)


def _title_fields(reader: _Reader) -> list[_Field]:
    """Return the `key: value` lines at the head of the file, or nothing if there are others among them."""
    fields: list[_Field] = []
    for line in reader.lines[reader.at :]:
        if not line.text.strip():
            break
        match = _TITLE_KEY.match(line.text)
        if fields and line.text[0].isspace():
            fields[-1].values.append(TextLine(line.number, without_emphasis(line.text.strip())))
        elif match:
            value = without_emphasis(match["value"].strip())
            values = [TextLine(line.number, value)] if value else []
            fields.append(_Field(match["key"].strip(), line.number, values))
        else:
            return []
    return fields


def _title_field(builder: ScriptBuilder, field: _Field) -> None:
    key = field.key.casefold()
    if key in _TITLE:
        builder.title = field.value
    elif key in _LOGLINE:
        builder.logline = field.value
    elif key in _LANGUAGE and field.value:
        builder.language = field.value
    elif is_cast_heading(key):
        for each in field.values:
            read_cast_line(builder, each.text, each.number)
    else:
        builder.remark(field.number, f"title page: {shown(field.key)}: {shown(field.value)}")


# --- body -------------------------------------------------------------------------------------------


def _element(reader: _Reader) -> None:
    """Read one element: from where the reader stands to where it ends."""
    line = reader.lines[reader.at]
    text = line.text.strip().replace("\f", "")
    if not text or _PAGE_BREAK.match(text):
        reader.at += 1
        return
    heading = _heading(reader, text)
    if heading:
        reader.builder.open_scene(heading, line.number)
        reader.at += 1
        return
    if _structure(reader, text, line.number):
        reader.at += 1
        return
    cue = _cue(reader, text)
    if cue:
        _dialogue(reader, cue, text)
        return
    if reader.after_blank and is_transition(text):
        reader.builder.transit(without_emphasis(text), line.number)
        reader.at += 1
        return
    _action(reader)


def _heading(reader: _Reader, text: str) -> Heading | None:
    if text.startswith(".") and text[1:2].strip() and text[1] != ".":
        return read_heading(without_emphasis(text[1:]), forced=True)
    return read_heading(without_emphasis(text)) if reader.after_blank else None


def _structure(reader: _Reader, text: str, line: int) -> bool:
    """Take sections, synopses, forced transitions, centred text and lyrics; tell whether it was one."""
    builder = reader.builder
    if text.startswith("#"):
        builder.remark(line, f"section: {shown(text.lstrip('#'))}")
    elif text.startswith("="):
        synopsis = text[1:].strip()
        if not builder.scenes and not builder.logline:
            builder.logline = without_emphasis(synopsis)
        else:
            builder.remark(line, f"synopsis: {shown(synopsis)}")
    elif text.startswith(">"):
        inside = text[1:].strip()
        if inside.endswith("<"):
            _act(builder, inside[:-1].strip(), line)
        elif inside:
            builder.transit(without_emphasis(inside), line)
    elif text.startswith("~") and text[1:].strip():
        _act(builder, text[1:].strip(), line)
    else:
        return False
    return True


def _cue(reader: _Reader, text: str) -> Cue | None:
    """Return the cue this line is: forced with @, in capitals, or a bare Chinese name above a line."""
    follows = bool(reader.peek(1).strip())
    bare = text.rstrip("^").rstrip()
    if text.startswith("@"):
        if not bare[1:].strip():
            return None
        if not follows:
            raise unreadable(
                reader.lines[reader.at].number,
                f"the cue {shown(text)!r} has no line",
                hint="write what is said below the name, or take the name out",
            )
        return read_cue(without_emphasis(bare[1:].strip()))
    if not reader.after_blank or not follows or text.startswith("!"):
        return None
    cue = read_cue(without_emphasis(bare))
    if len(cue.name) > NAME_CHARACTERS_MAX:
        return None  # a sentence in capitals
    if is_transition(text) or text.endswith((":", "：")):
        return None
    if _in_capitals(bare):
        return cue
    if not cue.name:
        return cue  # 旁白
    if not _CASELESS_NAME.match(cue.name):
        return None
    if cue.marked or reader.builder.knows(cue.name):
        return cue
    if cue.name not in reader.likely:
        return None
    number = reader.lines[reader.at].number
    reader.builder.remark(number, f"{cue.name!r} was read as a character; Fountain's mark for one is @")
    return cue


def _in_capitals(text: str) -> bool:
    name = re.sub(r"\([^)]*\)", "", text)
    letters = [each for each in name if each.isalpha()]
    if not any(each.isupper() for each in letters) or any(each.islower() for each in letters):
        return False
    return not name.rstrip().endswith((".", "!", "?", "。", "！", "？"))


def _dialogue(reader: _Reader, cue: Cue, text: str) -> None:
    """Read what stands under a cue, up to the next blank line."""
    start = reader.lines[reader.at].number
    dual = "dual" if text.endswith("^") else ""
    reader.at += 1
    manner, said, said_at, count = "", "", start, 0
    while reader.at < len(reader.lines) and reader.peek():
        line = reader.lines[reader.at]
        body = line.text.strip().replace("\f", "")
        reader.at += 1
        parenthetical = _PARENTHETICAL.match(body)
        if parenthetical:
            count += _speak(reader.builder, cue, [dual, manner], said, said_at)
            manner, said = parenthetical["inside"].strip(), ""
        elif body:
            said_at = said_at if said else line.number
            said = joined(said, _sung(body))
    count += _speak(reader.builder, cue, [dual, manner], said, said_at)
    if not count:
        raise unreadable(
            start, f"the cue {shown(text)!r} has no line", hint="write what is said below the name"
        )


def _sung(body: str) -> str:
    """Take the mark of a lyric off a sung line."""
    return without_emphasis(body[1:].strip() if body.startswith("~") and body[1:].strip() else body)


def _speak(builder: ScriptBuilder, cue: Cue, manners: list[str], said: str, line: int) -> int:
    if not said:
        return 0
    manner = (", " if cue.name.isascii() else "，").join(each for each in (cue.manner, *manners) if each)
    kind = manner_kind(manners[-1], cue.kind)
    builder.say(cue.name, said, line, kind=kind, manner=manner)
    return 1


def _action(reader: _Reader) -> None:
    """Read a paragraph of action; a forced heading or a blank line ends it."""
    line = reader.lines[reader.at]
    said = ""
    first = True
    while reader.at < len(reader.lines) and reader.peek().strip():
        text = reader.peek().strip().replace("\f", "")
        if not first and (_heading(reader, text) or text.startswith(("@", ">", "#", "=", "~"))):
            break
        if text.startswith("!") and first:
            text = text[1:].strip()
        elif first and read_label(reader.builder, without_emphasis(text), line.number):
            reader.at += 1
            return
        said, first = joined(said, text), False
        reader.at += 1
    colon = _COLON_LINE.match(said)
    if colon and (_HAN.search(colon["name"]) or reader.builder.knows(colon["name"])):
        reader.builder.remark(line.number, f"read as action, though it may be a line: {shown(said)}")
    if said:
        _act(reader.builder, said, line.number)


def _act(builder: ScriptBuilder, text: str, line: int) -> None:
    words = without_emphasis(text)
    if words.strip():
        builder.act(words, line)
