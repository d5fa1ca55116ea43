"""Put a world in the place of network, clock, chance and wake-ups, and take it away again."""

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from random import Random
from typing import TypeVar

import pytest

from shortdrama_pipeline import crashpoints, ids
from shortdrama_pipeline.crashpoints import Point
from shortdrama_pipeline.providers import transport
from shortdrama_pipeline.services import draining, health, waking
from shortdrama_pipeline.services.safety import Fences
from tests.simulation.loop import Process, SimLoop, current
from tests.simulation.vendor import CreateWire, FetchWire, SimVendor

BORN_MS = 1_785_715_200_000
FALLBACK_S = 5  # a second in production; nothing is lost but statements
Wake = Callable[[str], None]
R = TypeVar("R")


class AtOnce(Executor):
    """Hands of the health probe, which wait for nobody."""

    def __init__(self, *_: object, **__: object) -> None:
        super().__init__()

    def submit(self, work: Callable[..., R], /, *arguments: object, **more: object) -> Future[R]:
        done: Future[R] = Future()
        try:
            done.set_result(work(*arguments, **more))
        except Exception as error:  # noqa: BLE001 - it is the asking caller's
            done.set_exception(error)
        return done


@contextmanager
def placed(
    loop: SimLoop,
    vendor: SimVendor,
    *,
    seed: str,
    listeners: list[tuple[Process, Wake]],
    reach: Callable[[Point], None],
) -> Iterator[None]:
    """For as long as the schedule plays."""
    born = Random(f"{seed} ids")

    def draw() -> int:
        return (BORN_MS + loop.now_us // 1000) << 80 | born.getrandbits(80)

    class SimListener:
        """Hears what `announce` says, as LISTEN does."""

        def __init__(self, _db: object, wake: Wake) -> None:
            self._entry = (current(), wake)

        def __enter__(self) -> None:
            listeners.append(self._entry)

        def __exit__(self, *_: object) -> None:
            listeners.remove(self._entry)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ids, "source", draw)
        patch.setattr(asyncio, "run", loop.run_nested)
        patch.setattr(draining, "Listener", SimListener)
        patch.setattr(draining, "FALLBACK_S", FALLBACK_S)
        patch.setattr(waking, "GAP_MS_MIN", 0)
        patch.setattr(Fences.__init__, "__kwdefaults__", {"clock_ms": lambda: loop.now_us // 1000})
        patch.setattr(health, "ThreadPoolExecutor", AtOnce)
        patch.setattr(transport.WIRES, "create", lambda _url: CreateWire(vendor))
        patch.setattr(transport.WIRES, "query", lambda _url: CreateWire(vendor))
        patch.setattr(transport.WIRES, "fetch", lambda _url: FetchWire(vendor))
        crashpoints.arm(reach)
        try:
            yield
        finally:
            crashpoints.arm(None)
