"""The work bench: what is accepted is made here, by two worker processes, short work first."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from multiprocessing import active_children, get_context
from pathlib import Path

from shortdrama_pipeline.rehearsal import answers, rendering
from shortdrama_pipeline.rehearsal.book import Book, Json, Request

WORKERS = 2
RENDER_TRIES = 2


@dataclass(order=True, slots=True)
class _Place:
    """A place in the queue: videos wait for what somebody holds a connection open for."""

    rank: int
    number: int
    request: Request = field(compare=False)
    done: asyncio.Future[Request] = field(compare=False)


class Bench:
    """Renders queued requests in order and records what became of them."""

    def __init__(self, book: Book, home: Path, *, on_change: Callable[[Request], None]) -> None:
        self._book = book
        self.inputs = home / "inputs"
        self.results = home / "results"
        self._on_change = on_change
        self._queue: asyncio.PriorityQueue[_Place] = asyncio.PriorityQueue()
        self._count = 0
        self._pool = self._new_pool()
        self._tasks: list[asyncio.Task[None]] = []
        for each in (self.inputs, self.results):
            each.mkdir(parents=True, exist_ok=True)

    def start(self) -> None:
        """Begin, with what an earlier server left unfinished: it is made again for free."""
        for request in self._book.unfinished():
            self.put(request)
        self._tasks = [asyncio.create_task(self._work()) for _ in range(WORKERS)]

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for worker in active_children():  # what they were at is made again at the next start
            worker.terminate()
        self._pool.shutdown(wait=True, cancel_futures=True)

    def put(self, request: Request) -> asyncio.Future[Request]:
        """Queue a request; the future holds it as it ended."""
        self._count += 1
        done: asyncio.Future[Request] = asyncio.get_running_loop().create_future()
        rank = 1 if request.kind == "video" else 0
        self._queue.put_nowait(_Place(rank, self._count, request, done))
        return done

    async def _work(self) -> None:
        while True:
            place = await self._queue.get()
            await self._make(place.request)
            ended = self._book.load(place.request.request_id)
            self._on_change(ended)
            if not place.done.done():
                place.done.set_result(ended)

    async def _make(self, request: Request) -> None:
        self._book.record_progress(request.request_id, status="running", progress=10)
        self._on_change(self._book.load(request.request_id))
        fate = None if request.fate is None else str(request.fate["fault"])
        if fate == "stall":
            return
        if fate in ("fail", "fail_charged"):
            charged_micros = request.charged_micros if fate == "fail_charged" else 0
            self._book.record_failure(
                request.request_id,
                code="generation_failed",
                message="The scripted fate of this job",
                charged_micros=charged_micros,
            )
            return
        try:
            facts = await self._render(request)
        except Exception as error:  # noqa: BLE001 - whatever broke, the job has ended and costs nothing
            self._book.record_failure(
                request.request_id, code="internal", message=str(error)[:500], charged_micros=0
            )
            return
        self._book.record_result(request.request_id, facts)
        if fate == "expire":
            self._book.record_progress(request.request_id, status="expired", progress=100)

    async def _render(self, request: Request) -> Json:
        target = answers.result_path(self.results, request)
        for _ in range(RENDER_TRIES - 1):
            try:
                return await self._in_pool(request, target)
            except BrokenProcessPool:  # a worker was killed: a new pool, and once more
                self._pool = self._new_pool()
        return await self._in_pool(request, target)

    async def _in_pool(self, request: Request, target: Path) -> Json:
        loop = asyncio.get_running_loop()
        arguments = (request.kind, request.params, self.inputs, target)
        return await loop.run_in_executor(self._pool, rendering.render, *arguments)

    @staticmethod
    def _new_pool() -> ProcessPoolExecutor:
        return ProcessPoolExecutor(
            WORKERS, mp_context=get_context("spawn"), initializer=rendering.prepare_worker
        )
