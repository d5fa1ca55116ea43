"""The engine's measurements. Each returns figures; `__main__` prints the targets beside them."""

import statistics
import threading
import time
from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from bench import floors
from bench.kit import PERSON, Bench, between, plan, vendor_stats
from shortdrama_pipeline.ids import new_id
from shortdrama_pipeline.services.confirming import Confirmed, confirm_quote
from shortdrama_pipeline.services.context import Studio
from shortdrama_pipeline.services.draining import drain
from shortdrama_pipeline.services.shifts import Pace

CLIENTS = 8
FOLLOWING_S_MAX = 60
Figures = dict[str, Any]


def end_to_end(bench: Bench, count: int) -> Figures:
    """A full backlog from one confirm to settled, one read per job, beside the bare floor of the minute."""
    with bench.vendor() as base_url, bench.studio(base_url, batch=1) as studio:
        floor = floors.post_and_get(studio, min(count, 600))
        planned = plan(studio, count)
        before = bench.counts(studio)
        confirm(studio, planned.quote_id)
        started, worked = time.perf_counter(), time.process_time()
        report = drain(studio, worker="bench", limit=floors.IN_FLIGHT)
        took, worked = time.perf_counter() - started, time.process_time() - worked
        counts = between(before, bench.counts(studio))
        floor = statistics.mean((floor, floors.post_and_get(studio, min(count, 600))))
        stats = vendor_stats(base_url)
    assert report.settled == count, report
    assert stats["twice"] == 0
    return {
        "tasks": count,
        "tasks_per_s": round(count / took, 1),
        "bare_per_s": round(floor, 1),
        "ratio_to_bare": round(count / took / floor, 2),
        "our_cpu_ms_per_task": round(1000 * worked / count, 2),
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
            confirm(studio, each.quote_id)
            times.append(time.perf_counter() - started)
        counts = between(before, bench.counts(studio))
    return {
        "items_per_s": round(60 / statistics.median(times)),
        "ms_per_confirm": round(statistics.median(times) * 1000, 1),
        "write_transactions_per_confirm": round(counts.xids / rounds, 2),
        "wal_fsyncs_per_confirm": round(counts.wal_fsyncs / rounds, 2),
    }


def crowd(bench: Bench, each: int) -> Figures:
    """Eight people confirm one item at a time, where a flush costs a millisecond."""
    with (
        bench.flush_costs_1ms(),
        bench.vendor() as base_url,
        bench.studio(base_url, pool_size=CLIENTS) as studio,
    ):
        planned = [plan(studio, 1, start=number).quote_id for number in range(CLIENTS * each)]
        before = bench.counts(studio)
        barrier = threading.Barrier(CLIENTS + 1)

        def client(quotes: Sequence[str]) -> None:
            barrier.wait()
            for quote_id in quotes:
                confirm(studio, quote_id)

        threads = [
            threading.Thread(target=client, args=(planned[number::CLIENTS],)) for number in range(CLIENTS)
        ]
        for thread in threads:
            thread.start()
        barrier.wait()
        started = time.perf_counter()
        for thread in threads:
            thread.join()
        took = time.perf_counter() - started
        counts = between(before, bench.counts(studio))
    return {
        "confirms": CLIENTS * each,
        "confirms_per_s": round(CLIENTS * each / took),
        "write_transactions_per_confirm": round(counts.xids / (CLIENTS * each), 2),
        "wal_fsyncs_per_confirm": round(counts.wal_fsyncs / (CLIENTS * each), 2),
    }


def latency(bench: Bench, rounds: int) -> Figures:
    """Idle: from a confirm to the request's arrival, the worker a process of its own."""
    with bench.vendor() as base_url, bench.studio(base_url) as studio:
        planned = [plan(studio, 1, start=number).quote_id for number in range(rounds)]
        asked: dict[str, tuple[int, int]] = {}
        with bench.follower(studio, base_url):
            for number, quote_id in enumerate(planned):
                time.sleep(0.06 + 0.0005 * ((number * 7919) % 100))
                began = time.monotonic_ns()
                confirmed = confirm(studio, quote_id)
                asked[confirmed.task_ids[0]] = (began, time.monotonic_ns())
            _until_posted(base_url, rounds)
            arrived = _arrivals(studio, base_url)
    return {
        "n": rounds,
        "from_confirm_called_ms": _spread(
            [(arrived[each] - began) / 1e6 for each, (began, _) in asked.items()]
        ),
        "from_confirm_returned_ms": _spread(
            [(arrived[each] - end) / 1e6 for each, (_, end) in asked.items()]
        ),
        "confirm_itself_ms": _spread([(end - began) / 1e6 for began, end in asked.values()]),
    }


def claims(bench: Bench, items: int, seconds: int) -> Figures:
    """Items that become due one by one while the worker is idle: claim time minus due time."""
    with bench.vendor() as base_url, bench.studio(base_url) as studio:
        confirm(studio, plan(studio, items).quote_id)
        with studio.db.begin() as tx:
            due = tx.execute(
                sa.text(
                    "update tasks t set next_action_at = clock_timestamp()"
                    " + (4 + n.place * :gap) * interval '1 second'"
                    " from (select task_id, row_number() over () as place from tasks) n"
                    " where n.task_id = t.task_id"
                    " returning t.task_id, extract(epoch from t.next_action_at)"
                ),
                {"gap": seconds / items},
            ).all()
        with bench.follower(studio, base_url):
            time.sleep(seconds + 3)
            _until_posted(base_url, items)
        with studio.db.read() as tx:
            taken = {
                row[0]: row[1]
                for row in tx.execute(
                    sa.text("select task_id, extract(epoch from submit_started_at) from provider_attempts")
                )
            }
    late = sorted(float(taken[task_id] - at) * 1000 for task_id, at in due)
    edges = (5, 10, 20, 50, 100, 200, 500)
    histogram = {f"<= {edge} ms": sum(1 for each in late if each <= edge) for edge in edges}
    return {"items": items, "claim_after_due_ms": _spread(late), "histogram": histogram}


def polling(bench: Bench, jobs: int, seconds: int, *, batch: int) -> Figures:
    """Jobs that stay `running`: status reads per second, and what an unchanged poll writes."""
    with (
        bench.vendor(polls=10**9) as base_url,
        bench.studio(base_url, poll_after_ms=20, batch=batch) as studio,
    ):
        confirm(studio, plan(studio, jobs).quote_id)
        while int(str(vendor_stats(base_url)["posts"])) < jobs:
            drain(studio, worker="bench", limit=floors.IN_FLIGHT, until_idle=False, seconds_max=3)
        floor = floors.plain_gets(base_url, 2000)
        before_gets = int(str(vendor_stats(base_url)["gets"]))
        before = bench.counts(studio)
        quiet = Pace(heartbeat_ms=3_600_000, lease_ms=7_200_000, scan_ms=3_600_000)  # renewals stand apart
        worked = time.process_time()
        report = drain(studio, worker="bench", until_idle=False, seconds_max=seconds, pace=quiet)
        worked = time.process_time() - worked
        counts = between(before, bench.counts(studio))
        gets = int(str(vendor_stats(base_url)["gets"])) - before_gets
    return {
        "jobs": jobs,
        "batch": batch,
        "gets_per_s": round(gets / seconds),
        "gets_per_s_plain_aiohttp": round(floor),
        "jobs_asked_per_s": round(gets * batch / seconds) if batch > 1 else round(gets / seconds),
        "our_cpu_us_per_get": round(worked / max(1, gets) * 1e6),
        "polled": report.polled,
        "rows_written_besides_taking_and_giving_back": counts.rows - 2 * jobs,
    }


def confirm(studio: Studio, quote_id: str) -> Confirmed:
    """Confirm as a person would, with a key of its own."""
    return confirm_quote(studio, quote_id, idempotency_key=new_id("key"), actor=PERSON)


def _until_posted(base_url: str, count: int) -> None:
    ends = time.monotonic() + FOLLOWING_S_MAX
    while int(str(vendor_stats(base_url)["posts"])) < count and time.monotonic() < ends:
        time.sleep(0.1)


def _arrivals(studio: Studio, base_url: str) -> dict[str, int]:
    arrived = vendor_stats(base_url)["arrived"]
    assert isinstance(arrived, dict)
    with studio.db.read() as tx:
        rows = tx.exec_driver_sql("select task_id, attempt_id from provider_attempts").all()
    return {str(task_id): int(arrived[attempt_id]) for task_id, attempt_id in rows if attempt_id in arrived}


def _spread(times: Sequence[float]) -> Figures:
    found = sorted(times)
    return {
        "p50": round(found[len(found) // 2], 2),
        "p99": round(found[min(len(found) - 1, len(found) * 99 // 100)], 2),
        "max": round(found[-1], 2),
    }
