"""What the sensors decide: pure functions of what they saw. Words of Dagster stand in their callers."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby
from typing import Protocol, TypeVar

from shortdrama_pipeline.services.watching import Complete
from shortdrama_pipeline.store.watching import Delivery

SEEN_MAX = 1000  # ids a cursor remembers: more than fit into the overlap that is looked at again
NOBODY = "-"


class Dated(Protocol):
    """A row with an id and a time."""

    @property
    def row_id(self) -> str: ...

    @property
    def created_at(self) -> datetime: ...


Row = TypeVar("Row", bound=Dated)


@dataclass(frozen=True, slots=True)
class Mark:
    """How far a sensor has looked: a time, and the ids it saw near it, since commits overtake each other."""

    at: datetime | None = None
    seen: tuple[str, ...] = field(default=())

    @classmethod
    def read(cls, cursor: str | None) -> "Mark":
        if not cursor:
            return cls()
        raw = json.loads(cursor)
        return cls(datetime.fromisoformat(raw["at"]) if raw["at"] else None, tuple(raw["seen"]))

    def write(self) -> str:
        return json.dumps({"at": self.at.isoformat() if self.at else None, "seen": list(self.seen)})

    def unseen(self, rows: Sequence[Row]) -> list[Row]:
        return [row for row in rows if row.row_id not in self.seen]

    def after(self, rows: Sequence[Row]) -> "Mark":
        """Return the mark once these rows are dealt with."""
        seen = [*self.seen, *(row.row_id for row in self.unseen(rows))]
        times = [row.created_at for row in rows] + ([self.at] if self.at else [])
        return Mark(max(times) if times else None, tuple(seen[-SEEN_MAX:]))


def read_asked(cursor: str | None) -> frozenset[str]:
    """Return the outbox rows that the last tick asked runs for."""
    return frozenset((cursor or "").split()) - {NOBODY}


def write_asked(deliveries: Sequence[Delivery]) -> str:
    """Return the cursor that remembers them. An empty one would leave the old one standing."""
    return " ".join(each.outbox_id for each in deliveries) or NOBODY


def to_run(deliveries: Sequence[Delivery], *, asked: frozenset[str]) -> list[Delivery]:
    """Return what to hand over now: not a batch's row, which goes by its backfill, nor one just asked for."""
    return [each for each in deliveries if each.batch_id is None and each.outbox_id not in asked]


def by_episode(complete: Sequence[Complete]) -> list[list[Complete]]:
    """Return the stages of each episode together: one run shows them all."""
    return [list(stages) for _, stages in groupby(complete, key=lambda each: each.episode_id)]


def turns_to_start(due: int, *, active: int, most: int) -> int:
    """Return how many more turns at the engine to ask for."""
    return max(0, min(due, most - active)) if due else 0
