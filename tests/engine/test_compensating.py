"""G-304 to G-306: each operation once, three failures and a person, no action without its audit row."""

import json
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import jwt
import pytest
import sqlalchemy as sa

from shortdrama_pipeline.crashpoints import InjectedFailure, Point, arm
from shortdrama_pipeline.errors import (
    Conflict,
    GrantRefused,
    IllegalTransition,
    Outside,
    Refusal,
    ShortdramaError,
    UnknownId,
    UsageError,
)
from shortdrama_pipeline.rules.compensations import Decision, OpType
from shortdrama_pipeline.rules.states import MediaKind
from shortdrama_pipeline.services.audit_tokens import issue_token
from shortdrama_pipeline.services.auditing import verify_ledger
from shortdrama_pipeline.services.compensating import (
    Modification,
    decide,
    list_compensations,
    request_compensation,
    run_compensations,
    show_compensation,
)
from shortdrama_pipeline.services.task_actions import compensate_task
from shortdrama_pipeline.store import compensations as rows
from tests.engine.conftest import PERSON, Shop

IMAGE = MediaKind.IMAGE
BREAK_REFUNDS = """
create function no_refund() returns trigger language plpgsql as $$ begin
  if new.business_key like 'compensate:%' then raise exception 'ledger is away'; end if; return new;
end $$;
create trigger no_refund before insert on ledger_entries for each row execute function no_refund();
"""
MEND_REFUNDS = "drop trigger no_refund on ledger_entries"
BOSS = "person:wang"


def ask(shop: Shop, order: str, op: OpType = OpType.REFUND, *, name: str = "c1", **more: object) -> None:
    request_compensation(
        shop.studio, compensation_id=name, source_order_id=order, op_type=op, reason="late", actor=PERSON,
        **more,  # type: ignore[arg-type]
    )  # fmt: skip


def state(shop: Shop, name: str = "c1") -> str:
    return str(shop.rows("select state from compensation where compensation_id = :id", id=name)[0]["state"])


def issue(shop: Shop, *scope: str, seconds: int = 60) -> str:
    text, _ = issue_token(
        shop.studio.settings.home,
        operator=BOSS,
        scope=list(scope or ("compensate",)),
        now=datetime.now(UTC),
        valid_s=seconds,
    )
    return text


def delivered(shop: Shop) -> str:
    (task_id,) = shop.order(IMAGE)
    shop.drain()
    return task_id


def reviewed(shop: Shop, task_id: str) -> None:
    """Three failures bring a refund before a person."""
    ask(shop, task_id)
    shop.run(BREAK_REFUNDS)
    for _ in range(3):
        run_compensations(shop.studio, actor=PERSON)
    shop.run(MEND_REFUNDS)
    assert state(shop) == "manualReview"


def refunds(shop: Shop) -> int:
    return len(shop.rows("select 1 from ledger_entries where business_key like 'compensate:%'"))


@pytest.fixture
def crash() -> Iterator[Callable[[Point], None]]:
    def at(point: Point) -> None:
        def handler(reached: Point) -> None:
            if reached is point:
                raise InjectedFailure(str(reached))

        arm(handler)

    yield at
    arm(None)


# --- each operation, once -------------------------------------------------------------------------------


def test_a_refund_is_a_new_entry_the_platform_pays_once(shop: Shop) -> None:
    task_id = delivered(shop)
    seen = len(shop.vendor.seen)
    for name in ("c1", "c2"):
        ask(shop, task_id, name=name)
        ask(shop, task_id, name=name)
    assert run_compensations(shop.studio, actor=PERSON).to_json() == {
        "done": 2, "waiting_approval": 0, "failed": 0, "manual_review": 0,
    }  # fmt: skip
    assert run_compensations(shop.studio, actor=PERSON).done == 0
    assert refunds(shop) == 1
    assert shop.states(task_id) == ("succeeded", ["completed"], "settled")
    assert shop.balances()["wallet:studio:available CNY"] == 10**9
    assert len(shop.vendor.seen) == seen
    assert verify_ledger(shop.studio).ok


def test_a_refund_and_a_task_compensation_are_one_effect(shop: Shop) -> None:
    task_id = delivered(shop)
    compensate_task(shop.studio, task_id, actor=PERSON, note="first")
    ask(shop, task_id)
    run_compensations(shop.studio, actor=PERSON)
    assert (refunds(shop), state(shop)) == (1, "done")


def test_an_execution_is_refunded_task_by_task(shop: Shop) -> None:
    ids = shop.order(IMAGE, IMAGE, IMAGE)
    shop.drain()
    (execution,) = shop.rows("select distinct execution_id from tasks")
    ask(shop, execution["execution_id"])
    run_compensations(shop.studio, actor=PERSON)
    assert refunds(shop) == len(ids)


def test_a_part_is_refunded_up_to_what_it_cost(shop: Shop) -> None:
    task_id = delivered(shop)
    (row,) = shop.rows("select settled_micros from reservations")
    ask(shop, task_id, amount_micros=row["settled_micros"] + 1)
    assert run_compensations(shop.studio, actor=PERSON).failed == 1
    ask(shop, task_id, name="c2", amount_micros=1)
    run_compensations(shop.studio, actor=PERSON)
    assert shop.rows("select amount_micros from ledger_entries where business_key like 'compensate:%'") == [
        {"amount_micros": 1}
    ]


def test_a_cancellation_takes_back_only_what_has_not_started(shop: Shop) -> None:
    first, second = shop.order(IMAGE, IMAGE)
    (execution,) = shop.rows("select distinct execution_id from tasks")
    shop.drain(limit=1, seconds_max=0)
    ask(shop, execution["execution_id"], OpType.CANCEL)
    run_compensations(shop.studio, actor=PERSON)
    run_compensations(shop.studio, actor=PERSON)
    shop.drain()
    ends = sorted(shop.states(each)[::2] for each in (first, second))
    assert set(ends) <= {("cancelled", "released"), ("succeeded", "settled")}
    assert ("cancelled", "released") in ends
    assert len(shop.vendor.posts()) == sum(each[0] == "succeeded" for each in ends)


def test_a_cancellation_of_started_work_is_refused_and_counted(shop: Shop) -> None:
    task_id = delivered(shop)
    ask(shop, task_id, OpType.CANCEL)
    run_compensations(shop.studio, actor=PERSON)
    (row,) = shop.rows("select * from compensation")
    assert (row["state"], row["retry_count"]) == ("pending", 1)
    assert row["last_error"]["code"] == "refused"


def test_a_reissue_is_a_quote_and_buys_nothing_without_approval(shop: Shop) -> None:
    task_id = delivered(shop)
    ask(shop, task_id, OpType.REISSUE)
    for _ in range(3):
        run_compensations(shop.studio, actor=PERSON)
        shop.drain()
    assert state(shop) == "waitingApproval"
    assert len(shop.vendor.posts()) == 1
    assert len(shop.rows("select 1 from executions")) == 1
    assert len(shop.rows("select 1 from quotes where state = 'open'")) == 1
    with pytest.raises(GrantRefused, match="does not cover"):
        decide(shop.studio, "c1", action=Decision.APPROVE, audit_token=issue(shop), actor=PERSON)
    decided = decide(
        shop.studio, "c1", action=Decision.APPROVE, audit_token=issue(shop, "regenerate"), actor=PERSON
    )
    assert decided.state == "done"
    shop.drain()
    assert len(shop.vendor.posts()) == 2
    (new,) = shop.rows("select * from executions where execution_id = :id", id=decided.execution_id)
    assert new["actor"] == BOSS
    assert [each["state"] for each in shop.rows("select state from tasks")] == ["succeeded"] * 2


def go_on(shop: Shop) -> None:
    """Approve what waits for it; what is approved is carried out."""
    if state(shop) == "waitingApproval":
        token = issue(shop, "regenerate")
        decide(shop.studio, "c1", action=Decision.APPROVE, audit_token=token, actor=PERSON)
    else:
        run_compensations(shop.studio, actor=PERSON)


def test_a_crash_after_the_approval_buys_once_when_it_goes_on(
    shop: Shop, crash: Callable[[Point], None]
) -> None:
    task_id = delivered(shop)
    ask(shop, task_id, OpType.REISSUE)
    run_compensations(shop.studio, actor=PERSON)
    for point in (Point.COMPENSATION_COMMITTED, Point.CONFIRM_COMMITTED):
        crash(point)
        with pytest.raises(InjectedFailure):
            go_on(shop)
        assert state(shop) == "approved"
    arm(None)
    run_compensations(shop.studio, actor=PERSON)
    assert state(shop) == "done"
    assert len(shop.rows("select 1 from executions")) == 2


def test_an_unknown_order_an_empty_reason_and_an_agent_are_refused(shop: Shop) -> None:
    task_id = delivered(shop)
    with pytest.raises(UnknownId):
        ask(shop, "execution_none")
    with pytest.raises(GrantRefused):
        request_compensation(
            shop.studio, compensation_id="c", source_order_id=task_id, op_type=OpType.REFUND, reason="r",
            actor="agent:x",
        )  # fmt: skip
    with pytest.raises(UsageError):
        request_compensation(
            shop.studio, compensation_id="c", source_order_id=task_id, op_type=OpType.REFUND, reason=" ",
            actor=PERSON,
        )  # fmt: skip
    ask(shop, task_id)
    with pytest.raises(Conflict):
        ask(shop, task_id, OpType.CANCEL)


# --- failures and the review queue ----------------------------------------------------------------------


def test_three_failures_bring_it_before_a_person_and_it_is_tried_no_more(shop: Shop) -> None:
    task_id = delivered(shop)
    reviewed(shop, task_id)
    assert run_compensations(shop.studio, actor=PERSON).to_json() == dict.fromkeys(
        ("done", "waiting_approval", "failed", "manual_review"), 0
    )
    assert refunds(shop) == 0
    assert [each["compensation_id"] for each in list_compensations(shop.studio, state="manualReview")] == [
        "c1"
    ]
    assert shop.rows("select 1 from alerts where kind = 'compensation_manual' and closed_at is null")


def test_a_person_approves_and_the_whole_loop_stands_in_the_audit_log(shop: Shop) -> None:
    task_id = delivered(shop)
    reviewed(shop, task_id)
    decided = decide(shop.studio, "c1", action=Decision.APPROVE, audit_token=issue(shop), actor=PERSON)
    assert decided.state == "done"
    assert refunds(shop) == 1
    trail = show_compensation(shop.studio, "c1")["audit"]
    assert isinstance(trail, list)
    actions = [each["action"] for each in reversed(trail)]
    assert actions == ["compensation.request", *["compensation.failed"] * 3, "compensation.approve"]
    facts = trail[0]["facts"]
    assert trail[0]["actor"] == BOSS
    assert facts["presented_by"] == PERSON
    assert (facts["before"]["state"], facts["after"]["state"]) == ("manualReview", "done")
    assert facts["before"]["last_error"]
    assert facts["refunded"][task_id]["micros"] > 0
    assert facts["orders_before"] == facts["orders_after"]
    assert shop.rows("select 1 from alerts where kind = 'compensation_manual' and closed_at is null") == []


def test_a_rejected_one_is_over(shop: Shop) -> None:
    task_id = delivered(shop)
    reviewed(shop, task_id)
    decide(shop.studio, "c1", action=Decision.REJECT, audit_token=issue(shop), actor=PERSON)
    assert state(shop) == "rejected"
    with pytest.raises(IllegalTransition):
        decide(shop.studio, "c1", action=Decision.APPROVE, audit_token=issue(shop), actor=PERSON)
    assert refunds(shop) == 0


def test_a_modified_one_is_tried_anew_as_what_it_became(shop: Shop) -> None:
    task_id = delivered(shop)
    ask(shop, task_id, OpType.CANCEL)
    for _ in range(3):
        run_compensations(shop.studio, actor=PERSON)
    change = Modification(op_type=OpType.REFUND, reason="cancel came too late", amount_micros=5)
    with pytest.raises(UsageError):
        decide(shop.studio, "c1", action=Decision.MODIFY, audit_token=issue(shop), actor=PERSON)
    with pytest.raises(UsageError):
        decide(
            shop.studio, "c1", action=Decision.APPROVE, audit_token=issue(shop), actor=PERSON, change=change
        )
    decide(shop.studio, "c1", action=Decision.MODIFY, audit_token=issue(shop), actor=PERSON, change=change)
    assert state(shop) == "pending"
    run_compensations(shop.studio, actor=PERSON)
    assert state(shop) == "done"
    assert shop.rows("select amount_micros from ledger_entries where business_key like 'compensate:%'") == [
        {"amount_micros": 5}
    ]


# --- the token ------------------------------------------------------------------------------------------


def forged(text: str, key: bytes, **changes: object) -> str:
    claims = jwt.decode(text, options={"verify_signature": False})
    return jwt.encode({**claims, **changes}, key, algorithm="HS256")


def test_a_token_that_is_expired_replayed_forged_or_of_another_scope_does_nothing(
    shop: Shop, home: Path
) -> None:
    task_id = delivered(shop)
    reviewed(shop, task_id)
    good = issue(shop)
    key = (home / "compensation" / "token.key").read_bytes()
    past = int((datetime.now(UTC) - timedelta(seconds=1)).timestamp())
    unsigned = jwt.encode(jwt.decode(good, options={"verify_signature": False}), "", algorithm="none")
    bad = [
        "", "nonsense", good[:-4], good + "x", "x" * 5_000, unsigned,
        forged(good, b"another key of thirty-two bytes!"),
        forged(good, key, exp=past),
        forged(good, key, scope=["query", "transfer", "regenerate"]),
        forged(good, key, scope=["all"]),
        forged(good, key, scope="compensate"),
        forged(good, key, operator_id="agent:x"),
        forged(good, key, operator_id=""),
        forged(good, key, iss="other"),
        forged(good, key, aud="other"),
        forged(good, key, admin=True),
        forged(good, key, jti=""),
        forged(good, key, exp="soon"),
    ]  # fmt: skip
    for claim in ("operator_id", "scope", "exp", "jti"):
        claims = jwt.decode(good, options={"verify_signature": False})
        del claims[claim]
        bad.append(jwt.encode(claims, key, algorithm="HS256"))
    for each in bad:
        with pytest.raises(ShortdramaError) as caught:
            decide(shop.studio, "c1", action=Decision.REJECT, audit_token=each, actor=PERSON)
        assert caught.value.exit_code in {2, 4}, each
        assert caught.value.hint
    assert state(shop) == "manualReview"
    decide(shop.studio, "c1", action=Decision.APPROVE, audit_token=good, actor=PERSON)
    ask(shop, task_id, name="c2")
    with pytest.raises(GrantRefused, match="has been used"):
        decide(shop.studio, "c2", action=Decision.REJECT, audit_token=good, actor=PERSON)
    assert state(shop, "c2") == "pending"


def test_one_token_in_five_hands_acts_once(shop: Shop) -> None:
    task_id = delivered(shop)
    for number in range(5):
        ask(shop, task_id, name=f"c{number}")
    good = issue(shop)
    done: list[str] = []

    def reject(name: str) -> None:
        try:
            decide(shop.studio, name, action=Decision.REJECT, audit_token=good, actor=PERSON)
            done.append(name)
        except GrantRefused:
            pass

    crowd = [threading.Thread(target=reject, args=(f"c{number}",)) for number in range(5)]
    for each in crowd:
        each.start()
    for each in crowd:
        each.join()
    assert len(done) == 1
    assert [each["state"] for each in list_compensations(shop.studio, state="rejected")] == ["rejected"]


def test_an_agent_is_refused_even_with_a_persons_token(shop: Shop) -> None:
    ask(shop, delivered(shop))
    with pytest.raises(GrantRefused):
        decide(shop.studio, "c1", action=Decision.REJECT, audit_token=issue(shop), actor="agent:x")
    with pytest.raises(GrantRefused):
        issue_token(
            shop.studio.settings.home, operator="agent:x", scope=["compensate"], now=datetime.now(UTC)
        )


def test_the_key_is_made_once_for_its_owner_alone_and_refused_when_others_may_read_it(
    shop: Shop, home: Path
) -> None:
    ask(shop, delivered(shop))
    text = issue(shop)
    key = home / "compensation" / "token.key"
    assert key.stat().st_mode & 0o777 == 0o600
    before = key.read_bytes()
    issue(shop)
    assert key.read_bytes() == before
    assert [each.name for each in key.parent.iterdir()] == ["token.key"]
    key.chmod(0o644)
    with pytest.raises(Outside, match="read by others"):
        decide(shop.studio, "c1", action=Decision.REJECT, audit_token=text, actor=PERSON)


# --- no action without its row ---------------------------------------------------------------------------


@pytest.mark.parametrize("point", [Point.COMPENSATION_BETWEEN, Point.COMPENSATION_BEFORE_COMMIT])
def test_a_crash_between_action_and_audit_row_leaves_neither(
    shop: Shop, point: Point, crash: Callable[[Point], None]
) -> None:
    task_id = delivered(shop)
    reviewed(shop, task_id)
    log = shop.rows("select count(*) as n from audit_log")
    token = issue(shop)
    crash(point)
    with pytest.raises(InjectedFailure):
        decide(shop.studio, "c1", action=Decision.APPROVE, audit_token=token, actor=PERSON)
    with pytest.raises(InjectedFailure):
        compensate_task(shop.studio, task_id, actor=PERSON, note="n")
    assert (refunds(shop), state(shop)) == (0, "manualReview")
    assert shop.rows("select count(*) as n from audit_log") == log
    assert shop.rows("select 1 from audit_tokens_used") == []
    arm(None)
    decide(shop.studio, "c1", action=Decision.APPROVE, audit_token=token, actor=PERSON)
    assert (refunds(shop), state(shop)) == (1, "done")


WITHOUT_ROW = [
    "update compensation set state = 'done'",
    "update compensation set retry_count = retry_count + 1",
    """insert into compensation (compensation_id, source_order_id, op_type, reason, state, actor)
       values ('c9', 'o', 'refund', 'r', 'pending', 'person:x')""",
    """insert into ledger_entries (business_key, debit_account, credit_account, amount_micros, currency,
       task_id, facts, actor) values ('compensate:t', 'a', 'b', 1, 'CNY', 't', '{}', 'person:x')""",
]


@pytest.mark.parametrize("statement", WITHOUT_ROW)
def test_the_database_refuses_an_action_without_an_audit_row_of_its_transaction(
    shop: Shop, statement: str
) -> None:
    ask(shop, delivered(shop))
    with pytest.raises(sa.exc.IntegrityError, match="no audit row"):
        shop.run(statement)
    assert state(shop) == "pending"


def test_the_database_refuses_a_compensation_that_skips_or_goes_back(shop: Shop) -> None:
    ask(shop, delivered(shop))
    for statement in (
        "update compensation set state = 'approved'",
        "update compensation set source_order_id = 'other'",
        "delete from compensation",
        "update audit_log set actor = 'person:other'",
    ):
        with pytest.raises(sa.exc.IntegrityError):
            shop.run(statement)


def test_no_token_and_no_key_stand_in_rows(shop: Shop, home: Path) -> None:
    task_id = delivered(shop)
    reviewed(shop, task_id)
    token = issue(shop)
    decide(shop.studio, "c1", action=Decision.APPROVE, audit_token=token, actor=PERSON)
    with shop.studio.db.read() as tx:
        kept = json.dumps([each.snapshot() for each in rows.find_all(tx, state=None)])
    kept += json.dumps(shop.rows("select * from audit_log"), default=str)
    kept += json.dumps(shop.rows("select * from audit_tokens_used"), default=str)
    assert token not in kept
    assert token.rsplit(".", 1)[1] not in kept


def test_a_refund_of_what_was_never_charged_says_what_to_do(shop: Shop) -> None:
    (task_id,) = shop.order(IMAGE)
    ask(shop, task_id)
    run_compensations(shop.studio, actor=PERSON)
    assert (
        "Nothing was charged" in shop.rows("select last_error from compensation")[0]["last_error"]["message"]
    )
    with pytest.raises(Refusal):
        compensate_task(shop.studio, task_id, actor=PERSON, note="n")
