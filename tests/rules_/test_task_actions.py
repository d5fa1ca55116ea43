"""Which named action is open in which state, walked over everything there is (P-13.4)."""

from itertools import product

import pytest

from shortdrama_pipeline.rules.deadlines import DeadlineStep, after_deadline
from shortdrama_pipeline.rules.states import AttemptState, ReservationState, TaskState
from shortdrama_pipeline.rules.task_actions import (
    MAY_COST,
    Standing,
    TaskAction,
    allowed_actions,
    instead,
    user_text,
)

T, A, R = TaskState, AttemptState, ReservationState
EVERYTHING = [
    Standing(task, attempt, money, held, has_result, late)
    for task, attempt, money, held, has_result, late in product(
        T, [None, *A], R, [False, True], [False, True], [False, True]
    )
]
ENDED = {T.SUCCEEDED, T.FAILED, T.CANCELLED}


def standings(action: TaskAction) -> list[Standing]:
    return [each for each in EVERYTHING if action in allowed_actions(each)]


def test_only_a_new_generation_may_cost() -> None:
    assert set(MAY_COST) == {TaskAction.REGENERATE}


def test_a_new_generation_is_open_only_when_the_user_owes_nothing_for_an_open_one() -> None:
    for each in standings(TaskAction.REGENERATE):
        assert each.task in ENDED or (each.task is T.NEEDS_RECONCILIATION and each.money is R.RELEASED)


def test_a_cancel_is_open_in_the_queue_alone() -> None:
    assert {each.task for each in standings(TaskAction.CANCEL)} == {T.QUEUED}


def test_compensation_follows_a_charge_and_nothing_else() -> None:
    for each in standings(TaskAction.COMPENSATE):
        assert (each.task, each.money) == (T.SUCCEEDED, R.SETTLED)


def test_a_query_is_about_a_request_that_was_sent() -> None:
    for each in standings(TaskAction.QUERY):
        assert each.late or each.attempt in {A.ACCEPTED, A.OUTCOME_UNKNOWN}


def test_a_transfer_needs_a_result() -> None:
    assert all(each.has_result for each in standings(TaskAction.TRANSFER))


def test_a_persons_word_is_asked_for_silence_alone() -> None:
    for each in standings(TaskAction.RESOLVE):
        assert (each.task, each.attempt) == (T.NEEDS_RECONCILIATION, A.OUTCOME_UNKNOWN)


def test_free_actions_come_before_the_one_that_may_cost() -> None:
    for each in EVERYTHING:
        found = allowed_actions(each)
        assert TaskAction.REGENERATE not in found[:-1]
        assert len(set(found)) == len(found)


def test_a_refused_action_names_an_open_one_or_says_to_wait() -> None:
    for each, action in product(EVERYTHING, TaskAction):
        found = allowed_actions(each)
        if action in found:
            continue
        hint = instead(action, each, task_id="task_1")
        if found:
            named = {open_now for open_now in found if f"task {open_now} " in hint}
            resolving = TaskAction.RESOLVE in found and "task adopt" in hint
            assert named or resolving, (each, action, hint)
            assert f"task {action} " not in hint
        else:
            assert "look again" in hint


def test_a_regeneration_that_is_refused_points_to_a_free_action_where_there_is_one() -> None:
    unknown = Standing(T.NEEDS_RECONCILIATION, A.OUTCOME_UNKNOWN, R.RESERVED, held=False, has_result=False)
    assert "task query" in instead(TaskAction.REGENERATE, unknown, task_id="t")
    stored = Standing(T.NEEDS_RECONCILIATION, A.COMPLETED, R.RESERVED, held=False, has_result=True)
    assert "task transfer" in instead(TaskAction.REGENERATE, stored, task_id="t")


@pytest.mark.parametrize("state", list(T))
def test_every_state_has_a_sentence_without_a_promise(state: TaskState) -> None:
    text = user_text(state, "")
    assert text
    assert "refund" not in text.lower()


def test_a_deadline_never_decides_what_a_worker_has_in_hand() -> None:
    for attempt, money, has_result in product([None, *A], R, [False, True]):
        for task in (T.RUNNING, T.INGESTING, *ENDED):
            assert after_deadline(task, attempt, money, has_result=has_result) is DeadlineStep.NOTHING
        step = after_deadline(T.NEEDS_RECONCILIATION, attempt, money, has_result=has_result)
        if attempt is not A.ACCEPTED or has_result:  # acceptance or delivery is still to be found out (P-8.4)
            assert step is (DeadlineStep.RELEASE if money is R.RESERVED else DeadlineStep.NOTHING)
        assert after_deadline(T.WAITING_PROVIDER, attempt, money, has_result=has_result) is DeadlineStep.END
