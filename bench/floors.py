"""What this machine can do right now, without the product: the measure of everything else in a run."""

import asyncio
import hashlib
import os
import statistics
import time
from pathlib import Path
from typing import Any

import aiohttp
import psycopg

from bench.kit import BINDING, Bench, vendor_stats
from shortdrama_pipeline.ids import new_id
from shortdrama_pipeline.providers.ports import HttpAnswer, HttpCall
from shortdrama_pipeline.providers.transport import QueryClient, encode, send_paid_create
from shortdrama_pipeline.services.context import Studio

IN_FLIGHT = 64
Figures = dict[str, Any]


def machine(bench: Bench) -> Figures:
    """Forced writes, and bare requests with the clients we use."""
    with bench.vendor() as base_url, bench.studio(base_url) as studio:
        return {
            "fdatasync_per_s": fdatasync(bench.home),
            "commits_per_s_one_connection": commits(studio),
            "post_and_get_per_s": round(post_and_get(studio, 300)),
            "gets_per_s_plain_aiohttp": round(plain_gets(base_url, 2000)),
            "cores": os.cpu_count(),
            "load": os.getloadavg()[0],
        }


def fdatasync(folder: Path) -> int:
    """How often this disk forces a page down in a second."""
    file = os.open(folder / "floor", os.O_WRONLY | os.O_CREAT, 0o600)
    started, rounds = time.perf_counter(), 0
    while time.perf_counter() - started < 1:
        os.pwrite(file, b"x" * 8192, 0)
        os.fdatasync(file)
        rounds += 1
    os.close(file)
    return rounds


def commits(studio: Studio, seconds: float = 1.0) -> int:
    """One-row inserts, one after the other, over one connection of the driver itself."""
    url = studio.db.engine.url
    query = {str(name): str(value) for name, value in url.query.items()}
    with psycopg.connect(dbname=url.database, user=url.username, autocommit=True, **query) as connection:  # type: ignore[arg-type]
        connection.execute("create table if not exists floor (number bigint primary key, word text)")
        started, rounds = time.perf_counter(), 0
        while time.perf_counter() - started < seconds:
            connection.execute("insert into floor values (%s, %s)", (time.monotonic_ns(), "0" * 40))
            rounds += 1
    return round(rounds / seconds)


def post_and_get(studio: Studio, count: int) -> float:
    """One paid create and one status read each, 64 at a time, no database. Pairs per second."""
    binding = studio.bindings[BINDING]

    async def run() -> float:
        queries = QueryClient()
        numbers = iter(range(count))

        async def one() -> None:
            for _ in numbers:
                name = new_id("bare")
                post = HttpCall("POST", "/jobs", {"client_id": name, "params": {}}, 30)
                answer = await send_paid_create(encode(binding, post), secret="key", may_send=lambda: True)
                assert isinstance(answer, HttpAnswer), answer
                found = await queries.ask(
                    binding, HttpCall("GET", f"/jobs?ids=job-{name}", None, 20), secret="key"
                )
                assert isinstance(found, HttpAnswer), found

        await asyncio.gather(*(one() for _ in range(2)))  # the first of everything is not what is measured
        numbers = iter(range(count))
        started = time.perf_counter()
        await asyncio.gather(*(one() for _ in range(IN_FLIGHT)))
        took = time.perf_counter() - started
        await queries.close()
        return count / took

    return asyncio.run(run())


def plain_gets(base_url: str, count: int) -> float:
    """Status reads of one process over 64 kept connections, without anything of ours."""

    async def run() -> float:
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=IN_FLIGHT)) as session:
            numbers = iter(range(count))

            async def one() -> None:
                for number in numbers:
                    async with session.get(f"{base_url}/jobs?ids=floor-{number}") as answer:
                        await answer.read()

            started = time.perf_counter()
            await asyncio.gather(*(one() for _ in range(IN_FLIGHT)))
            return count / (time.perf_counter() - started)

    rate = asyncio.run(run())
    assert int(str(vendor_stats(base_url)["gets"])) >= count
    return rate


def copy_and_hash(source: Path, target: Path, rounds: int) -> float:
    """Seconds for reading, hashing and writing the same bytes down, forced. The median."""
    times = []
    for number in range(rounds):
        place = target / f"copy-{number}"
        started = time.perf_counter()
        digest = hashlib.sha256()
        with source.open("rb") as read, place.open("wb") as written:
            while chunk := read.read(1 << 18):
                digest.update(chunk)
                written.write(chunk)
            written.flush()
            os.fsync(written.fileno())
        times.append(time.perf_counter() - started)
        place.unlink()
    return statistics.median(times)
