"""Plain text screenplays, as Chinese short dramas are really written, and `NAME: line` in English.

第1集 雨夜                 the title
1-1 夜 内 医院走廊         a scene
人物：林晚、顾沉            who is in it
△林晚推门而入。            an action, as is every other line without a name
林晚（冷笑）：你来晚了。    a line
顾沉OS：她怎么知道？        a thought
旁白：三年前。             narration
"""

import re

from shortdrama_pipeline.readers.building import ScriptBuilder
from shortdrama_pipeline.readers.cues import NAME_CHARACTERS_MAX, Cue, manner_kind, read_cue
from shortdrama_pipeline.readers.headings import read_heading
from shortdrama_pipeline.readers.marks import (
    LABELS,
    is_cast_heading,
    is_label,
    is_transition,
    joined,
    read_cast_line,
    read_label,
)
from shortdrama_pipeline.readers.outcome import ReadScript, TextLine, shown, unreadable
from shortdrama_pipeline.rules.attribution import SPEECH_VERB_ENDS
from shortdrama_pipeline.rules.script import LineKind

_CUE = re.compile(r"^(?P<cue>[^：:“”「」『』\"]{1,80}?)\s*(?:：|:(?!//))\s*(?P<said>.*)$")
_NO_NAME = re.compile(r"^[：:]\s*\S")
_ACTION_MARK = re.compile(r"^[△▲Δ∆▷►]\s*")
_RULE = re.compile(r"^[-=*_—·.~ ]{3,}$")
_NAME_ZH = re.compile(r"^[\u3400-\u9fffA-Za-z0-9·・.]{1,12}$")
_NAME_EN = re.compile(r"^[A-Z][\w.'’\-]*(?: (?:[A-Z0-9#][\w.'’\-]*|of|the|and|de|van|von)){0,4}$")
_LEADING_MANNER = re.compile(r"^[（(](?P<manner>[^（）()]{1,60})[）)]\s*(?P<said>\S.*)$")
_WHOLE_PARENTHETICAL = re.compile(r"^[（(](?P<inside>[^（）()]+)[）)]$")
_EPISODE = re.compile(
    r"^《.{1,40}》.{0,20}$|^第\s*[\d零一二三四五六七八九十百]{1,5}\s*集.{0,40}$|^EPISODE\s+\d+.{0,60}$",
    re.IGNORECASE,
)
_TITLE_LABEL = re.compile(r"^(?:剧名|片名|标题|title)\s*[：:]\s*(?P<title>.+)$", re.IGNORECASE)
_LOGLINE_LABEL = re.compile(
    r"^(?:简介|梗概|故事梗概|一句话|logline)\s*[：:]\s*(?P<logline>.+)$", re.IGNORECASE
)
_FOUNTAIN_CUE = re.compile(r"^@?[A-Z][A-Z0-9 .'\-]{0,38}(?:\([^)]*\))?\s*\^?$")
CUE_SHARE = 3  # one line in three with a name before a colon makes a screenplay
TITLE_CHARACTERS_MAX = 40


def looks_like_screenplay(lines: list[TextLine]) -> bool:
    """Tell a screenplay from prose by its headings, marks and cues."""
    filled = [each.text.strip() for each in lines if each.text.strip()]
    if any(read_heading(each) or _ACTION_MARK.match(each) for each in filled):
        return True
    cues = sum(1 for each in filled if cue_of(each) is not None and "：「" not in each and "：“" not in each)
    return cues > 0 and cues * CUE_SHARE >= len(filled)


def looks_like_fountain(lines: list[TextLine]) -> bool:
    """Tell Fountain in a .txt: a name in capitals, alone, right above what it says."""
    texts = [each.text.strip() for each in lines]
    cues = sum(
        1
        for before, each, after in zip(["", *texts], texts, [*texts[1:], ""], strict=False)
        if not before and after and (each.startswith("@") or _FOUNTAIN_CUE.match(each))
        and not is_transition(each) and not read_heading(each)
    )  # fmt: skip
    colons = sum(1 for each in texts if cue_of(each) is not None)
    return cues > 0 and cues >= colons


def cue_of(text: str, *, known: ScriptBuilder | None = None) -> tuple[Cue, str] | None:
    """Return the cue of `林晚（冷笑）：台词` and what is said, or None if this is no such line."""
    match = _CUE.match(text) if "：" in text or ":" in text else None
    if match is None or is_transition(text):
        return None
    cue = read_cue(match["cue"])
    if cue.kind is LineKind.NARRATION:
        return cue, match["said"].strip()
    name = cue.name
    if name.casefold() in LABELS or len(name) > NAME_CHARACTERS_MAX:
        return None
    if known is not None and known.knows(name):
        return cue, match["said"].strip()
    if _NAME_ZH.match(name) and not name.isdigit():
        if name.isascii() and not name[0].isupper():
            return None
        if SPEECH_VERB_ENDS.search(name) and not cue.manner:
            return None
        return cue, match["said"].strip()
    return (cue, match["said"].strip()) if _NAME_EN.match(name) else None


def read_screenplay(lines: list[TextLine], *, language: str | None) -> ReadScript:
    """Read a plain text screenplay."""
    builder = ScriptBuilder()
    at = _cast(lines, _title(lines, builder), builder)
    while at < len(lines):
        at = _line(lines, at, builder)
    return builder.finish(language=language)


def _title(lines: list[TextLine], builder: ScriptBuilder) -> int:
    """Take a title from the first line that says something; return where the body starts."""
    for index, line in enumerate(lines):
        text = line.text.strip()
        if not text:
            continue
        titled = _TITLE_LABEL.match(text)
        if titled:
            builder.title = titled["title"].strip()
            return index + 1
        plain = not (
            read_heading(text) or _ACTION_MARK.match(text) or cue_of(text) or _LOGLINE_LABEL.match(text)
        )
        short = len(text) <= TITLE_CHARACTERS_MAX and not re.search(r"[。！？.!?，,：:]$", text)
        heads = index + 1 < len(lines) and not lines[index + 1].text.strip()
        if _EPISODE.match(text) or (plain and short and heads and not is_transition(text)):
            builder.title = text
            return index + 1
        return index
    return 0


def _cast(lines: list[TextLine], at: int, builder: ScriptBuilder) -> int:
    """Read a list of people above the first scene; return where the body starts.

    It ends at the first heading, or, where the file has none, at a blank line.
    """
    for start in range(at, len(lines)):
        text = lines[start].text.strip()
        logline = _LOGLINE_LABEL.match(text)
        if logline:
            builder.logline = builder.logline or logline["logline"].strip()
        elif text and not is_cast_heading(text):
            return start
        elif text:
            return _cast_lines(lines, start + 1, builder)
    return at


def _cast_lines(lines: list[TextLine], at: int, builder: ScriptBuilder) -> int:
    headed = any(read_heading(each.text) for each in lines[at:])
    while at < len(lines):
        text = lines[at].text.strip()
        if read_heading(text) or _ACTION_MARK.match(text) or (not text and not headed):
            return at
        if text:
            read_cast_line(builder, text, lines[at].number)
        at += 1
    return at


def _line(lines: list[TextLine], at: int, builder: ScriptBuilder) -> int:
    """Read one line, and what belongs to it; return where the next begins."""
    number, text = lines[at].number, lines[at].text.strip().replace("\f", "")
    if not text or _RULE.match(text):
        return at + 1
    if read_body_line(text, number, builder):
        return at + 1
    found = cue_of(text, known=builder)
    if found is None:
        return _other(text, number, builder, at)
    cue, said = found
    after = at + 1
    if not said:
        said, after = _below(lines, at + 1, builder)
    if not said:
        raise unreadable(
            number, f"the cue {shown(text)!r} has no line", hint="write what is said after the name"
        )
    say(builder, cue, said, number)
    return after


def is_body_line(text: str) -> bool:
    """Tell whether `read_body_line` takes this line."""
    marks = (_ACTION_MARK, _LOGLINE_LABEL, _NO_NAME)
    return bool(
        read_heading(text) or is_transition(text) or is_label(text) or any(each.match(text) for each in marks)
    )


def read_body_line(text: str, number: int, builder: ScriptBuilder) -> bool:
    """Read a heading, a transition, a marked action or a label; tell whether it was one of them."""
    heading = read_heading(text)
    if heading:
        builder.open_scene(heading, number)
        return True
    if is_transition(text):
        builder.transit(text, number)
        return True
    mark = _ACTION_MARK.match(text)
    if mark:
        if text[mark.end() :]:
            builder.act(text[mark.end() :], number)
        return True
    logline = _LOGLINE_LABEL.match(text)
    if logline and not builder.scenes and not builder.logline:
        builder.logline = logline["logline"].strip()
        return True
    if _NO_NAME.match(text):
        raise unreadable(
            number, "a line of dialogue before any character", hint="write the name before the colon"
        )
    return read_label(builder, text, number)


def say(builder: ScriptBuilder, cue: Cue, said: str, number: int) -> None:
    """Add what a cue says, with a parenthetical at its head as the manner."""
    manner = _LEADING_MANNER.match(said)
    manners = [cue.manner]
    kind = cue.kind
    if manner:
        said = manner["said"]
        manners.append(manner["manner"].strip())
        kind = manner_kind(manners[-1], kind)
    comma = ", " if cue.name.isascii() and cue.name else "，"
    builder.say(cue.name, said, number, kind=kind, manner=comma.join(each for each in manners if each))


def _other(text: str, number: int, builder: ScriptBuilder, at: int) -> int:
    """Take a line without a mark for an action, or for the head of another episode."""
    if _EPISODE.match(text):
        if builder.scenes:
            builder.remark(number, f"another episode in the same file: {shown(text)}")
        builder.title = builder.title or text
        return at + 1
    inside = _WHOLE_PARENTHETICAL.match(text)
    builder.act(inside["inside"].strip() if inside else text, number)
    return at + 1


def _below(lines: list[TextLine], at: int, builder: ScriptBuilder) -> tuple[str, int]:
    """Return what stands under a cue that ends its line."""
    said = ""
    while at < len(lines):
        text = lines[at].text.strip()
        starts = not text or read_heading(text) or _ACTION_MARK.match(text) or is_transition(text)
        if starts or cue_of(text, known=builder) is not None:
            break
        said = joined(said, text)
        at += 1
    return said, at
