"""One schedule: the product's own services as processes on one virtual clock, and what befalls them."""

import asyncio
import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import sqlalchemy as sa

from shortdrama_pipeline.crashpoints import InjectedFailure, Point
from shortdrama_pipeline.errors import ShortdramaError
from shortdrama_pipeline.services import (
    callbacks,
)
from shortdrama_pipeline.services.context import Studio
from shortdrama_pipeline.services.draining import Engine, _drain
from shortdrama_pipeline.settings import Settings
from tests.simulation.checking import Checker
from tests.simulation.database import Line, SimDatabase
from tests.simulation.furnishing import (
    ADAPTERS,
    EPISODES,
    PACE,
    SimStore,
    binding_of,
)
from tests.simulation.loop import Killed, Process, SimLoop, current
from tests.simulation.plan import BINDINGS, Plan
from tests.simulation.vendor import Post, SimVendor

WORKERS_MAX = 14
CALLBACK_EPOCH_S = 1_700_000_000


@dataclass(slots=True)
class _Worker:
    slot: int
    process: Process
    engine: Engine
    finished: "asyncio.Future[None]"


class World:
    """Made anew for each schedule, over one Line that all share."""

    def __init__(self, plan: Plan, line: Line, home: Path) -> None:
        self.plan = plan
        self.line = line
        self.home = home
        self.loop = SimLoop(plan.seed)
        line.now_us = lambda: self.loop.now_us
        self.random = Random(f"{plan.seed} world")
        self.history: list[str] = []
        self.vendor = SimVendor(
            self.loop,
            seed=plan.seed,
            faults={
                (each.kind, each.at): each.what
                for each in plan.entries
                if each.kind in {"create", "query", "lookup", "file", "callback"}
            },
            on_post=self._on_post,
            on_callback=self._on_callback,
            tell=self.tell,
        )
        self.workers: dict[int, _Worker] = {}
        self.listeners: list[tuple[Process, Callable[[str], None]]] = []
        self.started = 0
        self.closing = False
        self.healed = False
        self.armed = True
        self.hits: dict[Point, int] = {}
        self.fired: list[str] = []
        self.writes = 0
        self.puts = 0
        self.commits = 0
        self.away_until_us = 0
        self.bindings = {each: binding_of(each, home) for each in BINDINGS}
        self.adapters: dict[str, Any] = dict(ADAPTERS)
        self.quotes: list[tuple[str, str]] = []
        self._db_troubles = {each.at: each.what for each in plan.of("db")}
        self._disk = {each.at for each in plan.of("disk")}
        self._crashes = plan.of("crash")
        self._episodes = list(EPISODES)
        self._born = 0
        self._running = 0
        self.checker = Checker(self.line, self.vendor, self.fail)

    # --- telling ----------------------------------------------------------------------------------------

    def tell(self, what: str) -> None:
        self.history.append(f"{self.loop.time():9.3f} {what}")

    def fail(self, what: str) -> None:
        self.tell(f"WRONG: {what}")
        self.loop.fail(what)

    # --- processes --------------------------------------------------------------------------------------

    def studio(self, process: Process) -> Studio:
        database = SimDatabase(self.line, process, meets=self._meets, committed=self._committed)
        return Studio(
            settings=Settings(home=self.home),
            db=database,
            objects=SimStore(self.home / "media", process, self._disk_is_full),
            bindings=dict(self.bindings),
            adapters=dict(self.adapters),
        )

    def run(self, name: str, work: Callable[[Studio], object]) -> "asyncio.Future[object]":
        """Let synchronous code of the product run as a process of its own; the future never fails."""
        process = Process(name)
        done: asyncio.Future[object] = self.loop.create_future()
        self._running += 1

        def finish(answer: object) -> None:
            self._running -= 1
            done.set_result(answer)

        def begin() -> None:
            try:
                answer = work(self.studio(process))
            except Killed:
                answer = "killed"
            except ShortdramaError as error:
                self.tell(f"{name}: {type(error).__name__}: {error}")
                answer = error
            except InjectedFailure as error:
                answer = error
            except Exception as error:  # noqa: BLE001 - what nobody expected ends the schedule
                self.fail(f"{name} stumbled: {error!r}")
                answer = error
            process.dead = True
            self.loop.call_soon(finish, answer, context=self.loop.context_of(self.loop.outside))

        self.loop.spawn(process, begin)
        return done

    def start_worker(self, slot: int) -> None:
        if self.started >= WORKERS_MAX or self.closing:
            return
        self.started += 1
        process = Process(f"worker-{slot}.{self.started}")
        self.tell(f"{process.name} starts")
        finished: asyncio.Future[None] = self.loop.create_future()

        def begin() -> None:
            engine = Engine(self.studio(process), worker=process.name, pace=PACE, limit=8)
            self.workers[slot] = _Worker(slot, process, engine, finished)
            work = self.loop.create_task(
                _drain(engine, until_idle=False, follow=True, seconds_max=None, on_start=None)
            )
            work.add_done_callback(lambda task: self._worker_ended(slot, process, finished, task))

        self.loop.spawn(process, begin)

    def _worker_ended(
        self, slot: int, process: Process, finished: "asyncio.Future[None]", task: "asyncio.Task[object]"
    ) -> None:
        if process.dead:
            return
        error = None if task.cancelled() else task.exception()
        self.tell(f"{process.name} ends{'' if error is None else f' with {error!r}'}")
        process.dead = True
        if error is not None and not isinstance(error, (ShortdramaError, InjectedFailure)):
            self.fail(f"{process.name} ended with {error!r}")
        self._bereave(slot, finished)

    def _bereave(self, slot: int, finished: "asyncio.Future[None]") -> None:
        """A supervisor starts another one, after a while."""

        def again() -> None:
            if not finished.done():
                finished.set_result(None)
            self.start_worker(slot)

        self.loop.call_later(
            self.random.choice((0.2, 1.0, 6.0)), again, context=self.loop.context_of(self.loop.outside)
        )

    def kill(self, process: Process, why: str) -> None:
        if process.dead:
            return
        self.tell(f"{process.name} is killed {why}")
        self.loop.kill(process)
        for slot, worker in self.workers.items():
            if worker.process is process:
                self._bereave(slot, worker.finished)

    # --- what the world does to them ----------------------------------------------------------------------

    def reach(self, point: Point) -> None:
        """The handler of crash points."""
        process = current()
        if process is self.loop.outside:
            return
        process.check()
        nth = self.hits[point] = self.hits.get(point, 0) + 1
        if not self.armed:
            return
        for entry in self._crashes:
            name, action = entry.what.split()
            if name != point or entry.at != nth:
                continue
            self.fired.append(str(point))
            if action == "kill":
                self.kill(process, f"at {point}, visit {nth}")
                raise Killed(process.name)
            if action == "pause":
                self.tell(f"{process.name} stands still for {entry.more} ms at {point}")
                process.paused_until = self.loop.now_us + entry.more * 1000
            else:
                self.tell(f"{process.name} fails at {point}, visit {nth}")
                raise InjectedFailure(str(point))

    def _meets(self, writing: bool) -> str:
        if self.loop.now_us < self.away_until_us:
            return "refused"
        if not writing:
            return ""
        self.writes += 1
        trouble = "" if self.healed else self._db_troubles.get(self.writes, "")
        if trouble:
            self.tell(f"{current().name}: transaction {self.writes} {trouble}")
        return trouble

    def _disk_is_full(self) -> bool:
        self.puts += 1
        full = not self.healed and self.puts in self._disk
        if full:
            self.tell("the disk is full")
        return full

    def _committed(self, process: Process) -> None:
        self.commits += 1
        self.checker.after_commit(process.name, self.tell)
        for payload in self.line.notices:
            for listener, wake in self.listeners:
                if not listener.dead and self.random.random() < 0.9:
                    context = self.loop.context_of(listener)
                    self.loop.call_later(self.random.random() * 0.02, wake, payload, context=context)
        self.line.notices.clear()

    def _on_post(self, post: Post, raw: bytes, url: str) -> None:
        self.tell(f"a paid request arrives for {post.item}")
        digest = "sha256:" + hashlib.sha256(f"POST\n{url}\n".encode() + raw).hexdigest()
        self.checker.at_post(post, digest)
        for each in self.plan.of("away-post"):
            if each.at == len(self.vendor.posts) and not self.healed:
                self.tell(f"the database is away for {each.more} ms")
                self.away_until_us = self.loop.now_us + each.more * 1000

    def _on_callback(self, event: str, headers: Mapping[str, str], raw: bytes) -> None:
        now_s = self.loop.now_us // 1_000_000 + CALLBACK_EPOCH_S
        channel = self._channel_of(json.loads(raw)["id"])
        self.run(
            f"callback {event}",
            lambda studio: callbacks.receive(studio, channel, headers=headers, raw_body=raw, now_s=now_s),
        )

    def _channel_of(self, external_id: str) -> str:
        job = self.vendor.book.get(external_id)
        return job.item.split()[0] if job else "steady"

    def _stop(self, worker: _Worker) -> None:
        if hasattr(worker.engine, "shift"):
            self.loop.call_soon(worker.engine.stop, context=self.loop.context_of(worker.process))

    def _later(self, ms: int, work: Callable[[], object]) -> None:
        self.loop.call_later(ms / 1000, work, context=self.loop.context_of(self.loop.outside))

    def rows(self, query: str, **bound: object) -> list[dict[str, Any]]:
        return [dict(each) for each in self.line.connection.execute(sa.text(query), bound).mappings()]
