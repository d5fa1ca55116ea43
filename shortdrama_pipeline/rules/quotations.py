"""Where quotations begin and end, paragraph by paragraph. Pure, and linear in the text.

Only the outermost marks count: what is quoted inside a quotation stays in it as it is.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

PARAGRAPHS_SPANNED_MAX = 20  # an open quotation is believed to close within so many paragraphs

_PAIRS = {"“": "”", "「": "」", "『": "』", "﹁": "﹂", "‘": "’", '"': '"', "＂": "＂", "'": "'"}
_STRAIGHT = ('"', "＂")
_MARK = re.compile(r"[“”「」『』﹁﹂‘’\"＂']")
_BEFORE_OPENING = re.compile(r"[\s(（\[【—–\-“\"「『:：,，。！？]")
_BEFORE_CLOSING = re.compile(r"[,.!?…—;:，。！？；：～”\"\-]")


@dataclass(frozen=True, slots=True)
class Quotation:
    """Offsets into one paragraph: `start` and `end` with the marks, `inner_…` without.

    `closed` is false when it goes on in the next paragraph, `continued` true when it comes from the
    one before.
    """

    start: int
    inner_start: int
    inner_end: int
    end: int
    closed: bool
    continued: bool


@dataclass(frozen=True, slots=True)
class _Marks:
    """What one paragraph holds: openers in order, their partners, and closers that have none."""

    openers: tuple[int, ...]
    partner: dict[int, int]
    lone_closer: dict[str, int]  # first one of each kind
    first: str  # the first character that is not space
    first_at: int


def quotations_of(paragraphs: Sequence[str]) -> list[list[Quotation]]:
    """Return the quotations of every paragraph, in order and without overlap."""
    marks = [_marks(text) for text in paragraphs]
    found: list[list[Quotation]] = []
    going_on = ""  # the opener of a quotation that comes from the paragraph before
    for index, text in enumerate(paragraphs):
        here: list[Quotation] = []
        at = 0
        if going_on:
            first = _continued(text, marks[index], going_on)
            here.append(first)
            at = first.end
            if not first.closed:
                found.append(here)
                going_on = going_on if _goes_on(marks, index, going_on) else ""
                continue
            going_on = ""
        for opener in marks[index].openers:
            if opener < at:
                continue
            closer = marks[index].partner.get(opener)
            if closer is not None:
                here.append(Quotation(opener, opener + 1, closer, closer + 1, closed=True, continued=False))
                at = closer + 1
            elif _goes_on(marks, index, text[opener]):
                here.append(
                    Quotation(opener, opener + 1, len(text), len(text), closed=False, continued=False)
                )
                going_on = text[opener]
                break
        found.append(here)
    return found


def _continued(text: str, marks: _Marks, opener: str) -> Quotation:
    """Return the part of a running quotation that lies in this paragraph."""
    reopened = marks.first == opener
    inner = marks.first_at + 1 if reopened else 0
    start = marks.first_at if reopened else 0
    closer: int | None
    if opener in _STRAIGHT or opener == "'":
        closer = text.find(_PAIRS[opener], inner)
        closer = closer if closer >= 0 else None
    else:
        closer = marks.partner.get(marks.first_at) if reopened else marks.lone_closer.get(opener)
    if closer is None:
        return Quotation(start, inner, len(text), len(text), closed=False, continued=True)
    return Quotation(start, inner, closer, closer + 1, closed=True, continued=True)


def _goes_on(marks: list[_Marks], index: int, opener: str) -> bool:
    """Tell whether a quotation open at the end of a paragraph is taken up by the following ones."""
    following = [each for each in marks[index + 1 : index + 1 + PARAGRAPHS_SPANNED_MAX] if each.first]
    if not following:
        return False
    if following[0].first == opener:
        return True
    for each in following:
        if opener in each.lone_closer:
            return True
        if any(each.first == one for one in _PAIRS):
            return False
    return False


def _marks(text: str) -> _Marks:
    """Pair the marks of one paragraph with one stack for each kind."""
    open_at: dict[str, list[int]] = {each: [] for each in _PAIRS}
    closes = {closer: opener for opener, closer in _PAIRS.items() if opener != closer}
    partner: dict[int, int] = {}
    openers: list[int] = []
    lone: dict[str, int] = {}
    for match in _MARK.finditer(text):
        at, mark = match.start(), match.group()
        if mark in closes:
            opener = closes[mark]
            if mark == "’" and not _closes_single(text, at):
                continue
            if open_at[opener]:
                partner[open_at[opener].pop()] = at
            else:
                lone.setdefault(opener, at)
        elif mark in _STRAIGHT:
            _straight(open_at[mark], at, partner, openers)
        elif mark == "'":
            if open_at[mark] and _closes_single(text, at):
                partner[open_at[mark].pop()] = at
            elif not open_at[mark] and _opens_single(text, at):
                open_at[mark].append(at)
                openers.append(at)
        else:
            open_at[mark].append(at)
            openers.append(at)
    stripped = text.lstrip()
    first_at = len(text) - len(stripped)
    for mark in _STRAIGHT:  # an odd number that does not open the paragraph: the first one closes
        if open_at[mark] and text[first_at] != mark:
            lone.setdefault(mark, text.index(mark))
    return _Marks(tuple(openers), partner, lone, stripped[:1], first_at)


def _straight(open_at: list[int], at: int, partner: dict[int, int], openers: list[int]) -> None:
    if open_at:
        partner[open_at.pop()] = at
    else:
        open_at.append(at)
        openers.append(at)


def _closes_single(text: str, at: int) -> bool:
    """Tell a closing ’ from an apostrophe: it follows a mark, or a Chinese character."""
    before, after = text[at - 1 : at] if at else "", text[at + 1 : at + 2]
    if after.isalnum() and after.isascii():
        return False
    return bool(_BEFORE_CLOSING.match(before)) or (bool(before) and not before.isascii())


def _opens_single(text: str, at: int) -> bool:
    before, after = text[at - 1 : at] if at else "", text[at + 1 : at + 2]
    return (not before or bool(_BEFORE_OPENING.match(before))) and bool(after) and not after.isspace()
