"""Put a world in the place of network, clock, chance and wake-ups, and take it away again."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random

import pytest

from shortdrama_pipeline import crashpoints, ids
from shortdrama_pipeline.crashpoints import Point
from shortdrama_pipeline.providers import transport
from shortdrama_pipeline.services import draining, waking
from tests.simulation.loop import Process, SimLoop, current
from tests.simulation.vendor import CreateWire, FetchWire, SimVendor

BORN_MS = 1_785_715_200_000
FALLBACK_S = 5  # a second in production; nothing is lost but statements
Wake = Callable[[str], None]


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
        patch.setattr(transport.WIRES, "create", lambda _url: CreateWire(vendor))
        patch.setattr(transport.WIRES, "query", lambda _url: CreateWire(vendor))
        patch.setattr(transport.WIRES, "fetch", lambda _url: FetchWire(vendor))
        crashpoints.arm(reach)
        try:
            yield
        finally:
            crashpoints.arm(None)
