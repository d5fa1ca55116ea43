"""Small reading helpers the formats share: emphasis, labels, joining of wrapped lines."""

import re

from shortdrama_pipeline.readers.building import ScriptBuilder
from shortdrama_pipeline.readers.outcome import shown

_RUN = re.compile(r"\\[*_]|\*+|_+")
_WIDE = re.compile(r"[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef\u2014\u2026\u201c\u201d\U00020000-\U0003ffff]")

# `人物：林晚、顾沉`: a label at the head of a line, which is not somebody speaking.
_LABEL = re.compile(
    r"^[【\[（(]?\s*(?P<label>[^\s：:【】\[\]（）()]{1,16})\s*[】\]）)]?\s*[：:]\s*(?P<rest>.*)$"
)
_PRESENT = {"人物", "出场人物", "登场人物", "主要人物", "角色", "人物表", "角色表", "characters", "cast"}
_CAST = _PRESENT | {"人物小传", "人物介绍", "角色介绍", "dramatis personae"}
_PROPS = {"道具", "道具表", "props", "prop"}
_PLACE = {"地点", "场景", "place", "location"}
_TIME = {"时间", "time"}
_SHOWN = {
    "字幕",
    "音效",
    "音乐",
    "特效",
    "镜头",
    "画面",
    "动作",
    "bgm",
    "sfx",
    "music",
    "sound",
    "super",
    "title",
}
_SHOWN |= {"闪回", "闪回结束", "黑屏", "空镜", "特写", "服装", "化妆", "场记", "action"}
_NOTES = {"注", "备注", "说明", "note", "notes", "todo"}
_LIST_MARKS = "、，,；;/|"
_BRACKETS = {"（": 1, "(": 1, "）": -1, ")": -1}
_ENTRY = re.compile(r"^(?P<name>[^（(）)]{1,40}?)\s*(?:[（(](?P<inside>[^（）()]*)[）)])?$")
_CAST_LINE = re.compile(
    r"^(?:[-*•·▪]\s*)?(?P<name>[^：:，,（(）)—]{1,40}?)\s*(?:[（(](?P<inside>[^（）()]{0,200})[）)])?"
    r"\s*(?:[：:—，,]+\s*(?P<rest>\S.*))?$"
)
LABELS = _CAST | _PROPS | _PLACE | _TIME | _SHOWN | _NOTES

_TRANSITION_EN = re.compile(
    r"^(?:[A-Z][A-Z .,'\-]{0,40} TO:|FADE (?:IN|OUT|TO BLACK|UP)[.:]?|CUT TO BLACK[.:]?|DISSOLVE TO[.:]?|"
    r"SMASH CUT[.:]?)$"
)
_TRANSITION_ZH = re.compile(
    r"^[（(【]?(?:淡入|淡出|淡入淡出|叠化|切至|切到|切|黑场|黑屏|闪黑|闪白|渐隐|渐显|溶入|溶出|化入|化出)(?:至.{0,12})?[）)】]?[：:。]?$"
)


def is_transition(text: str) -> bool:
    """Tell `CUT TO:` and 淡出 from what is seen."""
    return bool(_TRANSITION_EN.match(text) or _TRANSITION_ZH.match(text))


def without_emphasis(text: str) -> str:
    """Take `*`, `**`, `***` and `_` off the words they embrace; everything else stays as it is.

    Runs are paired from the inside like brackets, so the time is linear.
    """
    if "*" not in text and "_" not in text:
        return text
    runs = list(_RUN.finditer(text))
    dropped: set[int] = set()
    open_at: dict[str, list[int]] = {}
    for index, run in enumerate(runs):
        mark = run.group()
        if mark[0] == "\\" or len(mark) > 3:
            continue
        if _closes(text, run) and open_at.get(mark):
            start = open_at[mark].pop()
            dropped.update((start, index))
            for each in open_at.values():  # marks opened inside and never closed stay as they are
                while each and each[-1] > start:
                    each.pop()
        elif _opens(text, run):
            open_at.setdefault(mark, []).append(index)
    return _without(text, runs, dropped)


def _without(text: str, runs: list[re.Match[str]], dropped: set[int]) -> str:
    pieces: list[str] = []
    after = 0
    for index, run in enumerate(runs):
        pieces.append(text[after : run.start()])
        if run.group()[0] == "\\":
            pieces.append(run.group()[1:])
        elif index not in dropped:
            pieces.append(run.group())
        after = run.end()
    return "".join(pieces) + text[after:]


def _opens(text: str, run: re.Match[str]) -> bool:
    after = text[run.end() : run.end() + 1]
    before = text[run.start() - 1 : run.start()] if run.start() else ""
    if not after or after.isspace():
        return False
    return run.group()[0] == "*" or not _is_word(before)


def _closes(text: str, run: re.Match[str]) -> bool:
    after = text[run.end() : run.end() + 1]
    before = text[run.start() - 1 : run.start()] if run.start() else ""
    if not before or before.isspace():
        return False
    return run.group()[0] == "*" or not _is_word(after)


def _is_word(character: str) -> bool:
    """Letters that make `snake_case`; Chinese has no spaces, so an underline may touch it."""
    return character.isalnum() and not _WIDE.match(character)


def joined(before: str, after: str) -> str:
    """Join two lines that a writer or an editor wrapped."""
    if not before or not after:
        return before or after
    wide = _WIDE.match(before[-1]) or _WIDE.match(after[0])
    return before + ("" if wide else " ") + after


def is_label(text: str) -> bool:
    """Tell a labelled line (人物：…) from somebody speaking."""
    match = _LABEL.match(text)
    return match is not None and match.group("label").casefold() in LABELS


def read_label(builder: ScriptBuilder, text: str, line: int) -> bool:
    """Take a labelled line (人物, 道具, 时间, 字幕 …) to where it belongs; tell whether it was one."""
    match = _LABEL.match(text)
    if match is None:
        return False
    label, rest = match.group("label").casefold(), match.group("rest").strip()
    if label not in LABELS:
        return False
    if label in _PRESENT:
        for each in _listed(rest):
            _read_person(builder, each, line)
        builder.present(text, line)
    elif label in _PROPS:
        builder.prop(text, _listed(rest), line)
    elif label in _PLACE:
        builder.at(text, line, place=rest)
    elif label in _TIME:
        builder.at(text, line, time_of_day=rest)
    elif label in _NOTES:
        builder.remark(line, f"note: {shown(text)}")
    else:
        builder.act(text, line)
    return True


def is_cast_heading(text: str) -> bool:
    """Tell `人物小传：` or `Characters`, above a list of people, from a line of the script."""
    return text.strip().strip("【】[]：: ").casefold() in _CAST


def read_cast_line(builder: ScriptBuilder, text: str, line: int) -> None:
    """Take `林晚：25岁，设计师` for a character and her description."""
    match = _CAST_LINE.match(text)
    if match is None or not any(each.isalnum() for each in match["name"]):
        builder.remark(line, f"among the characters: {shown(text)}")
        return
    description = "，".join(each.strip() for each in (match["inside"], match["rest"]) if each)
    builder.character(match["name"].strip(), line, description=description)


def _read_person(builder: ScriptBuilder, text: str, line: int) -> None:
    """Take a name, and what stands in brackets behind it, from a list of people."""
    match = _ENTRY.match(text)
    if match is None:
        builder.remark(line, f"among the characters: {shown(text)}")
    else:
        builder.character(match["name"].strip(), line, description=(match["inside"] or "").strip())


def _listed(rest: str) -> list[str]:
    """Split a list at its marks, but not inside brackets."""
    pieces, depth = [""], 0
    for each in rest:
        depth = max(0, depth + _BRACKETS.get(each, 0))
        if depth == 0 and each in _LIST_MARKS:
            pieces.append("")
        else:
            pieces[-1] += each
    return [each for each in (e.strip(" 。.\u3000\t") for e in pieces) if each]
