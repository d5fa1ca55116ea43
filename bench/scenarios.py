"""The measurements. Each returns numbers; `__main__` prints the targets beside them."""

import asyncio
import os
import statistics
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.kit import BINDING, PERSON, Bench, between, plan, vendor_stats
from shortdrama_pipeline.ids import new_id
from shortdrama_pipeline.providers.ports import HttpCall
from shortdrama_pipeline.providers.transport import QueryClient, encode, send_paid_create
from shortdrama_pipeline.services.confirming import confirm_quote
from shortdrama_pipeline.services.context import Studio
from shortdrama_pipeline.services.draining import Engine, drain
from shortdrama_pipeline.services.shifts import Pace

IN_FLIGHT = 64
Figures = dict[str, Any]


def machine(folder: Path) -> Figures:
    """How fast this disk forces bytes down, right now."""
    file = os.open(folder / "floor", os.O_WRONLY | os.O_CREAT, 0o600)
    started, rounds = time.perf_counter(), 0
    while time.perf_counter() - started < 1:
        os.pwrite(file, b"x" * 8192, 0)
        os.fdatasync(file)
        rounds += 1
    os.close(file)
    return {"fdatasync_per_s": rounds, "cores": os.cpu_count(), "load": os.getloadavg()[0]}


def bare(studio: Studio, count: int) -> float:
    """POST and GET with the clients we use, 64 at a time, no database. Requests pairs per second."""
    binding = studio.bindings[BINDING]

    async def run() -> float:
        queries = QueryClient()
        numbers = iter(range(count))

        async def one() -> None:
            for number in numbers:
                call = HttpCall("POST", "/jobs", {"client_id": f"bare-{new_id('b')}", "n": number}, 30)
                answer = await send_paid_create(encode(binding, call), secret="key", may_send=lambda: True)
                assert hasattr(answer, "body"), answer
                await queries.ask(
                    binding, HttpCall("GET", f"/jobs?ids=bare-{number}", None, 20), secret="key"
                )

        started = time.perf_counter()
        await asyncio.gather(*(one() for _ in range(IN_FLIGHT)))
        took = time.perf_counter() - started
        await queries.close()
        return count / took

    return asyncio.run(run())


def end_to_end(bench: Bench, count: int) -> Figures:
    """A full backlog from one confirm to settled, beside the bare floor of the same minute."""
    with bench.vendor() as base_url, bench.studio(base_url) as studio:
        floor = bare(studio, min(count, 600))
        planned = plan(studio, count)
        before = bench.counts(studio)
        started = time.perf_counter()
        confirm_quote(studio, planned.quote_id, idempotency_key=new_id("key"), actor=PERSON)
        confirmed = time.perf_counter()
        report = drain(studio, worker="bench", limit=IN_FLIGHT)
        ended = time.perf_counter()
        counts = between(before, bench.counts(studio))
        stats = vendor_stats(base_url)
    assert report.settled == count, report
    assert stats["twice"] == 0
    return {
        "tasks": count,
        "tasks_per_s": round(count / (ended - confirmed), 1),
        "bare_per_s": round(floor, 1),
        "ratio_to_bare": round(count / (ended - confirmed) / floor, 2),
        "confirm_items_per_s": round(count / (confirmed - started)),
        "gets": stats["gets"],
        **counts.per(count),
    }


def confirms(bench: Bench, rounds: int) -> Figures:
    """Sixty items in one confirm."""
    with bench.vendor() as base_url, bench.studio(base_url) as studio:
        planned = [plan(studio, 60, start=60 * number) for number in range(rounds)]
        before = bench.counts(studio)
        times = []
        for each in planned:
            started = time.perf_counter()
            confirm_quote(studio, each.quote_id, idempotency_key=new_id("key"), actor=PERSON)
            times.append(time.perf_counter() - started)
        counts = between(before, bench.counts(studio))
    return {
        "items_per_s": round(60 / statistics.median(times)),
        "ms_per_confirm": round(statistics.median(times) * 1000, 1),
        "write_transactions_per_confirm": round(counts.xids / rounds, 2),
        "wal_fsyncs_per_confirm": round(counts.wal_fsyncs / rounds, 2),
    }


@dataclass(slots=True)
class _Following:
    engine: Engine | None = None


def latency(bench: Bench, rounds: int) -> Figures:
    """Idle latency from the confirm to the request's arrival, under `work drain --follow`."""
    with bench.vendor() as base_url, bench.studio(base_url) as studio:
        following, ready = _Following(), threading.Event()

        def started(engine: Engine) -> None:
            following.engine = engine
            ready.set()

        worker = threading.Thread(
            target=lambda: drain(studio, worker="follower", follow=True, on_start=started)
        )
        worker.start()
        ready.wait()
        time.sleep(1.5)
        asked: dict[str, int] = {}
        confirm_ms = []
        for number in range(rounds):
            planned = plan(studio, 1, start=number)
            time.sleep(0.05 + 0.003 * (number % 17))
            begin = time.monotonic_ns()
            confirmed = confirm_quote(studio, planned.quote_id, idempotency_key=new_id("key"), actor=PERSON)
            confirm_ms.append((time.monotonic_ns() - begin) / 1e6)
            asked[confirmed.task_ids[0]] = begin
        time.sleep(1.5)
        assert following.engine is not None
        following.engine.stop()
        worker.join()
        arrived = vendor_stats(base_url)["arrived"]
        with studio.db.read() as tx:
            rows = tx.exec_driver_sql("select task_id, attempt_id from provider_attempts").all()
            by_task = {str(row[0]): str(row[1]) for row in rows}
    assert isinstance(arrived, dict)
    times = sorted((arrived[by_task[task_id]] - begin) / 1e6 for task_id, begin in asked.items())
    return {
        "n": len(times),
        "confirm_to_post_ms": _spread(times),
        "confirm_itself_ms": _spread(sorted(confirm_ms)),
    }


def polling(bench: Bench, jobs: int, seconds: int, *, batch: int) -> Figures:
    """Jobs that stay `running`: status reads per second, and what an unchanged poll writes."""
    with (
        bench.vendor(polls=10**9) as base_url,
        bench.studio(base_url, poll_after_ms=20, batch=batch) as studio,
    ):
        planned = plan(studio, jobs)
        confirm_quote(studio, planned.quote_id, idempotency_key=new_id("key"), actor=PERSON)
        while int(str(vendor_stats(base_url)["posts"])) < jobs:
            drain(studio, worker="bench", limit=IN_FLIGHT, until_idle=False, seconds_max=3)
        before_gets = int(str(vendor_stats(base_url)["gets"]))
        before = bench.counts(studio)
        quiet = Pace(heartbeat_ms=3_600_000, lease_ms=7_200_000, scan_ms=3_600_000)  # renewals stand apart
        report = drain(studio, worker="bench", until_idle=False, seconds_max=seconds, pace=quiet)
        counts = between(before, bench.counts(studio))
        gets = int(str(vendor_stats(base_url)["gets"])) - before_gets
    return {
        "jobs": jobs,
        "batch": batch,
        "gets_per_s": round(gets / seconds),
        "jobs_asked_per_s": round(gets * batch / seconds) if batch > 1 else round(gets / seconds),
        "polled": report.polled,
        "rows_written_besides_taking_and_giving_back": counts.rows - 2 * jobs,
    }


def _spread(times: list[float]) -> Figures:
    return {
        "p50": round(times[len(times) // 2], 2),
        "p99": round(times[min(len(times) - 1, len(times) * 99 // 100)], 2),
        "max": round(times[-1], 2),
    }
