# ruff: noqa: T201 - it tells its findings to a person
"""`python -m tests.mutants [NAME …] [--report FILE]`: plant each bug, run its tests, say who noticed."""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

from tests.mutants.catalogue import MUTANTS, Mutant

ROOT = Path(__file__).parent.parent.parent
TESTS_FAILED = 1  # pytest's exit status; anything else is trouble of ours, not a catch
SECONDS_MAX = 300
_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Outcome:
    """`caught_by` is the first test that failed; empty if the bug lived."""

    mutant: Mutant
    caught_by: str
    seconds: int
    said: str


def main() -> int:
    """Exit 0 only if every mutant was caught by a test named with it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--report", type=Path)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    asked = parser.parse_args()
    chosen = [each for each in MUTANTS if not asked.names or each.name in asked.names]
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        outcomes = _try_all(chosen, Path(folder), jobs=asked.jobs)
    minutes = (time.monotonic() - began) / 60
    lived = [each for each in outcomes if not each.caught_by]
    print(f"{len(outcomes) - len(lived)} of {len(outcomes)} planted bugs were caught in {minutes:.1f} min")
    for each in lived:
        print(f"\nLIVED: {each.mutant.name} ({each.mutant.why})\n{each.said[-1500:]}")
    if asked.report is not None:
        asked.report.write_text(_report(outcomes, minutes))
    return 1 if lived else 0


def _try_all(chosen: Sequence[Mutant], folder: Path, *, jobs: int) -> list[Outcome]:
    trees: SimpleQueue[Path] = SimpleQueue()
    for number in range(jobs):
        trees.put(_copy_tree(folder / f"tree{number}"))

    def run(mutant: Mutant) -> Outcome:
        tree = trees.get()
        try:
            outcome = _try(mutant, tree)
        finally:
            trees.put(tree)
        print(f"{outcome.caught_by or 'LIVED':>90}  {mutant.name}  {outcome.seconds} s", flush=True)
        return outcome

    with ThreadPoolExecutor(jobs) as hands:
        return list(hands.map(run, chosen))


def _copy_tree(target: Path) -> Path:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            place = target / name
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, place)
    return target


def _try(mutant: Mutant, tree: Path) -> Outcome:
    """Plant, run the tests that exist, put the line back."""
    file = tree / mutant.file
    whole = file.read_text()
    assert whole.count(mutant.old) == 1, f"{mutant.name}: its line is not there exactly once"
    tests = [each for each in mutant.tests if (tree / each.split("::")[0]).exists()]
    file.write_text(whole.replace(mutant.old, mutant.new))
    began = time.monotonic()
    try:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "--no-header", *tests],
            cwd=tree,
            env={**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            timeout=SECONDS_MAX,
            check=False,
        )
        said, status = done.stdout + done.stderr, done.returncode
    except subprocess.TimeoutExpired as error:  # the planted bug made a test wait for ever: no catch
        said, status = str(error.stdout), -1
    finally:
        file.write_text(whole)
    named = _FAILED.findall(said)
    caught = named[0] if status == TESTS_FAILED and named else ""
    return Outcome(mutant, caught, int(time.monotonic() - began), said)


def _report(outcomes: Sequence[Outcome], minutes: float) -> str:
    caught = sum(bool(each.caught_by) for each in outcomes)
    lines = [
        "# Planted bugs and who noticed them",
        "",
        f"Written by `make mutants`: {caught} of {len(outcomes)} caught, {minutes:.0f} minutes.",
        "",
        "| planted bug | what it does | caught by |",
        "|---|---|---|",
    ]
    for each in outcomes:
        test = each.caught_by.split("::")[-1] if each.caught_by else "**nobody**"
        lines.append(f"| {each.mutant.name} | {each.mutant.why} | `{test}` |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
