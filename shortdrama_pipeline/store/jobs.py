"""Rows of `provider_jobs`: a vendor's job by its own id, and the four facts of a delivery (P-8.1)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from shortdrama_pipeline.store.bulk import json_text


@dataclass(frozen=True, slots=True)
class NewJob:
    """What T4 stores at once (P-6.13). `inline`: the answer was the result."""

    attempt_id: str
    channel_id: str
    external_id: str
    checkpoint: Mapping[str, Any]
    retention_s: int
    inline: bool = False


@dataclass(frozen=True, slots=True)
class JobNote:
    """What became known of a job. Times are set once, by the database clock."""

    attempt_id: str
    last_status: str | None = None
    query_failures: int | None = None
    finished: bool = False
    transferred: bool = False
    registered: bool = False


_OPEN = sa.text("""
insert into provider_jobs (attempt_id, channel_id, external_id, checkpoint, last_status, retention_until,
  provider_finished_at, downloadable_at, transferred_at)
select n.attempt_id, n.channel_id, n.external_id, n.checkpoint,
  case when n.inline then 'answered' else 'accepted' end,
  clock_timestamp() + n.retention_s * interval '1 second',
  case when n.inline then clock_timestamp() end, case when n.inline then clock_timestamp() end,
  case when n.inline then clock_timestamp() end
  from unnest(cast(:attempt_ids as text[]), cast(:channel_ids as text[]), cast(:external_ids as text[]),
    cast(:checkpoints as jsonb[]), cast(:retentions as bigint[]), cast(:inlines as boolean[]))
    as n(attempt_id, channel_id, external_id, checkpoint, retention_s, inline)
on conflict (attempt_id) do nothing
""")
_NOTE = sa.text("""
update provider_jobs j set last_status = coalesce(n.last_status, j.last_status),
  query_failures = coalesce(n.query_failures, j.query_failures), asked_at = clock_timestamp(),
  provider_finished_at = case when n.finished then coalesce(j.provider_finished_at, clock_timestamp())
    else j.provider_finished_at end,
  downloadable_at = case when n.transferred then coalesce(j.downloadable_at, clock_timestamp())
    else j.downloadable_at end,
  transferred_at = case when n.transferred then coalesce(j.transferred_at, clock_timestamp())
    else j.transferred_at end,
  registered_at = case when n.registered then coalesce(j.registered_at, clock_timestamp())
    else j.registered_at end
  from unnest(cast(:attempt_ids as text[]), cast(:statuses as text[]), cast(:failures as integer[]),
    cast(:finished as boolean[]), cast(:transferred as boolean[]), cast(:registered as boolean[]))
    as n(attempt_id, last_status, query_failures, finished, transferred, registered)
 where j.attempt_id = n.attempt_id
""")
_WAKE = sa.text("""
update tasks t set next_action_at = least(t.next_action_at, clock_timestamp())
  from provider_jobs j join provider_attempts a using (attempt_id)
 where j.channel_id = :channel_id and j.external_id = :external_id and t.task_id = a.task_id
   and t.state in ('waitingProvider', 'needsReconciliation') returning t.task_id
""")


def open_jobs(tx: sa.Connection, new: Sequence[NewJob]) -> None:
    """Store handle and checkpoint, before anything polls (P-6.13)."""
    if not new:
        return
    bound = {
        "attempt_ids": [each.attempt_id for each in new],
        "channel_ids": [each.channel_id for each in new],
        "external_ids": [each.external_id for each in new],
        "checkpoints": [json_text(each.checkpoint) for each in new],
        "retentions": [each.retention_s for each in new],
        "inlines": [each.inline for each in new],
    }
    tx.execute(_OPEN, bound)


def record_notes(tx: sa.Connection, notes: Sequence[JobNote]) -> None:
    """Write what became known; an unchanged poll has nothing to write."""
    if not notes:
        return
    bound = {
        "attempt_ids": [each.attempt_id for each in notes],
        "statuses": [each.last_status for each in notes],
        "failures": [each.query_failures for each in notes],
        "finished": [each.finished for each in notes],
        "transferred": [each.transferred for each in notes],
        "registered": [each.registered for each in notes],
    }
    tx.execute(_NOTE, bound)


def wake(tx: sa.Connection, *, channel_id: str, external_id: str) -> str | None:
    """Make the Task of a job due now; None for an id nobody knows. Never moves a state (P-7.7)."""
    return tx.execute(_WAKE, {"channel_id": channel_id, "external_id": external_id}).scalar()
