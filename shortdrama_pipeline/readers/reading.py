"""One door for every format: the file's name proposes, its content decides."""

from pathlib import Path

from shortdrama_pipeline.readers.decoding import decode, read_bytes
from shortdrama_pipeline.readers.fountain import read_fountain
from shortdrama_pipeline.readers.language import named_language
from shortdrama_pipeline.readers.markdown import read_markdown
from shortdrama_pipeline.readers.outcome import ReadScript, TextLine, unreadable
from shortdrama_pipeline.readers.prose import read_prose
from shortdrama_pipeline.readers.screenplay import (
    looks_like_fountain,
    looks_like_screenplay,
    read_screenplay,
)
from shortdrama_pipeline.readers.word import is_word, read_word

FOUNTAIN = (".fountain", ".spmd")
MARKDOWN = (".md", ".markdown")
WORD = (".docx", ".docm")
OLD_WORD = (".doc", ".wps", ".rtf", ".odt", ".pages", ".pdf", ".fdx")


def read_script(path: Path, *, language: str | None = None) -> ReadScript:
    """Read a script of any form; the language is told from the text when not given.

    Raises UnreadableScript, with line and reason, for what is no script or beyond the limits.
    """
    return read_raw(read_bytes(path), ending=path.suffix, language=language)


def read_raw(raw: bytes, *, ending: str, language: str | None = None) -> ReadScript:
    """Read the bytes of a file whose name ended so, such as `.md`."""
    if language is not None:
        named_language(language)
    ending = ending.casefold()
    if is_word(raw) or ending in WORD:
        return read_word(raw, language=language)
    if ending in OLD_WORD:
        decode(raw)  # says what it is, if it can tell
        raise unreadable(
            1, f"a {ending} file", hint="save it as .docx, .fountain, .md or .txt and import that"
        )
    return read_text(decode(raw), ending=ending, language=language)


def read_text(lines: list[TextLine], *, ending: str, language: str | None) -> ReadScript:
    """Read the lines of a text file."""
    if ending in FOUNTAIN:
        return read_fountain(lines, language=language)
    if ending in MARKDOWN:
        return read_markdown(lines, language=language)
    if looks_like_fountain(lines):
        return read_fountain(lines, language=language)
    if looks_like_screenplay(lines):
        return read_screenplay(lines, language=language)
    return read_prose(lines, language=language)
