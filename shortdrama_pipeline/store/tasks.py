"""Rows of `tasks`: found by their due time, won by a lease, moved only from the state they were seen in.

All writes are set-based. Times are the database's; pauses travel as milliseconds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from shortdrama_pipeline.errors import UnknownId
from shortdrama_pipeline.rules.states import TaskState
from shortdrama_pipeline.store.bulk import json_text

Json = Mapping[str, Any]
_TASK_COLUMNS = (
    "t.task_id, t.execution_id, t.grant_id, t.item_id, t.episode_id, t.stage, t.subject, t.role, t.kind,"
    " t.binding_id, t.request, t.input_hash, t.state, t.version, t.reason, t.owner, t.lease_token,"
    " t.hold_reason"
)


@dataclass(frozen=True, slots=True)
class Task:
    """What the engine knows of a Task while it works on it."""

    task_id: str
    execution_id: str
    grant_id: str
    item_id: str
    episode_id: str
    stage: str
    subject: str
    role: str
    kind: str
    binding_id: str
    request: dict[str, Any]
    input_hash: str
    state: str
    version: int
    reason: Json | None
    owner: str | None
    lease_token: int
    hold_reason: Json | None


@dataclass(frozen=True, slots=True)
class DueTask:
    """A queued Task that is due, with what a new Attempt must know of the earlier ones."""

    task: Task
    attempts: int
    prepared: Json | None  # an attempt left behind before its fence
    last_evidence: Json | None
    grant_ended: str | None  # why its Grant allows nothing any more


@dataclass(frozen=True, slots=True)
class TaskMove:
    """One guarded move. `after_ms` is when somebody must look again; None only for an end."""

    task_id: str
    lease_token: int
    seen: TaskState
    to: TaskState
    after_ms: int | None
    reason: Json | None = None
    hold_reason: Json | None = None
    keep_lease: bool = True


# What stops a send for good, checked again under lock at the fence (P-2.12, P-3.8): its Grant's end, or
# a delivery deadline that has passed (P-8.5).
_GRANT_ENDED = """
  case when g.revoked_at is not null then 'grantRevoked'
       when exists (select 1 from grants b where b.grant_id = g.scope->>'budget_grant_id'
                    and b.revoked_at is not null) then 'grantRevoked'
       when g.expires_at <= clock_timestamp() then 'grantExpired'
       when g.input_hash is distinct from t.input_hash or q.input_hash is distinct from t.input_hash
         or q.state <> 'confirmed' then 'grantOtherInput'
       when not jsonb_exists(g.scope->'bindings', t.binding_id)
         or not jsonb_exists(g.scope->'items', t.item_id) then 'grantOtherScope'
       when t.deadline_at <= clock_timestamp() then 'deadlinePassed' end
"""
_AUTHORITY = """
  join grants g on g.grant_id = t.grant_id join executions e on e.execution_id = t.execution_id
  join quotes q on q.quote_id = e.quote_id
"""

_FIND_DUE = sa.text(f"""
select {_TASK_COLUMNS}, {_GRANT_ENDED} as grant_ended, a.attempts, a.prepared, a.last_evidence
  from unnest(cast(:bindings as text[]), cast(:most as integer[])) as b(binding_id, most)
 cross join lateral (
   select * from tasks d where d.state = 'queued' and d.binding_id = b.binding_id
      and d.next_action_at <= clock_timestamp() order by d.next_action_at limit b.most) t
 {_AUTHORITY}
 left join lateral (
   select count(*) as attempts,
     (jsonb_agg(jsonb_build_object('attempt_id', p.attempt_id, 'number', p.number, 'channel', p.channel))
       filter (where p.state = 'prepared'))->0 as prepared,
     (array_agg(p.evidence order by p.number desc))[1] as last_evidence
     from provider_attempts p where p.task_id = t.task_id) a on true
""")  # noqa: S608

_CLAIM = sa.text(f"""
with won as (
  select t.task_id from tasks t {_AUTHORITY}
   where t.task_id = any(cast(:task_ids as text[])) and t.state = 'queued'
     and t.next_action_at <= clock_timestamp() and ({_GRANT_ENDED}) is null
   order by t.task_id for update of t skip locked for share of g
)
update tasks t set state = 'running', owner = :worker, lease_token = t.lease_token + 1,
  expires_at = clock_timestamp() + :lease_ms * interval '1 millisecond', heartbeat = clock_timestamp(),
  next_action_at = clock_timestamp() + :lease_ms * interval '1 millisecond',
  hold_reason = null, reason = null, updated_at = clock_timestamp()
  from won where t.task_id = won.task_id returning t.task_id, t.lease_token
""")  # noqa: S608

_CLAIM_TO_END = sa.text("""
with won as (select t.task_id from tasks t where t.task_id = any(cast(:task_ids as text[]))
  and t.state = 'queued' order by t.task_id for update of t skip locked)
update tasks t set state = 'running', owner = :worker, lease_token = t.lease_token + 1,
  expires_at = clock_timestamp() + :lease_ms * interval '1 millisecond', heartbeat = clock_timestamp(),
  next_action_at = clock_timestamp() + :lease_ms * interval '1 millisecond', updated_at = clock_timestamp()
  from won where t.task_id = won.task_id returning t.task_id, t.lease_token
""")

# Held under this very token, and the Grant still allows a send: for another Attempt under one lease,
# which then runs its full length again, since the send is timed by it (P-6.9).
_STILL_ALLOWED = sa.text(f"""
with ours as (
  select t.task_id from unnest(cast(:task_ids as text[]), cast(:tokens as bigint[])) as w(task_id, token)
    join tasks t on t.task_id = w.task_id and t.lease_token = w.token {_AUTHORITY}
   where t.state = 'running' and t.expires_at > clock_timestamp() and ({_GRANT_ENDED}) is null
   order by t.task_id for update of t for share of g
)
update tasks t set heartbeat = clock_timestamp(),
  expires_at = clock_timestamp() + :lease_ms * interval '1 millisecond'
  from ours where t.task_id = ours.task_id returning t.task_id
""")  # noqa: S608

_HEARTBEAT = sa.text("""
update tasks t set heartbeat = clock_timestamp(),
  expires_at = clock_timestamp() + :lease_ms * interval '1 millisecond'
  from unnest(cast(:task_ids as text[]), cast(:tokens as bigint[])) as w(task_id, token)
 where t.task_id = w.task_id and t.lease_token = w.token and t.owner = :worker
   and t.expires_at > clock_timestamp() and t.state in ('running', 'waitingProvider', 'ingesting',
   'needsReconciliation')
 returning t.task_id
""")

_TAKE_OVER = sa.text(f"""
with found as (
  select t.task_id from tasks t
   where t.state in ('running', 'waitingProvider', 'ingesting', 'needsReconciliation')
     and t.next_action_at <= clock_timestamp()
     and (t.expires_at is null or t.expires_at <= clock_timestamp())
   order by t.next_action_at limit :most for update of t skip locked
)
update tasks t set owner = :worker, lease_token = t.lease_token + 1, heartbeat = clock_timestamp(),
  expires_at = clock_timestamp() + :lease_ms * interval '1 millisecond'
  from found where t.task_id = found.task_id returning {_TASK_COLUMNS}
""")  # noqa: S608

_ANYTHING_TO_TAKE = sa.text("""
select exists (select 1 from tasks t
   where t.state in ('running', 'waitingProvider', 'ingesting', 'needsReconciliation')
     and t.next_action_at <= clock_timestamp()
     and (t.expires_at is null or t.expires_at <= clock_timestamp()))
""")

_TAKE_ONE = sa.text(f"""
update tasks t set owner = :worker, lease_token = t.lease_token + 1, heartbeat = clock_timestamp(),
  expires_at = clock_timestamp() + :lease_ms * interval '1 millisecond'
 where t.task_id = :task_id and t.state in ('running', 'waitingProvider', 'ingesting', 'needsReconciliation')
   and (t.expires_at is null or t.expires_at <= clock_timestamp() or t.state = 'needsReconciliation')
 returning {_TASK_COLUMNS}
""")  # noqa: S608

_LOCK_HELD = sa.text("""
select t.task_id from unnest(cast(:task_ids as text[]), cast(:tokens as bigint[]), cast(:seen as text[]))
  as w(task_id, token, seen) join tasks t on t.task_id = w.task_id
 where t.lease_token = w.token and t.state = w.seen order by t.task_id for update of t
""")

_MOVE = sa.text("""
update tasks t set state = m.to_state, reason = m.reason, hold_reason = m.hold_reason,
  next_action_at = case when m.after_ms is null then null
    else clock_timestamp() + m.after_ms * interval '1 millisecond' end,
  owner = case when m.keep_lease then t.owner end,
  expires_at = case when m.keep_lease then t.expires_at end, updated_at = clock_timestamp()
  from unnest(cast(:task_ids as text[]), cast(:tokens as bigint[]), cast(:seen as text[]),
    cast(:to_states as text[]), cast(:after as bigint[]), cast(:reasons as jsonb[]),
    cast(:hold_reasons as jsonb[]), cast(:keep as boolean[]))
    as m(task_id, token, seen, to_state, after_ms, reason, hold_reason, keep_lease)
 where t.task_id = m.task_id and t.lease_token = m.token and t.state = m.seen returning t.task_id
""")

_HOLD = sa.text("""
update tasks t set hold_reason = h.hold_reason, updated_at = clock_timestamp(),
  next_action_at = clock_timestamp() + :again_ms * interval '1 millisecond'
  from unnest(cast(:task_ids as text[]), cast(:reasons as jsonb[])) as h(task_id, hold_reason)
 where t.task_id = h.task_id and t.state = 'queued' and t.next_action_at <= clock_timestamp()
 returning t.task_id
""")


def find_due(tx: sa.Connection, most_by_binding: Mapping[str, int]) -> list[DueTask]:
    """Due queued Tasks, the longest waiting first, at most so many per binding. Plain reading."""
    bound = {"bindings": list(most_by_binding), "most": list(most_by_binding.values())}
    return [
        DueTask(_task(row), int(row.attempts), row.prepared, row.last_evidence, row.grant_ended)
        for row in tx.execute(_FIND_DUE, bound)
    ]


def claim(tx: sa.Connection, task_ids: Sequence[str], *, worker: str, lease_ms: int) -> dict[str, int]:
    """Win queued Tasks whose Grant is live now; a lost race is left out. Returns lease tokens (P-6.7)."""
    bound = {"task_ids": list(task_ids), "worker": worker, "lease_ms": lease_ms}
    return {row.task_id: int(row.lease_token) for row in tx.execute(_CLAIM, bound)}


def claim_to_end(tx: sa.Connection, task_ids: Sequence[str], *, worker: str, lease_ms: int) -> dict[str, int]:
    """Win queued Tasks that may not be sent any more, to end them in the same transaction (D-9)."""
    bound = {"task_ids": list(task_ids), "worker": worker, "lease_ms": lease_ms}
    return {row.task_id: int(row.lease_token) for row in tx.execute(_CLAIM_TO_END, bound)}


def renew_allowed(tx: sa.Connection, tokens: Mapping[str, int], *, lease_ms: int) -> set[str]:
    """Renew the leases held under these tokens; returns the Tasks that may be sent again now."""
    bound = {"task_ids": list(tokens), "tokens": list(tokens.values()), "lease_ms": lease_ms}
    return set(tx.execute(_STILL_ALLOWED, bound).scalars())


def heartbeat(tx: sa.Connection, tokens: Mapping[str, int], *, worker: str, lease_ms: int) -> set[str]:
    """Renew leases that are still alive and still ours; an expired one is lost for good."""
    bound = {
        "task_ids": list(tokens),
        "tokens": list(tokens.values()),
        "worker": worker,
        "lease_ms": lease_ms,
    }
    return set(tx.execute(_HEARTBEAT, bound).scalars())


def take_over(tx: sa.Connection, *, worker: str, lease_ms: int, most: int) -> list[Task]:
    """Take open Tasks that are due and that nobody holds, with a higher token (P-10.2)."""
    bound = {"worker": worker, "lease_ms": lease_ms, "most": most}
    return [_task(row) for row in tx.execute(_TAKE_OVER, bound)]


def anything_to_take(tx: sa.Connection) -> bool:
    """Plain reading, so that looking around writes nothing."""
    return bool(tx.execute(_ANYTHING_TO_TAKE).scalar())


def take_one(tx: sa.Connection, task_id: str, *, worker: str, lease_ms: int) -> Task | None:
    """Take one open Task for a named action, unless a live worker is at it."""
    bound = {"task_id": task_id, "worker": worker, "lease_ms": lease_ms}
    row = tx.execute(_TAKE_ONE, bound).one_or_none()
    return None if row is None else _task(row)


def lock_held(tx: sa.Connection, seen: Sequence[tuple[str, int, TaskState]]) -> set[str]:
    """Lock the Tasks that are still what the caller saw; the others were moved by someone else."""
    bound = {
        "task_ids": [each[0] for each in seen],
        "tokens": [each[1] for each in seen],
        "seen": [str(each[2]) for each in seen],
    }
    return set(tx.execute(_LOCK_HELD, bound).scalars())


def record_moves(tx: sa.Connection, moves: Sequence[TaskMove]) -> set[str]:
    """Write decided moves over the state they were decided from. Returns the Tasks that moved."""
    if not moves:
        return set()
    bound = {
        "task_ids": [each.task_id for each in moves],
        "tokens": [each.lease_token for each in moves],
        "seen": [str(each.seen) for each in moves],
        "to_states": [str(each.to) for each in moves],
        "after": [each.after_ms for each in moves],
        "reasons": [None if each.reason is None else json_text(each.reason) for each in moves],
        "hold_reasons": [None if each.hold_reason is None else json_text(each.hold_reason) for each in moves],
        "keep": [each.keep_lease for each in moves],
    }
    return set(tx.execute(_MOVE, bound).scalars())


def hold(tx: sa.Connection, reasons: Mapping[str, Json], *, again_ms: int) -> set[str]:
    """Say why queued Tasks are not sent, and when to look again (D-1 b, D-9). No state moves."""
    if not reasons:
        return set()
    bound = {
        "task_ids": list(reasons),
        "reasons": [json_text(each) for each in reasons.values()],
        "again_ms": again_ms,
    }
    return set(tx.execute(_HOLD, bound).scalars())


# What a drain waits for: everything that moves by itself, soon. Held Tasks and those that wait for a
# person do not count.
_OUTLOOK = sa.text("""
select exists (select 1 from tasks t where t.state = 'queued' and t.hold_reason is null) as queued,
  exists (select 1 from tasks t where t.state in ('running', 'waitingProvider', 'ingesting')
    and t.task_id <> all(cast(:without as text[]))) as open,
  exists (select 1 from tasks t where t.state = 'needsReconciliation'
    and t.task_id <> all(cast(:without as text[]))
    and t.next_action_at <= clock_timestamp() + interval '10 seconds') as soon,
  exists (select 1 from reservations r where r.state = 'settlementPending') as unsettled
""")
_NEXT_DUE = sa.text("""
select (extract(epoch from min(n.at) - clock_timestamp()) * 1000)::bigint
  from unnest(cast(:bindings as text[])) as b(binding_id) cross join lateral (
    select t.next_action_at as at from tasks t where t.state = 'queued' and t.binding_id = b.binding_id
       and t.next_action_at > clock_timestamp() order by t.next_action_at limit 1) n
""")
_UNCONFIGURED = sa.text("""
select distinct t.binding_id from tasks t
 where t.state = 'queued' and t.binding_id <> all(cast(:known as text[]))
""")


@dataclass(frozen=True, slots=True)
class Outlook:
    """Is anything left to do in this studio, by anybody?"""

    queued: bool
    open: bool
    soon: bool
    unsettled: bool


def load_outlook(tx: sa.Connection, *, without: Sequence[str] = ()) -> Outlook:
    """`without` are Tasks that were just set aside after an error."""
    row = tx.execute(_OUTLOOK, {"without": list(without)}).one()
    return Outlook(row.queued, row.open, row.soon, row.unsettled)


def load_next_due_ms(tx: sa.Connection, bindings: Sequence[str]) -> int | None:
    """Milliseconds until the next queued Task of these channels becomes due; None when none waits."""
    found = tx.execute(_NEXT_DUE, {"bindings": list(bindings)}).scalar()
    return None if found is None else int(found)


def find_unconfigured(tx: sa.Connection, known: Sequence[str]) -> set[str]:
    """Channels that queued Tasks were confirmed for and nobody configures any more."""
    return set(tx.execute(_UNCONFIGURED, {"known": list(known)}).scalars())


_HAND_BACK = sa.text("""
update tasks t set expires_at = clock_timestamp(),
  next_action_at = clock_timestamp() + :again_ms * interval '1 millisecond'
  from unnest(cast(:task_ids as text[]), cast(:tokens as bigint[])) as w(task_id, token)
 where t.task_id = w.task_id and t.lease_token = w.token
   and t.state in ('running', 'waitingProvider', 'ingesting', 'needsReconciliation') returning t.task_id
""")


def hand_back(tx: sa.Connection, tokens: Mapping[str, int], *, again_ms: int = 0) -> set[str]:
    """Give up leases at a clean shutdown, so that another worker needs not wait for expiry."""
    bound = {"task_ids": list(tokens), "tokens": list(tokens.values()), "again_ms": again_ms}
    return set(tx.execute(_HAND_BACK, bound).scalars())


_CANCEL = sa.text("""
update tasks t set state = 'cancelled', next_action_at = null, hold_reason = null,
  updated_at = clock_timestamp(), reason = jsonb_build_object('code', 'cancelled', 'by', cast(:actor as text))
 where t.task_id = any(cast(:task_ids as text[])) and t.state = 'queued' returning t.task_id
""")
_RELEASE_HOLD = sa.text("""
update tasks t set hold_reason = null, next_action_at = clock_timestamp(), updated_at = clock_timestamp()
 where t.task_id = :task_id and t.state = 'queued' and t.hold_reason is not null returning t.task_id
""")


def cancel(tx: sa.Connection, task_ids: Sequence[str], *, actor: str) -> set[str]:
    """Cancel what is still queued; a claim that was first wins (P-4.3)."""
    return set(tx.execute(_CANCEL, {"task_ids": list(task_ids), "actor": actor}).scalars())


def release_hold(tx: sa.Connection, task_id: str) -> bool:
    """Make a held Task due; False when it is not held."""
    return tx.execute(_RELEASE_HOLD, {"task_id": task_id}).scalar() is not None


def load(tx: sa.Connection, task_id: str) -> Task:
    """Raises UnknownId."""
    row = tx.execute(
        sa.text(f"select {_TASK_COLUMNS} from tasks t where t.task_id = :task_id"),  # noqa: S608
        {"task_id": task_id},
    ).one_or_none()
    if row is None:
        raise UnknownId(f"No task {task_id}", hint="List them: shortdrama task list", task_id=task_id)
    return _task(row)


def load_allowance(tx: sa.Connection, task_id: str) -> int:
    """How often the Plan lets a proven rejection be sent again (TT-6)."""
    found = tx.execute(
        sa.text(
            "select p.body->>'resend_after_proven_rejection' from tasks t"
            " join executions e on e.execution_id = t.execution_id join quotes q on q.quote_id = e.quote_id"
            " join plans p on p.plan_id = q.plan_id where t.task_id = :task_id"
        ),
        {"task_id": task_id},
    ).scalar_one()
    return int(found or 0)


def _task(row: sa.Row[Any]) -> Task:
    return Task(*(getattr(row, name) for name in Task.__slots__))
