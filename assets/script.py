"""The stage `script`."""

from typing import Any

import dagster as dg

from assets.building import ACTOR, CODE_VERSION, EPISODES, PRODUCERS, materialised
from resources.failing import refusals
from resources.studio import StudioResource
from shortdrama_pipeline.services import stage_runs


@dg.asset(
    key="script",
    deps=["outline", "script_ordered"],
    partitions_def=EPISODES,
    group_name="story",
    kinds={"text"},
    owners=PRODUCERS,
    code_version=CODE_VERSION,
    description=("Scenes, lines and action, made from the confirmed outline, or imported as it is."),
)
def script(context: dg.AssetExecutionContext, studio: StudioResource) -> dg.MaterializeResult[Any]:
    with refusals():
        opened = studio.open()
        report = stage_runs.advance_stage(opened, context.partition_key, "script", actor=ACTOR)
        return materialised(opened, report)
