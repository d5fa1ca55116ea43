"""What is true in our rows, shown in Dagster: passed gates, complete stages, alerts."""

import logging
from collections.abc import Sequence

import dagster as dg

from assets.building import EPISODES
from assets.events import shows, word_events
from resources.studio import StudioResource
from sensors import deciding
from sensors.jobs import NO_RETRY, finish, plan
from sensors.scheduling import plan_request
from shortdrama_pipeline.services import watching
from shortdrama_pipeline.services.watching import Complete
from shortdrama_pipeline.store.watching import AlertRow


@dg.sensor(
    job=plan,
    minimum_interval_seconds=4,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Shows a person's word as `<stage>_confirmed` and asks for the next stage's free plan.",
)
def passed_gates(context: dg.SensorEvaluationContext, studio: StudioResource) -> dg.SensorResult:
    mark = deciding.Mark.read(context.cursor)
    opened = studio.open()
    new = watching.gates_since(opened, mark.behind, seen=mark.seen_ids)
    partitions = sorted({row.episode_id for row in new})
    return dg.SensorResult(
        dynamic_partitions_requests=[EPISODES.build_add_request(partitions)] if partitions else [],
        asset_events=word_events(context.instance, new),
        run_requests=[
            plan_request(row.episode_id, stage, key=row.gate_id)
            for row, stage in watching.to_plan(opened, new)
        ],
        cursor=mark.after(new).write(),
    )


@dg.sensor(
    job=finish,
    minimum_interval_seconds=4,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Materialises a stage when its last item is in, and the stages that are made by rule.",
)
def completed_stages(context: dg.SensorEvaluationContext, studio: StudioResource) -> dg.SensorResult:
    sweep = deciding.Sweep.read(context.cursor)
    moved = watching.completed_since(studio.open(), sweep.after)
    todo = [
        each
        for each in moved.complete
        if not shows(context.instance, each.stage, each.episode_id, each.digest)
    ]
    partitions = sorted({each.episode_id for each in todo})
    return dg.SensorResult(
        dynamic_partitions_requests=[EPISODES.build_add_request(partitions)] if partitions else [],
        run_requests=[stages_request(stages) for stages in deciding.by_episode(todo)],
        cursor=sweep.next(moved.last, more=moved.more).write(),
    )


def stages_request(stages: Sequence[Complete]) -> dg.RunRequest:
    """Ask for the run that finds these stages of one episode complete; one run per product."""
    episode_id = stages[0].episode_id
    return dg.RunRequest(
        run_key="complete:" + episode_id + "".join(f":{each.stage}:{each.digest}" for each in stages),
        partition_key=episode_id,
        asset_selection=[dg.AssetKey(str(each.stage)) for each in stages],
        tags={"shortdrama/episode": episode_id, **NO_RETRY},
    )


@dg.sensor(
    minimum_interval_seconds=4,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Shows every open alert in the log and, where it concerns a stage, on that stage's asset.",
)
def alerts(context: dg.SensorEvaluationContext, studio: StudioResource) -> dg.SensorResult:
    mark = deciding.Mark.read(context.cursor)
    new = watching.alerts_since(studio.open(), mark.behind, seen=mark.seen_ids)
    said = [f"{row.kind} {row.entity_id}: {row.message}" for row in new]
    context.log.log(logging.WARNING if said else logging.DEBUG, "%s", "; ".join(said) or "nothing new")
    return dg.SensorResult(
        asset_events=[observation(row) for row in new if row.stage and row.episode_id],
        cursor=mark.after(new).write(),
    )


def observation(row: AlertRow) -> dg.AssetObservation:
    """Say what a person must look at."""
    return dg.AssetObservation(
        asset_key=str(row.stage),
        partition=row.episode_id,
        metadata={"alert": row.kind, "about": row.entity_id, "message": row.message},
    )
