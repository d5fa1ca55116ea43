"""Processes that race for ids: each opens the studio's database by itself, all start at one barrier."""

import multiprocessing
import os
import signal
from collections.abc import Sequence
from datetime import datetime
from multiprocessing.synchronize import Barrier
from pathlib import Path

from shortdrama_pipeline.errors import ShortdramaError
from shortdrama_pipeline.media.object_store import LocalObjectStore
from shortdrama_pipeline.services.allocating import allocate
from shortdrama_pipeline.services.context import Studio
from shortdrama_pipeline.settings import Settings
from shortdrama_pipeline.store.database import Database

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["pytest", "tests.allocation.racing"])


def bare_studio(db: Database, home: Path) -> Studio:
    """A studio without any provider, as allocation needs it (A-18)."""
    return Studio(Settings(home=home), db, LocalObjectStore(home / "media"), {}, {})


def race(url: str, home: Path, runs: Sequence[tuple[str, datetime]]) -> list[str]:
    """Allocate every (key, time) in a process of its own, all at once; return ids or error codes in order."""
    barrier = CONTEXT.Barrier(len(runs))
    answers = CONTEXT.SimpleQueue()
    racers = [
        CONTEXT.Process(target=_run, args=(url, home, run, barrier, answers, place))
        for place, run in enumerate(runs)
    ]
    for racer in racers:
        racer.start()
    found = dict(answers.get() for _ in racers)
    for racer in racers:
        racer.join()
    return [found[place] for place in range(len(runs))]


def allocate_and_die(url: str, home: Path, run: tuple[str, datetime]) -> int | None:
    """Allocate in another process that is killed before it can tell; return its exit code."""
    doomed = CONTEXT.Process(target=_allocate_and_die, args=(url, home, run))
    doomed.start()
    doomed.join()
    return doomed.exitcode


def _run(
    url: str,
    home: Path,
    run: tuple[str, datetime],
    barrier: Barrier,
    answers: "multiprocessing.SimpleQueue[tuple[int, str]]",
    place: int,
) -> None:
    db = Database(url, pool_size=1)
    with db.read():
        barrier.wait()
    try:
        answer = allocate(bare_studio(db, home), key=run[0], at=run[1], actor="person:racer").episode_id
    except ShortdramaError as error:
        answer = error.code
    answers.put((place, answer))
    db.close()


def _allocate_and_die(url: str, home: Path, run: tuple[str, datetime]) -> None:
    allocate(bare_studio(Database(url), home), key=run[0], at=run[1], actor="person:doomed")
    os.kill(os.getpid(), signal.SIGKILL)
