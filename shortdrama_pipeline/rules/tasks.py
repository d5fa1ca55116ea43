"""TT-1: everything that can move a Task stands here.

A Task is what the background does now. Its end is never guessed: `needsReconciliation` is where it
waits while facts are missing, and no way leads from there back to `queued` or `running`.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

from shortdrama_pipeline.errors import IllegalTransition
from shortdrama_pipeline.rules.states import TaskState


class HandBack(StrEnum):
    """Why a claimed Task may return to the queue (D-1)."""

    LEASE_EXPIRED = "leaseExpired"  # a: recovery
    BEFORE_FENCE = "beforeFence"  # b: key, breaker, rate limit, clean shutdown
    PROVEN_REJECTION = "provenRejection"  # c: TT-6 allows another Attempt


@dataclass(frozen=True, slots=True)
class Claimed:
    """A worker won the conditional update and holds the lease."""


@dataclass(frozen=True, slots=True)
class CancelledByUser:
    """A person cancelled before anybody claimed it (P-4.3)."""


@dataclass(frozen=True, slots=True)
class HandedBack:
    """`open_fence`: an Attempt is submitStarted, accepted or outcomeUnknown; then never (D-1)."""

    why: HandBack
    open_fence: bool = False


@dataclass(frozen=True, slots=True)
class JobAccepted:
    """The vendor's id is stored."""


@dataclass(frozen=True, slots=True)
class ResultKnown:
    """The vendor has a result; it is not delivered yet (P-1.10)."""


@dataclass(frozen=True, slots=True)
class Registered:
    """The deliverable is registered."""


@dataclass(frozen=True, slots=True)
class FailureProven:
    """Facts suffice: nothing will be delivered (P-4.5 wants a reason beside it)."""


@dataclass(frozen=True, slots=True)
class FactsMissing:
    """Acceptance, result or delivery must be checked first."""


TaskEvent = (
    Claimed
    | CancelledByUser
    | HandedBack
    | JobAccepted
    | ResultKnown
    | Registered
    | FailureProven
    | FactsMissing
)
EVENTS: tuple[TaskEvent, ...] = (
    Claimed(),
    CancelledByUser(),
    *(HandedBack(why) for why in HandBack),
    JobAccepted(),
    ResultKnown(),
    Registered(),
    FailureProven(),
    FactsMissing(),
)
TERMINAL = frozenset({TaskState.SUCCEEDED, TaskState.FAILED, TaskState.CANCELLED})


def advance(state: TaskState, event: TaskEvent) -> TaskState:
    """Decide where `event` takes a Task. Raises IllegalTransition; never guesses."""
    s = TaskState
    match event:
        case Claimed():
            legal_from, to = {s.QUEUED}, s.RUNNING
        case CancelledByUser():
            legal_from, to = {s.QUEUED}, s.CANCELLED
        case HandedBack(open_fence=open_fence):
            legal_from, to = (set() if open_fence else {s.RUNNING}), s.QUEUED
        case JobAccepted():
            legal_from, to = {s.RUNNING, s.NEEDS_RECONCILIATION}, s.WAITING_PROVIDER
        case ResultKnown():
            legal_from, to = {s.RUNNING, s.WAITING_PROVIDER, s.NEEDS_RECONCILIATION}, s.INGESTING
        case Registered():
            legal_from, to = {s.INGESTING, s.NEEDS_RECONCILIATION}, s.SUCCEEDED
        case FailureProven():  # never from ingesting: a broken file is a question, not a failure (D-3)
            legal_from, to = {s.RUNNING, s.WAITING_PROVIDER, s.NEEDS_RECONCILIATION}, s.FAILED
        case FactsMissing():
            legal_from, to = {s.RUNNING, s.WAITING_PROVIDER, s.INGESTING}, s.NEEDS_RECONCILIATION
        case _:
            assert_never(event)
    if state not in legal_from:
        raise IllegalTransition(
            f"A task in {state} cannot take {type(event).__name__}",
            hint="Someone moved it first: read the task again and decide anew",
            state=str(state),
            event=type(event).__name__,
        )
    return to


def moves() -> frozenset[tuple[TaskState, TaskState]]:
    """Every (from, to) the machine knows; the database guards are made of these."""
    found = set()
    for state in TaskState:
        for event in EVENTS:
            try:
                found.add((state, advance(state, event)))
            except IllegalTransition:
                continue
    return frozenset(found)
