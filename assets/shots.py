"""The stage `shots`."""

from typing import Any

import dagster as dg

from assets.building import ACTOR, CODE_VERSION, EPISODES, PRODUCERS, materialised
from resources.failing import refusals
from resources.studio import StudioResource
from shortdrama_pipeline.services import stage_runs


@dg.asset(
    key="shots",
    deps=["pilot", "shots_ordered"],
    partitions_def=EPISODES,
    group_name="production",
    kinds={"video"},
    owners=PRODUCERS,
    code_version=CODE_VERSION,
    description=("Every shot filmed, each item on its own: one failure never orders another again."),
)
def shots(context: dg.AssetExecutionContext, studio: StudioResource) -> dg.MaterializeResult[Any]:
    with refusals():
        opened = studio.open()
        report = stage_runs.advance_stage(opened, context.partition_key, "shots", actor=ACTOR)
        return materialised(opened, report)
