"""Rows of `late_results`: jobs that go on at their vendor although their Task has ended (D-10, F14)."""

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from shortdrama_pipeline.store.bulk import json_text

_OPEN = sa.text("""
insert into late_results (attempt_id, task_id, next_action_at, until)
select a.attempt_id, a.task_id, clock_timestamp(),
  coalesce(j.retention_until, clock_timestamp() + interval '7 days')
  from provider_attempts a left join provider_jobs j using (attempt_id)
 where a.attempt_id = any(cast(:attempt_ids as text[])) and a.state = 'accepted'
on conflict (attempt_id) do nothing returning attempt_id
""")
_ANY = sa.text(
    "select exists (select 1 from late_results where ended_at is null"
    " and next_action_at <= (select clock_timestamp()))"
)
_TAKE = """
with due as (select attempt_id from late_results where ended_at is null and {which}
  order by next_action_at limit :most for update skip locked)
update late_results l set next_action_at = clock_timestamp() + :after_ms * interval '1 millisecond'
  from due where l.attempt_id = due.attempt_id
returning l.attempt_id, l.task_id, l.until <= clock_timestamp() as over
"""
_TAKE_DUE = sa.text(_TAKE.format(which="next_action_at <= (select clock_timestamp())"))
_TAKE_TASK = sa.text(_TAKE.format(which="task_id = :task_id"))
_LOCK = sa.text(
    "select attempt_id from late_results where attempt_id = :attempt_id and ended_at is null for update"
)
_END = sa.text("""
update late_results set ended_at = clock_timestamp(), outcome = :outcome, facts = cast(:facts as jsonb)
 where attempt_id = :attempt_id and ended_at is null
""")
_FIND = sa.text("select * from late_results where task_id = :task_id order by created_at")


def open_watches(tx: sa.Connection, attempt_ids: Sequence[str]) -> set[str]:
    """Watch accepted jobs on, until their vendor's retention ends; one that is watched stays so."""
    return set(tx.execute(_OPEN, {"attempt_ids": list(attempt_ids)}).scalars())


def anything_due(tx: sa.Connection) -> bool:
    """Plain reading, so that looking around writes nothing."""
    return bool(tx.execute(_ANY).scalar())


def take_due(tx: sa.Connection, *, most: int, after_ms: int) -> dict[str, tuple[str, bool]]:
    """Take what is due and put the next look off: by attempt id its Task, and whether this is the last."""
    rows = tx.execute(_TAKE_DUE, {"most": most, "after_ms": after_ms})
    return {row.attempt_id: (row.task_id, row.over) for row in rows}


def take_task(tx: sa.Connection, task_id: str, *, after_ms: int) -> dict[str, tuple[str, bool]]:
    """Take the open watches of one Task, due or not."""
    rows = tx.execute(_TAKE_TASK, {"task_id": task_id, "most": 10, "after_ms": after_ms})
    return {row.attempt_id: (row.task_id, row.over) for row in rows}


def lock_open(tx: sa.Connection, attempt_id: str) -> bool:
    """Lock a watch that has not ended; False when somebody ended it."""
    return tx.execute(_LOCK, {"attempt_id": attempt_id}).scalar() is not None


def record_end(tx: sa.Connection, attempt_id: str, *, outcome: str, facts: Mapping[str, Any]) -> None:
    """End a locked watch with what became of the job, and both sides of the money."""
    tx.execute(_END, {"attempt_id": attempt_id, "outcome": outcome, "facts": json_text(facts)})


def find_of_task(tx: sa.Connection, task_id: str) -> list[dict[str, Any]]:
    return [dict(row) for row in tx.execute(_FIND, {"task_id": task_id}).mappings()]
