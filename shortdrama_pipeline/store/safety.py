"""Rows of `fence_blocks` and `safe_modes`: what keeps a database that forgot something from paying again."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from shortdrama_pipeline.ids import new_id
from shortdrama_pipeline.rules.safety import Mark
from shortdrama_pipeline.store import alerts
from shortdrama_pipeline.store.alerts import Alert

BLOCKS_LOCK = 0x5D_0002  # taking a block, and writing the record of it, is one at a time


@dataclass(frozen=True, slots=True)
class SafeMode:
    """One reason why paid work stands still."""

    safe_mode_id: str
    kind: str
    why: str
    facts: Mapping[str, Any]
    created_at: datetime


_PRESENT = sa.text("""
select (select system_identifier from pg_control_system()) || '/'
    || (select oid from pg_database where datname = current_database()) || '/'
    || (select timeline_id from pg_control_checkpoint()) as incarnation,
  (select coalesce(max(upper), 0) from fence_blocks) as upper
""")
_TAKE = sa.text("""
insert into fence_blocks (lower, upper, incarnation, worker)
select b.upper + 1, b.upper + :size, :incarnation, :worker
  from (select greatest(coalesce(max(upper), 0), :above) as upper from fence_blocks) b
returning lower, upper
""")
# In the transaction of a fence: the blocks of its numbers are still there, in this very database.
_STANDING = sa.text("""
select (select count(*) from fence_blocks b where b.upper = any(cast(:uppers as bigint[]))
    and split_part(b.incarnation, '/', 2) =
      (select oid::text from pg_database where datname = current_database())) as blocks,
  exists (select 1 from safe_modes where ended_at is null) as stopped
""")
_ENTER = sa.text("""
insert into safe_modes (safe_mode_id, kind, why, facts) values (:id, :kind, :why, cast(:facts as jsonb))
on conflict (kind) where ended_at is null do nothing returning safe_mode_id
""")
_FIND = sa.text(
    "select safe_mode_id, kind, why, facts, created_at from safe_modes where ended_at is null"
    " order by created_at"
)
_END = sa.text(
    "update safe_modes set ended_at = clock_timestamp(), ended_by = :by, note = :note where ended_at is null"
)
# What might be sent once more: it stood before its fence when the database was last this one.
_WINDOW = sa.text("""
select t.task_id, t.state from tasks t where t.state = 'queued' or (t.state = 'running' and not exists (
  select 1 from provider_attempts a where a.task_id = t.task_id
  and a.state in ('submitStarted', 'accepted', 'outcomeUnknown'))) order by t.task_id
""")
_TAKE_FROM_WORKERS = sa.text("""
update tasks t set owner = :worker, lease_token = t.lease_token + 1, heartbeat = clock_timestamp(),
  expires_at = clock_timestamp() + interval '1 minute'
  where t.task_id = any(cast(:task_ids as text[])) and t.state = 'running'
  returning t.task_id, t.lease_token
""")


def load_present(tx: sa.Connection) -> Mark:
    """Which database this is, and where its highest block of fence numbers ends."""
    row = tx.execute(_PRESENT).one()
    return Mark(str(row.incarnation), int(row.upper))


def any_fence(tx: sa.Connection) -> bool:
    """Has a fence ever been taken under a number?"""
    found = tx.execute(
        sa.text("select exists (select 1 from provider_attempts where fence_number is not null)")
    )
    return bool(found.scalar_one())


def lock_blocks(tx: sa.Connection) -> None:
    """Until the transaction ends, nobody else takes a block or writes the record."""
    tx.execute(sa.select(sa.func.pg_advisory_xact_lock(BLOCKS_LOCK)))


def take_block(tx: sa.Connection, *, incarnation: str, size: int, worker: str, above: int = 0) -> range:
    """Take the next numbers, above everything known here and above `above`."""
    bound = {"incarnation": incarnation, "size": size, "worker": worker, "above": above}
    row = tx.execute(_TAKE, bound).one()
    return range(int(row.lower), int(row.upper) + 1)


def may_fence(tx: sa.Connection, uppers: Iterable[int]) -> bool:
    """May fences with numbers of the blocks that end here be taken now?"""
    wanted = sorted(set(uppers))
    row = tx.execute(_STANDING, {"uppers": wanted}).one()
    return int(row.blocks) == len(wanted) and not row.stopped


def enter(tx: sa.Connection, *, kind: str, why: str, facts: Mapping[str, Any]) -> bool:
    """Stop paid work, with an alarm; False when it stands still for this reason already."""
    bound = {"id": new_id("safe"), "kind": kind, "why": why, "facts": json.dumps(facts)}
    entered = tx.execute(_ENTER, bound).scalar() is not None
    if entered:
        alerts.record_alerts(tx, [Alert("safe_mode", kind, f"Paid work stands still: {why}", facts)])
    return entered


def find_open(tx: sa.Connection) -> list[SafeMode]:
    """Why paid work stands still, the oldest reason first; nothing when it does not."""
    return [SafeMode(*row) for row in tx.execute(_FIND)]


def books_broken(tx: sa.Connection) -> bool:
    """Does paid work stand still because the books do not agree?"""
    query = "select exists (select 1 from safe_modes where kind = 'booksBroken' and ended_at is null)"
    return bool(tx.execute(sa.text(query)).scalar())


def end(tx: sa.Connection, *, by: str, note: str) -> None:
    """End every open safe mode, and close its alarm."""
    alerts.close_alerts(tx, [each.kind for each in find_open(tx)], by=by)
    tx.execute(_END, {"by": by, "note": note})


def load_accepted(tx: sa.Connection) -> set[str]:
    """The broken facts that a person has accepted with an ended safe mode."""
    found = tx.execute(
        sa.text(
            "select distinct jsonb_array_elements_text(facts->'subjects') from safe_modes"
            " where ended_at is not null and kind = 'booksBroken'"
        )
    )
    return set(found.scalars())


def find_window(tx: sa.Connection) -> dict[str, str]:
    """Tasks that a forgotten fence could be of, with their state."""
    return {row.task_id: row.state for row in tx.execute(_WINDOW)}


def take_from_workers(tx: sa.Connection, task_ids: Sequence[str], *, worker: str) -> dict[str, int]:
    """Take claimed Tasks away from whoever holds them; what that worker still writes is refused."""
    rows = tx.execute(_TAKE_FROM_WORKERS, {"task_ids": list(task_ids), "worker": worker})
    return {row.task_id: int(row.lease_token) for row in rows}
