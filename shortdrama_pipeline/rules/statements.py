"""A vendor's bill beside our book, both ways (V-16, D-15)."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from shortdrama_pipeline.rules.money import Money


class DifferenceKind(StrEnum):
    """What does not agree."""

    UNKNOWN_TO_US = "unknown_to_us"  # billed, and no attempt of ours has this id
    NOT_BILLED = "not_billed"  # booked by us, and not on the statement
    AMOUNT_DIFFERS = "amount_differs"
    BILLED_TWICE = "billed_twice"


@dataclass(frozen=True, slots=True)
class Charge:
    """One line of a statement, by the vendor's own id."""

    external_id: str
    amount: Money


@dataclass(frozen=True, slots=True)
class Booked:
    """What we booked for one attempt; zero when nothing was."""

    external_id: str
    attempt_id: str
    amount: Money


@dataclass(frozen=True, slots=True)
class Difference:
    """One disagreement, with what each side says."""

    kind: DifferenceKind
    external_id: str
    attempt_id: str | None
    billed: Money | None
    booked: Money | None

    def to_json(self) -> dict[str, object]:
        return {
            "kind": str(self.kind),
            "external_id": self.external_id,
            "attempt_id": self.attempt_id,
            "billed": None if self.billed is None else self.billed.to_json(),
            "booked": None if self.booked is None else self.booked.to_json(),
        }


def compare(billed: Iterable[Charge], booked: Iterable[Booked]) -> list[Difference]:
    """Return every disagreement, in the order of the vendor's ids. Free lines agree with no line."""
    ours = {each.external_id: each for each in booked}
    theirs: dict[str, Charge] = {}
    found: list[Difference] = []
    for charge in billed:
        if charge.external_id in theirs:
            attempt = ours.get(charge.external_id)
            found.append(_difference(DifferenceKind.BILLED_TWICE, charge, attempt))
        else:
            theirs[charge.external_id] = charge
    for external_id in theirs.keys() | ours.keys():
        charge_of, attempt_of = theirs.get(external_id), ours.get(external_id)
        kind = _kind(charge_of, attempt_of)
        if kind is not None:
            found.append(_difference(kind, charge_of, attempt_of))
    return sorted(found, key=lambda each: (each.external_id, each.kind))


def _kind(billed: Charge | None, booked: Booked | None) -> DifferenceKind | None:
    if booked is None:
        return DifferenceKind.UNKNOWN_TO_US if billed is not None and billed.amount.micros else None
    if billed is None:
        return DifferenceKind.NOT_BILLED if booked.amount.micros else None
    if billed.amount.micros == booked.amount.micros == 0 or billed.amount == booked.amount:
        return None
    return DifferenceKind.AMOUNT_DIFFERS


def _difference(kind: DifferenceKind, billed: Charge | None, booked: Booked | None) -> Difference:
    either = billed if billed is not None else booked
    assert either is not None
    return Difference(
        kind=kind,
        external_id=either.external_id,
        attempt_id=None if booked is None else booked.attempt_id,
        billed=None if billed is None else billed.amount,
        booked=None if booked is None else booked.amount,
    )
