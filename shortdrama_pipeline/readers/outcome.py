"""What reading a script yields, and the limits every reader keeps."""

from dataclasses import dataclass

from shortdrama_pipeline.errors import UnreadableScript
from shortdrama_pipeline.rules.script import Script

BYTES_MAX = 8 * 1024 * 1024
LINES_MAX = 50_000
LINE_CHARACTERS_MAX = 100_000
SCENES_MAX = 1_000
CHARACTERS_MAX = 1_000
DOCX_ENTRIES_MAX = 2_000
DOCX_UNPACKED_BYTES_MAX = 64 * 1024 * 1024
SHOWN_CHARACTERS_MAX = 60  # how much of a text an error or a remark repeats


@dataclass(frozen=True, slots=True)
class Remark:
    """Something of the file that is not in the script, or was read in one of several ways.

    `line` is the 1-based line of the file (the paragraph of a docx).
    """

    line: int
    what: str


@dataclass(frozen=True, slots=True)
class ReadScript:
    """A script and what a person should know about the reading of it."""

    script: Script
    remarks: tuple[Remark, ...]


@dataclass(frozen=True, slots=True)
class TextLine:
    """One line of a file, without its line end."""

    number: int
    text: str


def unreadable(line: int, reason: str, *, hint: str = "") -> UnreadableScript:
    """Return the refusal of a file, with the place and the reason."""
    return UnreadableScript(
        f"line {line}: {reason}", hint=hint or "mend the file and import it again", line=line, reason=reason
    )


def shown(text: str) -> str:
    """Shorten a text for a message."""
    flat = " ".join(text.split())
    return flat if len(flat) <= SHOWN_CHARACTERS_MAX else flat[: SHOWN_CHARACTERS_MAX - 1] + "…"
