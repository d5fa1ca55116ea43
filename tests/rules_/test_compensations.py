"""The compensation machine and what an audit token allows, walked whole."""

from datetime import UTC, datetime, timedelta

import pytest

from shortdrama_pipeline.errors import GrantRefused, IllegalTransition, UsageError
from shortdrama_pipeline.rules.audit_tokens import AuditToken, authorise, check_validity, read_scope
from shortdrama_pipeline.rules.compensations import (
    EVENTS,
    RETRIES_MAX,
    TERMINAL,
    Carried,
    CompensationState,
    Decided,
    Decision,
    Failed,
    OpType,
    Quoted,
    advance,
    moves,
)
from shortdrama_pipeline.rules.task_actions import TaskAction

S = CompensationState
NOON = datetime(2026, 8, 3, 12, tzinfo=UTC)


def test_an_end_takes_nothing_any_more() -> None:
    for state in TERMINAL:
        for event in EVENTS:
            with pytest.raises(IllegalTransition) as caught:
                advance(state, event)
            assert caught.value.hint


def test_the_third_failure_is_for_a_person() -> None:
    ends = [advance(S.PENDING, Failed(failures)) for failures in range(1, RETRIES_MAX + 1)]
    assert ends == [S.PENDING, S.PENDING, S.MANUAL_REVIEW]
    assert advance(S.APPROVED, Failed(1)) is S.MANUAL_REVIEW


def test_nothing_is_approved_that_does_not_wait_for_a_person() -> None:
    assert advance(S.WAITING_APPROVAL, Decided(Decision.APPROVE)) is S.APPROVED
    assert advance(S.MANUAL_REVIEW, Decided(Decision.APPROVE)) is S.APPROVED
    for state in (S.PENDING, S.APPROVED):
        with pytest.raises(IllegalTransition):
            advance(state, Decided(Decision.APPROVE))


def test_a_quoted_reissue_is_not_carried_out_without_approval() -> None:
    assert advance(S.PENDING, Quoted()) is S.WAITING_APPROVAL
    with pytest.raises(IllegalTransition):
        advance(S.WAITING_APPROVAL, Carried())


def test_every_state_can_be_left_or_is_an_end() -> None:
    left = {before for before, _ in moves()}
    assert left == {str(each) for each in S} - {str(each) for each in TERMINAL}


def token(*scope: TaskAction, operator: str = "person:lin", seconds: int = 60) -> AuditToken:
    return AuditToken(operator, frozenset(scope), NOON + timedelta(seconds=seconds), "jti_1")


@pytest.mark.parametrize("op", list(OpType))
def test_a_scope_covers_its_operations_and_no_other(op: OpType) -> None:
    right = TaskAction.REGENERATE if op is OpType.REISSUE else TaskAction.COMPENSATE
    assert authorise(token(right), [op], now=NOON) == "person:lin"
    for wrong in {TaskAction.QUERY, TaskAction.TRANSFER, TaskAction.REGENERATE, TaskAction.COMPENSATE} - {
        right
    }:
        with pytest.raises(GrantRefused, match="does not cover"):
            authorise(token(wrong), [op], now=NOON)


def test_a_modification_needs_both_scopes() -> None:
    with pytest.raises(GrantRefused):
        authorise(token(TaskAction.COMPENSATE), [OpType.REFUND, OpType.REISSUE], now=NOON)


def test_a_token_ends_at_its_second() -> None:
    live = token(TaskAction.COMPENSATE, seconds=1)
    assert authorise(live, [OpType.REFUND], now=NOON)
    with pytest.raises(GrantRefused, match="expired"):
        authorise(live, [OpType.REFUND], now=NOON + timedelta(seconds=1))


def test_an_agent_decides_nothing_with_any_token() -> None:
    with pytest.raises(GrantRefused):
        authorise(token(TaskAction.COMPENSATE, operator="agent:x"), [OpType.REFUND], now=NOON)


@pytest.mark.parametrize("words", [[], ["pay"], ["compensate", "everything"]])
def test_an_unknown_scope_is_no_scope(words: list[str]) -> None:
    with pytest.raises(UsageError):
        read_scope(words)


@pytest.mark.parametrize("seconds", [0, -1, 86_401])
def test_a_token_lives_for_a_while_only(seconds: int) -> None:
    with pytest.raises(UsageError):
        check_validity(seconds)
