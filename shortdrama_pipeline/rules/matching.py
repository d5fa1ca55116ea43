"""Which job on a vendor's list is that of a request which went unanswered (F02). Pure.

A job that carries our own reference is ours, or clearly another's. Where jobs carry no reference, one
may fit by model, time and seed; it is taken without a person only if it is the only fit, nobody else of
ours waits for it, and the vendor's contract has verified each of these facts. Everything else is a
candidate for a person to look at: an unknown outcome is never guessed away.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

SKEW_S = 300  # between the vendor's clock and ours
CANDIDATES_MAX = 20


class MatchingFact(StrEnum):
    """What a vendor's list may say about a job."""

    CLIENT_REFERENCE = "client_reference"
    MODEL = "model"
    CREATED_AT = "created_at"
    SEED = "seed"


BY_FACTS = frozenset({MatchingFact.MODEL, MatchingFact.CREATED_AT, MatchingFact.SEED})


@dataclass(frozen=True, slots=True)
class ListedJob:
    """One job as the vendor lists it; None where the list does not say. `created_at` is aware."""

    external_id: str
    created_at: datetime
    model: str | None = None
    seed: int | None = None
    client_reference: str | None = None
    status: str = ""


@dataclass(frozen=True, slots=True)
class Silent:
    """One Attempt without an answer. `attempt_id` is the reference we sent, where the vendor takes one."""

    attempt_id: str
    model: str
    submitted_at: datetime
    seed: int | None
    timeout_s: int

    @property
    def window(self) -> tuple[datetime, datetime]:
        """When its job can have come into being, by the vendor's clock."""
        skew = timedelta(seconds=SKEW_S)
        return self.submitted_at - skew, self.submitted_at + timedelta(seconds=self.timeout_s) + skew


@dataclass(frozen=True, slots=True)
class Identified:
    """Unambiguous, by facts the contract has verified."""

    job: ListedJob
    by: tuple[MatchingFact, ...]


@dataclass(frozen=True, slots=True)
class Candidates:
    """What may be ours: a person decides."""

    jobs: tuple[ListedJob, ...]
    why: str


@dataclass(frozen=True, slots=True)
class NotListed:
    """Nothing fits. That proves nothing: a list may lag."""


Match = Identified | Candidates | NotListed


def match(
    ours: Silent,
    others: Sequence[Silent],
    jobs: Sequence[ListedJob],
    *,
    known: Collection[str],
    verified: frozenset[MatchingFact],
    complete: bool = True,
) -> Match:
    """Find the job of `ours`. `others` wait on the same channel, `known` external ids have an Attempt.

    `complete` is False where the list was too long to be read to its end: then nothing is unambiguous.
    """
    free = [each for each in jobs if each.external_id not in known]
    referred = [each for each in free if each.client_reference == ours.attempt_id]
    if referred:
        if len(referred) > 1:
            return _candidates(referred, "several carry our reference")
        if MatchingFact.CLIENT_REFERENCE not in verified:
            return _candidates(referred, "the contract has not verified the reference")
        return Identified(referred[0], (MatchingFact.CLIENT_REFERENCE,))
    fitting = [each for each in free if each.client_reference is None and _fits(each, ours)]
    if not fitting:
        return NotListed()
    if len(fitting) > 1:
        return _candidates(fitting, "several fit")
    job = fitting[0]
    if any(_fits(job, other) for other in others if other.attempt_id != ours.attempt_id):
        return _candidates(fitting, "another request waits for the same job")
    if not complete:
        return _candidates(fitting, "the list was not read to its end")
    if not verified >= BY_FACTS or job.seed is None or ours.seed is None or job.model is None:
        return _candidates(fitting, "the contract has not verified what it fits by")
    return Identified(job, tuple(sorted(BY_FACTS)))


def _fits(job: ListedJob, ours: Silent) -> bool:
    since, until = ours.window
    if job.model is not None and job.model != ours.model:
        return False
    if job.seed is not None and ours.seed is not None and job.seed != ours.seed:
        return False
    return since <= job.created_at <= until


def _candidates(jobs: Sequence[ListedJob], why: str) -> Candidates:
    ordered = sorted(jobs, key=lambda each: (each.created_at, each.external_id))
    return Candidates(tuple(ordered[:CANDIDATES_MAX]), why)
