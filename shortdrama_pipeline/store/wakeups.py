"""Wake whoever drains: NOTIFY on its own, after the commit, never inside it (performance.md 1).

The first wake-up goes out at once, later ones of this process at most one per 5 ms. Nothing depends on
a wake-up arriving: drainers look by themselves once a second.
"""

import threading
import time
from dataclasses import dataclass, field

import sqlalchemy as sa

from shortdrama_pipeline.store.database import Database

CHANNEL = "shortdrama_work"
GAP_S_MIN = 5 / 1000


@dataclass(slots=True)
class _Throttle:
    lock: threading.Lock = field(default_factory=threading.Lock)
    sent_s: float = 0.0


_throttle = _Throttle()


def wake(db: Database) -> None:
    """Say that work is due. A caller that finds another one about to send leaves it to that one."""
    if not _throttle.lock.acquire(blocking=False):
        return  # The holder has not sent yet, so its message comes after our commit.
    try:
        threading.Event().wait(max(0, _throttle.sent_s + GAP_S_MIN - time.monotonic()))
        _throttle.sent_s = time.monotonic()
    finally:
        _throttle.lock.release()
    with db.engine.connect() as connection:
        connection.execution_options(isolation_level="AUTOCOMMIT").execute(sa.text(f"notify {CHANNEL}"))
