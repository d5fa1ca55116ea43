"""`<stage>_ordered`: all that a paid stage needs is confirmed and handed to the engine (D-21).

A confirmed batch becomes a backfill over one of these, so that a finished hand-over never reads as a
finished stage. The run orders nothing by itself: it works off what a person confirmed.
"""

from typing import Any

import dagster as dg

from assets.building import ACTOR, CODE_VERSION, EPISODES, PRODUCERS, ordered
from resources.failing import refusals
from resources.studio import StudioResource
from shortdrama_pipeline.rules.stages import ORDER, PAID, before
from shortdrama_pipeline.rules.states import Stage
from shortdrama_pipeline.services import draining, stage_runs

GROUPS = {
    Stage.OUTLINE: "story",
    Stage.SCRIPT: "story",
    Stage.ASSETS: "look",
    Stage.STORYBOARD: "look",
    Stage.PILOT: "look",
    Stage.SHOTS: "production",
    Stage.AUDIO: "production",
    Stage.TIMELINE: "edit",
    Stage.EXPORT: "edit",
}
HAND_OVER_SECONDS_MAX = 2  # what is left goes out with the next turn at the engine


def ordered_asset(stage: Stage) -> dg.AssetsDefinition:
    """Return the asset that shows what of `stage` is in the engine's hands."""

    @dg.asset(
        key=f"{stage}_ordered",
        deps=[f"{each}_confirmed" for each in before(stage)[-1:]],
        partitions_def=EPISODES,
        group_name=GROUPS[stage],
        kinds={"postgres"},
        owners=PRODUCERS,
        code_version=CODE_VERSION,
        pool="order",
        description=f"Everything `{stage}` needs is confirmed and handed over; its results come later.",
    )
    def ordered_stage(context: dg.AssetExecutionContext, studio: StudioResource) -> dg.MaterializeResult[Any]:
        with refusals():
            opened = studio.open()
            report = stage_runs.order_stage(opened, context.partition_key, stage, actor=ACTOR)
            draining.drain(opened, worker=context.run.run_id, seconds_max=HAND_OVER_SECONDS_MAX)
            return ordered(report)

    return ordered_stage


def confirmed_spec(stage: Stage) -> dg.AssetSpec:
    """Return the external asset that shows a person's word on `stage`; the gates sensor reports it."""
    return dg.AssetSpec(
        key=f"{stage}_confirmed",
        deps=[str(stage)],
        partitions_def=EPISODES,
        group_name=GROUPS[stage],
        kinds={"person"},
        owners=PRODUCERS,
        description=f"A person passed the gate of `{stage}` over these versions; a change re-opens it.",
    )


ORDERED = [ordered_asset(stage) for stage in ORDER if stage in PAID]
CONFIRMED = [confirmed_spec(stage) for stage in ORDER]
