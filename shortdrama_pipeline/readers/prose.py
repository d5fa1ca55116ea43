"""Free prose becomes a draft script by rule: speech found by its marks, the rest told by the narrator."""

import re
from itertools import pairwise

from shortdrama_pipeline.readers.building import ScriptBuilder
from shortdrama_pipeline.readers.headings import Heading
from shortdrama_pipeline.readers.marks import joined
from shortdrama_pipeline.readers.outcome import ReadScript, TextLine, shown
from shortdrama_pipeline.rules.prose import Piece, split_prose
from shortdrama_pipeline.rules.script import ATTRIBUTION, LineKind

_CHAPTER = re.compile(
    r"^(?:第\s*[\d零一二三四五六七八九十百]{1,5}\s*[章回节卷].{0,40}|[一二三四五六七八九十]{1,3}|"
    r"CHAPTER\s+[\dIVXLC]+\b.{0,60}|Chapter\s+\w+.{0,60}|[IVXLC]{1,6}\.?)$"
)
_BREAK = re.compile(r"^(?:[*＊]\s*){3,}$|^[-—_=·]{3,}$|^#$|^◇+$|^※+$")
_ENDS_PARAGRAPH = re.compile(r"[。！？.!?…—：:；;”」』’\"'）)]\s*$")
TITLE_CHARACTERS_MAX = 40
WRAPPED_SHARE = (3, 5)  # three lines of five that end in mid-sentence make a hard-wrapped text
NAMELESS_SHOWN_MAX = 20


def read_prose(lines: list[TextLine], *, language: str | None) -> ReadScript:
    """Read prose: one scene, or one for each chapter or break."""
    builder = ScriptBuilder()
    body = _title(lines, builder)
    add_prose(builder, paragraphs_of(body))
    return builder.finish(language=language)


def add_prose(builder: ScriptBuilder, paragraphs: list[TextLine]) -> None:
    """Put paragraphs of prose into the script, chapter by chapter."""
    run: list[TextLine] = []
    for each in paragraphs:
        text = each.text.strip()
        chapter, pause = _CHAPTER.match(text), _BREAK.match(text)
        if not chapter and not pause:
            run.append(each)
            continue
        _add_run(builder, run)
        run = []
        builder.open_scene(Heading(text if chapter else "", "", ""), each.number)
    _add_run(builder, run)


def paragraphs_of(lines: list[TextLine]) -> list[TextLine]:
    """Return paragraphs, each with the number of its first line; hard-wrapped lines are joined."""
    wrapped = _is_wrapped(lines)
    paragraphs: list[TextLine] = []
    running = False
    for each in lines:
        text = each.text.replace("\f", "").strip()
        alone = _CHAPTER.match(text) or _BREAK.match(text)
        if wrapped and running and text and not alone:
            before = paragraphs[-1]
            paragraphs[-1] = TextLine(before.number, joined(before.text, text))
        elif text:
            paragraphs.append(TextLine(each.number, text))
        running = bool(text) and not alone
    return paragraphs


def _is_wrapped(lines: list[TextLine]) -> bool:
    pairs = [
        (before.text, after.text)
        for before, after in pairwise(lines)
        if before.text.strip() and after.text.strip()
    ]
    open_ends = sum(1 for before, _ in pairs if not _ENDS_PARAGRAPH.search(before[-4:]))
    share, of = WRAPPED_SHARE
    return bool(pairs) and open_ends * of >= len(pairs) * share


def _title(lines: list[TextLine], builder: ScriptBuilder) -> list[TextLine]:
    """Take a short first line that stands alone and ends without a mark as the title."""
    for index, each in enumerate(lines):
        text = each.text.strip()
        if not text:
            continue
        alone = index + 1 < len(lines) and not lines[index + 1].text.strip()
        plain = not _ENDS_PARAGRAPH.search(text) and not _CHAPTER.match(text) and not _BREAK.match(text)
        if alone and plain and len(text) <= TITLE_CHARACTERS_MAX:
            builder.title = text.strip("《》")
            return lines[index + 1 :]
        break
    return lines


def _add_run(builder: ScriptBuilder, run: list[TextLine]) -> None:
    pieces = split_prose([each.text for each in run])
    nameless: list[int] = []
    for piece in pieces:
        number = run[piece.paragraph].number
        _add(builder, piece, number)
        if piece.form == "speech" and not piece.speaker:
            nameless.append(number)
        if piece.form == "narration" and _opens_unclosed(piece.text):
            builder.remark(number, f"a quotation that does not close, kept as narration: {shown(piece.text)}")
    if nameless:
        listed = ", ".join(str(each) for each in dict.fromkeys(nameless[:NAMELESS_SHOWN_MAX]))
        builder.remark(nameless[0], f"{len(nameless)} speeches have no named speaker (lines {listed})")


def _opens_unclosed(text: str) -> bool:
    return any(text.count(opener) > text.count(closer) for opener, closer in ("“”", "「」", "『』"))


def _add(builder: ScriptBuilder, piece: Piece, number: int) -> None:
    text = piece.text.strip()
    if piece.form == "speech":
        if not any(each.isalnum() for each in text):
            builder.act(text, number)
            builder.remark(number, f"nothing to say in it, kept as action: {shown(text)}")
            return
        builder.say(piece.speaker, text, number, kind=LineKind.DIALOGUE, manner=piece.manner)
    elif piece.form == "narration" and any(each.isalnum() for each in text):
        builder.say("", text, number, kind=LineKind.NARRATION)
    else:
        builder.act(text, number, manner=ATTRIBUTION if piece.form == "attribution" else "")
