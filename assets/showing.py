"""Materialises what is complete on an instance of Dagster, in the caller's process."""

import dagster as dg

from assets.building import EPISODES
from assets.checks import CHECKS
from assets.events import word_events
from assets.ordering import ORDERED
from assets.stages import STAGES
from resources.studio import studio_resources
from shortdrama_pipeline.errors import Outside
from shortdrama_pipeline.rules.states import Stage
from shortdrama_pipeline.services import watching
from shortdrama_pipeline.services.context import Studio

QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}


def show_stage(instance: dg.DagsterInstance, studio: Studio, episode_id: str, stage: Stage) -> None:
    """Materialise a complete stage, and its hand-over where it has one, for one episode."""
    keys = {dg.AssetKey(str(stage)), dg.AssetKey(f"{stage}_ordered")}
    assets = [each for each in (*ORDERED, *STAGES) if each.key in keys]
    checks = [each for each in CHECKS if {check.asset_key for check in each.check_keys} & keys]
    instance.add_dynamic_partitions(str(EPISODES.name), [episode_id])
    result = dg.materialize(
        [*assets, *checks],
        partition_key=episode_id,
        instance=instance,
        resources=studio_resources(studio.settings),
        run_config=QUIET,
        raise_on_error=False,
        tags={"shortdrama/episode": episode_id},
    )
    _require_success(result, stage)


def show_gates(instance: dg.DagsterInstance, studio: Studio, episode_id: str) -> None:
    """Report every passed gate of the episode that is not shown yet."""
    events = word_events(instance, watching.gates_of_episode(studio, episode_id))
    _ = [instance.report_runless_asset_event(event) for event in events]


def _require_success(result: dg.ExecuteInProcessResult, stage: Stage) -> None:
    if not result.success:
        raise Outside(
            f"Dagster could not materialise {stage}", hint=f"Read its run {result.run_id}", stage=str(stage)
        )
