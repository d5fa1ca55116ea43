"""Is what a paid action needs there? Asked in 300 ms, before anything is paid (G-303)."""

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as TooSlow

import sqlalchemy as sa

from shortdrama_pipeline.errors import Outside, ShortdramaError
from shortdrama_pipeline.services.context import Studio

PROBE_S = 0.3
FRESH_MS = 1_000
PROBE = "probe"

Clock = Callable[[], int]


def process_ms() -> int:
    """A clock for any thread of this process."""
    return time.monotonic_ns() // 1_000_000


class Health:
    """Remembers a good answer for a second, so that a probe costs nothing while much is sent."""

    def __init__(self, studio: Studio, *, clock_ms: Clock = process_ms) -> None:
        self._studio = studio
        self._clock_ms = clock_ms
        self._good_ms: int | None = None
        self._hands = ThreadPoolExecutor(1, thread_name_prefix="probe")
        self._asked: Future[None] | None = None

    def require_store(self) -> None:
        """Raises Outside when a paid result could not be stored now."""
        if self._good_ms is not None and self._clock_ms() - self._good_ms < FRESH_MS:
            return
        if self._asked is None or self._asked.done():
            self._asked = self._hands.submit(self._studio.objects.write_record, PROBE, b"writable")
        try:
            self._asked.result(timeout=PROBE_S)
        except TooSlow as error:
            self._good_ms = None
            raise _store_is_away("it does not answer") from error
        except (ShortdramaError, OSError) as error:
            self._good_ms = None
            raise _store_is_away(str(error)) from error
        self._good_ms = self._clock_ms()

    def close(self) -> None:
        self._hands.shutdown(wait=False, cancel_futures=True)


def database_answers(studio: Studio) -> bool:
    """Does the database answer a small question in time?"""
    try:
        with studio.db.read() as tx:
            tx.execute(sa.text("set local statement_timeout = '300ms'"))
            tx.execute(sa.text("select 1"))
    except (ShortdramaError, sa.exc.SQLAlchemyError):
        return False
    return True


def _store_is_away(why: str) -> Outside:
    return Outside(
        f"The media store cannot be written: {why}. Nothing is bought that could not be kept",
        hint="Free some space, mend the folder or its mount; tasks stay queued and go on by themselves",
    )
