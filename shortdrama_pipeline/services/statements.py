"""Compare a vendor's statement with our book (V-16). Read-only: a difference is shown, never mended."""

import csv
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from shortdrama_pipeline.errors import Outside, UsageError
from shortdrama_pipeline.rules.money import Money
from shortdrama_pipeline.rules.statements import Charge, Difference, compare
from shortdrama_pipeline.services.context import Studio
from shortdrama_pipeline.store.verification import find_booked

STATEMENT_BYTES_MAX = 100 * 1024 * 1024


class _Amount(BaseModel):
    model_config = ConfigDict(extra="ignore")
    micros: int = Field(ge=0)
    currency: str = Field(pattern=r"^[A-Z]{3}$")


class _Line(BaseModel):
    """A line of a JSON statement; what `rehearsal book --json` prints is one."""

    model_config = ConfigDict(extra="ignore")
    request_id: str = Field(min_length=1)
    charged: _Amount


class _Row(BaseModel):
    """A row of a CSV statement: request_id, micros, currency."""

    model_config = ConfigDict(extra="ignore")
    request_id: str = Field(min_length=1)
    micros: int = Field(ge=0)
    currency: str = Field(pattern=r"^[A-Z]{3}$")


class _Statement(BaseModel):
    model_config = ConfigDict(extra="ignore")
    entries: list[_Line]


@dataclass(frozen=True, slots=True)
class Reconciled:
    """`checked` counts statement lines and attempts."""

    checked: int
    differences: tuple[Difference, ...]

    def to_json(self) -> dict[str, object]:
        return {
            "ok": not self.differences,
            "checked": self.checked,
            "problems": [each.to_json() for each in self.differences],
        }


def reconcile_statement(studio: Studio, file: Path, *, bindings: Sequence[str] = ()) -> Reconciled:
    """Lay a statement beside what was booked for these bindings (none named: all). JSON or CSV."""
    charges = _read(file)
    with studio.db.read() as tx:
        booked = find_booked(tx, bindings or list(studio.bindings))
    return Reconciled(len(charges) + len(booked), tuple(compare(charges, booked)))


def _read(file: Path) -> list[Charge]:
    try:
        if file.stat().st_size > STATEMENT_BYTES_MAX:
            raise UsageError(f"{file} is too large for a statement", hint="Split it by month")
        text = file.read_text(encoding="utf-8-sig")
    except FileNotFoundError as error:
        raise UsageError(f"There is no file {file}", hint="Name the vendor's statement") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{file} is not UTF-8 text", hint="Give JSON or CSV") from error
    except OSError as error:
        raise Outside(f"{file} cannot be read: {error.strerror}", hint="Check the file's rights") from error
    try:
        return _json(text) if text.lstrip().startswith(("{", "[")) else _csv(text)
    except (ValidationError, ValueError, csv.Error) as error:
        raise UsageError(
            f"{file} cannot be read as a statement: {str(error).splitlines()[0]}",
            hint='Give JSON {"entries": [{"request_id", "charged": {"micros", "currency"}}]}'
            " or CSV with the columns request_id, micros, currency",
        ) from error


def _json(text: str) -> list[Charge]:
    document = json.loads(text)
    parsed = _Statement.model_validate({"entries": document} if isinstance(document, list) else document)
    return [
        Charge(each.request_id, Money(each.charged.micros, each.charged.currency)) for each in parsed.entries
    ]


def _csv(text: str) -> list[Charge]:
    lines = csv.DictReader(text.splitlines())
    if not set(_Row.model_fields) <= set(lines.fieldnames or ()):
        raise ValueError("its first line does not name the columns")
    rows = [_Row.model_validate(each) for each in lines]
    return [Charge(each.request_id, Money(each.micros, each.currency)) for each in rows]
