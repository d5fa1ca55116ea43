"""The schedules of the studio, and the sensor that fills what a downtime swallowed (D-20)."""

from collections.abc import Sequence

import dagster as dg
from dagster._core.scheduler.instigation import InstigatorType

from assets.building import EPISODES
from resources.studio import StudioResource
from sensors import deciding
from sensors.jobs import NO_RETRY, plan
from shortdrama_pipeline.rules.schedules import MISSED_MAX
from shortdrama_pipeline.rules.states import Stage
from shortdrama_pipeline.services import scheduling, watching
from shortdrama_pipeline.services.allocating import Allocated
from shortdrama_pipeline.settings import ScheduleSettings, Settings


def schedules_of(settings: Settings) -> list[dg.ScheduleDefinition]:
    """Return one Dagster schedule per [[schedule]]; the default weekly one waits to be switched on."""
    status = dg.DefaultScheduleStatus.RUNNING if settings.schedule else dg.DefaultScheduleStatus.STOPPED
    zone = settings.studio.time_zone
    return [schedule_of(spec, zone=zone, status=status) for spec in scheduling.schedules_of(settings)]


def schedule_of(
    spec: ScheduleSettings, *, zone: str, status: dg.DefaultScheduleStatus
) -> dg.ScheduleDefinition:
    """Return the schedule that allocates an episode per scheduled time and asks for its first, free plan."""

    @dg.schedule(
        name=dagster_name(spec),
        job=plan,
        cron_schedule=spec.cron,
        execution_timezone=zone,
        default_status=status,
        description="Allocates the episode of this scheduled time, once, and leaves a Quote for its outline.",
        tags={"shortdrama/schedule": spec.id},
    )
    def allocate_and_plan(context: dg.ScheduleEvaluationContext, studio: StudioResource) -> dg.RunRequest:
        run = scheduling.allocate_scheduled(studio.open(), spec, context.scheduled_execution_time)
        context.instance.add_dynamic_partitions(str(EPISODES.name), [run.episode_id])
        return first_plan(run)

    return allocate_and_plan


def reconcile_of(settings: Settings) -> dg.SensorDefinition:
    """Return the sensor that keeps episodes, partitions and schedules in step."""
    specs = scheduling.schedules_of(settings)

    @dg.sensor(
        name="reconcile",
        job=plan,
        minimum_interval_seconds=4,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Fills scheduled runs that a downtime swallowed; gives every episode its partition.",
    )
    def reconcile(context: dg.SensorEvaluationContext, studio: StudioResource) -> dg.SensorResult:
        opened = studio.open()
        now = watching.database_now(opened)
        scheduling.note_in_force(opened, specs, running=running(context.instance, specs, settings), now=now)
        filled = scheduling.fill_missed(opened, specs, now=now, after=deciding.read_time(context.cursor))
        known = set(context.instance.get_dynamic_partitions(str(EPISODES.name)))
        missing = [each for each in scheduling.episode_ids(opened) if each not in known]
        return dg.SensorResult(
            dynamic_partitions_requests=[EPISODES.build_add_request(missing)] if missing else [],
            run_requests=[first_plan(each) for each in filled],
            cursor=now.isoformat() if len(filled) < MISSED_MAX else context.cursor,
        )

    return reconcile


def first_plan(run: Allocated) -> dg.RunRequest:
    """Ask for the free plan a scheduled run begins with; the key is the run's, however it came about."""
    schedule_id = run.allocation_key.split(":")[1]
    return plan_request(run.episode_id, Stage.OUTLINE, key=run.allocation_key, schedule_id=schedule_id)


def plan_request(episode_id: str, stage: Stage, *, key: str, schedule_id: str = "") -> dg.RunRequest:
    """Ask for a free plan of one stage."""
    config = {"stage": str(stage), "schedule_id": schedule_id}
    return dg.RunRequest(
        run_key=f"plan:{stage}:{key}",
        partition_key=episode_id,
        job_name=plan.name,
        run_config={"ops": {"leave_quote": {"config": config}}},
        tags={"shortdrama/episode": episode_id, **NO_RETRY},
    )


def running(
    instance: dg.DagsterInstance, specs: Sequence[ScheduleSettings], settings: Settings
) -> frozenset[str]:
    """Return the ids of the schedules that are switched on."""
    states = instance.all_instigator_state(instigator_type=InstigatorType.SCHEDULE)
    known = {each.instigator_name: each.is_running for each in states}
    return frozenset(each.id for each in specs if known.get(dagster_name(each), bool(settings.schedule)))


def dagster_name(spec: ScheduleSettings) -> str:
    """Return the schedule's name as Dagster allows it; the settings refuse two that would share it."""
    return spec.id.replace("-", "_")
