"""Wake whoever drains, after a commit: the first at once, then at most one per 5 ms (performance.md 1).

Nothing depends on a wake-up arriving: drainers look by themselves once a second.
"""

import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field

from shortdrama_pipeline.errors import Outside
from shortdrama_pipeline.store.database import Database
from shortdrama_pipeline.store.wakeups import announce

GAP_MS_MIN = 5


@dataclass(slots=True)
class _Throttle:
    turn: threading.Lock = field(default_factory=threading.Lock)
    sent_ns: int = 0


_throttle = _Throttle()


def wake(db: Database) -> None:
    """Say that work is due. A caller that finds another one about to speak leaves it to that one."""
    if not _throttle.turn.acquire(blocking=False):
        return  # The holder has not spoken yet, so its word comes after our commit.
    try:
        due_ns = _throttle.sent_ns + GAP_MS_MIN * 1_000_000
        threading.Event().wait(max(0, due_ns - time.monotonic_ns()) / 1_000_000_000)
        _throttle.sent_ns = time.monotonic_ns()
    finally:
        _throttle.turn.release()
    with suppress(Outside):  # what was committed stands, and the next look finds it
        announce(db)
