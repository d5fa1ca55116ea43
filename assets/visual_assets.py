"""The stage `assets`."""

from typing import Any

import dagster as dg

from assets.building import ACTOR, CODE_VERSION, EPISODES, PRODUCERS, materialised
from resources.failing import refusals
from resources.studio import StudioResource
from shortdrama_pipeline.services import stage_runs


@dg.asset(
    key="assets",
    deps=["script", "assets_ordered"],
    partitions_def=EPISODES,
    group_name="look",
    kinds={"image"},
    owners=PRODUCERS,
    code_version=CODE_VERSION,
    description=(
        "Reference pictures of characters, places and props, and the project bible that names them."
    ),
)
def visual_assets(context: dg.AssetExecutionContext, studio: StudioResource) -> dg.MaterializeResult[Any]:
    with refusals():
        opened = studio.open()
        report = stage_runs.advance_stage(opened, context.partition_key, "assets", actor=ACTOR)
        return materialised(opened, report)
