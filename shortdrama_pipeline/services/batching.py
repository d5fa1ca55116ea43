"""Natural batching: commit what gathered while the previous commit ran; no timer, no added delay.

Lanes are kinds of writes, applied in their order inside one transaction. When a commit fails, the
batch is halved until the one write that does not fit stands alone; only its caller sees the error.
"""

import asyncio
import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import sqlalchemy as sa

from shortdrama_pipeline.errors import Outside, StaleState
from shortdrama_pipeline.store.database import Database

T = TypeVar("T")
R = TypeVar("R")
TRIES_MAX = 3


@dataclass(frozen=True, slots=True, eq=False)
class Lane(Generic[T, R]):
    """`apply` writes many items in an open transaction and returns one result per item, in order."""

    name: str
    order: int
    apply: Callable[[sa.Connection, Sequence[T]], Sequence[R]]


@dataclass(frozen=True, slots=True, eq=False)
class _Pending:
    lane: Lane[Any, Any]
    item: Any
    answer: "asyncio.Future[Any]"


_Answer = tuple[_Pending, Any, BaseException | None]


def _apply_calls(tx: sa.Connection, calls: Sequence[Callable[[sa.Connection], object]]) -> list[object]:
    return [each(tx) for each in calls]


# For the few writes that are one statement of their own, such as the heartbeat.
CALLS: "Lane[Callable[[sa.Connection], object], object]" = Lane("calls", 50, _apply_calls)


class Writer:
    """All writes of one worker, through one thread and one connection at a time."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="writer")
        self._pending: list[_Pending] = []
        self._wanted = asyncio.Event()
        self._runner: asyncio.Task[None] | None = None
        self.commits = 0

    async def write(self, lane: Lane[T, R], item: T) -> R:
        """Commit `item` with whatever else gathered. Raises what its own write raised."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[R] = loop.create_future()
        self._pending.append(_Pending(lane, item, answer))
        self._wanted.set()
        if self._runner is None:
            self._runner = loop.create_task(self._run(), name="writer")
        return await answer

    async def close(self) -> None:
        """Wait for what is pending, then stop."""
        await asyncio.gather(*(each.answer for each in self._pending), return_exceptions=True)
        if self._runner is not None:
            self._runner.cancel()
            await asyncio.gather(self._runner, return_exceptions=True)
        self._thread.shutdown(wait=True)

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await self._wanted.wait()
            await asyncio.sleep(0)  # everything that is ready in this very moment comes along
            batch, self._pending = self._pending, []
            self._wanted.clear()
            batch.sort(key=lambda each: each.lane.order)
            for pending, result, error in await loop.run_in_executor(self._thread, self._commit, batch):
                if pending.answer.cancelled():
                    continue
                if error is None:
                    pending.answer.set_result(result)
                else:
                    pending.answer.set_exception(error)

    def _commit(self, batch: list[_Pending]) -> list[_Answer]:
        try:
            return self._attempt(batch)
        except Outside as error:  # the database is away: nobody's fault, nothing to halve
            return [(each, None, error) for each in batch]
        except Exception as error:  # noqa: BLE001 - handed to the one caller it belongs to
            if len(batch) == 1:
                return [(batch[0], None, error)]
            middle = _split(batch)
            return self._commit(batch[:middle]) + self._commit(batch[middle:])

    def _attempt(self, batch: list[_Pending]) -> list[_Answer]:
        for tries in range(1, TRIES_MAX + 1):
            try:
                return self._once(batch)
            except StaleState:  # a deadlock with another worker: nothing is written, do it again
                if tries == TRIES_MAX:
                    raise
        raise AssertionError("unreachable")

    def _once(self, batch: list[_Pending]) -> list[_Answer]:
        answers: list[_Answer] = []
        with self._db.begin() as tx:
            at = 0
            while at < len(batch):
                lane = batch[at].lane
                upto = next((n for n in range(at, len(batch)) if batch[n].lane is not lane), len(batch))
                group = batch[at:upto]
                results = lane.apply(tx, [each.item for each in group])
                assert len(results) == len(group), lane.name
                answers += [(each, result, None) for each, result in zip(group, results, strict=True)]
                at = upto
        self.commits += 1
        return answers


def _split(batch: list[_Pending]) -> int:
    """Halve between two lanes where there are several, else in the middle."""
    borders = [n for n in range(1, len(batch)) if batch[n].lane is not batch[n - 1].lane]
    middle = math.ceil(len(batch) / 2)
    return min(borders, key=lambda n: abs(n - middle)) if borders else middle
