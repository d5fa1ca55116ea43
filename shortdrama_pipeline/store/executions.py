"""The rows of T1, for any number of confirms in a fixed number of statements (P-6.1, V-3)."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

import sqlalchemy as sa

from shortdrama_pipeline.ids import new_id
from shortdrama_pipeline.rules.grants import GrantKind, Scope
from shortdrama_pipeline.rules.ledger import Entry, hold
from shortdrama_pipeline.rules.money import Money
from shortdrama_pipeline.store import bulk, ledger
from shortdrama_pipeline.store.tables import executions, grants, outbox, reservations, tasks


@dataclass(frozen=True, slots=True)
class Execution:
    """A row of `executions`: what a repeated confirm is answered from (D-4, D-5)."""

    execution_id: str
    quote_id: str
    idempotency_key: str
    request_hash: str
    task_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NewItem:
    """One item to be put to work. `task_id` is made here so that all rows agree on it."""

    item_id: str
    price: Money
    deadline_s: int
    task_id: str = field(default_factory=lambda: new_id("task"))


@dataclass(frozen=True, slots=True)
class NewExecution:
    """Everything one confirm writes. The Grant minted here is the one its Tasks lie under."""

    quote_id: str
    plan_id: str
    input_hash: str
    kind: GrantKind
    total: Money
    ceiling_micros: int
    scope: Scope
    expires_at: datetime
    idempotency_key: str
    request_hash: str
    actor: str
    items: tuple[NewItem, ...]
    grant_id: str = field(default_factory=lambda: new_id("grant"))
    execution_id: str = field(default_factory=lambda: new_id("exec"))

    @property
    def task_ids(self) -> tuple[str, ...]:
        return tuple(each.task_id for each in self.items)


_FIND = sa.text(
    "select execution_id, quote_id, idempotency_key, request_hash, answer from executions"
    " where idempotency_key = any(cast(:keys as text[])) or quote_id = any(cast(:quote_ids as text[]))"
)
_WORK = ("task_id", "execution_id", "grant_id", "item_id")
# The request of a task is the item of its PlanSnapshot, copied inside the database: never by way of a client.
_TASKS = sa.text(
    "insert into tasks (task_id, execution_id, grant_id, item_id, episode_id, stage, subject, role, kind,"  # noqa: S608
    " binding_id, request, input_hash, state, next_action_at, deadline_at)"
    " select w.task_id, w.execution_id, w.grant_id, w.item_id, i.item->>'episode_id', i.stage,"
    " i.item->>'subject', i.item->>'role', i.item->>'kind', i.item->>'binding_id', i.item, i.input_hash,"
    " 'queued', clock_timestamp(), clock_timestamp() + make_interval(secs => w.deadline_s)"
    f" from {bulk.record_set(tasks, _WORK, plan_id='text', deadline_s='bigint', place='integer')}"
    " join (select plan_id, stage, input_hash, jsonb_array_elements(body->'items') as item from plans"
    " where plan_id = any(cast(:plans as text[]))) i"
    " on w.plan_id = i.plan_id and w.item_id = i.item->>'item_id' order by w.place"
)


def find_executions(tx: sa.Connection, *, keys: Sequence[str], quote_ids: Sequence[str]) -> list[Execution]:
    """Executions under any of these keys or of any of these Quotes."""
    rows = tx.execute(_FIND, {"keys": list(keys), "quote_ids": list(quote_ids)})
    return [
        Execution(
            execution_id=row.execution_id,
            quote_id=row.quote_id,
            idempotency_key=row.idempotency_key,
            request_hash=row.request_hash,
            task_ids=tuple(row.answer["task_ids"]),
        )
        for row in rows
    ]


def record_executions(tx: sa.Connection, confirmed: Sequence[NewExecution]) -> None:
    """Write Grant, Execution, Tasks, Reservations, Outbox and holds of confirmed, locked Quotes."""
    bulk.insert_rows(tx, grants, [_grant_row(each) for each in confirmed])
    bulk.insert_rows(tx, executions, [_execution_row(each) for each in confirmed])
    work = [(each, item) for each in confirmed for item in each.items]
    _insert_tasks(tx, work)
    bulk.insert_rows(tx, reservations, [_reservation_row(item) for _, item in work])
    bulk.insert_rows(tx, outbox, [_outbox_row(each) for each in confirmed])
    for actor in sorted({each.actor for each in confirmed}):
        holds: list[Entry] = []
        for each, item in work:
            if each.actor == actor:
                holds += hold(item.task_id, item.price)
        ledger.post(tx, holds, actor=actor)


def _insert_tasks(tx: sa.Connection, work: Sequence[tuple[NewExecution, NewItem]]) -> None:
    rows = [
        {
            "task_id": item.task_id,
            "execution_id": each.execution_id,
            "grant_id": each.grant_id,
            "item_id": item.item_id,
            "plan_id": each.plan_id,
            "deadline_s": item.deadline_s,
            "place": place,
        }
        for place, (each, item) in enumerate(work)
    ]
    plans = sorted({each.plan_id for each, _ in work})
    inserted = tx.execute(_TASKS, {"rows": bulk.json_text(rows), "plans": plans})
    assert inserted.rowcount == len(work), (inserted.rowcount, len(work))


def _grant_row(each: NewExecution) -> bulk.Row:
    return {
        "grant_id": each.grant_id,
        "kind": str(each.kind),
        "quote_id": each.quote_id,
        "input_hash": each.input_hash,
        "limit_micros": each.ceiling_micros,
        "used_micros": each.total.micros,
        "currency": each.total.currency,
        "uses": 1,
        "uses_max": 1,
        "scope": each.scope.to_json(),
        "expires_at": each.expires_at,
        "actor": each.actor,
    }


def _execution_row(each: NewExecution) -> bulk.Row:
    return {
        "execution_id": each.execution_id,
        "quote_id": each.quote_id,
        "grant_id": each.grant_id,
        "idempotency_key": each.idempotency_key,
        "request_hash": each.request_hash,
        "answer": {"execution_id": each.execution_id, "task_ids": list(each.task_ids)},
        "actor": each.actor,
    }


def _reservation_row(item: NewItem) -> bulk.Row:
    return {
        "reservation_id": "res" + item.task_id.removeprefix("task"),  # one each, so one number will do
        "task_id": item.task_id,
        "amount_micros": item.price.micros,
        "currency": item.price.currency,
        "state": "reserved",
        "settled_micros": 0,
    }


def _outbox_row(each: NewExecution) -> bulk.Row:
    return {
        "outbox_id": new_id("job"),
        "execution_id": each.execution_id,
        "topic": "execution",
        "payload": {
            "execution_id": each.execution_id,
            "stage": each.scope.stages[0],
            "episodes": list(each.scope.episodes),
            "tasks": len(each.items),
        },
    }
