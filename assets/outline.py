"""The stage `outline`."""

from typing import Any

import dagster as dg

from assets.building import ACTOR, CODE_VERSION, EPISODES, PRODUCERS, materialised
from resources.failing import refusals
from resources.studio import StudioResource
from shortdrama_pipeline.services import stage_runs


@dg.asset(
    key="outline",
    deps=["outline_ordered"],
    partitions_def=EPISODES,
    group_name="story",
    kinds={"text"},
    owners=PRODUCERS,
    code_version=CODE_VERSION,
    description=(
        "The story outline: premise, beats, ending. From a brief by a planned, quoted text task, "
        "or a draft beside an imported script. Its gate asks for story **and rights**."
    ),
)
def outline(context: dg.AssetExecutionContext, studio: StudioResource) -> dg.MaterializeResult[Any]:
    with refusals():
        opened = studio.open()
        report = stage_runs.advance_stage(opened, context.partition_key, "outline", actor=ACTOR)
        return materialised(opened, report)
