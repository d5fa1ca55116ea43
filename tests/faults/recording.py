"""What the cells did, one line each; the page of the matrix is made from it and never typed."""

import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

FULL = os.environ.get("SHORTDRAMA_FAULTS") == "full"
PLACE = os.environ.get("SHORTDRAMA_FAULTS_OUT")  # a folder; without it nothing is kept


@dataclass(frozen=True, slots=True)
class Hit:
    """One cell that was tried and held. `fired` are the points that acted in it, in order."""

    fault: str
    title: str
    cut: str
    mode: str
    fired: list[str]


def note(hit: Hit) -> None:
    """Keep a cell that held."""
    if PLACE:
        with (Path(PLACE) / f"{os.getpid()}.jsonl").open("a") as out:
            out.write(json.dumps(asdict(hit)) + "\n")


def read(place: Path) -> Iterator[Hit]:
    for file in sorted(place.glob("*.jsonl")):
        for line in file.read_text().splitlines():
            yield Hit(**json.loads(line))
