"""One event loop for a whole world: virtual time, and a seeded choice of who runs next.

Everything the world's processes do happens on this loop, in one thread. A process is a context variable:
callbacks made by its code carry it. Callbacks of one process run in their order, as asyncio promises;
between processes the seed decides. When nobody can run, time jumps to the next timer.
"""

import asyncio
import contextvars
import heapq
import math
from collections import deque
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from typing import Any, TypeVar

R = TypeVar("R")
STEPS_MAX = 60_000
US = 1_000_000


class Killed(BaseException):
    """Raised where a simulated process dies. Nothing of the product may catch it and go on."""


@dataclass(eq=False, slots=True)
class Process:
    """One simulated operating system process; `paused_until` is in virtual microseconds."""

    name: str
    dead: bool = False
    paused_until: int = 0
    ready: deque[asyncio.Handle] = field(default_factory=deque)

    def check(self) -> None:
        """Whatever reaches for the world outside asks this first."""
        if self.dead:
            raise Killed(self.name)


PROCESS: contextvars.ContextVar[Process] = contextvars.ContextVar("process")
OUTSIDE = "outside"  # the vendor, the plan: whatever is not ours


def current() -> Process:
    return PROCESS.get()


class SimLoop(asyncio.BaseEventLoop):
    """See the module. `seed` decides interleaving and how long work in threads takes."""

    _ready: deque[Any]  # handles, whose private parts are looked at
    _scheduled: list[Any]

    def __init__(self, seed: str) -> None:
        super().__init__()
        self.now_us = 0
        self.steps = 0
        self.outside = Process(OUTSIDE)
        self.processes: list[Process] = [self.outside]
        self._choice = Random(f"{seed} interleaving")
        self._tasks: list[asyncio.Task[Any]] = []
        self.set_exception_handler(self._on_exception)
        self.failure = ""  # the first thing that was wrong; the loop stops there

    # --- what asyncio asks of a loop --------------------------------------------------------------------

    def time(self) -> float:
        return self.now_us / US

    def _write_to_self(self) -> None:
        """Nobody sleeps in a selector."""

    def add_signal_handler(self, *_: object) -> None:
        """No signals here."""

    def remove_signal_handler(self, sig: int) -> bool:
        return True

    def create_task(self, coro: Coroutine[Any, Any, R], **more: Any) -> asyncio.Task[R]:  # type: ignore[override] # noqa: ANN401
        task = super().create_task(coro, **more)
        self._tasks.append(task)
        return task

    def run_in_executor(self, executor: object, func: Callable[..., R], *args: Any) -> "asyncio.Future[R]":  # type: ignore[override] # noqa: ANN401
        """Work in threads: after a moment it is done at one stroke, and later still its answer arrives."""
        answer: asyncio.Future[R] = self.create_future()
        self.call_later(self._thread_delay(), self._run_in_thread, answer, func, args)
        return answer

    def _run_in_thread(
        self, answer: "asyncio.Future[R]", func: Callable[..., R], args: tuple[Any, ...]
    ) -> None:
        try:
            result = func(*args)
        except Killed:
            return
        except Exception as error:  # noqa: BLE001 - it is the awaiting caller's
            self.call_later(self._thread_delay(), _fail, answer, error)
        else:
            self.call_later(self._thread_delay(), _answer, answer, result)

    def _thread_delay(self) -> float:
        draw = self._choice.random()
        return draw * 0.004 if draw < 0.97 else draw * 0.4

    # --- one step ---------------------------------------------------------------------------------------

    def _run_once(self) -> None:
        self.steps += 1
        if self.steps > STEPS_MAX:
            self.fail(f"{STEPS_MAX} steps and no end")
        self._sort_in()
        able = self._able()
        while not able:
            if not self._jump():
                self.fail("nothing will ever happen again")
                return
            self._sort_in()
            able = self._able()
        process = able[0] if len(able) == 1 else self._choice.choice(able)
        handle = process.ready.popleft()
        if not handle._cancelled:
            handle._run()

    def _able(self) -> list[Process]:
        return [each for each in self.processes if each.ready and each.paused_until <= self.now_us]

    def _sort_in(self) -> None:
        """Give each ready callback to its process; what the dead wanted is forgotten."""
        while self._scheduled and (
            self._scheduled[0]._cancelled or self._scheduled[0]._when * US <= self.now_us
        ):
            timer = heapq.heappop(self._scheduled)
            timer._scheduled = False
            if not timer._cancelled:
                self._ready.append(timer)
        while self._ready:
            handle = self._ready.popleft()
            process: Process = handle._context.get(PROCESS, self.outside)
            if not process.dead:
                process.ready.append(handle)

    def fail(self, what: str) -> None:
        """Stop the world. Never an exception: the product might catch it."""
        if not self.failure:
            self.failure = what
        self.stop()

    def _jump(self) -> bool:
        """Nobody can run: the next thing to happen is a timer, or the end of a pause."""
        ends = [each.paused_until for each in self.processes if each.ready and not each.dead]
        while self._scheduled and (
            self._scheduled[0]._cancelled or self._scheduled[0]._context.get(PROCESS, self.outside).dead
        ):
            heapq.heappop(self._scheduled)._scheduled = False
        if self._scheduled:
            ends.append(math.ceil(self._scheduled[0]._when * US))
        if not ends:
            return False
        self.now_us = max(self.now_us, min(ends))
        return True

    def _on_exception(self, _loop: object, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if not isinstance(error, Killed):
            self.fail(f"{context.get('message')}: {error!r}")

    # --- processes --------------------------------------------------------------------------------------

    def context_of(self, process: Process) -> contextvars.Context:
        """A fresh context of a process, for a callback made for it by somebody else."""
        context = contextvars.Context()
        context.run(PROCESS.set, process)
        return context

    def spawn(self, process: Process, work: Callable[[], object]) -> None:
        """Let `work` begin as a process of its own."""
        self.processes.append(process)
        self.call_soon(work, context=self.context_of(process))

    def kill(self, process: Process) -> None:
        process.dead = True
        process.ready.clear()

    def bury(self) -> None:
        """Close what the dead left behind; their finally blocks reach a world that refuses them."""
        for each in self.processes:
            each.dead = True
        for task in self._tasks:
            task._log_destroy_pending = False  # type: ignore[attr-defined]
            if not task.done():
                with suppress(BaseException):
                    task.get_coro().close()
            elif not task.cancelled():
                task.exception()
        self._ready.clear()
        self._scheduled.clear()

    def run_nested(self, work: Coroutine[Any, Any, R]) -> R:
        """What `asyncio.run` does for synchronous code of a process: the whole world goes on meanwhile."""
        process = current()
        task = self.create_task(work)
        while not task.done():
            process.check()
            if self.failure:
                raise Killed(self.failure)
            self._run_once()
        process.check()
        return task.result()


def _answer(answer: "asyncio.Future[R]", result: R) -> None:
    if not answer.done():
        answer.set_result(result)


def _fail(answer: "asyncio.Future[R]", error: Exception) -> None:
    if not answer.done():
        answer.set_exception(error)
