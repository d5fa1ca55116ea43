"""A vendor's bill beside our book, both ways (V-16, D-15)."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from shortdrama_pipeline.rules.money import Money

T = TypeVar("T")
L = TypeVar("L", "Charge", "Booked")


class DifferenceKind(StrEnum):
    """What does not agree."""

    UNKNOWN_TO_US = "unknown_to_us"  # billed, and nothing of ours has this id
    NOT_ACCEPTED_BY_US = "not_accepted_by_us"  # billed under our own identity; we never heard of acceptance
    NOT_BILLED = "not_billed"  # booked by us, and not on the statement
    AMOUNT_DIFFERS = "amount_differs"
    BILLED_TWICE = "billed_twice"
    BOOKED_TWICE = "booked_twice"


@dataclass(frozen=True, slots=True)
class Charge:
    """One line of a statement, by the vendor's own id; `client_reference` is ours, where it is shown."""

    external_id: str
    amount: Money
    client_reference: str | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Booked:
    """What we booked for one attempt; zero when nothing was."""

    external_id: str
    attempt_id: str
    amount: Money
    task_id: str = ""


@dataclass(frozen=True, slots=True)
class Difference:
    """One disagreement, with what each side says and where it stands."""

    kind: DifferenceKind
    external_id: str
    attempt_id: str | None
    billed: Money | None
    booked: Money | None
    task_id: str | None = None
    line: int | None = None

    def to_json(self) -> dict[str, object]:
        return {
            "kind": str(self.kind),
            "external_id": self.external_id,
            "attempt_id": self.attempt_id,
            "task_id": self.task_id,
            "billed": None if self.billed is None else self.billed.to_json(),
            "booked": None if self.booked is None else self.booked.to_json(),
            "line": self.line,
            "hint": _HINTS[self.kind],
        }


_HINTS: Mapping[DifferenceKind, str] = {
    DifferenceKind.UNKNOWN_TO_US: "Ask the vendor what it was; another program may use the same account",
    DifferenceKind.NOT_ACCEPTED_BY_US: "See the task: while its outcome is unknown, `task adopt` takes it up",
    DifferenceKind.NOT_BILLED: "It may come on the next statement; else the vendor forgot it",
    DifferenceKind.AMOUNT_DIFFERS: "Compare with the vendor's price list of that day",
    DifferenceKind.BILLED_TWICE: "Claim the second charge back from the vendor",
    DifferenceKind.BOOKED_TWICE: "Two requests of ours carry one id of the vendor: run `audit verify`",
}


def compare(
    billed: Iterable[Charge], booked: Iterable[Booked], *, attempts: Mapping[str, str] | None = None
) -> list[Difference]:
    """Return every disagreement, in the order of the vendor's ids. Free lines agree with no line.

    `attempts` are our attempts without a vendor's id, with their tasks: by them a charge is known that
    carries our identity although its acceptance never reached us.
    """
    ours, theirs = _by_id(booked), _by_id(billed)
    found: list[Difference] = []
    for external_id, charges in theirs.items():
        mine = ours.get(external_id, [])
        found += [_difference(DifferenceKind.BILLED_TWICE, each, _first(mine)) for each in charges[1:]]
    for mine in ours.values():
        found += [_difference(DifferenceKind.BOOKED_TWICE, None, each) for each in mine[1:]]
    for external_id in theirs.keys() | ours.keys():
        charge, attempt = _first(theirs.get(external_id, [])), _first(ours.get(external_id, []))
        task_id = None
        if charge is not None and attempt is None and charge.client_reference is not None:
            task_id = (attempts or {}).get(charge.client_reference)
        kind = _kind(charge, attempt, ours_by_reference=task_id is not None)
        if kind is not None:
            found.append(_difference(kind, charge, attempt, task_id=task_id))
    return sorted(found, key=lambda each: (each.external_id, each.kind, each.line or 0))


def totals(amounts: Iterable[Money]) -> list[Money]:
    """Sum per currency, in their order (D-23)."""
    summed: defaultdict[str, int] = defaultdict(int)
    for each in amounts:
        summed[each.currency] += each.micros
    return [Money(summed[currency], currency) for currency in sorted(summed)]


def _by_id(lines: Iterable[L]) -> dict[str, list[L]]:
    found: dict[str, list[L]] = {}
    for each in lines:
        found.setdefault(each.external_id, []).append(each)
    return found


def _first(lines: list[T]) -> T | None:
    return lines[0] if lines else None


def _kind(billed: Charge | None, booked: Booked | None, *, ours_by_reference: bool) -> DifferenceKind | None:
    if booked is None:
        if billed is None or not billed.amount.micros:
            return None
        return DifferenceKind.NOT_ACCEPTED_BY_US if ours_by_reference else DifferenceKind.UNKNOWN_TO_US
    if billed is None:
        return DifferenceKind.NOT_BILLED if booked.amount.micros else None
    if billed.amount.micros == booked.amount.micros == 0 or billed.amount == booked.amount:
        return None
    return DifferenceKind.AMOUNT_DIFFERS


def _difference(
    kind: DifferenceKind, billed: Charge | None, booked: Booked | None, *, task_id: str | None = None
) -> Difference:
    either = billed if billed is not None else booked
    assert either is not None
    by_reference = billed.client_reference if billed is not None and task_id is not None else None
    return Difference(
        kind=kind,
        external_id=either.external_id,
        attempt_id=by_reference if booked is None else booked.attempt_id,
        billed=None if billed is None else billed.amount,
        booked=None if booked is None else booked.amount,
        task_id=task_id if booked is None else booked.task_id or None,
        line=None if billed is None else billed.line,
    )
