"""How every command speaks: one JSON document, or a few lines for a person; errors in three lines.

What a script reads goes to stdout, progress and a person's errors to stderr. No secret leaves here.
"""

import json
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, is_dataclass
from datetime import datetime
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from shortdrama_pipeline.errors import Fact, Outside, ShortdramaError, UsageError
from shortdrama_pipeline.providers.redaction import blank, blank_json
from shortdrama_pipeline.rules.money import Money
from shortdrama_pipeline.rules.times import rfc3339

if TYPE_CHECKING:
    from rich.console import Console

Document = Mapping[str, object]
Report = Callable[[str, int, int], None]  # what is being done, how many are done, of how many
PLAIN_SECONDS = 10  # between two plain lines about the same thing
PLAIN_WIDTH = 10_000  # where nobody sees the edge, nothing is cut
FAULT_CODE = 1


@dataclass(slots=True)
class Options:
    """The options every command takes, wherever they stand."""

    json: bool = False
    home: Path | None = None
    config: Path | None = None
    actor: str | None = None
    shown: object = None  # the last result


options = Options()


def take_global_options(words: list[str]) -> list[str]:
    """Take --json, --home, --config and --actor out of `words`, in any place before `--`."""
    rest: list[str] = []
    left = iter(words)
    values: dict[str, str] = {}
    # Known before the rest is read, so that an error about the rest is told the right way.
    options.json = "--json" in words
    for word in left:
        name, equals, value = word.partition("=")
        if word == "--":
            rest += [word, *left]
        elif name in {"--home", "--config", "--actor"}:
            text = value if equals else next(left, "")
            if not text:
                raise UsageError(f"{name} needs a value", hint=f"Write {name} VALUE")
            values[name] = text
        elif word != "--json":
            rest.append(word)
    options.home = Path(values["--home"]) if "--home" in values else None
    options.config = Path(values["--config"]) if "--config" in values else None
    options.actor = values.get("--actor")
    return rest


def show(document: Document, human: Callable[["Console"], None] | None = None) -> None:
    """Print a result: the document with --json, else what `human` prints, else the document laid out."""
    options.shown = plain(document)
    if options.json:
        line(json.dumps(plain(document), ensure_ascii=False, indent=2))
        return
    console = _console()
    if human is not None:
        human(console)
    else:
        _lay_out(console, plain(document))


def fail(error: BaseException) -> int:
    """Print an error, in JSON on stdout or in three lines on stderr; return the exit code."""
    known = _as_known(error)
    facts: dict[str, Fact] = known.facts if known else {}
    message = known.message if known else f"An unexpected fault: {type(error).__name__}: {error}"
    hint = (
        known.hint
        if known
        else "This is a fault of the program, not of yours: report it with the lines above"
    )
    code = known.code if known else "fault"
    if known is None:
        note("".join(traceback.format_exception(error)))
    if options.json:
        told = {"code": code, "message": message, "hint": hint, "facts": facts}
        line(json.dumps({"error": blank_json(plain(told))}, ensure_ascii=False, indent=2))
    else:
        particulars = ", ".join(f"{name} {_cell(value)}" for name, value in facts.items())
        why = f"{code.replace('_', ' ')}{': ' if particulars else ''}{particulars}"
        for head, text in (("Error", message), ("  why", why), ("  do", hint)):
            note(f"{head}: {' '.join(text.split())}" if text else f"{head}: -")
    return known.exit_code if known else FAULT_CODE


def line(text: str) -> None:
    """Print one line of result."""
    sys.stdout.write(text + "\n")


def note(text: str) -> None:
    """Print one line beside the result, on stderr."""
    sys.stderr.write(blank(text) + "\n")


def nearest(word: str, known: Iterable[str]) -> str:
    """Return "Did you mean …?" for a mistyped word, or nothing."""
    found = get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f"Did you mean `{found[0]}`?" if found else ""


def overview(nouns: Mapping[str, str]) -> None:
    """Print what the program can do."""
    if options.json:
        show({"commands": [{"command": noun, "about": about} for noun, about in nouns.items()]})
        return
    width = max(map(len, nouns))
    line("Usage: shortdrama NOUN VERB [options]    `shortdrama NOUN --help` says more\n")
    for noun, about in nouns.items():
        line(f"  {noun:<{width}}  {about}")
    line("\nEverywhere: --json  --home FOLDER  --config FILE  --actor person:NAME|agent:NAME")


@contextmanager
def progress() -> Iterator[Report]:
    """Give a function to report with: bars on a terminal, else a plain line now and then, on stderr."""
    if not sys.stderr.isatty():
        yield _plain_report()
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as bars:
        known = {}

        def report(what: str, done: int, of: int) -> None:
            if what not in known:
                known[what] = bars.add_task(what, total=of)
            bars.update(known[what], completed=done, total=of)

        yield report


def plain(value: object) -> object:
    """Return what JSON can hold: money by its fields, times as RFC 3339 UTC, names as text."""
    match value:
        case None | bool() | int() | str():
            return value if type(value) in {type(None), bool, int, str} else str(value)
        case float():
            return value
        case Money():
            return value.to_json()
        case datetime():
            return rfc3339(value)
        case Mapping():
            return {str(name): plain(each) for name, each in value.items()}
        case list() | tuple() | set() | frozenset():
            return [plain(each) for each in value]
        case _ if is_dataclass(value) and not isinstance(value, type):
            return plain(asdict(value))
        case _:
            return str(value)


def _as_known(error: BaseException) -> ShortdramaError | None:
    """Put a name to what the libraries raise: usage of the command line, the disk, the file system."""
    if isinstance(error, ShortdramaError):
        return error
    if isinstance(error, OSError):
        where = f" ({error.filename})" if error.filename else ""
        return Outside(
            f"{error.strerror or type(error).__name__}{where}",
            hint="Make the place writable and leave room on its disk, then repeat the command",
        )
    from typer import TyperException

    if isinstance(error, TyperException):
        text = error.format_message() or "Name a verb"
        return UsageError(text, hint="Add --help to see what this command takes")
    return None


def _plain_report() -> Report:
    told: dict[str, tuple[int, float]] = {}

    def report(what: str, done: int, of: int) -> None:
        last, at = told.get(what, (-1, 0.0))
        now = time.monotonic()
        if done == last or (done < of and last >= 0 and now - at < PLAIN_SECONDS):
            return
        told[what] = (done, now)
        note(f"{what}: {done} of {of}")

    return report


def _console() -> "Console":
    from rich.console import Console

    return Console(highlight=False, width=None if sys.stdout.isatty() else PLAIN_WIDTH)


def _lay_out(console: "Console", document: object) -> None:
    """Print a document that has no layout of its own: facts as lines, lists as tables."""
    from rich.markup import escape
    from rich.table import Table

    if not isinstance(document, dict):
        console.print(_cell(document), markup=False)
        return
    facts = {name.replace("_", " "): _cell(value) for name, value in document.items() if not _is_rows(value)}
    width = max(map(len, facts), default=0)
    for name, text in facts.items():
        console.print(f"{name:<{width}}  {text}", markup=False, soft_wrap=True)
    for name, rows in document.items():
        if _is_rows(rows):
            table = Table(title=escape(name.replace("_", " ")), title_justify="left")
            columns = list(dict.fromkeys(column for row in rows for column in row))
            for column in columns:
                table.add_column(escape(column.replace("_", " ")))
            for row in rows:
                table.add_row(*(escape(_cell(row.get(column))) for column in columns))
            console.print(table)


def _is_rows(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(row, dict) for row in value)


def _cell(value: object) -> str:
    match value:
        case None | "" | []:
            return "-"
        case bool():
            return "yes" if value else "no"
        case {"micros": int(micros), "currency": str(currency), **rest} if not rest:
            return str(Money(micros, currency))
        case dict():  # a mapping pattern matches any mapping, the empty one too
            return ", ".join(f"{name} {_cell(each)}" for name, each in value.items()) or "-"
        case list():
            return ", ".join(_cell(each) for each in value)
        case _:
            return str(value)
