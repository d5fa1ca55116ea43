"""Word scripts (.docx): by the styles of screenplay templates, else by the text of the paragraphs.

Text is taken from the XML itself, since tracked insertions and content controls are text too. Tables
and text boxes are refused with their place; comments, footnotes, headers, deleted text and pictures
are reported. A line number is the number of the paragraph.
"""

import io
import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from docx import Document
from docx.document import Document as WordDocument
from docx.opc.exceptions import PackageNotFoundError
from docx.oxml import parse_xml
from docx.oxml.xmlchemy import BaseOxmlElement

from shortdrama_pipeline.errors import UnreadableScript
from shortdrama_pipeline.readers.building import ScriptBuilder
from shortdrama_pipeline.readers.cues import manner_kind, read_cue
from shortdrama_pipeline.readers.decoding import lines_of
from shortdrama_pipeline.readers.fountain import read_fountain
from shortdrama_pipeline.readers.headings import Heading, read_heading
from shortdrama_pipeline.readers.marks import joined
from shortdrama_pipeline.readers.outcome import (
    DOCX_ENTRIES_MAX,
    DOCX_UNPACKED_BYTES_MAX,
    LINES_MAX,
    ReadScript,
    Remark,
    TextLine,
    shown,
    unreadable,
)
from shortdrama_pipeline.readers.prose import read_prose
from shortdrama_pipeline.readers.screenplay import (
    looks_like_fountain,
    looks_like_screenplay,
    read_screenplay,
)

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_ZIP, _OLD_OR_LOCKED = b"PK\x03\x04", b"\xd0\xcf\x11\xe0"
_ENCRYPTED_MARK = "EncryptedPackage".encode("utf-16-le")
_BREAKS = {f"{_W}br", f"{_W}cr"}
_PICTURES = (f"{_W}drawing", f"{_W}pict")
_STYLES = {
    "scene": (
        "scene heading",
        "slugline",
        "scene",
        "heading 2",
        "heading 3",
        "场景",
        "场次",
        "标题 2",
        "标题 3",
    ),
    "title": ("title", "heading 1", "标题", "标题 1", "剧名"),
    "character": ("character", "character name", "角色", "人物", "角色名"),
    "dialogue": ("dialogue", "dialog", "对白", "台词", "对话"),
    "manner": ("parenthetical", "提示", "括注"),
    "action": ("action", "动作", "描述"),
    "transition": ("transition", "转场"),
}
_FORM = {style: form for form, styles in _STYLES.items() for style in styles}
_SPOKEN = ("character", "dialogue")
# What python-docx lets through when a package is not what it claims; SyntaxError is lxml's.
_DAMAGED = (
    PackageNotFoundError,
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    SyntaxError,
    LookupError,
    AttributeError,
    AssertionError,
    TypeError,
    ValueError,
    OSError,
    EOFError,
    NotImplementedError,
)


@dataclass(frozen=True, slots=True)
class _Paragraph:
    number: int
    form: str  # a key of _STYLES, or empty
    text: str


def is_word(raw: bytes) -> bool:
    """Tell a Word file by its content: a package with a document in it, or Word's old container."""
    if raw.startswith(_OLD_OR_LOCKED):
        return True
    return raw.startswith(_ZIP) and b"word/" in raw


def read_word(raw: bytes, *, language: str | None) -> ReadScript:
    """Read a .docx."""
    _refuse_other(raw)
    try:
        document = Document(io.BytesIO(raw))
        remarks: list[Remark] = []
        paragraphs = _paragraphs(document, remarks)
        remarks += _aside(document)
    except UnreadableScript:
        raise
    except _DAMAGED as error:
        raise unreadable(1, "a damaged Word file", hint="open it in Word, save it again as .docx") from error
    if not any(each.text.strip() for each in paragraphs):
        only = "pictures only, and no text" if any("picture" in each.what for each in remarks) else "no text"
        raise unreadable(1, f"the document has {only}", hint="type the script as text")
    read = _by_style(paragraphs, language) if _is_styled(paragraphs) else _by_text(paragraphs, language)
    return ReadScript(read.script, tuple(sorted((*read.remarks, *remarks), key=lambda each: each.line)))


def _refuse_other(raw: bytes) -> None:
    if raw.startswith(_OLD_OR_LOCKED):
        if _ENCRYPTED_MARK in raw:
            raise unreadable(1, "the document is encrypted", hint="take the password off in Word")
        raise unreadable(1, "an old Word document (.doc)", hint="save it as .docx in Word")
    if not zipfile.is_zipfile(io.BytesIO(raw)):
        raise unreadable(1, "named .docx, but not a Word file", hint="save it as .docx in Word")
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as package:
            entries = package.infolist()
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError) as error:
        raise unreadable(1, "a damaged Word file", hint="open it in Word, save it again as .docx") from error
    if any(each.flag_bits & 1 for each in entries):
        raise unreadable(1, "the document is encrypted", hint="take the password off")
    unpacked = sum(each.file_size for each in entries)
    if len(entries) > DOCX_ENTRIES_MAX or unpacked > DOCX_UNPACKED_BYTES_MAX:
        raise unreadable(
            1,
            f"unpacked it has {len(entries)} parts and {unpacked} bytes, more than a script has",
            hint="save the text alone as .docx or .txt",
        )


# --- what stands in it ------------------------------------------------------------------------------


def _paragraphs(document: WordDocument, remarks: list[Remark]) -> list[_Paragraph]:
    """Return the paragraphs in order, those in content controls too."""
    body = document.element.body
    names = {each.style_id: (each.name or "").casefold() for each in document.styles}
    found: list[_Paragraph] = []
    for element in _blocks(body):
        number = len(found) + 1
        if element.tag == f"{_W}tbl":
            raise unreadable(number, f"a table after paragraph {number - 1}", hint="write it as paragraphs")
        if number > LINES_MAX:
            raise unreadable(number, f"more than {LINES_MAX} paragraphs", hint="split it into episodes")
        style = element.find(f"{_W}pPr/{_W}pStyle")
        name = names.get(style.get(f"{_W}val", ""), "") if style is not None else ""
        found.append(_Paragraph(number, _FORM.get(name, ""), _text_of(element, number, remarks)))
    return found


def _blocks(parent: BaseOxmlElement) -> Iterator[BaseOxmlElement]:
    for element in parent:
        if element.tag in (f"{_W}p", f"{_W}tbl"):
            yield element
        elif element.tag in (f"{_W}sdt", f"{_W}sdtContent", f"{_W}ins", f"{_W}customXml", f"{_W}smartTag"):
            yield from _blocks(element)


def _text_of(paragraph: BaseOxmlElement, number: int, remarks: list[Remark]) -> str:
    text: list[str] = []
    deleted: list[str] = []
    pictures = False
    for element in paragraph.iter():
        if element.tag == f"{_W}txbxContent":
            raise unreadable(number, "a text box", hint="move its text into the document")
        if element.tag == f"{_W}t":
            text.append(element.text or "")
        elif element.tag == f"{_W}delText":
            deleted.append(element.text or "")
        elif element.tag == f"{_W}tab" and element.getparent().tag == f"{_W}r":
            text.append("\t")
        elif element.tag in _BREAKS:
            text.append("\n")
        elif element.tag == f"{_W}noBreakHyphen":
            text.append("-")
        pictures = pictures or element.tag in _PICTURES
    if deleted:
        remarks.append(Remark(number, f"deleted text is not read: {shown(''.join(deleted))}"))
    if pictures:
        remarks.append(Remark(number, "a picture is not read"))
    return "".join(text)


def _aside(document: WordDocument) -> list[Remark]:
    """Report what stands beside the text: comments, notes, headers and footers."""
    found: list[Remark] = []
    for relation in document.part.rels.values():
        kind = relation.reltype.rsplit("/", 1)[-1]
        if relation.is_external or kind not in ("comments", "footnotes", "endnotes", "header", "footer"):
            continue
        texts = _texts(relation.target_part.blob)
        found.extend(Remark(1, f"{kind} not read: {shown(each)}") for each in texts)
    return found


def _texts(blob: bytes) -> list[str]:
    root = parse_xml(blob)
    texts = ("".join(each.text or "" for each in block.iter(f"{_W}t")) for block in root.iter(f"{_W}p"))
    return [each for each in texts if each.strip()]


# --- what it means ----------------------------------------------------------------------------------


def _is_styled(paragraphs: list[_Paragraph]) -> bool:
    return {each.form for each in paragraphs if each.text.strip()} >= set(_SPOKEN)


def _by_text(paragraphs: list[_Paragraph], language: str | None) -> ReadScript:
    """Read the paragraphs as a text file; each is followed by a blank line unless it breaks inside."""
    title = ""
    lines: list[TextLine] = []
    for each in paragraphs:
        if each.form == "title" and not title and not any(line.text.strip() for line in lines):
            title = each.text.strip()
            continue
        lines += [TextLine(each.number, text) for text in each.text.split("\n")]
    lines_of("\n".join(each.text for each in lines))
    if looks_like_fountain(lines):
        read = read_fountain(lines, language=language)
    elif looks_like_screenplay(lines):
        read = read_screenplay(lines, language=language)
    else:
        apart = (each for line in lines for each in (line, TextLine(line.number, "")))
        read = read_prose(list(apart), language=language)
    if not title:
        return read
    script = read.script
    return ReadScript(
        type(script)(title, script.language, script.logline, script.characters, script.scenes), read.remarks
    )


def _by_style(paragraphs: list[_Paragraph], language: str | None) -> ReadScript:
    """Read a document made with a screenplay template."""
    lines_of("\n".join(each.text for each in paragraphs))
    builder = ScriptBuilder()
    at = 0
    while at < len(paragraphs):
        each = paragraphs[at]
        text = " ".join(each.text.split())
        if each.form == "character" and text:
            at = _speech(paragraphs, at, builder)
            continue
        at += 1
        if text:
            _staged(each, text, builder)
    return builder.finish(language=language)


def _staged(paragraph: _Paragraph, text: str, builder: ScriptBuilder) -> None:
    number = paragraph.number
    if paragraph.form == "title" and not builder.scenes and not builder.title:
        builder.title = text
    elif paragraph.form == "scene" or (not paragraph.form and read_heading(text)):
        builder.open_scene(read_heading(text, forced=True) or Heading(text, text, ""), number)
    elif paragraph.form == "transition":
        builder.transit(text, number)
    elif paragraph.form in ("dialogue", "manner"):
        raise unreadable(number, f"dialogue before any character: {shown(text)}", hint="put a name above it")
    else:
        builder.act(text, number)


def _speech(paragraphs: list[_Paragraph], at: int, builder: ScriptBuilder) -> int:
    """Read the dialogue under a character; return where it ends."""
    head = paragraphs[at]
    cue = read_cue(" ".join(head.text.split()))
    comma = ", " if cue.name.isascii() else "，"
    manner, said, said_at, count = "", "", head.number, 0
    at += 1

    def speak() -> int:
        if not said:
            return 0
        manners = [each for each in (cue.manner, manner) if each]
        kind = manner_kind(manner, cue.kind)
        builder.say(cue.name, said, said_at, kind=kind, manner=comma.join(manners))
        return 1

    while at < len(paragraphs) and (
        paragraphs[at].form in ("dialogue", "manner") or not paragraphs[at].text.strip()
    ):
        text = paragraphs[at].text.strip()
        if paragraphs[at].form == "manner" and text:
            count += speak()
            manner, said = text.strip("（()）"), ""
        elif text:
            said_at = said_at if said else paragraphs[at].number
            said = joined(said, text.replace("\n", " "))
        at += 1
    count += speak()
    if not count:
        raise unreadable(
            head.number, f"the cue {shown(head.text)!r} has no line", hint="write what is said below it"
        )
    return at
