"""A shift: one worker process at work. What its parts share, and nothing else."""

import asyncio
import logging
import os
import random
import socket
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

import sqlalchemy as sa

from shortdrama_pipeline.crashpoints import Point, reach
from shortdrama_pipeline.errors import Outside
from shortdrama_pipeline.ids import new_id
from shortdrama_pipeline.providers.redaction import redact
from shortdrama_pipeline.providers.transport import QueryClient
from shortdrama_pipeline.rules import leases, polling
from shortdrama_pipeline.services.batching import CALLS, Lane, Writer
from shortdrama_pipeline.services.context import Studio
from shortdrama_pipeline.services.recording import Change, Held, Recorded, Stale, apply_changes
from shortdrama_pipeline.services.safety import Fences
from shortdrama_pipeline.store import alerts, tasks
from shortdrama_pipeline.store.alerts import Alert
from shortdrama_pipeline.store.tasks import TaskMove

R = TypeVar("R")
CHANGES: Lane[Change, Recorded | Stale] = Lane("changes", 20, apply_changes)
HANDS = 4
PORTERS = 6  # downloads and probes: slow ones must never hold up a send, a poll or a receipt (P-7.1)
SET_ASIDE_MS = 30_000
LOG = logging.getLogger("shortdrama.engine")


@dataclass(frozen=True, slots=True)
class Pace:
    """The lengths a shift works by; tests shorten them."""

    lease_ms: int = leases.LEASE_MS
    heartbeat_ms: int = leases.HEARTBEAT_MS
    scan_ms: int = leases.TAKEOVER_SCAN_MS
    wait_limit_s: int = polling.WAIT_LIMIT_S
    slow_query_s: int = polling.SLOW_QUERY_S
    query_failures_max: int = polling.QUERY_FAILURES_MAX
    lookup_after_ms: int = 1_000  # a vendor's book may lag behind the answer it failed to give
    hold_again_ms: int = 15_000
    resend_permille: int = 1000  # share of the rule's pause before another Attempt


@dataclass(slots=True)
class Count:
    """What a drain did."""

    submitted: int = 0
    polled: int = 0
    ingested: int = 0
    settled: int = 0
    requeued: int = 0
    reconciling: int = 0
    errors: int = 0


def worker_name() -> str:
    """A name nobody else has, which a person can still read."""
    return f"{socket.gethostname()}-{os.getpid()}-{new_id('w')[-6:]}"


class Shift:
    """Threads, the writer, the leases we hold and the counters. Lives on one event loop."""

    def __init__(self, studio: Studio, *, worker: str, pace: Pace, limit: int) -> None:
        self.studio = studio
        self.worker = worker
        self.pace = pace
        self.limit = limit
        self.writer = Writer(studio.db)
        self.queries = QueryClient()
        self.count = Count()
        self.leases: dict[str, int] = {}
        self.fences = Fences(studio, worker)
        self.stopping = False
        self.work_changed = asyncio.Event()
        self._readers = ThreadPoolExecutor(2, thread_name_prefix="reader")
        self._hands = ThreadPoolExecutor(HANDS, thread_name_prefix="hands")
        self._porters = ThreadPoolExecutor(PORTERS, thread_name_prefix="porter")
        self._spare = ThreadPoolExecutor(1, thread_name_prefix="spare")
        self._running: set[asyncio.Task[None]] = set()
        self.set_aside: set[str] = set()
        self._random = random.Random(new_id("jitter"))  # noqa: S311 - jitter

    # --- threads ------------------------------------------------------------------------------------

    async def read(self, look: Callable[[sa.Connection], R]) -> R:
        """Run a look at the database beside the event loop."""

        def run() -> R:
            with self.studio.db.read() as tx:
                return look(tx)

        return await asyncio.get_running_loop().run_in_executor(self._readers, run)

    async def beside(self, work: Callable[..., R], *arguments: object) -> R:
        """Run looks of its own making where `read` runs its looks: never behind files or downloads."""
        return await asyncio.get_running_loop().run_in_executor(self._readers, work, *arguments)

    async def in_thread(self, work: Callable[..., R], *arguments: object) -> R:
        """Run short blocking work (files, keys, the next take) beside the event loop."""
        return await asyncio.get_running_loop().run_in_executor(self._hands, work, *arguments)

    async def by_porter(self, work: Callable[..., R], *arguments: object) -> R:
        """Run slow blocking work (downloads, hashing, probing) beside the event loop."""
        return await asyncio.get_running_loop().run_in_executor(self._porters, work, *arguments)

    async def at_once(self, work: Callable[..., R], *arguments: object) -> R:
        """Run what may not wait for anything else: an emergency receipt."""
        return await asyncio.get_running_loop().run_in_executor(self._spare, work, *arguments)

    async def record(self, change: Change) -> Recorded | Stale:
        """Commit one decided Change; a Task we no longer own is dropped here."""
        answer = await self.writer.write(CHANGES, change)
        reach(Point.OUTCOME_COMMITTED)
        move = change.task
        if isinstance(answer, Stale) or (move is not None and not move.keep_lease):
            self.leases.pop(change.held.task_id, None)
        return answer

    async def release_reconciling(
        self, held: Held, *, reason: dict[str, Any], after_ms: int, alert: Alert | None = None
    ) -> None:
        """Put a Task that still waits for a person back, with its latest reason; no state moves."""
        self.leases.pop(held.task_id, None)
        move = TaskMove(
            held.task_id, held.lease_token, held.state, held.state, after_ms, reason, keep_lease=False
        )
        await self.writer.write(CHANGES, Change(held=held, task=move, alert=alert))

    async def alarm(self, alert: Alert) -> None:
        """Raise an alert by itself."""

        def write(tx: sa.Connection) -> None:
            alerts.record_alerts(tx, [alert])

        await self.writer.write(CALLS, write)

    # --- coroutines ---------------------------------------------------------------------------------

    def spawn(self, work: Coroutine[None, None, None], *, name: str, task_ids: Sequence[str] = ()) -> None:
        """Let a coroutine run. What it did not expect is alarmed, and its Tasks set aside (G-107)."""
        task: asyncio.Task[None] = asyncio.get_running_loop().create_task(
            self._guarded(work, name, task_ids), name=name
        )
        self._running.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._running.discard(task)
        self.work_changed.set()

    async def _guarded(self, work: Coroutine[None, None, None], name: str, task_ids: Sequence[str]) -> None:
        try:
            await work
        except Exception as error:  # noqa: BLE001 - one Task's trouble must not stop the others
            self.count.errors += 1
            # Not `exception`: a traceback's last line may hold what must not be logged.
            LOG.error("engine.%s.failed %s %s", name, ",".join(task_ids), describe(error))  # noqa: TRY400
            await self._set_aside(name, task_ids, error)

    async def _set_aside(self, name: str, task_ids: Sequence[str], error: Exception) -> None:
        """Give up the leases, later than at once, and raise an alert; if that fails too, the log has it."""
        self.set_aside.update(task_ids)
        tokens = {each: token for each in task_ids if (token := self.leases.pop(each, None)) is not None}
        found = [
            Alert("engine_error", each, f"The engine stumbled at {name}", {"error": type(error).__name__})
            for each in task_ids
        ]

        def give_up(tx: sa.Connection) -> None:
            alerts.record_alerts(tx, found)
            tasks.hand_back(tx, tokens, again_ms=SET_ASIDE_MS)

        try:
            await self.writer.write(CALLS, give_up)
        except (Outside, sa.exc.SQLAlchemyError) as second:
            LOG.error("engine.alert.failed %s", describe(second))  # noqa: TRY400

    @property
    def busy(self) -> int:
        return len(self._running)

    async def finish(self) -> None:
        """Let what has begun come to its next durable point."""
        while self._running:
            await asyncio.wait(list(self._running), timeout=1)

    # --- leases -------------------------------------------------------------------------------------

    async def beat(self) -> set[str]:
        """Renew all leases in one statement; returns the Tasks that were lost."""
        tokens = dict(self.leases)
        if not tokens:
            return set()

        kept: set[str] = set()

        def renew(tx: sa.Connection) -> None:
            kept.clear()
            kept.update(tasks.heartbeat(tx, tokens, worker=self.worker, lease_ms=self.pace.lease_ms))

        await self.writer.write(CALLS, renew)
        lost = {each for each, token in tokens.items() if each not in kept and self.leases.get(each) == token}
        for each in lost:
            self.leases.pop(each, None)
        return lost

    async def give_back(self, tokens: dict[str, int], *, again_ms: int = 0) -> None:
        """Give up leases; if the database is away they run out by themselves."""

        def hand_back(tx: sa.Connection) -> None:
            tasks.hand_back(tx, tokens, again_ms=again_ms)

        with suppress(Outside):
            await self.writer.write(CALLS, hand_back)
        self.leases.clear()

    async def close(self) -> None:
        await self.writer.close()
        await self.queries.close()
        self.fences.close()
        for each in (self._readers, self._hands, self._porters, self._spare):
            each.shutdown(wait=True)

    def jitter(self) -> int:
        return self._random.randrange(1001)


def describe(error: BaseException) -> str:
    """An error for the log: its kind and a redacted word, never a request or a key (V-14)."""
    return f"{type(error).__name__}: {redact(str(error).splitlines()[0] if str(error) else '')}"


def monotonic_ms() -> int:
    """The clock of the event loop we run on, which a simulation may drive."""
    return int(asyncio.get_running_loop().time() * 1000)
