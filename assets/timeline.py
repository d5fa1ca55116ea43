"""The stage `timeline`."""

from typing import Any

import dagster as dg

from assets.building import ACTOR, CODE_VERSION, EPISODES, PRODUCERS, materialised
from resources.failing import refusals
from resources.studio import StudioResource
from shortdrama_pipeline.services import stage_runs


@dg.asset(
    key="timeline",
    deps=["audio", "audio_confirmed"],
    partitions_def=EPISODES,
    group_name="edit",
    kinds={"table"},
    owners=PRODUCERS,
    code_version=CODE_VERSION,
    description=(
        "The cut on an exact frame grid: pictures, voices and subtitles. Made by rule, costs nothing."
    ),
)
def timeline(context: dg.AssetExecutionContext, studio: StudioResource) -> dg.MaterializeResult[Any]:
    with refusals():
        opened = studio.open()
        report = stage_runs.advance_stage(opened, context.partition_key, "timeline", actor=ACTOR)
        return materialised(opened, report)
