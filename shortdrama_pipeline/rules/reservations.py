"""The money machine, TT-3: a held sum is settled or released, once; never edited."""

from dataclasses import dataclass
from typing import TypeAlias, assert_never

from shortdrama_pipeline.errors import IllegalTransition
from shortdrama_pipeline.rules.states import ReservationState


@dataclass(frozen=True, slots=True)
class SettlementAsked:
    """The deliverable is registered; the ledger has not answered yet (P-8.3)."""


@dataclass(frozen=True, slots=True)
class Settled:
    """The ledger took what is due."""


@dataclass(frozen=True, slots=True)
class Released:
    """Facts prove that nothing is due (P-1.11)."""


ReservationEvent: TypeAlias = SettlementAsked | Settled | Released


def legal_from(event: ReservationEvent) -> frozenset[ReservationState]:
    """From which states `event` may move a Reservation; the same set guards the UPDATE."""
    s = ReservationState
    match event:
        case SettlementAsked():
            return frozenset({s.RESERVED})
        case Settled():
            return frozenset({s.RESERVED, s.SETTLEMENT_PENDING})
        case Released():  # Once a deliverable is registered, money goes back only as a new entry.
            return frozenset({s.RESERVED})
        case _:
            assert_never(event)


def target(event: ReservationEvent) -> ReservationState:
    """Where `event` leads."""
    s = ReservationState
    match event:
        case SettlementAsked():
            return s.SETTLEMENT_PENDING
        case Settled():
            return s.SETTLED
        case Released():
            return s.RELEASED
        case _:
            assert_never(event)


def advance(state: ReservationState, event: ReservationEvent) -> ReservationState:
    """Decide where `event` takes a Reservation. Raises IllegalTransition; never guesses."""
    if state not in legal_from(event):
        raise IllegalTransition(
            f"A reservation that is {state} cannot become {target(event)}",
            hint="A correction is a new ledger entry",
            state=str(state),
            event=type(event).__name__,
        )
    return target(event)
