"""64 threads that start together at a barrier, round after round."""

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Self, TypeVar

from shortdrama_pipeline.services.context import Studio

RACERS = 64
ROUNDS = int(os.environ.get("SHORTDRAMA_RACING_ROUNDS", "4"))
R = TypeVar("R")


class Racers:
    """`studio` has a connection for each of them."""

    def __init__(self, studio: Studio) -> None:
        self.studio = studio
        self._pool = ThreadPoolExecutor(RACERS, thread_name_prefix="racer")
        self._gate = threading.Barrier(RACERS)

    def __enter__(self) -> Self:
        self.race(lambda _racer: self._open())  # all connections stand before the first start
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(wait=True)

    def race(self, act: Callable[[int], R]) -> list[R]:
        """Let all act at once; returns what each got, in the order of the racers."""

        def run(racer: int) -> R:
            self._gate.wait(60)
            return act(racer)

        return list(self._pool.map(run, range(RACERS)))

    def _open(self) -> None:
        with self.studio.db.read():
            self._gate.wait(60)
