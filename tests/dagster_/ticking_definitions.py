"""What `ticking` loads: the schedules and the outbox of the home its environment names."""

import os
from pathlib import Path

import dagster as dg

from assets.ordering import CONFIRMED, ORDERED
from assets.stages import STAGES
from resources.studio import studio_resources
from sensors.delivering import outbox
from sensors.jobs import drain, finish, order, plan
from sensors.scheduling import schedules_of
from shortdrama_pipeline.settings import load

_settings = load(Path(os.environ["SHORTDRAMA_HOME"]), None, environment={})
defs = dg.Definitions(
    assets=[*STAGES, *ORDERED, *CONFIRMED],
    jobs=[plan, order, drain, finish],
    schedules=schedules_of(_settings),
    sensors=[outbox],
    resources=studio_resources(_settings),
    executor=dg.in_process_executor,
)
