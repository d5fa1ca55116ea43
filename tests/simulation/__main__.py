"""`python -m tests.simulation --seed N`: see the package."""

import argparse
import json
import logging
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path

import sqlalchemy as sa

from shortdrama_pipeline.store import server
from tests.simulation.plan import draw
from tests.simulation.running import Tally, report, run_many, shortest, stage, story, why_void

FAST = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", "autovacuum": "off"}


def main() -> int:
    ask = argparse.ArgumentParser(prog="python -m tests.simulation")
    ask.add_argument("--seed", type=int, default=1)
    ask.add_argument("--first", type=int, default=0, help="number of the first schedule")
    ask.add_argument("--schedules", type=int, default=300)
    ask.add_argument("--only", type=int, help="play this one schedule and tell its history")
    ask.add_argument("--jobs", type=int, default=1, help="processes, each with a database of its own")
    ask.add_argument("--url", help="an empty database; without one a server is started")
    ask.add_argument("--tally", type=Path, help="write the figures there instead of judging them")
    given = ask.parse_args()
    if os.environ.get("PYTHONHASHSEED") != "0":  # the order of sets is part of a history
        again = [sys.executable, "-m", "tests.simulation", *sys.argv[1:]]
        os.execve(again[0], again, {**os.environ, "PYTHONHASHSEED": "0"})
    logging.getLogger("shortdrama").setLevel(logging.CRITICAL)
    with ExitStack() as stack:
        url = given.url or stack.enter_context(_server())
        if given.jobs > 1:
            tally = _share(url, given.seed, given.first, given.schedules, jobs=given.jobs)
            return _judge(tally)
        built = stack.enter_context(stage(url))
        if given.only is not None:
            outcome = built.play(draw(given.seed, given.only))
            tell(story(outcome))
            return int(bool(outcome.failure))
        numbers = range(given.first, given.first + given.schedules)
        tally = run_many(built, given.seed, numbers, tell=tell)
        for each in tally.failed[:1]:
            tell(story(shortest(built, each)))
        if given.tally is not None:
            given.tally.write_text(json.dumps({**asdict(tally), "failed": []}))
            return len(tally.failed) > 0
        return _judge(tally)


def _judge(tally: Tally) -> int:
    tell(report(tally))
    void = why_void(tally)
    if void:
        tell("void: " + "; ".join(void))
    return int(bool(tally.failed or void))


def _share(url: str, seed: int, first: int, schedules: int, *, jobs: int) -> Tally:
    """Let several processes play a part each, and add up what they did."""
    part = -(-schedules // jobs)
    whole, failed = Tally(), False
    with tempfile.TemporaryDirectory() as folder:
        running = []
        for number in range(jobs):
            begin, end = first + number * part, min(first + schedules, first + (number + 1) * part)
            words = ["--seed", str(seed), "--first", str(begin), "--schedules", str(end - begin)]
            words += ["--url", _own_database(url, number), "--tally", f"{folder}/{number}"]
            running.append(subprocess.Popen([sys.executable, "-m", "tests.simulation", *words]))
        for number, process in enumerate(running):
            failed = process.wait() != 0 or failed
            place = Path(folder, str(number))
            if place.exists():
                whole.take(Tally(**json.loads(place.read_text())))
    whole.broken = failed
    return whole


def _own_database(url: str, number: int) -> str:
    engine = sa.create_engine(url, poolclass=sa.NullPool, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.exec_driver_sql(f"create database simulation_{number}")
    own = sa.make_url(url).set(database=f"simulation_{number}")
    return own.render_as_string(hide_password=False)


@contextmanager
def _server() -> Iterator[str]:
    """A server of our own, whose database nobody has used."""
    with tempfile.TemporaryDirectory(prefix="simulation-") as home:
        started = server.start(Path(home), settings=FAST)
        try:
            yield started.url()
        finally:
            server.stop(Path(home))
            shutil.rmtree(started.place, ignore_errors=True)


def tell(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
