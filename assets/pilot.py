"""The stage `pilot`."""

from typing import Any

import dagster as dg

from assets.building import ACTOR, CODE_VERSION, EPISODES, PRODUCERS, materialised
from resources.failing import refusals
from resources.studio import StudioResource
from shortdrama_pipeline.services import stage_runs


@dg.asset(
    key="pilot",
    deps=["storyboard", "pilot_ordered"],
    partitions_def=EPISODES,
    group_name="look",
    kinds={"video"},
    owners=PRODUCERS,
    code_version=CODE_VERSION,
    description=("A few shots filmed first, so that the look is confirmed before a batch is authorised."),
)
def pilot(context: dg.AssetExecutionContext, studio: StudioResource) -> dg.MaterializeResult[Any]:
    with refusals():
        opened = studio.open()
        report = stage_runs.advance_stage(opened, context.partition_key, "pilot", actor=ACTOR)
        return materialised(opened, report)
