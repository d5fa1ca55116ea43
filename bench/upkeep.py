"""Allocation beside bare commits, and bringing a film in beside copying it."""

import statistics
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import imageio_ffmpeg
import sqlalchemy as sa

from bench import floors
from bench.kit import BINDING, PERSON, Bench
from shortdrama_pipeline.media.object_store import LocalObjectStore
from shortdrama_pipeline.media.probe import probe
from shortdrama_pipeline.providers.transport import download
from shortdrama_pipeline.services.allocating import allocate

A_FRIDAY = datetime(2026, 8, 7, 1, tzinfo=UTC)
BYTES_MAX = 10**9
Figures = dict[str, Any]


def allocation(bench: Bench, seconds: int) -> Figures:
    """Numbers of one week, one after the other, beside one-row commits of the same minute."""
    with bench.studio("http://127.0.0.1:9") as studio:
        before = floors.commits(studio)
        started, count = time.perf_counter(), 0
        while time.perf_counter() - started < seconds:
            allocate(studio, key=f"bench-{count}", at=A_FRIDAY, actor=PERSON)
            count += 1
        rate = count / (time.perf_counter() - started)
        floor = statistics.mean((before, floors.commits(studio)))
        with studio.db.read() as tx:
            highest, number = tx.execute(
                sa.text("select max(sequence), count(*) from episodes where week_id = '2026-W32'")
            ).one()
    return {
        "allocations_per_s": round(rate),
        "commits_per_s_one_connection": round(floor),
        "ratio_to_commits": round(rate / floor, 2),
        "gaps": int(highest) + 1 - int(number),
    }


def ingest(bench: Bench, rounds: int) -> Figures:
    """Stream, hash, store and probe a film, beside copying and hashing the same bytes."""
    served = bench.home / "served"
    served.mkdir(exist_ok=True)
    film = _film(served)
    size = film.stat().st_size
    ours = []
    with _files(served) as base_url, bench.studio(base_url) as studio:
        binding = studio.bindings[BINDING]
        floor = floors.copy_and_hash(film, bench.home, rounds)
        for number in range(rounds):
            objects = LocalObjectStore(bench.home / f"ingested-{number}")
            began = time.perf_counter()
            chunks = download(f"{base_url}/{film.name}", binding, bytes_max=BYTES_MAX)
            sha256, _ = objects.put(chunks, bytes_max=BYTES_MAX)
            stored = time.perf_counter()
            probe(objects.path(sha256), bytes_max=BYTES_MAX)
            ours.append((stored - began, time.perf_counter() - stored))
        floor = statistics.mean((floor, floors.copy_and_hash(film, bench.home, rounds)))
    took = statistics.median(stored + probed for stored, probed in ours)
    return {
        "bytes": size,
        "mb_per_s": round(size / took / 1e6, 1),
        "copy_and_hash_mb_per_s": round(size / floor / 1e6, 1),
        "ratio_to_copy_and_hash": round(floor / took, 2),
        "ratio_without_probe": round(floor / statistics.median(stored for stored, _ in ours), 2),
        "probe_ms": round(1000 * statistics.median(probed for _, probed in ours), 1),
    }


def _film(folder: Path) -> Path:
    """Four noisy seconds, upright, at the rate of a good camera."""
    place = folder / "film.mp4"
    source = ["-f", "lavfi", "-i", "testsrc2=size=1080x1920:rate=24:duration=4"]
    coded = ["-vf", "noise=alls=12:allf=t", "-c:v", "libx264", "-preset", "ultrafast", "-qp", "30"]
    words = [imageio_ffmpeg.get_ffmpeg_exe(), "-y", "-v", "error", *source, *coded, "-pix_fmt", "yuv420p"]
    subprocess.run([*words, str(place)], check=True)
    return place


class _Quiet(SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the library's
        pass


@contextmanager
def _files(folder: Path) -> Iterator[str]:
    server = ThreadingHTTPServer(
        ("127.0.0.1", 0), lambda *words, **named: _Quiet(*words, directory=str(folder), **named)
    )
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
