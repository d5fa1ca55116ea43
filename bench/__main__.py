"""`python -m bench [NAME ...]`: one JSON document; counts first, ratios second, absolute rates last."""

import json
import sys
from collections.abc import Callable
from typing import Any

from bench import scenarios
from bench.kit import Bench, opened

TARGETS = {
    "end_to_end": {"write_transactions_per_task": "<= 0.20 (stretch 0.05)", "ratio_to_bare": ">= 0.85"},
    "confirms": {"wal_fsyncs_per_confirm": "<= 1 alone, <= 0.20 with 8 clients"},
    "latency": {"confirm_to_post_ms": "p50 <= 2.5 to 4.1 (best peer), p99 of claim after due <= 50"},
    "polling_each": {"gets_per_s": ">= 1000", "rows_written_besides_taking_and_giving_back": "0"},
    "polling_batched": {"rows_written_besides_taking_and_giving_back": "0"},
}
ALL: dict[str, Callable[[Bench], dict[str, Any]]] = {
    "end_to_end": lambda bench: scenarios.end_to_end(bench, 1500),
    "confirms": lambda bench: scenarios.confirms(bench, 20),
    "latency": lambda bench: scenarios.latency(bench, 100),
    "polling_each": lambda bench: scenarios.polling(bench, 500, 5, batch=1),
    "polling_batched": lambda bench: scenarios.polling(bench, 500, 5, batch=50),
}


def main(names: list[str]) -> int:
    """Measure what is named, or everything."""
    unknown = [each for each in names if each not in ALL]
    if unknown:
        sys.stderr.write(f"Unknown: {', '.join(unknown)}. Known: {', '.join(ALL)}\n")
        return 2
    document: dict[str, Any] = {}
    with opened() as bench:
        document["machine"] = scenarios.machine(bench.home)
        for name in names or ALL:
            document[name] = ALL[name](bench) | {"target": TARGETS.get(name, {})}
    sys.stdout.write(json.dumps(document, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
