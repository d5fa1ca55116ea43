"""The stage `storyboard`."""

from typing import Any

import dagster as dg

from assets.building import ACTOR, CODE_VERSION, EPISODES, PRODUCERS, materialised
from resources.failing import refusals
from resources.studio import StudioResource
from shortdrama_pipeline.services import stage_runs


@dg.asset(
    key="storyboard",
    deps=["assets", "storyboard_ordered"],
    partitions_def=EPISODES,
    group_name="look",
    kinds={"image"},
    owners=PRODUCERS,
    code_version=CODE_VERSION,
    description=("Every shot with size, move, length and lines, each with its drawn frame."),
)
def storyboard(context: dg.AssetExecutionContext, studio: StudioResource) -> dg.MaterializeResult[Any]:
    with refusals():
        opened = studio.open()
        report = stage_runs.advance_stage(opened, context.partition_key, "storyboard", actor=ACTOR)
        return materialised(opened, report)
