"""From the Outbox to runs, and from what is due to turns at the engine (T2, X-01)."""

import dagster as dg
from dagster._core.storage.dagster_run import IN_PROGRESS_RUN_STATUSES

from assets.building import EPISODES
from resources.studio import StudioResource
from sensors import deciding
from sensors.jobs import DRAINS_MAX, NO_RETRY, drain, order
from shortdrama_pipeline.services import watching
from shortdrama_pipeline.store.watching import Delivery

ACTIVE = [*IN_PROGRESS_RUN_STATUSES, dg.DagsterRunStatus.QUEUED, dg.DagsterRunStatus.NOT_STARTED]


@dg.sensor(
    job=order,
    minimum_interval_seconds=4,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Hands every confirmed Quote to a run, under the stable id of its outbox row.",
)
def outbox(context: dg.SensorEvaluationContext, studio: StudioResource) -> dg.SensorResult:
    opened = studio.open()
    asked = deciding.read_asked(context.cursor)
    watching.mark_delivered(opened, asked)
    to_run = deciding.to_run(watching.deliveries(opened), asked=asked)
    partitions = sorted({episode for each in to_run for episode in each.episode_ids})
    return dg.SensorResult(
        dynamic_partitions_requests=[EPISODES.build_add_request(partitions)] if partitions else [],
        run_requests=[order_request(each, episode) for each in to_run for episode in each.episode_ids],
        cursor=deciding.write_asked(to_run),
    )


def order_request(delivery: Delivery, episode_id: str) -> dg.RunRequest:
    """Ask for the run that hands this over to one episode; a second asking makes no second run."""
    return dg.RunRequest(
        run_key=f"outbox:{delivery.outbox_id}:{episode_id}:{delivery.deliveries}",
        partition_key=episode_id,
        asset_selection=[dg.AssetKey(f"{delivery.stage}_ordered")],
        tags={
            "shortdrama/episode": episode_id,
            "shortdrama/outbox": delivery.outbox_id,
            **NO_RETRY,
        },
    )


@dg.sensor(
    job=drain,
    minimum_interval_seconds=4,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Starts a short turn at the engine when something is due and no turn is running.",
)
def due_work(context: dg.SensorEvaluationContext, studio: StudioResource) -> dg.SensorResult:
    active = context.instance.get_runs_count(dg.RunsFilter(job_name=drain.name, statuses=ACTIVE))
    turns = deciding.turns_to_start(watching.due(studio.open()), active=active, most=DRAINS_MAX)
    return dg.SensorResult(run_requests=[dg.RunRequest(tags=NO_RETRY)] * turns)
