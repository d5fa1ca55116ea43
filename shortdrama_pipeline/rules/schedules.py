"""The identity of a scheduled run, and which runs a downtime swallowed (D-20, A-25).

Identity comes from the scheduled time as the declared zone's clock and calendar show it, never
from "now": a retry, a second daemon and the reconcile step all arrive at the same key.
"""

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, tzinfo
from itertools import pairwise
from re import compile as pattern

from cronsim import CronSim, CronSimError

from shortdrama_pipeline.errors import SettingsError
from shortdrama_pipeline.rules import weeks

MISSED_MAX = 500  # runs filled per call; younger ones wait for the next
_ID = pattern(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


@dataclass(frozen=True, slots=True)
class Era:
    """From `since` on, this cron in this zone was the schedule, switched on or off."""

    since: datetime
    cron: str
    zone: tzinfo
    running: bool


def prefix(schedule_id: str, day: date) -> str:
    """Return what every key of this schedule and local day begins with."""
    return f"scheduled-run:{schedule_id}:{day.isoformat()}"


def run_key(schedule_id: str, cron: str, scheduled_at: datetime, *, zone: tzinfo) -> str:
    """Return the allocation key of the run that `cron` schedules at `scheduled_at` (aware).

    `scheduled-run:<id>:<local date>`; where the cron fires more than once a day also the slot,
    HHMM as the cron names it. A repeated hour gives a schedule of intervals (`*` in minutes or hours)
    both its runs, the second marked "b", and every other schedule one; a missing hour moves a run, not
    its slot.
    """
    sim = _parse(schedule_id, cron)
    local = scheduled_at.astimezone(zone)
    key = prefix(schedule_id, weeks.local_date(scheduled_at, zone))
    named = sorted(time(hour, minute) for hour in sim.hours for minute in sim.minutes)
    if len(named) == 1:
        return key
    wall = local.time().replace(second=0, microsecond=0, fold=0)
    slot = max((each for each in named if each <= wall), default=named[0])
    both_passes = any(
        part.startswith("*") for part in sim.parts[1:3]
    )  # of minutes or hours: as cron reads it
    second_pass = "b" if local.fold and both_passes else ""
    return f"{key}:{slot:%H%M}{second_pass}"


def held_key(key: str, scheduled_at: datetime, held: Mapping[str, datetime]) -> str:
    """Return the key under which this run is already allocated, or `key` itself.

    `held` maps the keys of the schedule's local day to their scheduled times. A changed cron may
    spell the slot otherwise, or fire once more on a day that had its run: neither repeats it.
    """
    if key in held:
        return key
    same_instant = sorted(each for each, at in held.items() if at == scheduled_at)
    if same_instant:
        return same_instant[0]
    once_a_day = key.count(":") == 2  # scheduled-run : id : date, and no slot
    return min(held) if once_a_day and held else key


def missed(
    eras: Sequence[Era],
    *,
    now: datetime,
    known: Container[datetime] = frozenset(),
    after: datetime | None = None,
) -> Iterator[tuple[datetime, Era]]:
    """Yield every scheduled time of the eras switched on that is not `known`, oldest first, up to `now`.

    Each stretch is read by the cron that was then in force, so a new cron never fills the past. Up to
    `after` everything was looked at before.
    """
    ends = [*(later.since for _, later in pairwise(eras)), now]
    for era, end in zip(eras, ends, strict=True):
        since = era.since if after is None else max(era.since, after)
        if era.running and since < end:
            yield from ((at, era) for at in times(era.cron, since, end, zone=era.zone) if at not in known)


def times(cron: str, after: datetime, until: datetime, *, zone: tzinfo) -> Iterator[datetime]:
    """Yield the scheduled times in (after, until], in UTC."""
    for local in CronSim(cron, after.astimezone(zone)):
        at = local.astimezone(UTC)
        if at > until:
            return
        if at > after:
            yield at


def check(schedule_id: str, cron: str) -> None:
    """Refuse an id that cannot stand in a key, and a cron nobody can read."""
    if not _ID.fullmatch(schedule_id):
        raise SettingsError(
            f"{schedule_id!r} cannot name a schedule",
            hint="Use letters, digits, hyphens and underscores in [[schedule]] id",
        )
    _parse(schedule_id, cron)


def _parse(schedule_id: str, cron: str) -> CronSim:
    try:
        if len(cron.split()) != 5:
            raise CronSimError("five fields are needed")  # noqa: TRY301
        return CronSim(cron, datetime(2026, 1, 1))  # noqa: DTZ001 - only its fields are read
    except CronSimError as error:
        raise SettingsError(
            f"The cron {cron!r} of schedule {schedule_id!r} cannot be read: {error}",
            hint="Write five fields: minute hour day month weekday, such as 0 9 * * 1",
        ) from error
