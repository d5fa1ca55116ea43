"""The compensation desk: refund, cancel, reissue; each once, and a person where automation ends (G-304).

    request       a person asks; the same id asks once
    run           tries what is pending; three failures, and it lies in the review queue
    decide        a person with an audit token approves, rejects or modifies

Whatever moves is written with its audit row, before and after, in one transaction (G-306). A reissue
yields a Quote and waits: only an approval confirms it. Nothing here ever sends a paid request itself.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, assert_never

import sqlalchemy as sa

from shortdrama_pipeline.crashpoints import Point, reach
from shortdrama_pipeline.errors import Conflict, Fact, Refusal, ShortdramaError, UnknownId, UsageError
from shortdrama_pipeline.rules import audit_tokens as token_rules
from shortdrama_pipeline.rules import ledger as ledger_rules
from shortdrama_pipeline.rules.actors import parse_actor, require_person
from shortdrama_pipeline.rules.audit_tokens import AuditToken
from shortdrama_pipeline.rules.compensations import (
    Carried,
    CompensationState,
    Decided,
    Decision,
    Failed,
    OpType,
    Quoted,
    advance,
)
from shortdrama_pipeline.rules.money import AMOUNT_MICROS_MAX, Money
from shortdrama_pipeline.rules.plans import item_request
from shortdrama_pipeline.rules.states import ReservationState, Stage, TaskState
from shortdrama_pipeline.services.audit_tokens import read_token
from shortdrama_pipeline.services.confirming import confirm_quote
from shortdrama_pipeline.services.context import Studio
from shortdrama_pipeline.services.planning import plan_items
from shortdrama_pipeline.store import alerts, audit, compensations, ledger, reservations, tasks
from shortdrama_pipeline.store.alerts import Alert
from shortdrama_pipeline.store.compensations import Compensation
from shortdrama_pipeline.store.wakeups import announce

REASON_CHARACTERS_MAX = 500
ID_CHARACTERS_MAX = 200
ORDERS_SHOWN_MAX = 50
OPEN = frozenset({CompensationState.PENDING, CompensationState.APPROVED})


@dataclass(frozen=True, slots=True)
class RunReport:
    """What one run did."""

    done: int
    waiting_approval: int
    failed: int
    manual_review: int

    def to_json(self) -> dict[str, int]:
        return dict(asdict(self))


@dataclass(frozen=True, slots=True)
class Modification:
    """What a person changes; None leaves it."""

    op_type: OpType | None = None
    reason: str | None = None
    amount_micros: int | None = None


def request_compensation(
    studio: Studio,
    *,
    compensation_id: str,
    source_order_id: str,
    op_type: OpType,
    reason: str,
    actor: str,
    amount_micros: int | None = None,
) -> Compensation:
    """Put an operation into the queue, once per id; the same id with other content is a Conflict."""
    require_person(actor, "ask for a compensation")
    _check(compensation_id, reason, amount_micros)
    with studio.db.begin() as tx:
        if not compensations.find_orders(tx, source_order_id):
            raise UnknownId(
                f"No execution or task {source_order_id}",
                hint="List tasks: shortdrama task list",
                source_order_id=source_order_id,
            )
        new = compensations.record(
            tx,
            compensation_id=compensation_id,
            source_order_id=source_order_id,
            op_type=op_type,
            reason=reason.strip()[:REASON_CHARACTERS_MAX],
            amount_micros=amount_micros,
            actor=actor,
        )
        if new is not None:
            return new
        known = compensations.lock(tx, compensation_id)
    if (known.source_order_id, known.op_type) != (source_order_id, op_type):
        raise Conflict(
            f"The compensation {compensation_id} asks for something else",
            hint=f"Use a new id, or look at it: shortdrama compensation show {compensation_id}",
            compensation_id=compensation_id,
        )
    return known


def run_compensations(studio: Studio, *, actor: str) -> RunReport:
    """Try everything that needs no further word of a person, each by itself."""
    parse_actor(actor)
    with studio.db.read() as tx:
        waiting = compensations.find_runnable(tx)
    ends = [_try(studio, each, actor=actor) for each in waiting]
    count = {state: sum(1 for end in ends if end is state) for state in CompensationState}
    return RunReport(
        done=count[CompensationState.DONE],
        waiting_approval=count[CompensationState.WAITING_APPROVAL],
        failed=count[CompensationState.PENDING],
        manual_review=count[CompensationState.MANUAL_REVIEW],
    )


def decide(
    studio: Studio,
    compensation_id: str,
    *,
    action: Decision,
    audit_token: str,
    actor: str,
    change: Modification | None = None,
) -> Compensation:
    """Act on a person's word. Refused for a token that is expired, of another scope, or used (G-305)."""
    require_person(actor, "decide about a compensation")
    if (action is Decision.MODIFY) is not (change is not None and change != Modification()):
        raise UsageError(
            "Only a modification changes something",
            hint="With modify give --op, --reason or --amount; with approve and reject none of them",
        )
    token = read_token(studio.settings.home, audit_token)
    with studio.db.begin() as tx:
        before = compensations.lock(tx, compensation_id)
        asked = before if change is None else _modified(before, change)
        now = tx.execute(sa.text("select clock_timestamp()")).scalar_one()
        operator = token_rules.authorise(token, [before.op, asked.op], now=now)
        compensations.use_token(tx, token.jti, operator_id=operator, compensation_id=compensation_id)
        state = advance(before.standing, Decided(action))
        orders = compensations.find_orders(tx, before.source_order_id)
        after, effect = _after_decision(tx, asked, state, action=action, orders=orders, operator=operator)
        reach(Point.COMPENSATION_BETWEEN)
        written = compensations.record_change(
            tx,
            before,
            after,
            action=f"compensation.{action}",
            actor=operator,
            more=_snapshot(tx, token, presented_by=actor, orders=orders, effect=effect, row=before),
        )
        alerts.close_alerts(tx, [compensation_id], by=operator)
        reach(Point.COMPENSATION_BEFORE_COMMIT)
    reach(Point.COMPENSATION_COMMITTED)
    if written.standing is CompensationState.APPROVED:
        _try(studio, compensation_id, actor=operator)
    return _load(studio, compensation_id)


def list_compensations(studio: Studio, *, state: str | None = None) -> list[dict[str, object]]:
    if state is not None and state not in set(CompensationState):
        raise UsageError(
            f"'{state}' is no state of a compensation", hint=f"One of: {', '.join(CompensationState)}"
        )
    with studio.db.read() as tx:
        return [to_json(each) for each in compensations.find_all(tx, state=state)]


def show_compensation(studio: Studio, compensation_id: str) -> dict[str, object]:
    """One with everything that was decided and done about it, the newest first."""
    with studio.db.read() as tx:
        found = compensations.find(tx, compensation_id)
        if found is None:
            raise compensations.unknown(compensation_id)
        trail = audit.list_decisions(tx, limit=100, subject_id=compensation_id)
    shown = [
        {"action": each["action"], "actor": each["actor"], "at": each["created_at"], "facts": each["facts"]}
        for each in trail
    ]
    return to_json(found) | {"audit": shown}


def to_json(each: Compensation) -> dict[str, object]:
    return {"compensation_id": each.compensation_id, "source_order_id": each.source_order_id} | {
        **each.snapshot(),
        "triggered_at": each.triggered_at,
        "actor": each.actor,
    }


# --- trying -------------------------------------------------------------------------------------------


def _try(studio: Studio, compensation_id: str, *, actor: str) -> CompensationState | None:
    """Try one; a failure is counted, and never more than that. None when somebody else was at it."""
    try:
        row = _load(studio, compensation_id)
        if row.standing not in OPEN:
            return None
        if row.op is OpType.REISSUE:
            return _reissue(studio, row, actor=actor)
        return _carry_out(studio, compensation_id, actor=actor)
    except (ShortdramaError, sa.exc.SQLAlchemyError) as error:
        return _record_failure(studio, compensation_id, error, actor=actor)


def _carry_out(studio: Studio, compensation_id: str, *, actor: str) -> CompensationState | None:
    with studio.db.begin() as tx:
        before = compensations.lock(tx, compensation_id)
        if before.standing not in OPEN:
            return None
        orders = compensations.find_orders(tx, before.source_order_id)
        effect = _apply(tx, before, orders, actor=actor)
        reach(Point.COMPENSATION_BETWEEN)
        after = replace(before, state=str(advance(before.standing, Carried())), last_error=None)
        more: dict[str, Fact] = {**effect, **_orders(tx, before, orders)}
        compensations.record_change(tx, before, after, action="compensation.done", actor=actor, more=more)
        reach(Point.COMPENSATION_BEFORE_COMMIT)
    reach(Point.COMPENSATION_COMMITTED)
    return CompensationState.DONE


def _reissue(studio: Studio, row: Compensation, *, actor: str) -> CompensationState | None:
    """Quote what is to be made again; once approved, confirm that very Quote under the compensation's id."""
    if row.standing is CompensationState.PENDING:
        quote_id = _quote(studio, row, actor=actor)
        return _move(studio, row, Quoted(), "compensation.quoted", actor=actor, quote_id=quote_id)
    assert row.quote_id is not None, row.compensation_id
    with studio.db.read() as tx:
        operator = compensations.find_approver(tx, row.compensation_id)
    confirmed = confirm_quote(
        studio, row.quote_id, idempotency_key=f"compensation:{row.compensation_id}", actor=operator
    )
    moved = _move(
        studio, row, Carried(), "compensation.done", actor=operator, execution_id=confirmed.execution_id
    )
    announce(studio.db)
    return moved


def _quote(studio: Studio, row: Compensation, *, actor: str) -> str:
    with studio.db.read() as tx:
        orders = compensations.find_orders(tx, row.source_order_id)
    stages = {Stage(each["stage"]) for each in orders}
    if len(stages) != 1:
        raise Refusal(
            "An order of several stages cannot be made again in one", hint="Name its tasks one by one"
        )
    planned = plan_items(
        studio, stages.pop(), [item_request(each["request"]) for each in orders], actor=actor
    )
    if planned.quote_id is None:
        raise Refusal("There is nothing to make again", hint="Look at the order: shortdrama task list")
    return planned.quote_id


def _move(
    studio: Studio, row: Compensation, event: Carried | Quoted, action: str, *, actor: str, **fields: str
) -> CompensationState | None:
    with studio.db.begin() as tx:
        before = compensations.lock(tx, row.compensation_id)
        if before.state != row.state:
            return None
        state = advance(before.standing, event)
        after = replace(before, state=str(state), last_error=None, **fields)  # type: ignore[arg-type]
        compensations.record_change(tx, before, after, action=action, actor=actor)
        reach(Point.COMPENSATION_BEFORE_COMMIT)
    return state


def _record_failure(
    studio: Studio, compensation_id: str, error: Exception, *, actor: str
) -> CompensationState | None:
    with studio.db.begin() as tx:
        before = compensations.lock(tx, compensation_id)
        if before.standing not in OPEN:
            return None
        failures = before.retry_count + 1
        state = advance(before.standing, Failed(failures))
        said = {"code": error.code, "message": error.message} if isinstance(error, ShortdramaError) else {}
        last_error = {"error": type(error).__name__, **said}
        after = replace(before, state=str(state), retry_count=failures, last_error=last_error)
        compensations.record_change(tx, before, after, action="compensation.failed", actor=actor)
        if state is CompensationState.MANUAL_REVIEW:
            message = "A compensation failed too often: a person decides with `compensation decide`"
            alerts.record_alerts(tx, [Alert("compensation_manual", compensation_id, message, last_error)])
    return state


# --- effects ------------------------------------------------------------------------------------------


def _apply(
    tx: sa.Connection, row: Compensation, orders: Sequence[Mapping[str, Any]], *, actor: str
) -> dict[str, Fact]:
    match row.op:
        case OpType.REFUND:
            return _refund(tx, row, orders, actor=actor)
        case OpType.CANCEL:
            return _cancel(tx, orders, actor=actor)
        case OpType.REISSUE:
            raise Refusal("A reissue is a new purchase", hint="Approve its Quote: it is confirmed then")
        case _:
            assert_never(row.op)


def _refund(
    tx: sa.Connection, row: Compensation, orders: Sequence[Mapping[str, Any]], *, actor: str
) -> dict[str, Fact]:
    """New entries at the platform's cost, once per task whoever asked (V-7)."""
    charged = [
        each for each in orders if each["money"] == ReservationState.SETTLED and each["settled_micros"]
    ]
    if not charged:
        raise Refusal(
            f"Nothing was charged for {row.source_order_id}",
            hint="What is frozen comes back by itself; cancel what has not started",
        )
    if row.amount_micros is not None and (
        len(charged) != 1 or row.amount_micros > charged[0]["settled_micros"]
    ):
        raise Refusal(
            "A part can be refunded of one task, up to what it cost",
            hint="Name one task and a smaller amount",
            settled_micros=[each["settled_micros"] for each in charged],
        )
    refunded: dict[str, Fact] = {}
    for each in charged:
        amount = Money(row.amount_micros or each["settled_micros"], each["currency"])
        booked = ledger.post(tx, ledger_rules.compensate(each["task_id"], amount), actor=actor)
        if booked:
            facts: dict[str, Fact] = {
                "compensation_id": row.compensation_id,
                "amount": dict(amount.to_json()),
            }
            audit.record_decision(tx, "task.compensate", each["task_id"], actor=actor, facts=facts)
            refunded[each["task_id"]] = dict(amount.to_json())
    return {"refunded": refunded}


def _cancel(tx: sa.Connection, orders: Sequence[Mapping[str, Any]], *, actor: str) -> dict[str, Fact]:
    """Only what nobody has claimed; a claim that was first wins (P-4.3)."""
    queued = [each["task_id"] for each in orders if each["state"] == TaskState.QUEUED]
    cancelled = sorted(tasks.cancel(tx, queued, actor=actor)) if queued else []
    before = [each["task_id"] for each in orders if each["state"] == TaskState.CANCELLED]
    if not cancelled and not before:
        raise Refusal(
            "All of this order has started: its cost cannot be saved",
            hint="Let it finish; a refund gives a settled price back",
        )
    reservations.release_many(tx, cancelled, reason={"code": "cancelled"}, actor=actor)
    for each in cancelled:
        audit.record_decision(tx, "task.cancel", each, actor=actor)
    return {"cancelled": [*cancelled]}


def _after_decision(
    tx: sa.Connection,
    asked: Compensation,
    state: CompensationState,
    *,
    action: Decision,
    orders: Sequence[Mapping[str, Any]],
    operator: str,
) -> tuple[Compensation, dict[str, Fact]]:
    """The row as it is after a person's word, and what that word did to money and work."""
    if action is Decision.MODIFY:
        return replace(asked, state=str(state), quote_id=None, last_error=None), {}
    if action is Decision.REJECT:
        return replace(asked, state=str(state)), {}
    if asked.op is OpType.REISSUE:
        if asked.quote_id is None:
            raise Refusal(
                "There is no Quote to approve",
                hint="Modify the compensation: it is quoted anew, and the Quote can be approved",
            )
        return replace(asked, state=str(state)), {}
    effect = _apply(tx, asked, orders, actor=operator)
    return replace(asked, state=str(advance(state, Carried())), last_error=None), effect


def _modified(row: Compensation, change: Modification) -> Compensation:
    reason = row.reason if change.reason is None else change.reason
    amount_micros = row.amount_micros if change.amount_micros is None else change.amount_micros
    _check(row.compensation_id, reason, amount_micros)
    return replace(
        row,
        op_type=str(change.op_type or row.op_type),
        reason=reason.strip()[:REASON_CHARACTERS_MAX],
        amount_micros=amount_micros,
    )


def _snapshot(
    tx: sa.Connection,
    token: AuditToken,
    *,
    presented_by: str,
    orders: Sequence[Mapping[str, Any]],
    effect: Mapping[str, Fact],
    row: Compensation,
) -> dict[str, Fact]:
    return {
        "jti": token.jti,
        "scope": [*sorted(str(each) for each in token.scope)],
        "presented_by": presented_by,
        **effect,
        **_orders(tx, row, orders),
    }


def _orders(tx: sa.Connection, row: Compensation, before: Sequence[Mapping[str, Any]]) -> dict[str, Fact]:
    """Work and money of the order, before and after."""
    after = compensations.find_orders(tx, row.source_order_id)
    return {"orders_before": _brief(before), "orders_after": _brief(after)}


def _brief(orders: Sequence[Mapping[str, Any]]) -> Fact:
    return [
        {"task_id": each["task_id"], "state": each["state"], "money": each["money"]}
        for each in orders[:ORDERS_SHOWN_MAX]
    ]


def _check(compensation_id: str, reason: str, amount_micros: int | None) -> None:
    if not compensation_id.strip() or len(compensation_id) > ID_CHARACTERS_MAX:
        raise UsageError("A compensation needs an id", hint="Give --id: the same id asks once")
    if not reason.strip():
        raise UsageError("A compensation needs a reason", hint="Say why: --reason TEXT")
    if amount_micros is not None and not 0 < amount_micros <= AMOUNT_MICROS_MAX:
        raise UsageError("The amount is out of range", hint="Give a positive amount, or none for the whole")


def _load(studio: Studio, compensation_id: str) -> Compensation:
    with studio.db.read() as tx:
        found = compensations.find(tx, compensation_id)
    if found is None:
        raise compensations.unknown(compensation_id)
    return found
