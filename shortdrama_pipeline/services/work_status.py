"""What there is to do, counted (plain reading)."""

from typing import Any

from shortdrama_pipeline.services import safety
from shortdrama_pipeline.services.context import Studio
from shortdrama_pipeline.store import breakers
from shortdrama_pipeline.store.work_counts import count_work

ALERTS_SHOWN_MAX = 50


def work_status(studio: Studio) -> dict[str, Any]:
    """Counts by state, what is held and why, money that waits to be charged, and open alerts."""
    with studio.db.read() as tx:
        counts = count_work(tx, alerts_max=ALERTS_SHOWN_MAX)
        resting = breakers.find_open(tx)
    return {
        "safe_modes": safety.status(studio),
        "resting_channels": [each.to_json() for each in resting],
        "tasks": counts.tasks,
        "held": counts.held,
        "settlement_pending": counts.settlement_pending,
        "outbox_unsent": counts.outbox_unsent,
        "alerts": list(counts.alerts),
    }
