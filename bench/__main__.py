"""`python -m bench [NAME ...] [--peers FOLDER] [--million]`: one JSON document.

Counts first, ratios within the run second, absolute rates last: these depend on who else uses the machine.
"""

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench import floors, growth, peers, scenarios, upkeep
from bench.kit import Bench, opened

SIZES = [10_000, 100_000]
MILLION = 1_000_000
# The rows of the table of targets, by their numbers there.
TARGETS: dict[str, dict[str, str]] = {
    "end_to_end": {"1 write_transactions_per_task": "<= 0.20, stretch 0.05", "2 ratio_to_bare": ">= 0.85"},
    "peers": {
        "3 against the better of pgqueuer and oban": ">= 1.4",
        "4 against procrastinate, dbos": ">= 5, >= 30",
        "5 items of a confirm of sixty against pgqueuer's single enqueue, 8 clients": ">= 20",
        "6 confirms of 8 clients against pgqueuer's": ">= 3",
        "7 idle latency against the best peer": "<= 1.0",
    },
    "confirms": {"5 items_per_s": ">= 20 x pgqueuer's single enqueue with 8 clients"},
    "crowd": {"6 wal_fsyncs_per_confirm": "<= 0.20"},
    "latency": {"7 p50": "<= the best peer's"},
    "claims": {"7 claim_after_due_ms p99": "<= 50"},
    "polling_each": {"8 gets_per_s": ">= 1000", "8 rows_written_besides_taking_and_giving_back": "0"},
    "polling_batched": {"8 rows_written_besides_taking_and_giving_back": "0"},
    "allocation": {"9 ratio_to_commits": ">= 0.85", "9 gaps": "0"},
    "ingest": {"10 ratio_to_copy_and_hash": ">= 0.8"},
    "growth": {"11 growth": "<= 1.5"},
}


def _measurements(arguments: argparse.Namespace) -> dict[str, Callable[[Bench], dict[str, Any]]]:
    sizes = [*SIZES, MILLION] if arguments.million else SIZES
    found: dict[str, Callable[[Bench], dict[str, Any]]] = {
        "end_to_end": lambda bench: scenarios.end_to_end(bench, 1500),
        "confirms": lambda bench: scenarios.confirms(bench, 20),
        "crowd": lambda bench: scenarios.crowd(bench, 50),
        "latency": lambda bench: scenarios.latency(bench, 100),
        "claims": lambda bench: scenarios.claims(bench, 1000, 40),
        "polling_each": lambda bench: scenarios.polling(bench, 500, 5, batch=1),
        "polling_batched": lambda bench: scenarios.polling(bench, 500, 5, batch=50),
        "allocation": lambda bench: upkeep.allocation(bench, 3),
        "ingest": lambda bench: upkeep.ingest(bench, 5),
        "growth": lambda bench: growth.growth(bench, sizes),
    }
    if arguments.peers is not None:
        found["peers"] = lambda _bench: peers.compare(arguments.peers, rounds=arguments.rounds)
    return found


def main(words: list[str]) -> int:
    """Measure what is named, or everything."""
    parser = argparse.ArgumentParser(prog="bench", description="Measure the hot paths")
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--peers", type=Path, metavar="FOLDER", help="a harness with peers to compare with")
    parser.add_argument("--rounds", type=int, default=3, help="of the comparison with peers")
    parser.add_argument("--million", action="store_true", help="also lay a history of a million orders")
    arguments = parser.parse_args(words)
    measurements = _measurements(arguments)
    unknown = [each for each in arguments.names if each not in measurements]
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}; known: {', '.join(measurements)}")
    document: dict[str, Any] = {}
    with opened() as bench:
        document["machine"] = floors.machine(bench)
        for name in arguments.names or measurements:
            document[name] = measurements[name](bench) | {"target": TARGETS.get(name, {})}
            sys.stderr.write(json.dumps({name: document[name]}) + "\n")
    sys.stdout.write(json.dumps(document, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
