"""`python -m bench.worker URL HOME BASE_URL SHA256`: one worker that follows, until it is told to stop."""

import sys
from pathlib import Path

from bench.kit import BINDING, BenchAdapter, make_binding
from shortdrama_pipeline.media.object_store import LocalObjectStore
from shortdrama_pipeline.services.context import Studio
from shortdrama_pipeline.services.draining import Engine, drain
from shortdrama_pipeline.settings import Settings
from shortdrama_pipeline.store.database import Database

POLL_AFTER_MS = 2_000  # the answer is not what is waited for here


def main(url: str, home: Path, base_url: str, sha256: str) -> None:
    """Follow until SIGTERM."""
    studio = Studio(
        Settings(home=home),
        Database(url),
        LocalObjectStore(home / "media"),
        {BINDING: make_binding(base_url, home / "key")},
        {"bench": BenchAdapter(sha256, poll_after_ms=POLL_AFTER_MS)},
    )

    def started(_engine: Engine) -> None:
        sys.stdout.write("ready\n")
        sys.stdout.flush()

    drain(studio, worker="follower", follow=True, on_start=started)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3], sys.argv[4])
