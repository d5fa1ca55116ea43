"""The stage `audio`."""

from typing import Any

import dagster as dg

from assets.building import ACTOR, CODE_VERSION, EPISODES, PRODUCERS, materialised
from resources.failing import refusals
from resources.studio import StudioResource
from shortdrama_pipeline.services import stage_runs


@dg.asset(
    key="audio",
    deps=["shots", "audio_ordered"],
    partitions_def=EPISODES,
    group_name="production",
    kinds={"audio"},
    owners=PRODUCERS,
    code_version=CODE_VERSION,
    description=(
        "Every spoken line with one voice per character. Its gate asks for pronunciation, timing "
        "**and rights**."
    ),
)
def audio(context: dg.AssetExecutionContext, studio: StudioResource) -> dg.MaterializeResult[Any]:
    with refusals():
        opened = studio.open()
        report = stage_runs.advance_stage(opened, context.partition_key, "audio", actor=ACTOR)
        return materialised(opened, report)
