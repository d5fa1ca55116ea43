"""`work drain`: the whole engine in one loop, safe in any number of processes.

Due work is claimed and sent, accepted jobs are asked about, results are brought in, registered and
charged, and what other workers lost is taken over. All truth is in rows; this loop only drives.
"""

import asyncio
import signal
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

import sqlalchemy as sa

from shortdrama_pipeline.errors import Outside, SafeModeOn, StaleState
from shortdrama_pipeline.providers.credentials import read_credential
from shortdrama_pipeline.rules.times import rfc3339
from shortdrama_pipeline.services import safety
from shortdrama_pipeline.services.context import Studio
from shortdrama_pipeline.services.deadlines import pass_deadlines
from shortdrama_pipeline.services.late_results import look_after
from shortdrama_pipeline.services.polling import Poller
from shortdrama_pipeline.services.recording import Reason
from shortdrama_pipeline.services.recovering import TAKE_AT_ONCE, settle_pending, take_over
from shortdrama_pipeline.services.shifts import LOG, Pace, Shift, describe, monotonic_ms
from shortdrama_pipeline.services.submitting import NOT_NOW, NotNow, Ready, carry, fence_and_check, prepare
from shortdrama_pipeline.services.work import Work
from shortdrama_pipeline.store import breakers, rate_limits, tasks
from shortdrama_pipeline.store.breakers import OpenBreaker
from shortdrama_pipeline.store.safety import SafeMode
from shortdrama_pipeline.store.tasks import DueTask
from shortdrama_pipeline.store.wakeups import FALLBACK_S, Listener

IDLE_LOOK_MS = 100
BOOKS_MS = 60_000  # between two looks at the books
SLOT_PAUSE_MS = 200  # when a channel is full: our own answers wake us, what others free is seen by then
SENDS_FIRST_S = 0.005  # what has just begun to be sent goes out before the next look competes with it
SETTLE_TRIES_MAX = 3  # in one drain; afterwards the next scan of any worker goes on


@dataclass(frozen=True, slots=True)
class DrainReport:
    """`idle`: nothing was left that moves by itself. `interrupted`: a person or a supervisor said stop."""

    submitted: int
    polled: int
    ingested: int
    settled: int
    requeued: int
    reconciling: int
    errors: int
    idle: bool
    interrupted: bool = False

    def to_json(self) -> dict[str, int | bool]:
        return dict(asdict(self))


def drain(
    studio: Studio,
    *,
    worker: str,
    until_idle: bool = True,
    follow: bool = False,
    seconds_max: int | None = None,
    limit: int = 64,
    pace: Pace | None = None,
    on_start: Callable[["Engine"], None] | None = None,
) -> DrainReport:
    """Work until nothing moves by itself any more, for ever with `follow`, or for `seconds_max`.

    In safe mode nothing is sent, all else is done, and SafeModeOn is raised at the end (D-6).
    The first interrupt stops claiming and lets what has begun come to a durable point.
    """
    return asyncio.run(
        _drain(
            Engine(studio, worker=worker, pace=pace or Pace(), limit=limit),
            until_idle=until_idle and not follow,
            follow=follow,
            seconds_max=seconds_max,
            on_start=on_start,
        )
    )


async def _drain(
    engine: "Engine",
    *,
    until_idle: bool,
    follow: bool,
    seconds_max: int | None,
    on_start: Callable[["Engine"], None] | None,
) -> DrainReport:
    engine.open()
    if on_start is not None:
        on_start(engine)
    with engine.interruptible():
        report = await engine.work(until_idle=until_idle, follow=follow, seconds_max=seconds_max)
    if engine.standing:
        raise safety.refusal(engine.standing, polled=report.polled, ingested=report.ingested)
    return report


class Engine:
    """One worker's loop. Made outside the event loop, opened inside."""

    shift: Shift
    poller: Poller

    def __init__(self, studio: Studio, *, worker: str, pace: Pace, limit: int) -> None:
        self._studio = studio
        self._worker = worker
        self._pace = pace
        self._limit = limit
        self.sending = 0
        self.interrupted = False
        self.standing: Sequence[SafeMode] = ()
        self._books_ms = 0
        self._not_before_ms: dict[str, int] = {}
        self._unconfigured: set[str] = set()
        self._settle_tries = 0
        self._scanned = False
        self._more_is_due = False

    def open(self) -> None:
        self.shift = Shift(self._studio, worker=self._worker, pace=self._pace, limit=self._limit)
        self.poller = Poller(self.shift)
        self._loop = asyncio.get_running_loop()

    def stop(self) -> None:
        """Stop claiming; callable from any thread."""

        def say() -> None:
            self.shift.stopping = True
            self.shift.work_changed.set()

        self._loop.call_soon_threadsafe(say)

    def interruptible(self) -> "_Interruptible":
        return _Interruptible(self)

    async def work(self, *, until_idle: bool, follow: bool, seconds_max: int | None) -> DrainReport:
        """Run all parts until the end that was asked for; then leave nothing half-written."""
        ends_ms = None if seconds_max is None else monotonic_ms() + seconds_max * 1000
        await self._look_first(patient=follow)
        helpers = [
            self._loop.create_task(each, name=name)
            for each, name in (
                (self.poller.run(), "poller"),
                (self._beat(), "heartbeat"),
                (self._scan(), "scan"),
            )
        ]
        idle = False
        try:
            if follow:
                with Listener(self._studio.db, self._wake_from_thread):
                    idle = await self._serve(helpers, until_idle=until_idle, follow=follow, ends_ms=ends_ms)
            else:
                idle = await self._serve(helpers, until_idle=until_idle, follow=follow, ends_ms=ends_ms)
        finally:
            await self._close(helpers)
        count = self.shift.count
        return DrainReport(
            count.submitted,
            count.polled,
            count.ingested,
            count.settled,
            count.requeued,
            count.reconciling,
            count.errors,
            idle,
            self.interrupted,
        )

    async def _serve(
        self, helpers: list["asyncio.Task[None]"], *, until_idle: bool, follow: bool, ends_ms: int | None
    ) -> bool:
        shift = self.shift
        while not shift.stopping:
            self._raise_failures(helpers)
            shift.work_changed.clear()
            try:
                started = await self._submit_due()
                if ends_ms is not None and monotonic_ms() >= ends_ms:
                    return False
                if started:
                    if not self._more_is_due:
                        await asyncio.sleep(SENDS_FIRST_S)
                    continue
                if until_idle and await self._is_idle():
                    return True
                pause_ms = await self._pause_ms(IDLE_LOOK_MS if until_idle else FALLBACK_S * 1000)
            except StaleState as error:  # a deadlock with another worker: nothing was written, look again
                LOG.warning("engine.look.repeated %s", describe(error))
                pause_ms = IDLE_LOOK_MS
            except Outside as error:
                if not follow:
                    raise
                LOG.error("engine.database.away %s", describe(error))
                pause_ms = FALLBACK_S * 1000
            if ends_ms is not None:
                pause_ms = max(1, min(pause_ms, ends_ms - monotonic_ms()))
            with suppress(TimeoutError):
                async with asyncio.timeout(pause_ms / 1000):
                    await shift.work_changed.wait()
        return False

    async def _pause_ms(self, most: int) -> int:
        """Until something queued becomes due, or a channel that was full may be asked again."""
        now = monotonic_ms()
        waits = [each - now for each in self._not_before_ms.values() if each > now]
        known = list(self._studio.bindings)
        next_due = await self.shift.read(lambda tx: tasks.load_next_due_ms(tx, known))
        if next_due is not None and next_due > 0:
            waits.append(next_due)
        return max(1, min([most, *waits]))

    def _raise_failures(self, helpers: list["asyncio.Task[None]"]) -> None:
        for each in helpers:
            if each.done() and each.exception() is not None:
                raise each.exception() or RuntimeError(each.get_name())

    # --- submitting -------------------------------------------------------------------------------------

    async def _submit_due(self) -> int:
        """Start as many due sends as there are free hands. Returns how many were started."""
        free = self._limit - self.sending
        if free < max(1, self._limit // 4) and self.sending:
            return 0  # refill in handfuls; the next answer wakes us
        now = monotonic_ms()
        asked = {
            each.id: rate_limits.Wanted(free, each.requests_per_minute, each.in_flight_max)
            for each in self._studio.bindings.values()
            if self._not_before_ms.get(each.id, 0) <= now
        }
        if self.standing or not (asked or self._unconfigured):
            return 0

        found = await self.shift.beside(self._look, asked, free)
        self._not_before_ms |= {each: now + SLOT_PAUSE_MS for each, count in found.room.items() if not count}
        self._more_is_due = found.more
        await self._set_aside(found.held)
        await self._set_aside([each for each in found.prepared if isinstance(each, NotNow)])
        ready = [each for each in found.prepared if isinstance(each, Ready)]
        if not ready:
            return 0
        try:
            sendable = await fence_and_check(self.shift, ready)
        except SafeModeOn as error:
            LOG.error("engine.safe_mode %s", describe(error))
            self.standing = await self.shift.in_thread(safety.look, self._studio)
            return 0
        self._note_limits(ready, {each.task.task_id for each, _, _ in sendable})
        for each, work, until_ms in sendable:
            self.shift.spawn(self._carry(each, work, until_ms), name="send", task_ids=[work.task_id])
        return len(sendable)

    def _look(self, asked: Mapping[str, rate_limits.Wanted], free: int) -> "_Found":
        """What is due on channels that have room: a request is built only where it can start.

        Looking and building are one trip beside the loop, since between a click and its request every
        change of threads is felt.
        """
        with self._studio.db.read() as tx:
            room = rate_limits.look(tx, asked)
            most = {each: count for each, count in room.items() if count} | dict.fromkeys(
                self._unconfigured, free
            )
            due = tasks.find_due(tx, most)
            resting = breakers.find_open(tx)
        counted = Counter(each.task.binding_id for each in due)
        more = len(due) > free or any(counted[each] >= count for each, count in most.items())
        going, held = _spare(due[:free], resting) if resting else (due[:free], [])
        read_key = cache(read_credential)
        prepared = [prepare(self.shift, each, read_key=read_key) for each in going]
        return _Found(prepared, held, room, more)

    async def _carry(self, ready: Ready, work: Work, until_ms: int) -> None:
        slot = _Slot(self)
        try:
            await carry(self.shift, ready, work, until_ms, poller=self.poller, sent=slot.free)
        finally:
            slot.free()

    async def _set_aside(self, not_now: list[NotNow]) -> None:
        if not_now:
            pace = self._pace
            await asyncio.gather(
                *(
                    self.shift.writer.write(NOT_NOW, (each, self._worker, pace.lease_ms, pace.hold_again_ms))
                    for each in not_now
                )
            )

    def _note_limits(self, ready: list[Ready], started: set[str]) -> None:
        """A channel that took less than was offered is full or another worker's: look again in a moment."""
        for each in ready:
            if each.task.task_id not in started:
                self._not_before_ms[each.route.binding.id] = monotonic_ms() + SLOT_PAUSE_MS

    # --- helpers ----------------------------------------------------------------------------------------

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(self._pace.heartbeat_ms / 1000)
            try:
                self.poller.drop(await self.shift.beat())
            except (Outside, StaleState) as error:  # leases run out; nothing is sent without one
                LOG.error("engine.heartbeat.failed %s", describe(error))

    async def _scan(self) -> None:
        """What others lost, and what is registered but not charged; at the start and then regularly."""
        while True:
            try:
                if not self.shift.stopping:
                    while await take_over(self.shift, self.poller) == TAKE_AT_ONCE:
                        continue  # a lost worker's thousands are taken in one go (G-104)
                    await settle_pending(self.shift)
                    await pass_deadlines(self.shift)
                    await look_after(self.shift)
                    self._unconfigured = await self.shift.read(self._find_unconfigured)
                    await self._look_for_safety()
            except (Outside, StaleState) as error:
                LOG.error("engine.scan.failed %s", describe(error))
            self._scanned = True
            self.shift.work_changed.set()
            await asyncio.sleep(self._pace.scan_ms / 1000)

    async def _look_for_safety(self) -> None:
        """Does paid work stand still? The books are looked at now and then (D-6, G-204)."""
        now = monotonic_ms()
        everything = not self._books_ms or now - self._books_ms > BOOKS_MS
        check = _look_at_everything if everything else safety.find_open
        self.standing = await self.shift.in_thread(check, self._studio)
        if everything:
            self._books_ms = now

    async def _look_first(self, *, patient: bool) -> None:
        """Nothing is sent before the first look; one who is to stay waits for a database that is away."""
        while not self.shift.stopping:
            try:
                await self._look_for_safety()
            except (Outside, StaleState) as error:
                if not patient:
                    raise
                LOG.error("engine.database.away %s", describe(error))
                await asyncio.sleep(FALLBACK_S)
            else:
                break

    def _find_unconfigured(self, tx: sa.Connection) -> set[str]:
        return tasks.find_unconfigured(tx, list(self._studio.bindings))

    async def _is_idle(self) -> bool:
        if not self._scanned or self.sending or self.shift.busy or self.poller.size:
            return False  # deadlines and late results are looked at once even in the shortest drain
        aside = sorted(self.shift.set_aside)
        left = await self.shift.read(lambda tx: tasks.load_outlook(tx, without=aside))
        if left.unsettled and self._settle_tries < SETTLE_TRIES_MAX:
            self._settle_tries += 1
            await settle_pending(self.shift)
            return False
        if left.soon:
            await take_over(self.shift, self.poller)
        queued = left.queued and not self.standing
        return not (queued or left.open or left.soon or self.shift.busy)

    def _wake_from_thread(self, payload: str) -> None:
        def wake() -> None:
            if payload:
                self.poller.wake(payload)
            else:
                self.shift.work_changed.set()

        with suppress(RuntimeError):  # the loop has just ended
            self._loop.call_soon_threadsafe(wake)

    async def _close(self, helpers: list["asyncio.Task[None]"]) -> None:
        """Let sends and writes finish, then give back every lease we still hold (D-1 b)."""
        self.shift.stopping = True
        # The heart beats until the last answer is in: a lease that ends before it makes the outcome unknown.
        for each in sorted(helpers, key=lambda helper: helper.get_name() == "heartbeat"):
            if each.get_name() == "heartbeat":
                await self.shift.finish()
            each.cancel()
            await asyncio.gather(each, return_exceptions=True)
        tokens = dict(self.shift.leases)
        if tokens:
            await self.shift.give_back(tokens)
        await self.shift.close()


def _look_at_everything(studio: Studio) -> list[SafeMode]:
    safety.look(studio)
    return safety.check_books(studio)


def _spare(due: list[DueTask], resting: Sequence[OpenBreaker]) -> tuple[list[DueTask], list[NotNow]]:
    """Leave Tasks of resting channels queued, with the reason; one may try where the rest is over (G-302)."""
    may_try = {each.channel_id: 1 if each.due else 0 for each in resting}
    open_now = {each.channel_id: each for each in resting}
    going, held = [], []
    for each in due:
        channel_id = each.task.binding_id
        if may_try.get(channel_id, 1):
            going.append(each)
            if channel_id in may_try:
                may_try[channel_id] = 0
            continue
        until = rfc3339(open_now[channel_id].try_at)
        held.append(NotNow(each.task.task_id, Reason("breakerOpen", "notSent", {"until": until}).to_json()))
    return going, held


@dataclass(frozen=True, slots=True)
class _Found:
    """One look: requests that are built, what rests, the room of each channel, and whether more was due."""

    prepared: list[Ready | NotNow]
    held: list[NotNow]
    room: Mapping[str, int]
    more: bool


class _Slot:
    """One of the hands that may send at once; freed when the answer is there, once."""

    def __init__(self, engine: Engine) -> None:
        self._engine: Engine | None = engine
        engine.sending += 1

    def free(self) -> None:
        if self._engine is not None:
            self._engine.sending -= 1
            self._engine.shift.work_changed.set()
            self._engine = None


class _Interruptible:
    """Ctrl-C and SIGTERM stop claiming, in the main thread only; everything else is the caller's."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._former: dict[signal.Signals, Any] = {}

    def __enter__(self) -> None:
        if threading.current_thread() is threading.main_thread():
            for each in (signal.SIGINT, signal.SIGTERM):
                self._former[each] = signal.getsignal(each)
                self._engine._loop.add_signal_handler(each, self._interrupt)  # noqa: SLF001

    def _interrupt(self) -> None:
        self._engine.interrupted = True
        self._engine.stop()

    def __exit__(self, *_: object) -> None:
        for each, handler in self._former.items():
            self._engine._loop.remove_signal_handler(each)  # noqa: SLF001
            signal.signal(each, handler if handler is not None else signal.SIG_DFL)
