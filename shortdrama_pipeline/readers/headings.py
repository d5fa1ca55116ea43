"""Scene headings as they are really written, in Chinese and in English.

`INT. KITCHEN - NIGHT` · `EXT./INT. 天台 - 夜` · `内景 医院走廊 夜` · `1-1 日 内 林家客厅` ·
`第1场 医院走廊 夜 内` · `场景一：天台 夜` · `3、夜 外 码头`
"""

import re
from dataclasses import dataclass

HEADING_CHARACTERS_MAX = 120

_TIMES_ZH = (
    "清晨|凌晨|早晨|早上|上午|中午|正午|下午|黄昏|傍晚|晚上|夜晚|深夜|半夜|午夜|夜里|夜间|白天|"
    "黎明|拂晓|日出|日落|日内|夜内|日外|夜外|晨|日|夜|昏|晚"
)
_TIME_ZH = re.compile(rf"^(?:{_TIMES_ZH})$")
_TIMES_EN = (
    r"DAY|NIGHT|MORNING|AFTERNOON|EVENING|DAWN|DUSK|NOON|MIDNIGHT|SUNRISE|SUNSET|LATER|CONTINUOUS|"
    r"MOMENTS LATER|SAME(?: TIME)?|MAGIC HOUR"
)
_TIME_EN = re.compile(
    rf"^(?:(?:EARLY|LATE|THAT|NEXT|THE NEXT) )*(?:{_TIMES_EN})(?: \([^)]*\))?$", re.IGNORECASE
)
_SIDE_ZH = re.compile(r"^(?:内景|外景|内外景|内/外景?|内外|内|外|INT\.?|EXT\.?)$", re.IGNORECASE)

_ENGLISH = re.compile(r"^(?:INT\.?/EXT|EXT\.?/INT|INT|EXT|EST|I/E)(?:\.| )\s*(?P<rest>\S.*)$", re.IGNORECASE)
_CHINESE_SIDE = re.compile(
    r"^(?:内外景|内/外景|内景|外景|内/外(?=[\s.．:：]))(?:[\s.．。:：·、/-]\s*|(?=\S))(?P<rest>\S.*)$"
)
_NUMBER_ZH = r"(?:\d{1,4}|[零〇一二三四五六七八九十百]{1,6})"
_ORDINAL = re.compile(rf"^(?:第\s*{_NUMBER_ZH}\s*[场幕景]|场景?\s*{_NUMBER_ZH}(?:-\d{{1,4}})?)(?P<rest>.*)$")
_NUMBERED = re.compile(r"^\d{1,4}(?P<dash>\s*[-—–－]\s*\d{1,4})?\s*(?P<mark>[.、．]?)\s*(?P<rest>.*)$")
_SCENE_EN = re.compile(r"^SCENE\s+\d{1,4}\b(?P<rest>.*)$", re.IGNORECASE)
_SEPARATORS = re.compile(r"\s+-\s+|\s*[—–－|｜，,；;]\s*|\s+|\s*[/·．]\s*")
_DASHES = re.compile(r"\s+[-—–－]{1,2}\s+|\s*[—–－]{1,2}\s*")
_SCENE_NUMBER = re.compile(r"\s*#(?P<number>[\w.\-]{1,12})#\s*$")
_PROSE = re.compile(r"[。！？!?…“”「」『』\"]")


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading's parts; `place` and `time_of_day` may be empty."""

    text: str
    place: str
    time_of_day: str


def read_heading(text: str, *, forced: bool = False) -> Heading | None:
    """Return the heading this line is, or None. `forced` takes any text for a heading."""
    line = text.strip()
    if not line or len(line) > HEADING_CHARACTERS_MAX:
        return None
    bare = _SCENE_NUMBER.sub("", line).strip()
    found = _english(bare) or _chinese(bare)
    if found is None and forced:
        place, time_of_day = _words(bare)
        found = place or bare, time_of_day
    return Heading(line, *found) if found else None


def _english(line: str) -> tuple[str, str] | None:
    numbered = _NUMBERED.match(line)
    match = _ENGLISH.match(numbered.group("rest") if numbered and numbered.group("mark") else line)
    if not match:
        scene = _SCENE_EN.match(line)
        if not scene:
            return None
        rest = scene.group("rest").strip(" .:：-—–\t")
        inner = _ENGLISH.match(rest)
        return _dashed(inner.group("rest") if inner else rest)
    return _dashed(match.group("rest"))


def _dashed(rest: str) -> tuple[str, str]:
    """Split `KITCHEN - NIGHT`; without a dash, look for a Chinese time among the words."""
    pieces = [each.strip() for each in _DASHES.split(rest) if each.strip()]
    if len(pieces) > 1 and (_TIME_EN.match(pieces[-1]) or _TIME_ZH.match(pieces[-1])):
        return " - ".join(pieces[:-1]), pieces[-1]
    if len(pieces) > 1:
        return pieces[0], " - ".join(pieces[1:])
    place, time_of_day = _words(rest)
    return place or rest.strip(), time_of_day


def _chinese(line: str) -> tuple[str, str] | None:
    if _PROSE.search(line):
        return None
    side = _CHINESE_SIDE.match(line)
    if side:
        return _words(side.group("rest"))
    ordinal = _ORDINAL.match(line)
    if ordinal:
        return _after_ordinal(ordinal.group("rest"))
    numbered = _NUMBERED.match(line)
    if numbered and (numbered.group("dash") or numbered.group("mark")):
        return _after_number(numbered.group("rest"), dashed=numbered.group("dash") is not None)
    return None


def _after_ordinal(rest: str) -> tuple[str, str] | None:
    if rest and not re.match(r"^[\s.。:：·、，,\-—–|｜/（(]", rest):
        return None  # 第一场雨下了三天: a sentence
    return _words(re.sub(r"^[.。:：·、，,\-—–|｜/\s]+", "", rest))


def _after_number(rest: str, *, dashed: bool) -> tuple[str, str] | None:
    """Take `1-1 日 内 家` for a heading, but `1、买菜` only with a time or a side beside the place."""
    words = [each for each in _SEPARATORS.split(rest) if each]
    marks = [each for each in words if _TIME_ZH.match(each) or _SIDE_ZH.match(each)]
    side = _CHINESE_SIDE.match(rest)
    if side:
        return _words(side.group("rest"))
    if not marks and not (dashed and not rest):
        return None
    return _words(rest)


def _words(rest: str) -> tuple[str, str]:
    """Sort the words of a heading into place and time of day; 内 and 外 belong to neither."""
    place: list[str] = []
    time_of_day = ""
    for each in _SEPARATORS.split(rest.strip(" （()）")):
        word = each.strip("（()）:：")
        if not word:
            continue
        if not time_of_day and (_TIME_ZH.match(word) or _TIME_EN.match(word)):
            time_of_day = word.rstrip("内外") or word
        elif not _SIDE_ZH.match(word):
            place.append(word)
    return " ".join(place), time_of_day
