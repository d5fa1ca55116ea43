"""Batches: which episodes one approval covers; fixed once planned (P-3.6, P-11.1)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa

from shortdrama_pipeline.errors import UnknownId
from shortdrama_pipeline.ids import new_id
from shortdrama_pipeline.rules.money import Money
from shortdrama_pipeline.store.bulk import json_text


@dataclass(frozen=True, slots=True)
class Batch:
    """A row of `batches`."""

    batch_id: str
    stage: str
    plan_id: str
    quote_id: str
    ceiling: Money
    episode_ids: tuple[str, ...]
    actor: str
    created_at: datetime
    backfilled_at: datetime | None


@dataclass(frozen=True, slots=True)
class BatchItem:
    """One item of a batch; `task_id` is None until the batch is confirmed."""

    item_id: str
    episode_id: str
    price: Money
    state: str
    task_id: str | None


_SELECT = (
    "select batch_id, stage, plan_id, quote_id, ceiling_micros, currency, episode_ids, actor, created_at,"
    " backfilled_at from batches"
)


def record_batch(
    tx: sa.Connection,
    *,
    stage: str,
    plan_id: str,
    quote_id: str,
    ceiling: Money,
    episode_ids: Sequence[str],
    actor: str,
) -> str:
    """Store what a batch plan covers and return the batch's id."""
    batch_id = new_id("batch")
    tx.execute(
        sa.text(
            "insert into batches"
            " (batch_id, stage, plan_id, quote_id, ceiling_micros, currency, episode_ids, actor) values"
            " (:batch_id, :stage, :plan_id, :quote_id, :ceiling, :currency,"
            " cast(:episode_ids as jsonb), :actor)"
        ),
        {
            "batch_id": batch_id,
            "stage": stage,
            "plan_id": plan_id,
            "quote_id": quote_id,
            "ceiling": ceiling.micros,
            "currency": ceiling.currency,
            "episode_ids": json_text([*episode_ids]),
            "actor": actor,
        },
    )
    return batch_id


def load_batch(tx: sa.Connection, batch_id: str) -> Batch:
    """Raises UnknownId."""
    found = _find(tx, "batch_id", batch_id)
    if found is None:
        raise UnknownId(
            f"There is no batch {batch_id}", hint="Plan one: shortdrama batch plan", batch_id=batch_id
        )
    return found


def find_batch_of_quote(tx: sa.Connection, quote_id: str) -> Batch | None:
    """The batch that a Quote covers, if it is one's."""
    return _find(tx, "quote_id", quote_id)


def load_batch_items(tx: sa.Connection, batch: Batch) -> list[BatchItem]:
    """The items of the plan with the tasks that a confirm made of them; `quoted` before it."""
    rows = tx.execute(
        sa.text(
            "select i->>'item_id' as item_id, i->>'episode_id' as episode_id,"
            " (i->>'price_micros')::bigint as price, t.task_id, coalesce(t.state, 'quoted') as state"
            " from plans p cross join lateral jsonb_array_elements(p.body->'items') i"
            " left join executions e on e.quote_id = :quote_id"
            " left join tasks t on t.execution_id = e.execution_id and t.item_id = i->>'item_id'"
            " where p.plan_id = :plan_id order by 1"
        ),
        {"plan_id": batch.plan_id, "quote_id": batch.quote_id},
    )
    return [
        BatchItem(
            row.item_id, row.episode_id, Money(row.price, batch.ceiling.currency), row.state, row.task_id
        )
        for row in rows
    ]


def hasten_queries(tx: sa.Connection, task_ids: Sequence[str]) -> list[str]:
    """Make open questions due now; they are answered by queries only, never by a new request (P-11.3)."""
    rows = tx.execute(
        sa.text(
            "update tasks set next_action_at = clock_timestamp()"
            " where task_id = any(cast(:task_ids as text[])) and state = 'needsReconciliation'"
            " returning task_id"
        ),
        {"task_ids": list(task_ids)},
    )
    return sorted(rows.scalars())


def find_reordered(tx: sa.Connection, task_ids: Sequence[str]) -> set[str]:
    """Of ended tasks, those whose item was ordered again later and is on its way or done."""
    rows = tx.execute(
        sa.text(
            "select t.task_id from tasks t where t.task_id = any(cast(:task_ids as text[]))"
            " and exists (select 1 from tasks n where n.episode_id = t.episode_id and n.stage = t.stage"
            " and n.item_id = t.item_id and n.created_at > t.created_at"
            " and n.state not in ('failed', 'cancelled'))"
        ),
        {"task_ids": list(task_ids)},
    )
    return set(rows.scalars())


def _find(tx: sa.Connection, column: str, value: str) -> Batch | None:
    row = (
        tx.execute(
            sa.text(f"{_SELECT} where {column} = :value order by created_at desc limit 1"), {"value": value}
        )
        .mappings()
        .one_or_none()
    )
    return None if row is None else _batch(row)


def _batch(row: Mapping[str, object] | sa.RowMapping) -> Batch:
    fields = dict(row)
    ceiling = Money(int(str(fields.pop("ceiling_micros"))), str(fields.pop("currency")))
    episodes = fields.pop("episode_ids")
    assert isinstance(episodes, list)
    return Batch(**fields, ceiling=ceiling, episode_ids=tuple(str(each) for each in episodes))
