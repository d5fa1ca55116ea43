"""The stage `export`."""

from typing import Any

import dagster as dg

from assets.building import ACTOR, CODE_VERSION, EPISODES, PRODUCERS, materialised, where_it_lies
from resources.failing import refusals
from resources.studio import StudioResource
from shortdrama_pipeline.services import stage_runs
from shortdrama_pipeline.services.exporting import show_export


@dg.asset(
    key="export",
    deps=["timeline", "timeline_confirmed"],
    partitions_def=EPISODES,
    group_name="edit",
    kinds={"video"},
    owners=PRODUCERS,
    code_version=CODE_VERSION,
    description=(
        "The finished film with subtitles, cover and hand-over pack, made by rule from the confirmed cut."
    ),
)
def export(context: dg.AssetExecutionContext, studio: StudioResource) -> dg.MaterializeResult[Any]:
    with refusals():
        opened = studio.open()
        report = stage_runs.advance_stage(opened, context.partition_key, "export", actor=ACTOR)
        return materialised(opened, report, more=where_it_lies(show_export(opened, context.partition_key)))
