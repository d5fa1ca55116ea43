"""What the sensors decide: pure functions of what they saw. Words of Dagster stand in their callers."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import groupby, takewhile
from typing import Any, Protocol, TypeVar

from shortdrama_pipeline.services.watching import Complete
from shortdrama_pipeline.store.watching import OVERLAP_S, Delivery, Place

SEEN_MAX = 2000  # ids a cursor remembers; where more fit into the overlap, the oldest are behind it for good
OVERLAP = timedelta(seconds=OVERLAP_S)
TURNS_MAX = 8  # runs for one product, then a person looks
TURN_PAUSE = timedelta(seconds=30)
NOBODY = "-"
NOWHERE: Place = (datetime.min.replace(tzinfo=UTC), "")


@dataclass(frozen=True, slots=True)
class Ended:
    """A run that was to show a product of an episode, as it ended. `lost`: it failed or was ended."""

    product: str
    episode_id: str
    lost: bool
    at: datetime


class Dated(Protocol):
    """A row with an id and a time."""

    @property
    def row_id(self) -> str: ...

    @property
    def created_at(self) -> datetime: ...


Row = TypeVar("Row", bound=Dated)


@dataclass(frozen=True, slots=True)
class Mark:
    """How far a sensor has looked: all up to `behind`, and the rows `seen` after it.

    Rows younger than `behind` are asked for again, since commits overtake each other, without those seen:
    so a look full of known rows cannot hide new ones.
    """

    behind: Place | None = None
    seen: tuple[Place, ...] = field(default=())

    @classmethod
    def read(cls, cursor: str | None) -> "Mark":
        """Read what `write` wrote; what another edition wrote is looked through from the beginning."""
        raw = _loaded(cursor)
        if "behind" not in raw:
            return cls()
        return cls(_place(raw["behind"]), tuple(filter(None, map(_place, raw["seen"]))))

    def write(self) -> str:
        return json.dumps({"behind": _written(self.behind), "seen": [_written(each) for each in self.seen]})

    @property
    def seen_ids(self) -> list[str]:
        return [row_id for _, row_id in self.seen]

    def unseen(self, rows: Sequence[Row]) -> list[Row]:
        known = set(self.seen_ids)
        return [row for row in rows if row.row_id not in known]

    def after(self, rows: Sequence[Row]) -> "Mark":
        """Return the mark once these rows are dealt with."""
        seen = sorted({*self.seen, *((row.created_at, row.row_id) for row in rows)})
        if not seen:
            return self
        behind = max(self.behind or NOWHERE, (seen[-1][0] - OVERLAP, ""))
        seen = [each for each in seen if each > behind]
        if len(seen) > SEEN_MAX:
            behind, seen = seen[-SEEN_MAX - 1], seen[-SEEN_MAX:]
        return Mark(behind, tuple(seen))


@dataclass(frozen=True, slots=True)
class Sweep:
    """How far a sensor is through what changed lately. At its end it begins again a little earlier.

    What was looked at once may have become complete since, so the latest changes are always in a sweep.
    """

    after: Place | None = None
    newest: datetime | None = None

    @classmethod
    def read(cls, cursor: str | None) -> "Sweep":
        """Read what `write` wrote; what another edition wrote is swept from the beginning."""
        raw = _loaded(cursor)
        if "after" not in raw:
            return cls()
        return cls(_place(raw["after"]), datetime.fromisoformat(raw["newest"]) if raw["newest"] else None)

    def write(self) -> str:
        newest = None if self.newest is None else self.newest.isoformat()
        return json.dumps({"after": _written(self.after), "newest": newest})

    def next(self, last: Place | None, *, more: bool) -> "Sweep":
        """Return where to go on after a look that ended at `last`, with `more` to come or not."""
        newest = max(filter(None, (self.newest, last and last[0])), default=None)
        if more:
            return Sweep(last, newest)
        return Sweep(None if newest is None else (newest - OVERLAP, ""), newest)


def _loaded(cursor: str | None) -> dict[str, Any]:
    raw = json.loads(cursor) if cursor else {}
    return raw if isinstance(raw, dict) else {}


def _place(raw: object) -> Place | None:
    if not isinstance(raw, list) or len(raw) != 2:
        return None
    return datetime.fromisoformat(str(raw[0])), str(raw[1])


def _written(place: Place | None) -> list[str] | None:
    return None if place is None else [place[0].isoformat(), place[1]]


def read_time(cursor: str | None) -> datetime | None:
    """Return the time a cursor remembers, if it does."""
    return datetime.fromisoformat(cursor) if cursor else None


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


def lost_products(ended: Sequence[Ended], *, now: datetime) -> dict[str, int]:
    """Return the products whose last runs were all lost, with how many were, where another is due.

    A run may end without having done anything: its process killed, its code server gone. Pauses double,
    and after the last turn a person is to look: a run key once used is never asked for again by itself.
    """
    newest_first = sorted(
        sorted(ended, key=lambda each: each.at, reverse=True), key=lambda each: each.product
    )
    by_product = groupby(newest_first, key=lambda each: each.product)
    lost = {name: list(takewhile(lambda each: each.lost, runs)) for name, runs in by_product}
    return {
        name: len(runs)
        for name, runs in lost.items()
        if 0 < len(runs) < TURNS_MAX and now - runs[0].at >= TURN_PAUSE * 2 ** (len(runs) - 1)
    }


def turns_to_start(due: int, *, active: int, most: int) -> int:
    """Return how many more turns at the engine to ask for."""
    return max(0, min(due, most - active)) if due else 0
