"""The course of a schedule: trouble, then none any more, rest, recovery, and the final count."""

import asyncio
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from tests.simulation.acting import Scene
from tests.simulation.database import Line
from tests.simulation.furnishing import (
    ADAPTERS,
    binding_of,
)
from tests.simulation.placing import placed
from tests.simulation.plan import BINDINGS, Plan
from tests.simulation.vendor import KEY
from tests.simulation.world import WORKERS_MAX

BUSY_S_MAX = 150  # of virtual time, until everything should have come to rest
ROUNDS_MAX = 12
_AT_REST = """
select exists (select 1 from tasks t join reservations r using (task_id)
  where t.state in ('running', 'waitingProvider', 'ingesting') or r.state = 'settlementPending'
  or (t.state = 'queued' and (t.hold_reason is null or {healed}))
  or (t.state = 'needsReconciliation'
      and t.next_action_at <= sim.clock_timestamp() + interval '12 seconds'))
"""


@dataclass(slots=True)
class Outcome:
    """How a schedule went. `failure` is empty when everything held."""

    plan: Plan
    failure: str = ""
    history: list[str] = field(default_factory=list)
    states: dict[str, int] = field(default_factory=dict)
    tasks: int = 0
    delivered: int = 0
    fired: list[str] = field(default_factory=list)
    faults: dict[str, int] = field(default_factory=dict)
    steps: int = 0
    commits: int = 0
    virtual_s: int = 0


class Course(Scene):
    """See the module."""

    # --- the course ---------------------------------------------------------------------------------------

    async def play(self) -> None:
        timed = [
            each
            for each in self.plan.entries
            if each.kind
            in {"order", "worker", "person", "away", "kill", "pause", "stop", "recover", "key", "deploy"}
        ]
        for entry in timed:
            self._later(entry.at, partial(self.happen, entry))
        last_s = max((each.at for each in timed), default=0) / 1000
        await asyncio.sleep(last_s + 0.5)
        heal_at = self.loop.time() + 30
        await self._rest(until_s=heal_at)
        self._heal()
        if not await self._rest(until_s=self.loop.time() + BUSY_S_MAX):
            self.fail("it did not come to rest")
            return
        await self._close_workers()
        await self._rounds()

    async def _rest(self, *, until_s: float) -> bool:
        """Wait until nothing moves by itself any more, except slowly."""
        for _ in range(int(until_s - self.loop.time()) + 1):
            if self._at_rest():
                return True
            await asyncio.sleep(1)
        return False

    def _heal(self) -> None:
        """From now on nothing goes wrong any more."""
        self.healed = True
        self.tell("from now on nothing goes wrong")
        self.vendor.healed = True
        self.away_until_us = 0
        self._find_key()
        self.adapters = dict(ADAPTERS)
        for process in self.loop.processes:
            process.paused_until = min(process.paused_until, self.loop.now_us)
        self.bindings = {each: binding_of(each, self.home) for each in BINDINGS}
        if not self.workers or all(each.process.dead for each in self.workers.values()):
            self.started = min(self.started, WORKERS_MAX - 1)
            self.start_worker(99)
        for task in self.rows("select task_id from tasks where state = 'queued' and hold_reason is not null"):
            self.act("release", task["task_id"])

    def _at_rest(self) -> bool:
        """Nothing moves by itself any more, except slowly."""
        if self._running or (self.healed and all(each.process.dead for each in self.workers.values())):
            return False
        return self.line.ask(_AT_REST.format(healed=str(self.healed).lower()))[0] == ["f"]

    async def _close_workers(self) -> None:
        self.closing = True
        alive = [each for each in self.workers.values() if not each.process.dead]
        for worker in alive:
            self._stop(worker)
        if alive:
            await asyncio.wait([each.finished for each in alive], timeout=120)
        still = [each.process.name for each in alive if not each.process.dead]
        if still:
            self.fail(f"{', '.join(still)} did not stop")

    async def _rounds(self) -> None:
        """Let recovery look until nothing comes any more; then once again, which must change nothing."""
        for _ in range(ROUNDS_MAX):
            pause_s = self._until_next()
            if pause_s is None:
                break
            await asyncio.sleep(pause_s)
            self.tell("recovery looks")
            before = self.checker.fingerprint()
            await self.act("recover", "")
            if self.checker.fingerprint() == before and pause_s > 100:
                break
        self.armed = False
        await self.act("recover", "")
        before = self.checker.snapshot()
        await self.act("recover", "")
        after = self.checker.snapshot()
        if before != after:
            self.fail(f"V-15: a second recovery pass changed {_difference(before, after)}")
        self.checker.at_end(self.home)

    def _until_next(self) -> float | None:
        """Until somebody must look again at something; None when nothing is left."""
        found = self.rows("""
            select extract(epoch from min(at) - sim.clock_timestamp())::float as seconds from (
              select next_action_at as at from tasks where state not in ('succeeded', 'failed', 'cancelled')
              union all select next_action_at from late_results where ended_at is null) due""")[0]["seconds"]
        return None if found is None else max(0.01, min(float(found) + 0.01, 3_600))


def play(plan: Plan, line: Line, place: Path) -> Outcome:
    """Play one schedule from its beginning to its end, and leave nothing behind."""
    home = place / "home"
    home.mkdir(mode=0o700)
    (home / "key").write_text(KEY)
    with line.schedule():
        world = Course(plan, line, home)
        with placed(world.loop, world.vendor, seed=plan.seed, listeners=world.listeners, reach=world.reach):
            try:
                world.loop.run_until_complete(world.play())
            except RuntimeError:
                if not world.loop.failure:
                    raise
            finally:
                world.loop.bury()
        outcome = _outcome(world)
    world.loop.close()
    shutil.rmtree(home)
    return outcome


def _outcome(world: Course) -> Outcome:
    broken = world.line.broken
    found = [] if broken else world.rows("select state, count(*) as n from tasks group by 1 order by 1")
    states = {str(each["state"]): int(each["n"]) for each in found}
    return Outcome(
        plan=world.plan,
        failure=broken or world.loop.failure,
        history=world.history,
        states=states,
        tasks=sum(states.values()),
        delivered=states.get("succeeded", 0),
        fired=world.fired,
        faults=world.vendor.hits,
        steps=world.loop.steps,
        commits=world.commits,
        virtual_s=world.loop.now_us // 1_000_000,
    )


def _difference(before: Mapping[str, object], after: Mapping[str, object]) -> str:
    return ", ".join(each for each in before if before[each] != after[each])
