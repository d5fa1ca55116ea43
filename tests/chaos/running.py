"""One run: furnish, set fire, buy, wait until nothing moves by itself, put out, close the books."""

import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import httpx
import sqlalchemy as sa

from shortdrama_pipeline.errors import Outside, StaleState
from shortdrama_pipeline.rehearsal import serving
from shortdrama_pipeline.services.context import Studio
from shortdrama_pipeline.services.opening import open_studio
from shortdrama_pipeline.settings import load
from shortdrama_pipeline.store import server
from tests.chaos import orders
from tests.chaos.closing import Closing, close
from tests.chaos.processes import Dev, Postgres, Worker, kill_one

WORKERS = 2
READY_S_MAX = 240
BIRTH_S = 2.0
LOOK_S = 0.5


@dataclass(frozen=True, slots=True)
class Fire:
    """How it burns. Spans are seconds between two blows, drawn anew each time.

    All of it is meant for a machine on which a worker is at work within two seconds; on a slower one every
    span is as much longer as its first worker takes longer. The closing figures say by how much.
    """

    seed: int = 1
    items: int = 2_000
    seconds: int = 120  # how long it burns at least; orders keep coming for most of it
    seconds_max: int = 360  # and at most, until nine of ten items are done
    calm_s_max: int = 240  # afterwards: how long until nothing may move by itself any more
    kill_every_s: tuple[float, float] = (1.0, 3.0)
    restart_every_s: tuple[float, float] = (10.0, 20.0)
    daemon_every_s: tuple[float, float] = (15.0, 30.0)
    dagster: bool = True

    def slowed(self, times: float) -> "Fire":
        """Return the same fire for a machine so many times slower."""

        def longer(span: tuple[float, float]) -> tuple[float, float]:
            return span[0] * times, span[1] * times

        return replace(
            self,
            seconds=round(self.seconds * times),
            seconds_max=round(self.seconds_max * times),
            calm_s_max=round(self.calm_s_max * times),
            kill_every_s=longer(self.kill_every_s),
            restart_every_s=longer(self.restart_every_s),
            daemon_every_s=longer(self.daemon_every_s),
        )


@dataclass(slots=True)
class Report:
    """What was done, and how the books closed."""

    fire: Fire
    closing: Closing
    seconds: float = 0.0
    slowness: float = 1.0
    worker_kills: int = 0
    workers_born: int = 0
    workers_stillborn: int = 0
    postgres_restarts: dict[str, int] = field(default_factory=dict)
    daemon_kills: int = 0
    dagster_runs: dict[str, int] = field(default_factory=dict)

    @property
    def violations(self) -> list[str]:
        return self.closing.violations

    def to_json(self) -> dict[str, object]:
        return {
            "seed": self.fire.seed,
            "seconds": round(self.seconds, 1),
            "slowness": round(self.slowness, 1),
            "worker_kills": self.worker_kills,
            "workers_born": self.workers_born,
            "workers_stillborn": self.workers_stillborn,
            "postgres_restarts": self.postgres_restarts,
            "daemon_kills": self.daemon_kills,
            "dagster_runs": self.dagster_runs,
            **self.closing.to_json(),
        }


def burn(fire: Fire, home: Path, *, tell: Callable[[str], None]) -> Report:
    """Run it all in `home`; nothing is left running, whatever happens."""
    started = time.monotonic()
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    (home / "logs").mkdir(mode=0o700, exist_ok=True)
    studio = open_studio(load(home, None, environment={}))
    problems: list[str] = []
    report = Report(fire, Closing())
    try:
        with _vendor(home), _dagster(fire, home, report, problems) as dev:
            _buy_and_wait(fire, home, studio, dev, report, problems, tell=tell)
        server.start(home)
        report.dagster_runs = _dagster_runs(home) if fire.dagster else {}
        report.closing = close(studio, home / "rehearsal" / "book.sqlite", items=fire.items)
    finally:
        studio.db.close()
        server.stop(home)
    report.violations[:0] = problems
    report.seconds = time.monotonic() - started
    return report


@contextmanager
def _vendor(home: Path) -> Iterator[None]:
    """The provider, in a process nobody strikes: its book is what all is measured by."""
    folder = home / "rehearsal"
    with (home / "logs" / "vendor.log").open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.chaos.vendor", str(folder)], stdout=log, stderr=log
        )
    pause = threading.Event()
    try:
        while serving.find(folder) is None:
            if process.poll() is not None:
                raise AssertionError((home / "logs" / "vendor.log").read_text())
            pause.wait(0.1)
        httpx.post(
            f"{serving.find(folder)}/v1/rehearsal/faults",
            json={"rules": orders.FAULTS},
            headers={"Authorization": f"Bearer {serving.ensure_key(folder)}"},
            trust_env=False,
        ).raise_for_status()
        yield
    finally:
        process.terminate()
        process.wait(timeout=30)


@contextmanager
def _dagster(fire: Fire, home: Path, report: Report, problems: list[str]) -> Iterator[Dev | None]:
    """`shortdrama dev` with Dagster's page and daemon; or nothing."""
    if not fire.dagster:
        yield None
        return
    dev = Dev(home)
    dev.start(seconds_max=READY_S_MAX)
    try:
        yield dev
    finally:
        gone = dev.process.poll() is not None
        code = dev.stop()
        if gone or code:
            problems.append(f"dev {'gave up' if gone else 'ended'} with {code}: {''.join(dev.said)[-800:]}")
        report.daemon_kills = dev.daemon_kills


def _buy_and_wait(
    fire: Fire,
    home: Path,
    studio: Studio,
    dev: Dev | None,
    report: Report,
    problems: list[str],
    *,
    tell: Callable[[str], None],
) -> None:
    chance = random.Random(f"{fire.seed}:orders")
    wanted = orders.draw_orders(orders.furnish(studio), items=fire.items, chance=chance)
    workers = [Worker(home, number) for number in range(WORKERS)]
    postgres = Postgres(home)
    report.slowness = _start(workers)
    fire = fire.slowed(report.slowness)
    tell(f"a worker was at work after {report.slowness * BIRTH_S:.1f} s")
    blows = [
        _Blows(fire, "workers", fire.kill_every_s, lambda dice: kill_one(workers, dice)),
        _Blows(fire, "postgres", fire.restart_every_s, postgres.restart),
    ]
    if dev is not None:
        blows.append(_Blows(fire, "daemon", fire.daemon_every_s, lambda _: dev.kill_daemon()))
    try:
        for blow in blows:
            blow.start()
        _buy(studio, wanted, fire, chance, tell=tell)
        for blow in blows:
            problems += blow.end()
        tell("the fire is out; waiting until nothing moves by itself")
        if not _await_rest(studio, workers, seconds_max=fire.calm_s_max):
            problems.append(f"work still moved {fire.calm_s_max} s after the fire")
    finally:
        for blow in blows:
            blow.end()
        codes = [each.stop() for each in workers]
    problems += [f"a worker ended with {code} when asked to stop" for code in codes if code]
    problems += [f"a worker gave up with {code}" for each in workers for code in each.gave_up]
    report.worker_kills = sum(each.kills for each in workers)
    report.workers_born = sum(each.births for each in workers)
    report.workers_stillborn = sum(len(each.stillborn) for each in workers)
    report.postgres_restarts = postgres.restarts


def _start(workers: list[Worker]) -> float:
    """Start the workers and return how many times slower than meant the first of them came to work."""
    started, pause = time.monotonic(), threading.Event()
    for each in workers:
        each.start()
    while not any(each.at_work for each in workers) and time.monotonic() - started < READY_S_MAX:
        pause.wait(0.05)
    took = time.monotonic() - started
    while not all(each.at_work for each in workers) and time.monotonic() - started < READY_S_MAX:
        pause.wait(0.05)
    return max(1.0, took / BIRTH_S)


def _buy(
    studio: Studio,
    wanted: list[orders.Order],
    fire: Fire,
    chance: random.Random,
    *,
    tell: Callable[[str], None],
) -> None:
    """Place the orders evenly over the first three quarters of the fire, then let it burn on."""
    started, stop = time.monotonic(), threading.Event()
    for number, order in enumerate(wanted):
        due = started + fire.seconds * 0.75 * number / len(wanted)
        stop.wait(max(0.0, due - time.monotonic()))
        orders.place(studio, order, chance=chance, stop=stop)
        if number % 20 == 0:
            tell(f"{round(time.monotonic() - started)} s: order {number + 1} of {len(wanted)}")
    while (burnt := time.monotonic() - started) < fire.seconds_max:
        if burnt >= fire.seconds and _succeeded(studio) * 10 >= fire.items * 9:
            break
        stop.wait(1)
    tell(f"{round(burnt)} s: {_succeeded(studio)} of {fire.items} are done")


def _succeeded(studio: Studio) -> int:
    """How many items are delivered; none to be seen while the database is away."""
    try:
        with studio.db.read() as tx:
            return int(
                tx.execute(sa.text("select count(*) from tasks where state = 'succeeded'")).scalar_one()
            )
    except (Outside, StaleState):
        return 0


def _await_rest(studio: Studio, workers: list[Worker], *, seconds_max: int) -> bool:
    """Wait until every task has ended or waits for a person, and no money waits."""
    query = sa.text(
        "select (select count(*) from tasks where state in ('queued', 'running', 'waitingProvider',"
        " 'ingesting') or state = 'needsReconciliation' and next_action_at < clock_timestamp()"
        " + interval '60 s') + (select count(*) from reservations where state = 'settlementPending')"
    )
    ends, pause = time.monotonic() + seconds_max, threading.Event()
    while time.monotonic() < ends:
        for each in workers:
            each.look()
        try:
            with studio.db.read() as tx:
                if not tx.execute(query).scalar_one():
                    return True
        except (Outside, StaleState):
            pass  # the last blow may still be felt
        pause.wait(LOOK_S)
    return False


def _dagster_runs(home: Path) -> dict[str, int]:
    found = server.find(home)
    assert found is not None
    engine = sa.create_engine(found.url("dagster"), poolclass=sa.NullPool)
    with engine.connect() as connection:
        rows = connection.execute(sa.text("select status, count(*) from runs group by 1 order by 1"))
        return {str(status): int(n) for status, n in rows}


class _Blows:
    """A thread that strikes again and again, at times drawn from the seed."""

    def __init__(
        self, fire: Fire, name: str, span: tuple[float, float], strike: Callable[[random.Random], object]
    ) -> None:
        self._dice = random.Random(f"{fire.seed}:{name}")
        self._span = span
        self._strike = strike
        self._name = name
        self._stop = threading.Event()
        self._failed: list[str] = []
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def _run(self) -> None:
        while not self._stop.wait(self._dice.uniform(*self._span)):
            try:
                self._strike(self._dice)
            except Exception as error:  # noqa: BLE001 - told at the end; the fire burns on
                self._failed.append(f"{self._name}: {type(error).__name__}: {error}")

    def end(self) -> list[str]:
        """Stop and return what went wrong with the blows themselves, once."""
        self._stop.set()
        self._thread.join(timeout=120)
        failed, self._failed = self._failed, []
        return failed
