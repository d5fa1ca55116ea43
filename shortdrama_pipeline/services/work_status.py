"""What there is to do, counted (plain reading)."""

from typing import Any

import sqlalchemy as sa

from shortdrama_pipeline.services import safety
from shortdrama_pipeline.services.context import Studio
from shortdrama_pipeline.store import breakers

ALERTS_SHOWN_MAX = 50
_COUNTS = sa.text("select state, count(*) as n from tasks group by state order by state")
_HELD = sa.text(
    "select hold_reason->>'code' as code, count(*) as n from tasks"
    " where state = 'queued' and hold_reason is not null group by 1 order by 1"
)
_ALERTS = sa.text(
    "select alert_id, kind, entity_id, message, created_at from alerts where closed_at is null"
    " order by created_at desc limit :most"
)


def work_status(studio: Studio) -> dict[str, Any]:
    """Counts by state, what is held and why, money that waits to be charged, and open alerts."""
    with studio.db.read() as tx:
        tasks = {row.state: int(row.n) for row in tx.execute(_COUNTS)}
        held = {str(row.code): int(row.n) for row in tx.execute(_HELD)}
        pending = tx.execute(
            sa.text("select count(*) from reservations where state = 'settlementPending'")
        ).scalar_one()
        unsent = tx.execute(sa.text("select count(*) from outbox where sent_at is null")).scalar_one()
        alerts = [dict(row) for row in tx.execute(_ALERTS, {"most": ALERTS_SHOWN_MAX}).mappings()]
        resting = breakers.find_open(tx)
    return {
        "safe_modes": safety.status(studio),
        "resting_channels": [each.to_json() for each in resting],
        "tasks": tasks,
        "held": held,
        "settlement_pending": int(pending),
        "outbox_unsent": int(unsent),
        "alerts": [each | {"created_at": each["created_at"].isoformat()} for each in alerts],
    }
