from itertools import product

import pytest

from shortdrama_pipeline.errors import IllegalTransition
from shortdrama_pipeline.rules.attempts import (
    EVENTS,
    NEVER_SENT_ATTEMPTS_MAX,
    Accepted,
    AttemptEvent,
    Concluded,
    FenceTaken,
    Proof,
    ProvenNotAccepted,
    ReservationStep,
    TaskStep,
    WentSilent,
    advance,
    moves,
    resend_pause_ms,
    what_follows,
)
from shortdrama_pipeline.rules.states import AttemptState as S

LEGAL: dict[tuple[S, type[AttemptEvent]], S] = {
    (S.PREPARED, FenceTaken): S.SUBMIT_STARTED,
    (S.SUBMIT_STARTED, Accepted): S.ACCEPTED,
    (S.SUBMIT_STARTED, ProvenNotAccepted): S.REJECTED_BEFORE_ACCEPTANCE,
    (S.SUBMIT_STARTED, WentSilent): S.OUTCOME_UNKNOWN,
    (S.OUTCOME_UNKNOWN, Accepted): S.ACCEPTED,
    (S.OUTCOME_UNKNOWN, ProvenNotAccepted): S.REJECTED_BEFORE_ACCEPTANCE,
    (S.OUTCOME_UNKNOWN, Concluded): S.COMPLETED,
    (S.ACCEPTED, Concluded): S.COMPLETED,
}
KEEP, RELEASE = ReservationStep.KEEP, ReservationStep.RELEASE
TT6: list[tuple[AttemptEvent, int, int, TaskStep, ReservationStep]] = [
    (FenceTaken(), 3, 1, TaskStep.STAY, KEEP),
    (Accepted(), 3, 1, TaskStep.WAIT, KEEP),
    (Accepted(inline=True), 3, 1, TaskStep.INGEST, KEEP),
    (WentSilent(), 3, 1, TaskStep.RECONCILE, KEEP),
    (Concluded(delivered=True), 3, 1, TaskStep.INGEST, KEEP),
    (Concluded(delivered=False), 3, 1, TaskStep.FAIL, RELEASE),
    (ProvenNotAccepted(Proof.NEVER_SENT), 0, 1, TaskStep.TRY_AGAIN, KEEP),
    (ProvenNotAccepted(Proof.NEVER_SENT), 0, NEVER_SENT_ATTEMPTS_MAX, TaskStep.FAIL, RELEASE),
    (ProvenNotAccepted(Proof.CAPACITY), 3, 3, TaskStep.QUEUE, KEEP),
    (ProvenNotAccepted(Proof.CAPACITY), 3, 4, TaskStep.FAIL, RELEASE),
    (ProvenNotAccepted(Proof.CAPACITY), 0, 1, TaskStep.FAIL, RELEASE),
    (ProvenNotAccepted(Proof.MENDABLE), 0, 9, TaskStep.HOLD, KEEP),
    (ProvenNotAccepted(Proof.FINAL), 3, 1, TaskStep.FAIL, RELEASE),
    (ProvenNotAccepted(Proof.ABSENCE), 3, 1, TaskStep.FAIL, RELEASE),
]


@pytest.mark.parametrize(("state", "event"), list(product(S, EVENTS)), ids=str)
def test_only_the_listed_moves_of_tt2_are_legal(state: S, event: AttemptEvent) -> None:
    to = LEGAL.get((state, type(event)))
    if to is None:
        with pytest.raises(IllegalTransition):
            advance(state, event)
    else:
        assert advance(state, event) is to


def test_nothing_returns_to_prepared_and_the_fence_is_taken_once() -> None:
    assert not [pair for pair in moves() if pair[1] is S.PREPARED]
    assert [before for before, after in moves() if after is S.SUBMIT_STARTED] == [S.PREPARED]


@pytest.mark.parametrize(("event", "allowance", "tries", "task", "reservation"), TT6, ids=str)
def test_tt6_decides_what_an_outcome_does(
    event: AttemptEvent, allowance: int, tries: int, task: TaskStep, reservation: ReservationStep
) -> None:
    found = what_follows(event, allowance=allowance, tries=tries)
    assert (found.task, found.reservation) == (task, reservation)


def test_silence_never_releases_money() -> None:
    assert what_follows(WentSilent(), allowance=0, tries=99).reservation is KEEP


def test_the_pause_before_another_attempt_grows_and_keeps_the_vendors_advice() -> None:
    pauses = [resend_pause_ms(n, retry_after_s=None, jitter_permille=0) for n in (1, 2, 3, 30)]
    assert pauses == [500, 1000, 2000, 60_000]
    assert resend_pause_ms(1, retry_after_s=7, jitter_permille=0) == 7000
    assert resend_pause_ms(1, retry_after_s=7, jitter_permille=1000) > 7000
