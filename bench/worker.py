"""`python -m bench.worker URL HOME MEDIA BASE_URL SHA256`: a worker that follows until it is stopped."""

import sys
from pathlib import Path

from bench.kit import BINDING, BenchAdapter, make_binding
from shortdrama_pipeline.media.object_store import LocalObjectStore
from shortdrama_pipeline.services.context import Studio
from shortdrama_pipeline.services.draining import Engine, drain
from shortdrama_pipeline.settings import Settings
from shortdrama_pipeline.store.database import Database

POLL_AFTER_MS = 600_000  # sends alone are timed: answers are not waited for


def main(url: str, home: Path, media: Path, base_url: str, sha256: str) -> None:
    """Follow until SIGTERM."""
    studio = Studio(
        Settings(home=home),
        Database(url),
        LocalObjectStore(media),
        {BINDING: make_binding(base_url, home / "key")},
        {"bench": BenchAdapter(sha256, poll_after_ms=POLL_AFTER_MS)},
    )

    def started(_engine: Engine) -> None:
        sys.stdout.write("ready\n")
        sys.stdout.flush()

    drain(studio, worker="follower", follow=True, on_start=started)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4], sys.argv[5])
