"""Offline compensation: three operations, each taking effect once, and who must say yes (G-304, G-305).

    refund    a new ledger entry at the platform's cost
    cancel    only work that has not started; its price comes back
    reissue   a new generation: a new Quote, and nothing before a person approves it

An operation that failed three times is tried no more by itself; a person decides in the review queue.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

from shortdrama_pipeline.errors import IllegalTransition
from shortdrama_pipeline.rules.task_actions import TaskAction

RETRIES_MAX = 3


class OpType(StrEnum):
    """What is to be done about an order."""

    REFUND = "refund"
    REISSUE = "reissue"
    CANCEL = "cancel"


class CompensationState(StrEnum):
    """Where a compensation stands."""

    PENDING = "pending"  # is tried by itself
    WAITING_APPROVAL = "waitingApproval"  # a reissue's Quote lies before a person
    MANUAL_REVIEW = "manualReview"  # failed too often: a person decides
    APPROVED = "approved"  # a person said yes; being carried out
    DONE = "done"
    REJECTED = "rejected"


TERMINAL = frozenset({CompensationState.DONE, CompensationState.REJECTED})


class Decision(StrEnum):
    """What a person may say (G-305)."""

    APPROVE = "approve"
    REJECT = "reject"
    MODIFY = "modify"


_AFTER_DECISION: Mapping[Decision, CompensationState] = {
    Decision.APPROVE: CompensationState.APPROVED,
    Decision.REJECT: CompensationState.REJECTED,
    Decision.MODIFY: CompensationState.PENDING,  # changed, it is tried anew, and quoted anew
}


@dataclass(frozen=True, slots=True)
class Carried:
    """The operation took effect."""


@dataclass(frozen=True, slots=True)
class Quoted:
    """A reissue has its Quote; it waits for a person."""


@dataclass(frozen=True, slots=True)
class Failed:
    """A try failed; `failures` counts this one."""

    failures: int


@dataclass(frozen=True, slots=True)
class Decided:
    """A person spoke."""

    decision: Decision


CompensationEvent = Carried | Quoted | Failed | Decided
EVENTS: tuple[CompensationEvent, ...] = (
    Carried(),
    Quoted(),
    Failed(1),
    Failed(RETRIES_MAX),
    *(Decided(each) for each in Decision),
)

# P-13.4: "query only" and "transfer only" move no money, so they allow none of these.
SCOPE_OF: Mapping[OpType, TaskAction] = {
    OpType.REFUND: TaskAction.COMPENSATE,
    OpType.CANCEL: TaskAction.COMPENSATE,
    OpType.REISSUE: TaskAction.REGENERATE,
}
SCOPES = (TaskAction.QUERY, TaskAction.TRANSFER, TaskAction.REGENERATE, TaskAction.COMPENSATE)


def advance(state: CompensationState, event: CompensationEvent) -> CompensationState:
    """Decide where `event` takes a compensation. Raises IllegalTransition; never guesses."""
    s = CompensationState
    match event:
        case Carried():
            legal_from, to = {s.PENDING, s.APPROVED, s.MANUAL_REVIEW}, s.DONE
        case Quoted():
            legal_from, to = {s.PENDING}, s.WAITING_APPROVAL
        case Failed(failures=failures):
            legal_from = {s.PENDING, s.APPROVED}
            to = s.MANUAL_REVIEW if failures >= RETRIES_MAX or state is s.APPROVED else s.PENDING
        case Decided(decision=decision):
            legal_from = {s.WAITING_APPROVAL, s.MANUAL_REVIEW}
            legal_from |= set() if decision is Decision.APPROVE else {s.PENDING}
            to = _AFTER_DECISION[decision]
        case _:
            assert_never(event)
    if state not in legal_from:
        raise IllegalTransition(
            f"A compensation that is {state} cannot take {_name(event)}",
            hint="Look at it with: shortdrama compensation show",
            state=str(state),
            event=_name(event),
        )
    return to


def moves() -> frozenset[tuple[str, str]]:
    """Every (from, to) that changes the state; the database guard is made of these."""
    found = set()
    for state in CompensationState:
        for event in EVENTS:
            try:
                to = advance(state, event)
            except IllegalTransition:
                continue
            if to is not state:
                found.add((str(state), str(to)))
    return frozenset(found)


def _name(event: CompensationEvent) -> str:
    return str(event.decision) if isinstance(event, Decided) else type(event).__name__
