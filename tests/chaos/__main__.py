"""`python -m tests.chaos`: SEED, ITEMS and SECONDS in the environment; exit 1 on any violation."""

import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tests.chaos.running import Fire, Report, burn


def tell(line: str) -> None:
    """Say how it goes, beside the document."""
    sys.stderr.write(line + "\n")
    sys.stderr.flush()


def main() -> int:
    """Burn once, print the closing figures as JSON and as a table."""
    asked = os.environ.get
    fire = Fire(
        seed=int(asked("SEED", "1")), items=int(asked("ITEMS", "2000")), seconds=int(asked("SECONDS", "120")),
        dagster=asked("DAGSTER", "1") != "0",
    )  # fmt: skip
    home = Path(tempfile.mkdtemp(prefix="chaos-"))
    report = burn(fire, home, tell=tell)
    sys.stdout.write(json.dumps(report.to_json(), indent=2, ensure_ascii=False) + "\n")
    show(report)
    if report.violations:
        tell(f"The home is kept for you to look at: {home}")
        return 1
    shutil.rmtree(home, ignore_errors=True)
    return 0


def show(report: Report) -> None:
    """Print the figures for a person."""
    table = Table(title=f"Chaos, seed {report.fire.seed}", show_header=False)
    for name, value in report.to_json().items():
        if name != "violations":
            table.add_row(name.replace("_", " "), json.dumps(value, ensure_ascii=False))
    table.add_row("violations", "\n".join(report.violations[:20]) or "none")
    Console(stderr=True).print(table)


if __name__ == "__main__":
    sys.exit(main())
