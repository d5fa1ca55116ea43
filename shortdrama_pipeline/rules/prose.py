"""Prose split by rule into narration and speech (D-25). Pure and linear; every word comes out, in order.

A speech is what stands between quotation marks that close: “ ” 「 」 『 』 ‘ ’ " and '. A quoted
term (所谓“朋友”) is narration. Who speaks is taken from the words beside the quotation (女曰：, said
X) and from nothing else: where the text does not say, the speaker is empty, for a person to choose.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from shortdrama_pipeline.rules.attribution import (
    WINDOW,
    Attribution,
    attribution_after,
    attribution_before,
    clause_of_saying,
    repeated_subjects,
)
from shortdrama_pipeline.rules.quotations import Quotation, quotations_of

_ENDS_SPOKEN = re.compile(r"[。！？!?….—～~；;][”’」』\"')）]*\s*$")
_ENDS_COMMA = re.compile(r"[，,、][”’」』\"')）]*\s*$")
_COLON_BEFORE = re.compile(r"[：:]\s*$")
_PAUSE_BEFORE = re.compile(r"(?:^|[。！？!?….—，,;；：:”’」』\"'])\s*$")
_SENTENCE_END = re.compile(r"(?<!\bMr)(?<!\bMrs)(?<!\bDr)(?<!\bMs)(?<!\bSt)[。！？!?.…]+[”’」』\"']*\s*")
_NOBODY_KNOWN: frozenset[str] = frozenset()
_TAIL = 8  # characters at the end of a quotation that tell whether it is a sentence


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of prose. `form` is speech, narration, action (seen) or attribution (neither).

    `speaker` is a name, or empty; `paragraph` and `offset` say where it begins.
    """

    form: str
    text: str
    speaker: str
    manner: str
    paragraph: int
    offset: int


@dataclass(frozen=True, slots=True)
class _Speech:
    """One speech and what the words around it say; all places are offsets in the paragraph."""

    quotation: Quotation
    until: int  # where the words after it end: the next speech, or the end
    before: Attribution | None
    after: Attribution | None


def split_prose(paragraphs: Sequence[str]) -> tuple[Piece, ...]:
    """Return the pieces of the paragraphs in order.

    The texts of a paragraph's pieces are the paragraph without the marks around its speeches.
    """
    found = quotations_of(paragraphs)
    names = _names(paragraphs, found)
    pieces: list[Piece] = []
    carried = ""  # who speaks on into the next paragraph
    chain = 0  # where that speech began
    for index, text in enumerate(paragraphs):
        mine = _paragraph(index, text, found[index], names=names, carried=carried)
        speeches = [each for each in mine if each.form == "speech"]
        continued = bool(found[index]) and found[index][0].continued
        goes_on = bool(found[index]) and not found[index][-1].closed
        if continued and speeches and speeches[0].speaker:
            _name_back(pieces, speeches[0].speaker, start=chain)
        if goes_on and speeches and not (continued and len(found[index]) == 1):
            chain = len(pieces) + mine.index(speeches[-1])
        carried = speeches[-1].speaker if goes_on and speeches else ""
        pieces.extend(mine)
    return tuple(pieces)


def _name_back(pieces: list[Piece], speaker: str, *, start: int) -> None:
    """Give the earlier paragraphs of a long speech the speaker who is named at its end."""
    for at in range(start, len(pieces)):
        if pieces[at].form == "speech" and not pieces[at].speaker:
            pieces[at] = replace(pieces[at], speaker=speaker)


def _names(paragraphs: Sequence[str], found: list[list[Quotation]]) -> frozenset[str]:
    """Return the names the text itself attributes speech to, beyond doubt."""
    names: set[str] = set()
    clauses: list[str] = []
    for text, quotations in zip(paragraphs, found, strict=True):
        low = 0
        for each in quotations:
            before = _before(text, low, each.start, _NOBODY_KNOWN)
            after = _after(text, each.end, len(text), _NOBODY_KNOWN)
            names.update(one.name for one in (before, after) if one and one.name)
            if before and not before.name:
                clauses.append(clause_of_saying(text[max(low, each.start - WINDOW) : each.start]))
            low = each.end
    return repeated_subjects(clauses) | names


def _before(text: str, low: int, high: int, names: frozenset[str]) -> Attribution | None:
    start = max(low, high - WINDOW)
    found = attribution_before(text[start:high], names=names)
    if found is None or not start:
        return found
    return Attribution(found.name, found.manner, found.start + start, pure=found.pure)


def _after(text: str, low: int, high: int, names: frozenset[str]) -> Attribution | None:
    found = attribution_after(text[low : min(high, low + WINDOW)], names=names)
    if found is None or not low:
        return found
    return Attribution(found.name, found.manner, 0, pure=found.pure, end=found.end + low)


def _paragraph(
    index: int, text: str, quotations: list[Quotation], *, names: frozenset[str], carried: str
) -> list[Piece]:
    spoken = _speeches(text, quotations, names)
    if not spoken:
        return _mended(_told(index, text, 0, len(text), None))
    opens = spoken[0].quotation.start
    pieces = _told(index, text, 0, opens, spoken[0].before)
    leads = spoken[0].before  # what is known of the speaker before the speech begins
    for number, each in enumerate(spoken):
        following = spoken[number + 1].before if number + 1 < len(spoken) else None
        speaker = _speaker(text, each, leads=leads, following=following)
        if each.quotation.continued and carried:
            speaker = Attribution(carried, "", 0, pure=True)
        pieces.append(_speech_piece(index, text, each.quotation, speaker))
        mine = speaker is each.after
        pieces += _between(index, text, each, after=each.after if mine else None, following=following)
        leads = following or (each.after if mine else None)  # “A,” said X. “B.”: X goes on
    return _mended(_spread(pieces, text))


def _speeches(text: str, quotations: list[Quotation], names: frozenset[str]) -> list[_Speech]:
    """Return the quotations that are said, each with the words beside it."""
    low = 0
    said: list[Quotation] = []
    for each in quotations:
        if _is_speech(text, each, low, names):
            said.append(each)
        low = each.end
    found: list[_Speech] = []
    low = 0
    for number, each in enumerate(said):
        until = said[number + 1].start if number + 1 < len(said) else len(text)
        before, after = _before(text, low, each.start, names), _after(text, each.end, until, names)
        found.append(_Speech(each, until, before, after))
        low = each.end
    return found


def _is_speech(text: str, quotation: Quotation, low: int, names: frozenset[str]) -> bool:
    if quotation.continued or not quotation.closed:
        return True
    inner = text[quotation.inner_start : quotation.inner_end]
    tail = inner[-_TAIL:]
    before = text[max(low, quotation.start - _TAIL) : quotation.start]
    if _COLON_BEFORE.search(before) or _ENDS_SPOKEN.search(tail):
        return bool(inner.strip())
    if _before(text, low, quotation.start, names):
        return True
    opens = quotation.start <= _TAIL and not text[: quotation.start].strip()
    attributed = _after(text, quotation.end, len(text), names) is not None
    if opens and (attributed or not text[quotation.end : quotation.end + _TAIL].strip()):
        return True
    return bool(_ENDS_COMMA.search(tail) and (attributed or _PAUSE_BEFORE.search(before)))


def _speaker(
    text: str, speech: _Speech, *, leads: Attribution | None, following: Attribution | None
) -> Attribution | None:
    """Choose between the words before and after a speech; doubt means nobody.

    Words between two speeches belong to the first if it is broken off by a comma, opens the
    paragraph, or nothing but the end follows; else they lead the second.
    """
    if leads is not None:
        return leads
    if speech.after is None:
        return None
    quotation = speech.quotation
    tail = text[max(quotation.inner_start, quotation.inner_end - _TAIL) : quotation.inner_end]
    opens = quotation.start <= _TAIL and not text[: quotation.start].strip()
    if following is None or _ENDS_COMMA.search(tail) or opens:
        return speech.after
    return None


def _speech_piece(index: int, text: str, quotation: Quotation, speaker: Attribution | None) -> Piece:
    inner = text[quotation.inner_start : quotation.inner_end]
    name, manner = (speaker.name, speaker.manner) if speaker else ("", "")
    return Piece("speech", inner, name, manner, index, quotation.inner_start)


def _told(index: int, text: str, low: int, high: int, before: Attribution | None) -> list[Piece]:
    """Return the words before a speech: what is told, then what only says who speaks."""
    cut = max(before.start, low) if before else high
    spans = (("narration", low, cut), ("attribution", cut, high))
    return [Piece(form, text[a:b], "", "", index, a) for form, a, b in spans if a < b]


def _between(
    index: int, text: str, speech: _Speech, *, after: Attribution | None, following: Attribution | None
) -> list[Piece]:
    """Return the words after a speech, up to the next or to the end of the paragraph."""
    low, high = speech.quotation.end, speech.until
    if after is None:
        return _told(index, text, low, high, following)
    if after.pure or after.end >= high or not text[after.end : high].strip():
        cut, form = after.end, "attribution"
    else:  # "he said, striking a match.": seen, so the whole sentence is an action
        sentence = _SENTENCE_END.search(text, after.end, high)
        cut, form = sentence.end() if sentence else high, "action"
    pieces = [Piece(form, text[low:cut], "", "", index, low)]
    if following is not None and following.start < cut:
        following = None
    return pieces + _told(index, text, cut, high, following)


def _spread(pieces: list[Piece], text: str) -> list[Piece]:
    """In English one paragraph is one speaker: give the paragraph's only speaker its other speeches."""
    if not any("a" <= each <= "z" for each in text[:200]):
        return pieces
    named = {each.speaker for each in pieces if each.form == "speech" and each.speaker}
    if len(named) != 1:
        return pieces
    name = next(iter(named))
    return [
        replace(each, speaker=name) if each.form == "speech" and not each.speaker else each for each in pieces
    ]


def _mended(pieces: list[Piece]) -> list[Piece]:
    """Give a lone mark to the piece beside it, so that no piece is without a word."""
    mended: list[Piece] = []
    held = ""
    for each in pieces:
        if any(one.isalnum() for one in each.text) or (each.form == "speech" and each.text.strip()):
            mended.append(replace(each, text=held + each.text) if held else each)
            held = ""
        elif mended:
            mended[-1] = replace(mended[-1], text=mended[-1].text + each.text)
        else:
            held += each.text
    if held.strip():
        first = pieces[0]
        mended.append(Piece("narration", held, "", "", first.paragraph, first.offset))
    return mended
