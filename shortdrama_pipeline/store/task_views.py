"""Tasks as people read them: plain SELECTs (P-10.1, P-13.1, P-13.3)."""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

Row = dict[str, Any]
LIST_MAX = 1_000

_LIST = sa.text("""
select t.task_id, t.item_id, t.episode_id, t.stage, t.subject, t.role, t.kind, t.binding_id as binding,
  t.state, t.reason, t.hold_reason, t.created_at, t.updated_at, r.state as money, r.amount_micros, r.currency,
  a.state as attempt, a.result is not null as has_result,
  exists (select 1 from late_results l where l.attempt_id = a.attempt_id and l.ended_at is null) as late
  from tasks t join reservations r using (task_id)
  left join lateral (select p.attempt_id, p.state, p.result from provider_attempts p
    where p.task_id = t.task_id order by p.number desc limit 1) a on true
 where (cast(:episode_id as text) is null or t.episode_id = :episode_id)
   and (cast(:state as text) is null or t.state = :state)
 order by t.created_at desc, t.task_id limit :most
""")
_SHOW = sa.text("""
select t.*, r.reservation_id, r.state as money, r.amount_micros, r.settled_micros, r.currency
  from tasks t join reservations r using (task_id) where t.task_id = :task_id
""")
_ATTEMPTS = sa.text("""
select a.attempt_id, a.number, a.state, a.external_id, a.channel->>'binding_id' as binding, a.channel,
  a.request_digest, a.lease_token, a.worker, a.submit_started_at, a.accepted_at, a.completed_at, a.evidence,
  a.provider_cost_micros, a.provider_currency, j.last_status, j.query_failures, j.provider_finished_at,
  j.downloadable_at, j.transferred_at, j.registered_at, j.retention_until
  from provider_attempts a left join provider_jobs j using (attempt_id)
 where a.task_id = :task_id order by a.number
""")
_HISTORY = sa.text("""
select e.created_at as at, e.entity, e.entity_id, e.seq, e.from_state, e.to_state, e.facts->'reason' as reason
  from events e where e.entity_id = any(cast(:ids as text[])) order by e.event_id
""")
_DOWNSTREAM = sa.text("""
select d.task_id from tasks d join tasks t on t.episode_id = d.episode_id and t.task_id <> d.task_id
 where t.task_id = :task_id and d.state = 'queued' and (
   (d.subject = t.subject and d.created_at >= t.created_at) or exists (
     select 1 from jsonb_array_elements(d.request->'uses') u
       join versions v on v.version_id = u->>'version_id'
      where v.episode_id = t.episode_id and v.subject = t.subject and v.role = t.role))
 order by d.task_id
""")


def list_tasks(tx: sa.Connection, *, episode_id: str | None, state: str | None) -> list[Row]:
    """The newest first."""
    bound = {"episode_id": episode_id, "state": state, "most": LIST_MAX}
    return [dict(row) for row in tx.execute(_LIST, bound).mappings()]


def find_task(tx: sa.Connection, task_id: str) -> Row | None:
    row = tx.execute(_SHOW, {"task_id": task_id}).mappings().one_or_none()
    return None if row is None else dict(row)


def list_attempts(tx: sa.Connection, task_id: str) -> list[Row]:
    return [dict(row) for row in tx.execute(_ATTEMPTS, {"task_id": task_id}).mappings()]


def list_history(tx: sa.Connection, ids: Sequence[str]) -> list[Row]:
    """Every recorded move of these things, in the order it happened."""
    return [dict(row) for row in tx.execute(_HISTORY, {"ids": list(ids)}).mappings()]


def find_downstream(tx: sa.Connection, task_id: str) -> list[str]:
    """Queued Tasks that work on from this one's subject (P-4.4)."""
    return list(tx.execute(_DOWNSTREAM, {"task_id": task_id}).scalars())
