"""A channel's token bucket: never more sends in a minute than it allows, however often it is asked."""

from datetime import datetime

import pytest
import sqlalchemy as sa

from shortdrama_pipeline.store import rate_limits
from shortdrama_pipeline.store.database import Database
from shortdrama_pipeline.store.rate_limits import Wanted

CHANNEL = "channel"
_PASS = sa.text(
    "update rate_limits set refilled_at = refilled_at"
    " + (clock_timestamp() - coalesce(:before, clock_timestamp())) - :ms * interval '1 millisecond'"
    " returning clock_timestamp()"
).bindparams(sa.bindparam("before", type_=sa.DateTime(timezone=True)))


def sends(db: Database, per_minute: int, *, every_ms: int, steps: int) -> list[int]:
    """Ask for as much as there is, every so often on the bucket's own clock; the test's does not count."""
    sent = list[int]()
    before: datetime | None = None
    wanted = {CHANNEL: Wanted(1000, per_minute, 1000)}
    with db.begin() as tx:
        for _ in range(steps):
            sent.append(rate_limits.take(tx, wanted)[CHANNEL])
            before = tx.execute(_PASS, {"before": before, "ms": every_ms}).scalar_one()
    return sent


@pytest.mark.parametrize("per_minute", [1, 2, 9, 10, 60])
def test_no_minute_holds_more_sends_than_allowed(db: Database, per_minute: int) -> None:
    sent = sends(db, per_minute, every_ms=1000, steps=130)
    minute = 61  # both ends count
    assert max(sum(sent[first : first + minute]) for first in range(len(sent) - minute + 1)) <= per_minute
    assert sum(sent) >= per_minute


def test_asking_often_neither_adds_nor_loses_a_part_of_a_send(db: Database) -> None:
    sent = sends(db, 5, every_ms=10, steps=1540)
    first, second = [step for step, count in enumerate(sent) if count]
    assert first == 0
    assert 1480 <= second <= 1530, "one and four a minute: the next after 15 seconds"
