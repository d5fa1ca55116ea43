"""What was booked for vendors, as a statement is laid beside it."""

from collections.abc import Sequence
from datetime import datetime

import sqlalchemy as sa

from shortdrama_pipeline.rules.money import Money
from shortdrama_pipeline.rules.statements import Booked

_BOOKED = sa.text("""
select a.attempt_id, a.task_id, a.external_id, coalesce(sum(l.amount_micros), 0)::bigint as micros,
  coalesce(max(l.currency), a.provider_currency) as currency
  from provider_attempts a join tasks t using (task_id)
  left join ledger_entries l on l.business_key in ('spend:' || a.attempt_id, 'overrun:' || a.attempt_id)
 where a.external_id is not null and t.binding_id = any(cast(:bindings as text[]))
   and (cast(:since as timestamptz) is null or coalesce(a.accepted_at, a.submit_started_at) >= :since)
   and (cast(:until as timestamptz) is null or coalesce(a.accepted_at, a.submit_started_at) < :until)
 group by a.attempt_id order by a.attempt_id
""")
_WITHOUT_ID = sa.text("""
select attempt_id, task_id from provider_attempts
 where attempt_id = any(cast(:ids as text[])) and external_id is null
""")


def find_booked(
    tx: sa.Connection,
    binding_ids: Sequence[str],
    *,
    since: datetime | None = None,
    until: datetime | None = None,
) -> list[Booked]:
    """What was booked for every attempt that a vendor of these bindings gave an id, zero included."""
    bound = {"bindings": list(binding_ids), "since": since, "until": until}
    return [
        Booked(row.external_id, row.attempt_id, Money(row.micros, row.currency), row.task_id)
        for row in tx.execute(_BOOKED, bound)
    ]


def find_without_id(tx: sa.Connection, attempt_ids: Sequence[str]) -> dict[str, str]:
    """Of these attempts, those no vendor's id is known of, with their tasks."""
    rows = tx.execute(_WITHOUT_ID, {"ids": list(attempt_ids)})
    return {row.attempt_id: row.task_id for row in rows}
