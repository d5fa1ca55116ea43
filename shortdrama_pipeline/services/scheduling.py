"""Scheduled runs: allocate, plan the first stage at no cost, and fill what a downtime swallowed (D-11, D-20).

Which cron was in force when, and whether it was switched on, stands in the audit log: a changed cron
never fills the past, and losing all of Dagster's storage loses no week.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

import sqlalchemy as sa

from shortdrama_pipeline.errors import Fact, GateClosed, NotReady
from shortdrama_pipeline.rules import schedules
from shortdrama_pipeline.rules.allocation import EPISODE
from shortdrama_pipeline.rules.schedules import Era
from shortdrama_pipeline.rules.states import Stage
from shortdrama_pipeline.services.allocating import Allocated, allocate
from shortdrama_pipeline.services.confirming import confirm_quote
from shortdrama_pipeline.services.context import Studio
from shortdrama_pipeline.services.stage_planning import plan_stage
from shortdrama_pipeline.settings import ScheduleSettings, Settings
from shortdrama_pipeline.store import audit, episodes, watching

IN_FORCE = "schedule.in_force"
DRIVER = "dagster"
GRANT_LABEL = "grant"  # a schedule's label that names its live budget Grant (D-11)
WEEKLY = ScheduleSettings(id="weekly", cron="0 9 * * 1", labels={"env": "local"})


@dataclass(frozen=True, slots=True)
class FreePlan:
    """What planning left. `quote_id` is None where nothing can be planned, and `why_none` says why."""

    episode_id: str
    stage: Stage
    quote_id: str | None
    execution_id: str | None
    why_none: str


def schedules_of(settings: Settings) -> tuple[ScheduleSettings, ...]:
    """Return the configured schedules, or else the one weekly one."""
    return settings.schedule or (WEEKLY,)


def find_schedule(settings: Settings, schedule_id: str) -> ScheduleSettings | None:
    return next((each for each in schedules_of(settings) if each.id == schedule_id), None)


def allocate_scheduled(studio: Studio, spec: ScheduleSettings, scheduled_at: datetime) -> Allocated:
    """Return the id of the run that `spec` schedules at `scheduled_at`; the same for every retry (A-25)."""
    zone = ZoneInfo(studio.settings.studio.time_zone)
    key = schedules.run_key(spec.id, spec.cron, scheduled_at, zone=zone)
    day = schedules.prefix(spec.id, scheduled_at.astimezone(zone).date())
    with studio.db.read() as tx:
        held = {
            each: at
            for each, at in episodes.load_scheduled(tx, day).items()
            if each == day or each.startswith(f"{day}:")
        }
    key = schedules.held_key(key, scheduled_at, held)
    return allocate(
        studio, key=key, at=held.get(key, scheduled_at), series=spec.series, actor=f"schedule:{spec.id}"
    )


def note_in_force(
    studio: Studio, specs: Sequence[ScheduleSettings], *, running: frozenset[str], now: datetime
) -> None:
    """Write down, where it changed, which cron holds from `now` on and whether it is switched on."""
    zone_name = studio.settings.studio.time_zone
    with studio.db.begin() as tx:
        for spec in specs:
            facts: dict[str, Fact] = {
                "cron": spec.cron,
                "time_zone": zone_name,
                "running": spec.id in running,
            }
            eras = _load_eras(tx, spec.id)
            last = eras[-1] if eras else None
            if last is None or facts != _facts(last):
                audit.record_decision(
                    tx,
                    IN_FORCE,
                    spec.id,
                    actor=f"schedule:{spec.id}",
                    facts={**facts, "since": now.isoformat()},
                )


def fill_missed(
    studio: Studio, specs: Sequence[ScheduleSettings], *, now: datetime, after: datetime | None = None
) -> list[Allocated]:
    """Allocate scheduled runs up to `now` that nobody did; returns only those, oldest first per schedule.

    At most MISSED_MAX; fewer means that nothing is missing up to `now`, so that the next call may begin
    there (`after`).
    """
    filled: list[Allocated] = []
    for spec in specs:
        with studio.db.read() as tx:
            eras = _load_eras(tx, spec.id)
            known = set(episodes.load_scheduled(tx, f"scheduled-run:{spec.id}:").values())
        for at, era in schedules.missed(eras, now=now, known=known, after=after):
            run = allocate_scheduled(studio, spec.model_copy(update={"cron": era.cron}), at)
            filled += [run] if run.created else []
            if len(filled) == schedules.MISSED_MAX:
                return filled
    return filled


def plan_free(
    studio: Studio, episode_id: str, stage: Stage, *, spec: ScheduleSettings | None = None
) -> FreePlan:
    """Plan a stage and leave an open Quote, at no cost; a second call finds the first one's (D-11).

    Pays only under the live budget Grant that the schedule names. Where nothing can be planned, such as
    without a brief or where nothing is missing, the reason is returned: it is no fault of the schedule.
    """
    with studio.db.read() as tx:
        row = episodes.require_episode(tx, episode_id)
        earlier = watching.find_open_quote(tx, episode_id, stage)
    actor = f"schedule:{spec.id}" if spec else f"schedule:{DRIVER}"
    try:
        quote_id = earlier or plan_stage(studio, episode_id, stage, actor=actor).quote_id
    except (NotReady, GateClosed) as reason:
        return FreePlan(episode_id, stage, None, None, reason.message)
    grant_id = spec.labels.get(GRANT_LABEL) if spec else None
    if grant_id is None:
        return FreePlan(episode_id, stage, quote_id, None, "")
    confirmed = confirm_quote(
        studio, quote_id, idempotency_key=f"{row.allocation_key}:{stage}", actor=actor, grant_id=grant_id
    )
    return FreePlan(episode_id, stage, quote_id, confirmed.execution_id, "")


def episode_ids(studio: Studio) -> list[str]:
    """Return every episode's id, oldest first: the partitions there should be."""
    with studio.db.read() as tx:
        return episodes.load_ids(tx, kind=EPISODE)


def _load_eras(tx: sa.Connection, schedule_id: str) -> list[Era]:
    return [
        Era(
            since=datetime.fromisoformat(facts["since"]),
            cron=facts["cron"],
            zone=ZoneInfo(facts["time_zone"]),
            running=facts["running"],
        )
        for facts in audit.load_facts(tx, IN_FORCE, schedule_id)
    ]


def _facts(era: Era) -> dict[str, Fact]:
    return {"cron": era.cron, "time_zone": str(era.zone), "running": era.running}
