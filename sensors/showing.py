"""What is true in our rows, shown in Dagster: passed gates, complete stages, alerts."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC
from hashlib import sha256

import dagster as dg

from assets.building import EPISODES
from assets.events import shows, word_events
from resources.studio import StudioResource
from sensors import deciding
from sensors.jobs import NO_RETRY, finish, plan
from sensors.scheduling import plan_request
from shortdrama_pipeline.rules.stages import ORDER
from shortdrama_pipeline.services import watching
from shortdrama_pipeline.services.watching import Complete
from shortdrama_pipeline.store.watching import AlertRow

PRODUCT = "shortdrama/product"  # a run's tag: what it was to show
ENDED = [dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED]
RUNS_MAX = 200  # of the newest runs, looked at for lost ones


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
    opened = studio.open()
    sweep = deciding.Sweep.read(context.cursor)
    moved = watching.completed_since(opened, sweep.after)
    ended = ended_runs(context.instance)
    lost = deciding.lost_products(ended, now=watching.database_now(opened))
    again = {each.episode_id for each in ended if each.product in lost}
    todo = unshown(context.instance, [*moved.complete, *watching.completed_of(opened, again)])
    partitions = sorted({each.episode_id for each in todo})
    return dg.SensorResult(
        dynamic_partitions_requests=[EPISODES.build_add_request(partitions)] if partitions else [],
        run_requests=[stages_request(stages, lost=lost) for stages in deciding.by_episode(todo)],
        cursor=sweep.next(moved.last, more=moved.more).write(),
    )


def stages_request(stages: Sequence[Complete], *, lost: Mapping[str, int]) -> dg.RunRequest:
    """Ask for the run that finds these stages of one episode complete; one per product that is not lost."""
    episode_id = stages[0].episode_id
    name = "".join([episode_id, *(f":{each.stage}:{each.digest}" for each in stages)])
    product = sha256(name.encode()).hexdigest()
    turn = f":{lost[product]}" if product in lost else ""
    return dg.RunRequest(
        run_key=f"complete:{name}{turn}",
        partition_key=episode_id,
        asset_selection=[dg.AssetKey(str(each.stage)) for each in stages],
        tags={"shortdrama/episode": episode_id, PRODUCT: product, **NO_RETRY},
    )


def unshown(instance: dg.DagsterInstance, complete: Iterable[Complete]) -> list[Complete]:
    """Return what Dagster does not show yet, each once, an episode's stages side by side and in order."""
    once = {(each.episode_id, ORDER.index(each.stage)): each for each in complete}
    stages = [once[place] for place in sorted(once)]
    return [each for each in stages if not shows(instance, each.stage, each.episode_id, each.digest)]


def ended_runs(instance: dg.DagsterInstance) -> list[deciding.Ended]:
    """Return how the newest runs of `finish` ended."""
    records = instance.get_run_records(dg.RunsFilter(job_name=finish.name, statuses=ENDED), limit=RUNS_MAX)
    return [
        deciding.Ended(
            run.tags[PRODUCT],
            run.tags["shortdrama/episode"],
            run.status is not dg.DagsterRunStatus.SUCCESS,
            record.update_timestamp.replace(tzinfo=record.update_timestamp.tzinfo or UTC),
        )
        for record in records
        if PRODUCT in (run := record.dagster_run).tags
    ]


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
