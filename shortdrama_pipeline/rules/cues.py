"""Script text into subtitle cues: by clause, in lines a phone can show, timed by length.

Widths are in units where a line holds 16 wide (CJK) characters or 42 narrow ones, or any mix.
Text is never changed or dropped; only white space at the edges of a cue goes.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator
from itertools import pairwise

WIDE_UNITS = 21
NARROW_UNITS = 8
LINE_UNITS = 16 * WIDE_UNITS  # = 42 * NARROW_UNITS

# Kinsoku: what may not begin a line, and what may not end one.
NO_START = frozenset("，。、；：？！…—～·ー・,.;:?!%％‰℃°)]}）］｝〕〉》」』】〗”’»々")
NO_END = frozenset("([{（［｛〔〈《「『【〖“‘«$¥￥￡#＃@")
_CLAUSE_ENDS = frozenset("。！？；，、：…,;:.!?")
_CLAUSE = re.compile(r".*?(?:[。！？；，、：…]+|—{2,}|[.!?;,:]+(?=\s|$))[”’』」）》】\")]*\s*|.+$", re.DOTALL)


def units(text: str) -> int:
    """Return the width of `text`; marks that join or modify have none."""
    return sum(_units(each) for each in text)


def _units(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in {"Mn", "Me", "Cf"}:
        return 0
    return WIDE_UNITS if unicodedata.east_asian_width(character) in {"W", "F"} else NARROW_UNITS


def split_text(text: str) -> list[str]:
    """Cut one line of the script into cues, at clause ends first, then at legal breaks, evenly."""
    flat = " ".join(text.split())
    cues: list[str] = []
    for clause in _CLAUSE.findall(flat):
        for part in break_line(clause, LINE_UNITS):
            if cues and units((cues[-1] + part).strip()) <= LINE_UNITS and not _ends_sentence(cues[-1], part):
                cues[-1] += part
            else:
                cues.append(part)
    return [each.strip() for each in cues if each.strip()]


def _ends_sentence(before: str, after: str) -> bool:
    """A short outcry may share a cue with what follows; two real sentences may not."""
    stop = before.rstrip('”’』」）》】") ')[-1:] in set("。！？.!?…")
    return stop and units(before) + units(after) > 10 * WIDE_UNITS


def break_line(text: str, width_max: int, measure: Callable[[str], int] = units) -> list[str]:
    """Cut `text` into the fewest parts of at most `width_max`, about equally long, at legal breaks.

    A part ends early after a comma or stop that lies near its middle. `measure` tells widths.
    """
    total = measure(text.strip())
    if total <= width_max:
        return [text]
    aim = -(-total // -(-total // width_max))
    lines = [""]
    for token in _tokens(text, width_max, measure):
        width = measure(lines[-1].rstrip())
        at_clause = lines[-1].rstrip()[-1:] in _CLAUSE_ENDS and width * 5 >= aim * 3
        if lines[-1] and (at_clause or width >= aim or measure((lines[-1] + token).rstrip()) > width_max):
            lines.append("")
        lines[-1] += token
    return lines


def _tokens(text: str, width_max: int, measure: Callable[[str], int]) -> Iterator[str]:
    """Yield what may not be broken: words, and single wide characters with their punctuation."""
    token = ""
    for character in text:
        word_too_long = measure(token + character) > width_max
        if token and (_may_break(token, character) or word_too_long):
            yield token
            token = ""
        token += character
    if token:
        yield token


def _may_break(before: str, after: str) -> bool:
    last = before[-1]
    joined = _units(after) == 0 or last == "\u200d" or "\U0001f3fb" <= after <= "\U0001f3ff"
    flag = all("\U0001f1e6" <= each <= "\U0001f1ff" for each in (last, after)) and len(before) % 2 == 1
    if joined or flag or after in NO_START or last in NO_END or after == " ":
        return False
    return last == " " or WIDE_UNITS in {_units(last), _units(after)}


def spread(weights: list[int], *, start_ms: int, duration_ms: int) -> list[tuple[int, int]]:
    """Share a duration in proportion; the spans touch and fill it exactly.

    Needs at least one millisecond per weight; each span is at least 1 ms long.
    """
    total = sum(weights)
    bounds = [start_ms]
    done = 0
    for index, weight in enumerate(weights):
        done += weight
        rest = len(weights) - index - 1
        bound = start_ms + duration_ms * done // total
        bounds.append(max(bounds[-1] + 1, min(bound, start_ms + duration_ms - rest)))
    return list(pairwise(bounds))
