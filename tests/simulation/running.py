"""Many schedules, one after the other; a failing one is shrunk and told."""

import gc
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.simulation.database import Line, prepare
from tests.simulation.furnishing import furnish
from tests.simulation.plan import POINTS, Plan, draw, shrink
from tests.simulation.playing import Outcome, play

SWEEP_EVERY = 40


_SUMS = (
    "schedules", "delivered_any", "delivered_all", "tasks", "delivered", "virtual_s", "cpu_s",
    "database_cpu_s",
)  # fmt: skip


@dataclass(slots=True)
class Tally:
    """What a run of schedules did."""

    schedules: int = 0
    delivered_any: int = 0
    delivered_all: int = 0
    tasks: int = 0
    delivered: int = 0
    fired: dict[str, int] = field(default_factory=dict)
    faults: dict[str, int] = field(default_factory=dict)
    states: dict[str, int] = field(default_factory=dict)
    seconds: list[float] = field(default_factory=list)
    virtual_s: int = 0
    cpu_s: float = 0  # of this program
    database_cpu_s: float = 0
    failed: list[Outcome] = field(default_factory=list)
    broken: bool = False  # a part of the run did not come to its end, or failed in another process

    def add(self, outcome: Outcome, seconds: float) -> None:
        self.schedules += 1
        self.delivered_any += outcome.delivered > 0
        self.delivered_all += 0 < outcome.delivered == outcome.tasks
        self.tasks += outcome.tasks
        self.delivered += outcome.delivered
        self.virtual_s += outcome.virtual_s
        self.seconds.append(seconds)
        for point in set(outcome.fired):
            self.fired[point] = self.fired.get(point, 0) + 1
        for mine, theirs in ((self.faults, outcome.faults), (self.states, outcome.states)):
            for name, times in theirs.items():
                mine[name] = mine.get(name, 0) + times
        if outcome.failure:
            self.failed.append(outcome)

    def take(self, part: "Tally") -> None:
        """Add what another process did."""
        for name in _SUMS:
            setattr(self, name, getattr(self, name) + getattr(part, name))
        self.seconds += part.seconds
        for mine, theirs in (
            (self.fired, part.fired),
            (self.faults, part.faults),
            (self.states, part.states),
        ):
            for name, times in theirs.items():
                mine[name] = mine.get(name, 0) + times


class Stage:
    """One database and one disk, used again and again."""

    def __init__(self, url: str, place: Path) -> None:
        prepare(url)
        self.line = Line(url, lambda: 0)
        self._place = place
        furnish(self.line, place)
        gc.disable()  # rubbish is swept between schedules
        self._played = 0

    def clean(self) -> None:
        """Now and then, between schedules."""
        self._played += 1
        if self._played % SWEEP_EVERY == 1:
            self.line.sweep()
            gc.collect()
            gc.freeze()

    def play(self, plan: Plan) -> Outcome:
        return play(plan, self.line, self._place)


@contextmanager
def stage(url: str) -> Iterator[Stage]:
    place = Path(
        tempfile.mkdtemp(prefix="shortdrama-sim-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None)
    )
    try:
        built = Stage(url, place)
        yield built
        built.line.close()
    finally:
        shutil.rmtree(place, ignore_errors=True)


def run_many(built: Stage, seed: int, numbers: range, *, tell: Callable[[str], None]) -> Tally:
    tally = Tally()
    for number in numbers:
        began, cpu_s, database_cpu_s = time.perf_counter(), time.process_time(), built.line.cpu_s()
        built.clean()
        database_cpu_s = min(database_cpu_s, built.line.cpu_s())  # a new connection begins at nothing
        outcome = built.play(draw(seed, number))
        tally.add(outcome, time.perf_counter() - began)
        tally.cpu_s += time.process_time() - cpu_s
        tally.database_cpu_s += built.line.cpu_s() - database_cpu_s
        if outcome.failure:
            tell(f"schedule {outcome.plan.seed} failed: {outcome.failure}")
    return tally


def shortest(built: Stage, outcome: Outcome, *, tries_max: int = 150) -> Outcome:
    """Leave out whatever the failure does not need."""
    best, tries = outcome, 0
    kind = _kind(outcome.failure)
    smaller = True
    while smaller and tries < tries_max:
        smaller = False
        for dropped in shrink(best.plan.entries):
            tries += 1
            built.clean()
            found = built.play(best.plan.without(dropped))
            if found.failure and _kind(found.failure) == kind:
                best, smaller = found, True
                break
            if tries >= tries_max:
                break
    return best


def _kind(failure: str) -> str:
    return failure.split(":", maxsplit=1)[0][:40]


def report(tally: Tally) -> str:
    """The figures of a run, for people."""
    n = max(1, tally.schedules)
    ms = sorted(each * 1000 for each in tally.seconds)
    fired = ", ".join(f"{each} {tally.fired.get(each, 0)}" for each in POINTS)
    lines = [
        f"{tally.schedules} schedules, {tally.virtual_s} virtual seconds, {len(tally.failed)} failed",
        (
            f"ms per schedule: mean {sum(ms) / n:.0f}, median {ms[n // 2]:.0f}, longest {ms[-1]:.0f};"
            f" processor {(tally.cpu_s + tally.database_cpu_s) * 1000 / n:.0f}, of them database"
            f" {tally.database_cpu_s * 1000 / n:.0f}"
        ),
        (
            f"delivered: something in {tally.delivered_any * 100 // n} %, everything in"
            f" {tally.delivered_all * 100 // n} % of schedules; {tally.delivered} of {tally.tasks} tasks"
        ),
        "tasks ended: " + ", ".join(f"{name} {times}" for name, times in sorted(tally.states.items())),
        f"crash points fired in schedules: {fired}",
        "vendor faults: " + ", ".join(f"{name} {times}" for name, times in sorted(tally.faults.items())),
    ]
    return "\n".join(lines)


def why_void(tally: Tally) -> list[str]:
    """A run that hardly delivered, or did not crash where it should, has shown nothing."""
    n = tally.schedules
    found = ["a part of it failed"] if tally.broken else []
    if tally.delivered_any < n * 0.4:
        found.append(f"only {tally.delivered_any} of {n} schedules delivered")
    found += [
        f"{each} fired in {tally.fired.get(each, 0)} of {n} schedules"
        for each in POINTS
        if tally.fired.get(each, 0) * 50 < n
    ]
    return found


def story(outcome: Outcome) -> str:
    """A failing schedule, readable."""
    return "\n".join(
        [
            f"seed {outcome.plan.seed}: {outcome.failure}",
            "planned:",
            *(f"  {each}" for each in outcome.plan.entries),
            "happened:",
            *(f"  {each}" for each in outcome.history),
        ]
    )
