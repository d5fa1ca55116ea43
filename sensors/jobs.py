"""The jobs that sensors start: a free plan, a hand-over, a turn at the engine, the end of a stage."""

import dagster as dg

from assets.building import EPISODES
from assets.ordering import ORDERED
from assets.stages import STAGES
from resources.failing import refusals
from resources.studio import StudioResource
from shortdrama_pipeline.rules.states import Stage
from shortdrama_pipeline.services import draining, scheduling

DRAIN_SECONDS_MAX = 300  # a longer job is taken up by the next turn
DRAINS_MAX = 1  # active at once, asked for by the sensor; correctness does not need it


NO_RETRY = {"dagster/max_retries": "0"}  # said again on every run, should somebody switch run retries on

order = dg.define_asset_job(
    "order",
    selection=dg.AssetSelection.assets(*ORDERED),
    tags=NO_RETRY,
    description="Hands over what a person confirmed.",
)
finish = dg.define_asset_job(
    "finish",
    selection=dg.AssetSelection.assets(*STAGES),
    tags=NO_RETRY,
    description="Materialises a stage that is complete, or is made by rule.",
)


class PlanConfig(dg.Config):
    """What to plan, and for which schedule; without one nothing can be confirmed."""

    stage: str = str(Stage.OUTLINE)
    schedule_id: str = ""


@dg.op(description="Plans one stage of the episode and leaves an open Quote. Costs nothing (D-11).")
def leave_quote(context: dg.OpExecutionContext, config: PlanConfig, studio: StudioResource) -> None:
    with refusals():
        opened = studio.open()
        spec = scheduling.find_schedule(opened.settings, config.schedule_id)
        left = scheduling.plan_free(opened, context.partition_key, Stage(config.stage), spec=spec)
        context.log.info("%s of %s: %s", left.stage, left.episode_id, left.quote_id or left.why_none)


@dg.op(
    pool="drain",
    description="Submits, asks, fetches and settles what is due, then ends. Safe at any number at once.",
)
def work_off(context: dg.OpExecutionContext, studio: StudioResource) -> None:
    with refusals():
        report = draining.drain(
            studio.open(), worker=context.run_id, until_idle=True, seconds_max=DRAIN_SECONDS_MAX
        )
        context.log.info(str(report))


@dg.job(partitions_def=EPISODES, executor_def=dg.in_process_executor, tags=NO_RETRY)
def plan() -> None:
    """Leave a Quote for the next stage of an episode, at no cost."""
    leave_quote()


@dg.job(executor_def=dg.in_process_executor, tags=NO_RETRY)
def drain() -> None:
    """Work off what is due."""
    work_off()
