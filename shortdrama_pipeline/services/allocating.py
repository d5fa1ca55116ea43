"""Allocate the durable id of a logical run: free, idempotent by key, and all there is to it.

Allocation decides which task a run owns; whether that task may cost anything is decided
elsewhere (A-18). Nothing here knows of providers, bindings or credentials.
"""

from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from shortdrama_pipeline.crashpoints import Point, reach
from shortdrama_pipeline.errors import UsageError
from shortdrama_pipeline.rules import allocation, weeks
from shortdrama_pipeline.services.context import Studio
from shortdrama_pipeline.store import episodes
from shortdrama_pipeline.store.series import load_series


@dataclass(frozen=True, slots=True)
class Allocated:
    """`created` is False where the key already owned this id."""

    episode_id: str
    week_id: str
    sequence: int
    allocation_key: str
    created: bool

    def to_json(self) -> dict[str, object]:
        return {
            "episode_id": self.episode_id,
            "week_id": self.week_id,
            "sequence": self.sequence,
            "allocation_key": self.allocation_key,
            "created": self.created,
        }


def allocate(
    studio: Studio,
    *,
    key: str,
    at: datetime,
    series: str | None = None,
    actor: str,
    kind: str = allocation.EPISODE,
) -> Allocated:
    """Return the id that `key` owns, or take the next number of `at`'s week for it (A-10 to A-14).

    `at` is the logical time of the run, aware; a retry passes the same one. One lock covers the
    whole read, decision and write. Raises Conflict and writes nothing where the key is ambiguous.
    """
    allocation.checked_key(key)
    allocation.checked_kind(kind)
    if at.tzinfo is None:
        raise UsageError("The time of a run needs a zone", hint="Write it as 2026-08-07T09:00:00+08:00")
    time_zone = studio.settings.studio.time_zone
    week_id = weeks.week_id_at(at, ZoneInfo(time_zone))
    if series is not None:
        with studio.db.read() as tx:
            load_series(tx, series)
    seen = episodes.look_and_take(
        studio.db,
        episodes.Asked(
            key=key,
            kind=kind,
            week_id=week_id,
            id_prefix=allocation.id_prefix(kind, week_id),
            time_zone=time_zone,
            at=at,
            series_id=series,
            actor=actor,
        ),
    )
    reach(Point.ALLOCATE_COMMITTED)
    decision = allocation.decide(
        seen.matches, key=key, kind=kind, week_id=week_id, time_zone=time_zone, highest=seen.highest
    )
    row = decision.row
    _make_folder(studio, row.episode_id)
    return Allocated(row.episode_id, row.week_id, row.sequence, key, isinstance(decision, allocation.Take))


def _make_folder(studio: Studio, episode_id: str) -> None:
    """The folder is a convenience for people: its name decides nothing (A-20), and it is made again."""
    (studio.settings.home / "episodes" / episode_id).mkdir(parents=True, exist_ok=True)
