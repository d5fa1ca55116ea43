"""Bytes become lines: encodings tried in a fixed order, everything else refused by name."""

import codecs
import re
from pathlib import Path

from shortdrama_pipeline.errors import UnreadableScript
from shortdrama_pipeline.readers.outcome import (
    BYTES_MAX,
    LINE_CHARACTERS_MAX,
    LINES_MAX,
    TextLine,
    unreadable,
)

# Files people hand in by mistake, told by their first bytes.
_SIGNATURES = (
    (b"%PDF", "this is a PDF"),
    (b"{\\rtf", "this is an RTF document"),
    (b"\xd0\xcf\x11\xe0", "this is an old Word document (.doc) or an encrypted one"),
    (b"\x89PNG", "this is a picture"),
    (b"\xff\xd8\xff", "this is a picture"),
    (b"GIF8", "this is a picture"),
    (b"\x1f\x8b", "this is a compressed file"),
    (b"Rar!", "this is a compressed file"),
    (b"7z\xbc\xaf", "this is a compressed file"),
)
_LINE_END = re.compile(r"\r\n|[\r\n\x0b\u2028\u2029]")  # \x0b is what Word writes for a break in a paragraph
# Not text: control characters but tab, line ends, page break; not-a-character code points.
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f\ufffe\uffff]")
_EXPORT_HINT = "save it as .docx, .fountain, .md or .txt (UTF-8) and import that"
_COMMON_SHARE = 2  # at least one of so many foreign characters is a common one, or it is not GB18030


def read_bytes(path: Path) -> bytes:
    """Return the bytes of a file within the size limit."""
    try:
        with path.open("rb") as file:
            raw = file.read(BYTES_MAX + 1)
    except FileNotFoundError as error:
        raise _cannot_open(path, "there is no such file") from error
    except IsADirectoryError as error:
        raise _cannot_open(path, "this is a folder") from error
    except OSError as error:
        raise _cannot_open(path, f"it cannot be opened ({error.strerror})") from error
    if len(raw) > BYTES_MAX:
        raise unreadable(
            1, f"the file is larger than {BYTES_MAX // (1024 * 1024)} MiB", hint="split it into episodes"
        )
    return raw


def _cannot_open(path: Path, reason: str) -> UnreadableScript:
    return UnreadableScript(f"{path.name}: {reason}", hint="give the path of a script", line=0, reason=reason)


def decode(raw: bytes) -> list[TextLine]:
    """Return the lines of a text file: UTF-8, UTF-16 with its mark, or GB18030."""
    for signature, what in _SIGNATURES:
        if raw.startswith(signature):
            raise unreadable(1, what, hint=_EXPORT_HINT)
    return lines_of(_text_of(raw))


def lines_of(text: str) -> list[TextLine]:
    """Split into lines; refuse what is no text, empty, or beyond the limits."""
    control = _CONTROL.search(text)
    if control:
        line = len(_LINE_END.findall(text, 0, control.start())) + 1
        name = f"U+{ord(control.group()):04X}"
        raise unreadable(line, f"the control character {name}: this is not a text file", hint=_EXPORT_HINT)
    lines = [TextLine(number, each) for number, each in enumerate(_LINE_END.split(text), start=1)]
    if not text.strip():
        raise unreadable(1, "the script is empty", hint="write at least one scene")
    if len(lines) > LINES_MAX:
        raise unreadable(LINES_MAX + 1, f"more than {LINES_MAX} lines", hint="split it into episodes")
    for each in lines:
        if len(each.text) > LINE_CHARACTERS_MAX:
            raise unreadable(each.number, f"a line of more than {LINE_CHARACTERS_MAX} characters")
    return lines


def _text_of(raw: bytes) -> str:
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        try:
            return raw.decode("utf-16")
        except UnicodeDecodeError as error:
            raise unreadable(1, f"broken UTF-16 at byte {error.start}", hint=_EXPORT_HINT) from error
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = len(re.findall(rb"\r\n|\r|\n", raw[: error.start])) + 1
    if b"\x00" in raw:
        raise unreadable(line, "NUL bytes: this is not a text file", hint=_EXPORT_HINT)
    try:
        text = raw.decode("gb18030")
    except UnicodeDecodeError as error:
        raise unreadable(line, "neither UTF-8, UTF-16 nor GB18030", hint=_EXPORT_HINT) from error
    if not _is_chinese(text):
        raise unreadable(line, "an encoding that is not known", hint=_EXPORT_HINT)
    return text


def _is_chinese(text: str) -> bool:
    """Tell text from noise: GB18030 accepts most bytes, but Chinese is made of common characters.

    Common are the 3755 of GB 2312's first level (rows B0 to D7) and its symbols (A1 to A3).
    """
    foreign = "".join(each for each in text if not each.isascii())
    leads = foreign.encode("gb2312", errors="ignore")[::2]
    common = sum(1 for lead in leads if lead <= 0xA3 or 0xB0 <= lead <= 0xD7)
    return common * _COMMON_SHARE >= len(foreign)
