"""The last step: a registered deliverable is charged, once, by its business key (P-8.2, P-9.5)."""

from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from shortdrama_pipeline.crashpoints import Point, reach
from shortdrama_pipeline.errors import Outside, ShortdramaError
from shortdrama_pipeline.rules.ledger import Bill
from shortdrama_pipeline.rules.money import Money
from shortdrama_pipeline.services.batching import Lane
from shortdrama_pipeline.services.recording import ENGINE_ACTOR
from shortdrama_pipeline.services.shifts import LOG, Shift, describe
from shortdrama_pipeline.store import alerts, reservations, safety
from shortdrama_pipeline.store.alerts import Alert
from shortdrama_pipeline.store.reservations import Settlement

_PENDING = sa.text("""
select r.task_id, t.binding_id, t.request, a.attempt_id, a.provider_cost_micros, a.provider_currency
  from reservations r join tasks t on t.task_id = r.task_id
  left join lateral (select * from provider_attempts p where p.task_id = r.task_id and p.state = 'completed'
    order by p.number desc limit 1) a on true
 where r.state = 'settlementPending' order by r.created_at limit :most
""")


@dataclass(frozen=True, slots=True)
class Due:
    """One delivered Task to charge, with its vendor's bill."""

    task_id: str
    bill: Bill | None


def apply_settlements(tx: sa.Connection, due: Sequence[Due]) -> list[bool]:
    """Charge many; what is settled already is skipped. False where the ledger refused."""
    if safety.books_broken(tx):  # money moves by itself only in books that agree (G-204); it stays pending
        return [False] * len(due)
    moved = reservations.settle_many(
        tx,
        [Settlement(each.task_id) for each in due],
        bills=[each.bill for each in due if each.bill],
        actor=ENGINE_ACTOR,
    )
    alerts.close_alerts(tx, moved.moved, by=ENGINE_ACTOR)
    alerts.record_alerts(
        tx,
        [
            Alert("settlement_refused", task_id, "A delivered task could not be charged", {"state": state})
            for task_id, state in moved.refused.items()
        ],
    )
    reach(Point.SETTLE_BEFORE_COMMIT)
    return [each.task_id in moved.moved for each in due]


SETTLE: Lane[Due, bool] = Lane("settle", 40, apply_settlements)


async def settle(shift: Shift, task_id: str, *, bill: Bill | None) -> bool:
    """Charge one delivered Task with whatever else is due; a failure leaves it pending, for the next scan."""
    try:
        charged = await shift.writer.write(SETTLE, Due(task_id, bill))
    except Outside as error:
        LOG.error("engine.settle.away %s %s", task_id, describe(error))
        return False  # settlementPending stands in the database; the scan tries again (P-8.3)
    except (ShortdramaError, sa.exc.SQLAlchemyError) as error:
        LOG.error("engine.settle.failed %s %s", task_id, describe(error))
        shift.count.errors += 1
        facts = {"error": type(error).__name__}
        await shift.alarm(Alert("settlement_failed", task_id, "A delivered task is not charged yet", facts))
        return False
    reach(Point.SETTLE_COMMITTED)
    shift.count.settled += int(charged)
    return charged


def find_pending(tx: sa.Connection, *, most: int) -> list[Due]:
    """Registered and not charged yet, the oldest first (P-10.7)."""
    found = []
    for row in tx.execute(_PENDING, {"most": most}):
        bill = None
        if row.attempt_id is not None and row.provider_cost_micros:
            bill = Bill(
                attempt_id=row.attempt_id,
                task_id=row.task_id,
                binding_id=row.binding_id,
                cost=Money(row.provider_cost_micros, row.provider_currency),
                cost_max=Money(
                    int(row.request.get("cost_micros_max", 0)),
                    str(row.request.get("cost_currency", row.provider_currency)),
                ),
            )
        found.append(Due(row.task_id, bill))
    return found
