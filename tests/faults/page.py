"""Writes docs/fault-matrix.md from what cells recorded: `python -m tests.faults.page FOLDER FILE`.

Fails, and writes nothing, when a named crash point never acted in the run or a case of §14 is missing.
"""

import sys
from collections import Counter
from pathlib import Path

from shortdrama_pipeline.crashpoints import Point
from tests.faults.catalogue import FAULTS, Mode
from tests.faults.recording import Hit, read

CASES = (
    "F01a", "F01b", "F02", "F03", "F04", "F05", "F06a", "F06b", "F07", "F08", "F09", "F10", "F11", "F12",
    "F13", "F14", "F15", "F16",
)  # fmt: skip
HEAD = """# What was cut where

Written by `make faults` from what its cells recorded, never by hand. Every cell is a run of real worker
processes against a real PostgreSQL and a vendor on a socket that counts. At the named place (see
`shortdrama_pipeline/crashpoints.py`) the process is killed with `SIGKILL`, or stopped with `SIGSTOP`
until another has its work and then let go on. A number says how many cells held; a cell holds when
Task, Attempts, money, files and the vendor's count of POSTs end as the row of the fault says, every
ledger effect stands once, `audit verify` finds nothing, and a second full recovery changes no row of
any table. What is promised, and what not: [guarantees](guarantees.md).
"""


class Incomplete(Exception):
    """The run did not reach everything it has to."""


def render(hits: list[Hit]) -> str:
    """The whole page. Raises Incomplete."""
    acted = Counter(point for hit in hits for point in hit.fired)
    never = [str(each) for each in Point if not acted[str(each)]]
    missing = [each for each in CASES if each not in {hit.fault for hit in hits}]
    if never or missing:
        raise Incomplete(f"never reached: {', '.join(never + missing)}")
    deaths = sum(acted.values())
    lines = [HEAD, f"{len(hits)} cells held; {deaths} processes were killed or stopped in them.", ""]
    planned = sum(len(fault.cells()) for fault in FAULTS)
    if len(hits) < planned:
        lines += [
            f"This run tried the short set of `make test`; the full set has more than {planned} cells.",
            "",
        ]
    for case in [*CASES, *sorted({hit.fault for hit in hits} - set(CASES))]:
        for title in dict.fromkeys(hit.title for hit in hits if hit.fault == case):
            lines += _table(case, title, [hit for hit in hits if (hit.fault, hit.title) == (case, title)])
    lines += ["## Every named place", "", "| place | acted |", "|---|---|"]
    lines += [f"| `{each}` | {acted[str(each)]} |" for each in Point]
    return "\n".join(lines) + "\n"


def _table(case: str, title: str, hits: list[Hit]) -> list[str]:
    counted = Counter((hit.cut, hit.mode) for hit in hits)
    lines = [
        f"## {case}: {title}",
        "",
        "| cut at | " + " | ".join(Mode) + " |",
        "|---" * (len(Mode) + 1) + "|",
    ]
    for cut in dict.fromkeys(hit.cut for hit in hits):
        cells = [str(counted[cut, str(mode)] or "") for mode in Mode]
        lines.append(f"| {f'`{cut}`' if cut else 'nowhere'} | " + " | ".join(cells) + " |")
    return [*lines, ""]


def main() -> None:
    place, target = Path(sys.argv[1]), Path(sys.argv[2])
    hits = sorted(read(place), key=lambda hit: (hit.fault, hit.title))
    target.write_text(render(hits), encoding="utf-8")


if __name__ == "__main__":
    main()
