"""The product in the shape a harness of peers expects; `bench.peers` lays this file beside the others.

A task is one paid item: confirmed with its money, fenced, POSTed, asked about once, registered and charged.
"""

import asyncio
import tempfile
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from bench.kit import BINDING, BenchAdapter, furnish, make_binding, make_picture, plan
from bench.scenarios import confirm
from shortdrama_pipeline.media.object_store import LocalObjectStore
from shortdrama_pipeline.providers.ports import (
    AcceptedJob,
    Binding,
    CreateOutcome,
    Finished,
    HttpAnswer,
    HttpCall,
    Json,
    Output,
    QueryOutcome,
    ReadMedia,
    StillWorking,
)
from shortdrama_pipeline.services.context import Studio
from shortdrama_pipeline.services.draining import Engine, drain
from shortdrama_pipeline.settings import Settings
from shortdrama_pipeline.store import schema
from shortdrama_pipeline.store.database import Database

common: Any = import_module("common")
harness: Any = import_module("harness")
WARM_UP = 10**6  # the harness numbers its first calls from here
WARM_UPS = 8
Enqueue = Callable[[int], Awaitable[None]]


class _Adapter(BenchAdapter):
    """Speaks the harness's vendor: POST /jobs?k=NUMBER, GET /jobs/ID."""

    def build_create(
        self, binding: Binding, request: Json, *, client_id: str, read_media: ReadMedia
    ) -> HttpCall:
        return HttpCall("POST", f"/jobs?k={str(request['subject']).removeprefix('shot:s')}", {"x": 1}, 30)

    def read_create(self, answer: HttpAnswer) -> CreateOutcome:
        job = harness.json.loads(answer.body)["id"]
        return AcceptedJob(job, {"external_id": job})

    def build_query(self, binding: Binding, checkpoints: list[Json]) -> HttpCall:
        return HttpCall("GET", f"/jobs/{checkpoints[0]['external_id']}", None, 20)

    def read_query(self, answer: HttpAnswer, external_ids: list[str]) -> dict[str, QueryOutcome]:
        done = harness.json.loads(answer.body)["status"] == "succeeded"
        found: QueryOutcome = (
            Finished((Output(0, "image/png", sha256=self.sha256),), 10_000, "XRH")
            if done
            else StillWorking("running")
        )
        return dict.fromkeys(external_ids, found)


class Peer:
    """What `harness.drive` calls."""

    name = "product"
    version = version("shortdrama-pipeline")
    db = ""
    studio: Studio
    engine: Engine | None = None

    @property
    def done(self) -> int:
        return 10**9 if self.engine is None else self.engine.shift.count.settled

    async def create(self, arguments: Any) -> None:  # noqa: ANN401 - the harness's
        schema.upgrade(common.uri(self.db, "postgresql+psycopg"))
        await self.open(arguments)
        furnish(self.studio)
        self.studio.db.close()

    async def open(self, arguments: Any) -> None:  # noqa: ANN401
        self.arguments = arguments
        home = Path(tempfile.mkdtemp(prefix="shortdrama-peer-"))
        objects = LocalObjectStore(home / "media")
        (home / "key").write_text("bench-key")
        self.studio = Studio(
            Settings(home=home),
            Database(common.uri(self.db, "postgresql+psycopg"), pool_size=arguments.pool),
            objects,
            {BINDING: make_binding(common.BASE, home / "key")},
            {"bench": _Adapter(make_picture(objects, home), batch=1)},
        )

    async def clients(self, count: int) -> list[Enqueue]:
        """Quotes are made before the clock runs; a call is a person's confirm, with all its money rows."""
        loop, threads = asyncio.get_running_loop(), ThreadPoolExecutor(count)
        if self.arguments.mode == "fill":
            quote_id, calls = plan(self.studio, self.arguments.n).quote_id, iter(range(self.arguments.n))

            async def fill(_number: int) -> None:
                if next(calls) == self.arguments.n - 1:
                    await loop.run_in_executor(threads, confirm, self.studio, quote_id)

            return [fill] * count
        numbers = [*range(self.arguments.n), *range(WARM_UP, WARM_UP + WARM_UPS)]
        quotes = {number: plan(self.studio, 1, start=number).quote_id for number in numbers}

        async def enqueue(number: int) -> None:
            await loop.run_in_executor(threads, confirm, self.studio, quotes[number])

        return [enqueue] * count

    async def start_worker(self, in_flight: int, _pool: int) -> None:
        started = threading.Event()

        def begin(engine: Engine) -> None:
            self.engine = engine
            started.set()

        self.worker = threading.Thread(
            target=lambda: drain(self.studio, worker="product", follow=True, limit=in_flight, on_start=begin)
        )
        self.worker.start()
        await asyncio.to_thread(started.wait)

    async def stop_worker(self) -> None:
        assert self.engine is not None
        self.engine.stop()
        await asyncio.to_thread(self.worker.join)

    async def completed(self) -> int:
        def look() -> int:
            with self.studio.db.read() as tx:
                settled = sa.text("select count(*) from reservations where state = 'settled'")
                return int(tx.execute(settled).scalar_one())

        return await asyncio.to_thread(look)


if __name__ == "__main__":
    harness.main(Peer())
