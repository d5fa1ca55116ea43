"""`python -m tests.simulation --seed N`: see the package."""

import argparse
import logging
import os
import sys
import tempfile
from pathlib import Path

from shortdrama_pipeline.store import server
from tests.simulation.plan import draw
from tests.simulation.running import report, run_many, shortest, stage, story, why_void


def tell(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def main() -> int:
    ask = argparse.ArgumentParser(prog="python -m tests.simulation")
    ask.add_argument("--seed", type=int, default=1)
    ask.add_argument("--first", type=int, default=0)
    ask.add_argument("--schedules", type=int, default=100)
    ask.add_argument("--only", type=int, help="play this one schedule and tell its history")
    ask.add_argument("--url")
    given = ask.parse_args()
    if os.environ.get("PYTHONHASHSEED") != "0":
        os.execve(sys.executable, [sys.executable, "-m", "tests.simulation", *sys.argv[1:]],
                  {**os.environ, "PYTHONHASHSEED": "0"})  # fmt: skip
    logging.getLogger("shortdrama").setLevel(logging.CRITICAL)
    home = Path(tempfile.mkdtemp(prefix="simulation-"))
    fast = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", "autovacuum": "off"}
    url = given.url or server.start(home, settings=fast).url()
    try:
        with stage(url) as built:
            if given.only is not None:
                outcome = built.play(draw(given.seed, given.only))
                tell(story(outcome))
                return int(bool(outcome.failure))
            numbers = range(given.first, given.first + given.schedules)
            tally = run_many(built, given.seed, numbers, tell=tell)
            tell(report(tally))
            for each in tally.failed[:1]:
                tell(story(shortest(built, each)))
            void = why_void(tally)
            if void:
                tell("void: " + "; ".join(void))
            return int(bool(tally.failed or void))
    finally:
        if not given.url:
            server.stop(home)


if __name__ == "__main__":
    sys.exit(main())
