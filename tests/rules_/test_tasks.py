from itertools import product

import pytest

from shortdrama_pipeline.errors import IllegalTransition
from shortdrama_pipeline.rules.states import TaskState as S
from shortdrama_pipeline.rules.tasks import (
    EVENTS,
    TERMINAL,
    CancelledByUser,
    Claimed,
    FactsMissing,
    FailureProven,
    HandBack,
    HandedBack,
    JobAccepted,
    Registered,
    ResultKnown,
    TaskEvent,
    advance,
    moves,
)

LEGAL: dict[tuple[S, type[TaskEvent]], S] = {
    (S.QUEUED, Claimed): S.RUNNING,
    (S.QUEUED, CancelledByUser): S.CANCELLED,
    (S.RUNNING, HandedBack): S.QUEUED,
    (S.RUNNING, JobAccepted): S.WAITING_PROVIDER,
    (S.RUNNING, ResultKnown): S.INGESTING,
    (S.RUNNING, FailureProven): S.FAILED,
    (S.RUNNING, FactsMissing): S.NEEDS_RECONCILIATION,
    (S.WAITING_PROVIDER, ResultKnown): S.INGESTING,
    (S.WAITING_PROVIDER, FailureProven): S.FAILED,
    (S.WAITING_PROVIDER, FactsMissing): S.NEEDS_RECONCILIATION,
    (S.INGESTING, Registered): S.SUCCEEDED,
    (S.INGESTING, FactsMissing): S.NEEDS_RECONCILIATION,
    (S.NEEDS_RECONCILIATION, JobAccepted): S.WAITING_PROVIDER,
    (S.NEEDS_RECONCILIATION, ResultKnown): S.INGESTING,
    (S.NEEDS_RECONCILIATION, Registered): S.SUCCEEDED,
    (S.NEEDS_RECONCILIATION, FailureProven): S.FAILED,
}


@pytest.mark.parametrize(("state", "event"), list(product(S, EVENTS)), ids=str)
def test_only_the_listed_moves_of_tt1_are_legal(state: S, event: TaskEvent) -> None:
    to = LEGAL.get((state, type(event)))
    if to is None:
        with pytest.raises(IllegalTransition):
            advance(state, event)
    else:
        assert advance(state, event) is to


@pytest.mark.parametrize("why", list(HandBack))
def test_an_open_fence_never_returns_to_the_queue(why: HandBack) -> None:
    with pytest.raises(IllegalTransition):
        advance(S.RUNNING, HandedBack(why, open_fence=True))


def test_the_consequences_named_under_tt1_hold() -> None:
    pairs = moves()
    assert (S.INGESTING, S.FAILED) not in pairs
    assert (S.WAITING_PROVIDER, S.SUCCEEDED) not in pairs
    assert {before for before, after in pairs if after is S.CANCELLED} == {S.QUEUED}
    assert not {after for before, after in pairs if before in TERMINAL}
    assert not {(S.NEEDS_RECONCILIATION, S.QUEUED), (S.NEEDS_RECONCILIATION, S.RUNNING)} & pairs
