"""What Dagster loads: assets, sensors, schedules and resources of one studio, put together here only."""

from collections.abc import Mapping

import dagster as dg

from assets.checks import CHECKS
from assets.ordering import CONFIRMED, ORDERED
from assets.stages import STAGES
from resources.studio import read_settings, studio_resources
from sensors.batches import confirmed_batches
from sensors.delivering import due_work, outbox
from sensors.jobs import drain, finish, order, plan
from sensors.scheduling import reconcile_of, schedules_of
from sensors.showing import alerts, completed_stages, passed_gates
from shortdrama_pipeline.settings import Settings


def build_definitions(settings: Settings, *, resources: Mapping[str, object] | None = None) -> dg.Definitions:
    """Return the definitions of a studio; `resources` overrides by name.

    Steps run in the run's own process: no step outlives its run, no crash retries one.
    """
    return dg.Definitions(
        assets=[*STAGES, *ORDERED, *CONFIRMED],
        asset_checks=CHECKS,
        jobs=[plan, order, drain, finish],
        schedules=schedules_of(settings),
        sensors=[
            reconcile_of(settings),
            outbox,
            due_work,
            passed_gates,
            completed_stages,
            confirmed_batches,
            alerts,
        ],
        resources={**studio_resources(settings), **(resources or {})},
        executor=dg.in_process_executor,
    )


defs = build_definitions(read_settings())
