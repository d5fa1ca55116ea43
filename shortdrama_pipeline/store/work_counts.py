"""What there is to do, counted. Plain reading, nothing locked."""

from collections.abc import Mapping
from dataclasses import dataclass

import sqlalchemy as sa

_COUNTS = sa.text("select state, count(*) as n from tasks group by state order by state")
_HELD = sa.text(
    "select hold_reason->>'code' as code, count(*) as n from tasks"
    " where state = 'queued' and hold_reason is not null group by 1 order by 1"
)
_ALERTS = sa.text(
    "select alert_id, kind, entity_id, message, created_at from alerts where closed_at is null"
    " order by created_at desc limit :most"
)
_WAITING = sa.text(
    "select (select count(*) from reservations where state = 'settlementPending') as pending,"
    " (select count(*) from outbox where sent_at is null) as unsent"
)


@dataclass(frozen=True, slots=True)
class WorkCounts:
    """`tasks` by state, `held` by why; `alerts` are the newest open ones."""

    tasks: Mapping[str, int]
    held: Mapping[str, int]
    settlement_pending: int
    outbox_unsent: int
    alerts: tuple[Mapping[str, object], ...]


def count_work(tx: sa.Connection, *, alerts_max: int) -> WorkCounts:
    waiting = tx.execute(_WAITING).one()
    return WorkCounts(
        tasks={row.state: int(row.n) for row in tx.execute(_COUNTS)},
        held={str(row.code): int(row.n) for row in tx.execute(_HELD)},
        settlement_pending=int(waiting.pending),
        outbox_unsent=int(waiting.unsent),
        alerts=tuple(dict(row) for row in tx.execute(_ALERTS, {"most": alerts_max}).mappings()),
    )
