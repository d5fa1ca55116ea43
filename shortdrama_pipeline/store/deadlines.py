"""Open Tasks whose delivery deadline has passed (P-8.5), by the database clock."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from shortdrama_pipeline.store.bulk import json_text

# Kept equal to what `rules/deadlines.py` acts on; a Task it leaves alone is not looked at again and again.
# The clock stands in a subquery, so that the index can be asked.
_PASSED = """
  from tasks t join reservations r using (task_id)
  left join lateral (select * from provider_attempts p where p.task_id = t.task_id
    order by p.number desc limit 1) a on true
 where t.state in ('waitingProvider', 'needsReconciliation')
   and t.deadline_at <= (select clock_timestamp())
   and (r.state = 'reserved' or t.state = 'waitingProvider' or (a.state = 'accepted' and a.result is null))
"""
_ANY = sa.text(f"select exists (select 1 {_PASSED})")
_TAKE = sa.text(
    "select t.task_id, t.state, t.reason, t.deadline_at, r.state as money, r.amount_micros, r.currency,"
    " a.attempt_id, a.state as attempt, a.result is not null as has_result"
    f" {_PASSED} order by t.deadline_at limit :most for update of t skip locked"
)
# The new token makes whatever a worker still brings for this Task stale.
_END = sa.text("""
update tasks t set state = 'failed', reason = e.reason, next_action_at = null, owner = null,
  expires_at = null, lease_token = t.lease_token + 1, updated_at = clock_timestamp()
  from unnest(cast(:task_ids as text[]), cast(:reasons as jsonb[])) as e(task_id, reason)
 where t.task_id = e.task_id and t.state in ('waitingProvider', 'needsReconciliation') returning t.task_id
""")
_LATE = sa.text("""
select t.task_id from tasks t join reservations r using (task_id)
 where t.task_id = any(cast(:task_ids as text[]))
   and (t.deadline_at <= clock_timestamp() or r.state = 'released')
""")


@dataclass(frozen=True, slots=True)
class Passed:
    """One Task past its deadline, locked, with what decides about it."""

    task_id: str
    state: str
    reason: Mapping[str, Any] | None
    deadline_at: datetime
    money: str
    amount_micros: int
    currency: str
    attempt_id: str | None
    attempt: str | None
    has_result: bool


def anything_passed(tx: sa.Connection) -> bool:
    """Plain reading, so that looking around writes nothing."""
    return bool(tx.execute(_ANY).scalar())


def take_passed(tx: sa.Connection, *, most: int) -> list[Passed]:
    """Lock Tasks past their deadline, the longest overdue first; locked ones are left to their worker."""
    rows = tx.execute(_TAKE, {"most": most})
    return [Passed(*(getattr(row, name) for name in Passed.__slots__)) for row in rows]


def record_ends(tx: sa.Connection, reasons: Mapping[str, Mapping[str, Any]]) -> set[str]:
    """End locked Tasks `failed`, each with its reason."""
    bound = {"task_ids": list(reasons), "reasons": [json_text(each) for each in reasons.values()]}
    return set(tx.execute(_END, bound).scalars())


def find_late(tx: sa.Connection, task_ids: Sequence[str]) -> set[str]:
    """Of these Tasks, those whose deadline has passed or whose price has gone back already."""
    return set(tx.execute(_LATE, {"task_ids": list(task_ids)}).scalars())
