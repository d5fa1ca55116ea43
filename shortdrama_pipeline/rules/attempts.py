"""TT-2 and TT-6: everything that can move a ProviderAttempt, and what its outcome means.

One Attempt is one send right. It is used once or never; silence is not proof of anything.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

from shortdrama_pipeline.errors import IllegalTransition
from shortdrama_pipeline.rules.states import AttemptState

NEVER_SENT_ATTEMPTS_MAX = 3
RESEND_BACKOFF_MS = 500
RESEND_BACKOFF_MS_MAX = 60_000


class Proof(StrEnum):
    """What proves that a request was not accepted, by what it allows (TT-6)."""

    NEVER_SENT = "neverSent"  # no request byte left (D-14)
    CAPACITY = "capacity"  # the contract names this vendor code as rate or concurrency
    MENDABLE = "mendable"  # the contract names it as key or balance
    FINAL = "final"  # the contract names it as parameters or content
    ABSENCE = "absence"  # a verified look-up, or a person with evidence


@dataclass(frozen=True, slots=True)
class FenceTaken:
    """The one send right was taken, and committed before any byte left (P-5.1)."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """An explicit external id; `inline` when the answer carried the result itself (D-16)."""

    inline: bool = False


@dataclass(frozen=True, slots=True)
class ProvenNotAccepted:
    """Proof of non-acceptance, never a bare status code (P-5.5)."""

    proof: Proof = Proof.FINAL


@dataclass(frozen=True, slots=True)
class WentSilent:
    """Nobody can say whether the vendor accepted."""


@dataclass(frozen=True, slots=True)
class Concluded:
    """The vendor's final state is stored, as a result or as proof of failure."""

    delivered: bool = True


AttemptEvent = FenceTaken | Accepted | ProvenNotAccepted | WentSilent | Concluded
EVENTS: tuple[AttemptEvent, ...] = (
    FenceTaken(),
    Accepted(),
    *(ProvenNotAccepted(proof) for proof in Proof),
    WentSilent(),
    Concluded(),
)
TERMINAL = frozenset({AttemptState.REJECTED_BEFORE_ACCEPTANCE, AttemptState.COMPLETED})


def advance(state: AttemptState, event: AttemptEvent) -> AttemptState:
    """Decide where `event` takes an Attempt. Raises IllegalTransition; never guesses."""
    s = AttemptState
    match event:
        case FenceTaken():
            legal_from, to = {s.PREPARED}, s.SUBMIT_STARTED
        case Accepted():
            legal_from, to = {s.SUBMIT_STARTED, s.OUTCOME_UNKNOWN}, s.ACCEPTED
        case ProvenNotAccepted():
            legal_from, to = {s.SUBMIT_STARTED, s.OUTCOME_UNKNOWN}, s.REJECTED_BEFORE_ACCEPTANCE
        case WentSilent():
            legal_from, to = {s.SUBMIT_STARTED}, s.OUTCOME_UNKNOWN
        case Concluded():
            legal_from, to = {s.ACCEPTED, s.OUTCOME_UNKNOWN}, s.COMPLETED
        case _:
            assert_never(event)
    if state not in legal_from:
        raise IllegalTransition(
            f"An attempt in {state} cannot take {type(event).__name__}",
            hint="Someone moved it first: read the attempt again and decide anew",
            state=str(state),
            event=type(event).__name__,
        )
    return to


def moves() -> frozenset[tuple[AttemptState, AttemptState]]:
    """Every (from, to) the machine knows; the database guards are made of these."""
    found = set()
    for state in AttemptState:
        for event in EVENTS:
            try:
                found.add((state, advance(state, event)))
            except IllegalTransition:
                continue
    return frozenset(found)


# --- TT-6 -------------------------------------------------------------------------------------------


class TaskStep(StrEnum):
    """What the Task does next."""

    STAY = "stay"
    TRY_AGAIN = "tryAgain"  # under the same lease, as a new Attempt, after a pause
    QUEUE = "queue"  # another Attempt by way of `queued` (D-1 c)
    HOLD = "hold"  # `queued`, held until a person mends something (D-9)
    WAIT = "wait"
    INGEST = "ingest"
    RECONCILE = "reconcile"
    FAIL = "fail"


class ReservationStep(StrEnum):
    """What the held money does next."""

    KEEP = "keep"
    RELEASE = "release"


@dataclass(frozen=True, slots=True)
class Consequence:
    """One row of TT-6."""

    task: TaskStep
    reservation: ReservationStep
    code: str = ""


def what_follows(event: AttemptEvent, *, allowance: int = 0, tries: int = 1) -> Consequence:
    """Read TT-6.

    `tries` counts this Task's Attempts rejected by the same kind of proof, this one included;
    `allowance` is the Plan's `resend_after_proven_rejection`.
    """
    keep, release = ReservationStep.KEEP, ReservationStep.RELEASE
    match event:
        case FenceTaken():
            return Consequence(TaskStep.STAY, keep)
        case Accepted(inline=inline):
            return Consequence(TaskStep.INGEST if inline else TaskStep.WAIT, keep)
        case WentSilent():
            return Consequence(TaskStep.RECONCILE, keep, "outcomeUnknown")
        case Concluded(delivered=True):
            return Consequence(TaskStep.INGEST, keep)
        case Concluded():
            return Consequence(TaskStep.FAIL, release, "generationFailed")
        case ProvenNotAccepted(proof=proof):
            return _after_rejection(proof, allowance=allowance, tries=tries)
        case _:
            assert_never(event)


def _after_rejection(proof: Proof, *, allowance: int, tries: int) -> Consequence:
    match proof:
        case Proof.NEVER_SENT:
            again, code = TaskStep.TRY_AGAIN, "neverSent"
            may = tries < NEVER_SENT_ATTEMPTS_MAX
        case Proof.CAPACITY:
            again, code = TaskStep.QUEUE, "capacity"
            may = tries <= allowance
        case Proof.MENDABLE:
            again, code, may = TaskStep.HOLD, "mendable", True
        case Proof.FINAL:
            return Consequence(TaskStep.FAIL, ReservationStep.RELEASE, "refused")
        case Proof.ABSENCE:
            return Consequence(TaskStep.FAIL, ReservationStep.RELEASE, "notAccepted")
        case _:
            assert_never(proof)
    if may:
        return Consequence(again, ReservationStep.KEEP, code)
    return Consequence(TaskStep.FAIL, ReservationStep.RELEASE, "notAccepted")


def resend_pause_ms(tries: int, *, retry_after_s: int | None, jitter_permille: int) -> int:
    """Doubling pause before another Attempt; the vendor's own advice is the lower bound."""
    base = min(RESEND_BACKOFF_MS << min(tries - 1, 10), RESEND_BACKOFF_MS_MAX)
    advised = max(base, (retry_after_s or 0) * 1000)
    return advised + advised * jitter_permille // 4000
