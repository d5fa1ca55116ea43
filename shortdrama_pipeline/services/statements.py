"""Compare a vendor's statement with our book (V-16). Read-only: a difference is shown, never mended."""

import csv
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from shortdrama_pipeline.errors import Outside, UnknownId, UsageError
from shortdrama_pipeline.rules.money import AMOUNT_MICROS_MAX, Money
from shortdrama_pipeline.rules.statements import Charge, Difference, compare, totals
from shortdrama_pipeline.services.context import Studio
from shortdrama_pipeline.store.statements import find_booked, find_without_id

STATEMENT_BYTES_MAX = 100 * 1024 * 1024
LINES_MAX = 1_000_000
FORMS = (
    'Give JSON {"entries": [{"request_id", "charged": {"micros", "currency"}, "client_id"?}]}'
    " as `shortdrama rehearsal book --json` prints it, or CSV with the columns"
    " request_id, micros, currency and, where the vendor shows it, client_id"
)
CODE = r"^[A-Z]{3}$"


class _Amount(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)
    micros: int = Field(ge=0, le=AMOUNT_MICROS_MAX)
    currency: str = Field(pattern=CODE)


class _Entry(BaseModel):
    """A line of a JSON statement; what `rehearsal book --json` prints is one."""

    model_config = ConfigDict(extra="ignore", strict=True)
    request_id: str = Field(min_length=1, max_length=200)
    charged: _Amount
    client_id: str | None = Field(default=None, max_length=200)

    def charge(self, line: int) -> Charge:
        amount = Money(self.charged.micros, self.charged.currency)
        return Charge(self.request_id, amount, self.client_id or None, line)


class _Row(BaseModel):
    """A row of a CSV statement."""

    model_config = ConfigDict(extra="ignore")
    request_id: str = Field(min_length=1, max_length=200)
    micros: int = Field(ge=0, le=AMOUNT_MICROS_MAX)
    currency: str = Field(pattern=CODE)
    client_id: str | None = Field(default=None, max_length=200)

    def charge(self, line: int) -> Charge:
        return Charge(self.request_id, Money(self.micros, self.currency), self.client_id or None, line)


@dataclass(frozen=True, slots=True)
class Reconciled:
    """`checked` counts statement lines and attempts; totals are per currency."""

    checked: int
    differences: tuple[Difference, ...]
    billed: tuple[Money, ...] = ()
    booked: tuple[Money, ...] = ()

    def to_json(self) -> dict[str, object]:
        return {
            "ok": not self.differences,
            "checked": self.checked,
            "billed": [each.to_json() for each in self.billed],
            "booked": [each.to_json() for each in self.booked],
            "problems": [each.to_json() for each in self.differences],
        }


def reconcile_statement(
    studio: Studio,
    file: Path,
    *,
    bindings: Sequence[str] = (),
    since: datetime | None = None,
    until: datetime | None = None,
) -> Reconciled:
    """Lay a statement beside what was booked for these bindings (none named: all). JSON or CSV.

    `since` and `until` say which of our requests it is about: accepted from one to before the other.
    """
    unknown = sorted(set(bindings) - set(studio.bindings))
    if unknown:
        raise UnknownId(
            f"No binding {', '.join(unknown)}",
            hint="List them: shortdrama provider list",
            bindings=[*unknown],
        )
    charges = _read(file)
    with studio.db.read() as tx:
        booked = find_booked(tx, bindings or list(studio.bindings), since=since, until=until)
        known = {each.external_id for each in booked}
        named = {each.client_reference for each in charges if each.external_id not in known}
        attempts = find_without_id(tx, sorted(each for each in named if each))
    return Reconciled(
        len(charges) + len(booked),
        tuple(compare(charges, booked, attempts=attempts)),
        tuple(totals(each.amount for each in charges)),
        tuple(totals(each.amount for each in booked)),
    )


def _read(file: Path) -> list[Charge]:
    try:
        if file.stat().st_size > STATEMENT_BYTES_MAX:
            raise UsageError(f"{file} is too large for a statement", hint="Split it by month")
        text = file.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise UsageError(f"There is no file {file}", hint="Name the vendor's statement") from None
    except UnicodeDecodeError as error:
        line = file.read_bytes()[: error.start].count(b"\n") + 1
        raise UsageError(f"{file}, line {line}: not UTF-8 text", hint=FORMS, line=line) from None
    except OSError as error:
        raise Outside(f"{file} cannot be read: {error.strerror}", hint="Check the file's rights") from error
    return _json(file, text) if text.lstrip().startswith(("{", "[")) else _csv(file, text)


def _json(file: Path, text: str) -> list[Charge]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        line = error.lineno if isinstance(error, json.JSONDecodeError) else 1
        raise _broken(file, f"line {line}", "no JSON", line) from None
    entries = document.get("entries") if isinstance(document, dict) else document
    if not isinstance(entries, list):
        raise _broken(file, "line 1", "there is no list of entries", 1)
    _check_count(file, len(entries))
    found = []
    for number, entry in enumerate(entries, 1):
        try:
            found.append(_Entry.model_validate(entry).charge(number))
        except ValidationError as error:
            raise _broken(file, f"entry {number}", _first_fault(error), number) from None
    return found


def _csv(file: Path, text: str) -> list[Charge]:
    lines = csv.DictReader(text.splitlines(), strict=True)
    found: list[Charge] = []
    try:
        missing = [
            name for name in ("request_id", "micros", "currency") if name not in (lines.fieldnames or ())
        ]
        if missing:
            raise _broken(file, "line 1", f"the columns {', '.join(missing)} are not named", 1)
        for row in lines:
            if None in row:
                raise _broken(file, f"line {lines.line_num}", "more values than columns", lines.line_num)
            found.append(_Row.model_validate(row).charge(lines.line_num))
            _check_count(file, len(found))
    except ValidationError as error:
        raise _broken(file, f"line {lines.line_num}", _first_fault(error), lines.line_num) from None
    except csv.Error as error:
        line = lines.reader.line_num
        raise _broken(file, f"line {line}", str(error), line) from None
    return found


def _check_count(file: Path, count: int) -> None:
    if count > LINES_MAX:
        raise UsageError(f"{file} holds more than {LINES_MAX} lines", hint="Split it by month")


def _first_fault(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(str(each) for each in first["loc"])
    return f"{where}: {first['msg']}" if where else str(first["msg"])


def _broken(file: Path, where: str, what: str, line: int) -> UsageError:
    return UsageError(f"{file}, {where}: {what}", hint=FORMS, line=line)
