"""What the sensors look for. Plain reads on partial indexes; nothing is decided and nothing written here."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa

OVERLAP_S = 60  # looked at again each time: a row may be committed after a younger one
Place = tuple[datetime, str]  # (time, id): what stands at or before it was dealt with


@dataclass(frozen=True, slots=True)
class PassedGateRow:
    """A person's word on a stage."""

    gate_id: str
    episode_id: str
    stage: str
    digest: str
    actor: str
    created_at: datetime

    @property
    def row_id(self) -> str:
        return self.gate_id


@dataclass(frozen=True, slots=True)
class AlertRow:
    """An open alert, with the episode and stage it is about where it has one."""

    alert_id: str
    kind: str
    entity_id: str
    message: str
    episode_id: str | None
    stage: str | None
    created_at: datetime

    @property
    def row_id(self) -> str:
        return self.alert_id


@dataclass(frozen=True, slots=True)
class Delivery:
    """An outbox row to deliver: for the first time, or again since nothing came of it."""

    outbox_id: str
    stage: str
    episode_ids: tuple[str, ...]
    deliveries: int
    batch_id: str | None


@dataclass(frozen=True, slots=True)
class ConfirmedBatch:
    """A batch with its Execution: one backfill over exactly these episodes."""

    batch_id: str
    stage: str
    episode_ids: tuple[str, ...]


def database_now(tx: sa.Connection) -> datetime:
    now: datetime = tx.execute(sa.text("select clock_timestamp()")).scalar_one()
    return now


def find_open_quote(tx: sa.Connection, episode_id: str, stage: str) -> str | None:
    """Return the newest Quote of this episode and stage that could still be confirmed."""
    found: str | None = tx.execute(
        sa.text(
            "select q.quote_id from quotes q join plans p using (plan_id)"
            " where q.state = 'open' and q.expires_at > clock_timestamp() and p.kind = 'operation'"
            " and p.stage = :stage and p.body->'items'->0->>'episode_id' = :episode_id"
            " order by q.created_at desc limit 1"
        ),
        {"episode_id": episode_id, "stage": stage},
    ).scalar_one_or_none()
    return found


def find_deliveries(tx: sa.Connection, *, again_after_s: int, most: int) -> list[Delivery]:
    """Return outbox rows never sent, and sent ones of which no task was ever claimed since (T2, F10).

    Batches go by their backfill: their rows would only fill the look.
    """
    rows = tx.execute(
        sa.text(
            "select o.outbox_id, o.payload, o.deliveries, b.batch_id from outbox o"
            " join executions e using (execution_id) left join batches b using (quote_id)"
            " where o.topic = 'execution' and b.batch_id is null and (o.sent_at is null or"
            " o.sent_at < clock_timestamp()"
            " - make_interval(secs => :again_after_s * (1 << least(o.deliveries, 10)))"
            " and exists (select from tasks t where t.execution_id = o.execution_id and t.state = 'queued'"
            " and t.next_action_at <= clock_timestamp() and t.lease_token = 0))"
            " order by o.created_at limit :most"
        ),
        {"again_after_s": again_after_s, "most": most},
    )
    return [
        Delivery(
            outbox_id=row.outbox_id,
            stage=row.payload["stage"],
            episode_ids=tuple(row.payload["episodes"]),
            deliveries=row.deliveries,
            batch_id=row.batch_id,
        )
        for row in rows
    ]


def count_due(tx: sa.Connection, *, queued_for_s: int, held_for_s: int) -> int:
    """Return how many things somebody must look at now: open tasks that are due, money that waits.

    Queued tasks count once they have waited a while: until then the run that hands them over is coming.
    Held ones count late: what holds them, such as a missing key, is seldom mended between two looks.
    """
    due: int = tx.execute(
        sa.text(
            "select (select count(*) from tasks where state = 'queued'"
            " and next_action_at <= clock_timestamp() - make_interval("
            " secs => case when hold_reason is null then :queued_for_s else :held_for_s end))"
            " + (select count(*) from tasks where next_action_at <= clock_timestamp() and state in"
            " ('running', 'waitingProvider', 'ingesting', 'needsReconciliation'))"
            " + (select count(*) from reservations where state = 'settlementPending')"
        ),
        {"queued_for_s": queued_for_s, "held_for_s": held_for_s},
    ).scalar_one()
    return due


def find_gates_since(
    tx: sa.Connection, after: Place | None, *, seen: Sequence[str], most: int
) -> list[PassedGateRow]:
    """Return passed gates after a place, oldest first, but those `seen`: what is full of them moves on."""
    rows = tx.execute(
        sa.text(
            "select gate_id, episode_id, stage, digest, actor, created_at from gates"
            " where (cast(:at as timestamptz) is null"
            ' or (created_at, gate_id collate "C") > (cast(:at as timestamptz), :id))'
            " and gate_id <> all(cast(:seen as text[]))"
            ' order by created_at, gate_id collate "C" limit :most'
        ),
        {**_bound(after), "seen": list(seen), "most": most},
    )
    return [PassedGateRow(*row) for row in rows]


def find_changed_episodes(tx: sa.Connection, after: Place | None, *, most: int) -> list[Place]:
    """Return (newest change, episode id) where a choice or a gate moved after a place, oldest first."""
    rows = tx.execute(
        sa.text(
            "select at, episode_id from (select episode_id, max(at) as at from ("
            " select episode_id, at from selections where cast(:at as timestamptz) is null or at >= :at"
            " union all"
            " select episode_id, created_at from gates where cast(:at as timestamptz) is null"
            " or created_at >= :at) moved group by episode_id) newest"
            " where cast(:at as timestamptz) is null"
            ' or (at, episode_id collate "C") > (cast(:at as timestamptz), :id)'
            ' order by at, episode_id collate "C" limit :most'
        ),
        {**_bound(after), "most": most},
    )
    return [(row.at, row.episode_id) for row in rows]


def find_batches_to_backfill(tx: sa.Connection) -> list[ConfirmedBatch]:
    """Return the confirmed batches nobody has handed to Dagster yet."""
    rows = tx.execute(
        sa.text(
            "select b.batch_id, b.stage, b.episode_ids from batches b join executions e using (quote_id)"
            " where b.backfilled_at is null order by b.created_at"
        )
    )
    return [ConfirmedBatch(row.batch_id, row.stage, tuple(row.episode_ids)) for row in rows]


def record_backfilled(tx: sa.Connection, batch_ids: Sequence[str]) -> None:
    """Mark batches, and the outbox rows of their confirms, as handed over."""
    tx.execute(
        sa.text(
            "update outbox o set deliveries = deliveries + 1, sent_at = coalesce(sent_at, clock_timestamp())"
            " from executions e join batches b using (quote_id) where o.execution_id = e.execution_id"
            " and b.batch_id = any(cast(:batch_ids as text[])) and b.backfilled_at is null"
        ),
        {"batch_ids": list(batch_ids)},
    )
    tx.execute(
        sa.text(
            "update batches set backfilled_at = coalesce(backfilled_at, clock_timestamp())"
            " where batch_id = any(cast(:batch_ids as text[]))"
        ),
        {"batch_ids": list(batch_ids)},
    )


def find_alerts_since(
    tx: sa.Connection, after: Place | None, *, seen: Sequence[str], most: int
) -> list[AlertRow]:
    """Return open alerts after a place, oldest first, but those `seen`."""
    rows = tx.execute(
        sa.text(
            "select a.alert_id, a.kind, a.entity_id, a.message, coalesce(t.episode_id, e.episode_id),"
            " t.stage, a.created_at from alerts a"
            " left join provider_attempts p on p.attempt_id = a.entity_id"
            " left join tasks t on t.task_id = coalesce(p.task_id, a.entity_id)"
            " left join episodes e on e.episode_id = a.entity_id"
            " where a.closed_at is null and (cast(:at as timestamptz) is null"
            ' or (a.created_at, a.alert_id collate "C") > (cast(:at as timestamptz), :id))'
            " and a.alert_id <> all(cast(:seen as text[]))"
            ' order by a.created_at, a.alert_id collate "C" limit :most'
        ),
        {**_bound(after), "seen": list(seen), "most": most},
    )
    return [AlertRow(*row) for row in rows]


def _bound(after: Place | None) -> dict[str, object]:
    return {"at": None, "id": ""} if after is None else {"at": after[0], "id": after[1]}
