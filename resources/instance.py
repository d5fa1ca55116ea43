"""Writes dagster.yaml and the environment a Dagster process of this studio starts with.

The choices are measured ones: no run retries (a retried run would be a second order but for our
fence), dead runs found within seconds, one-second queue, explicit pool limits, no telemetry.
"""

import json
from collections.abc import Mapping
from pathlib import Path

import dagster as dg

from shortdrama_pipeline.services.opening import dagster_url
from shortdrama_pipeline.settings import Settings

URL_NAME = "SHORTDRAMA_DAGSTER_URL"  # by name: the instance's config stands on the command line of children
POOLS: Mapping[str, int] = {"order": 4, "drain": 1}
RUNS_MAX = 4
KEEP_CONNECTIONS: Mapping[str, int] = {"statement_timeout": 15_000, "pool_recycle": 3600, "max_overflow": 5}
RUN_SECONDS_MAX = 1800

CONFIG: Mapping[str, object] = {
    "telemetry": {"enabled": False},
    "nux": {"enabled": False},
    "storage": {"postgres": {"postgres_url": {"env": URL_NAME}}},
    "run_launcher": {"module": "resources.launcher", "class": "HealthCheckedRunLauncher"},
    "run_monitoring": {
        "enabled": True,
        "poll_interval_seconds": 10,
        "start_timeout_seconds": 120,
        "max_runtime_seconds": RUN_SECONDS_MAX,
        "free_slots_after_run_end_seconds": 10,
    },
    "concurrency": {
        "runs": {"max_concurrent_runs": RUNS_MAX},
        "pools": {"granularity": "run", "default_limit": 1},
    },
    "run_queue": {"dequeue_interval_seconds": 1},
    # The default, 0, would lose a week after one failed evaluation.
    "scheduler": {
        "module": "dagster.core.scheduler",
        "class": "DagsterDaemonScheduler",
        "config": {"max_tick_retries": 5},
    },
    "python_logs": {"python_log_level": "INFO"},
    "retention": {"sensor": {"purge_after_days": {"skipped": 2, "success": 30}}},
}


def dagster_home(settings: Settings) -> Path:
    return settings.home / "dagster"


def write_config(settings: Settings) -> Path:
    """Write dagster.yaml if it is not what it should be, and return DAGSTER_HOME. JSON is YAML."""
    home = dagster_home(settings)
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    file, text = home / "dagster.yaml", json.dumps(CONFIG, indent=2) + "\n"
    if not file.exists() or file.read_text() != text:
        fresh = file.with_suffix(".new")
        fresh.write_text(text)
        fresh.replace(file)
    return home


def environment(settings: Settings) -> dict[str, str]:
    """Return what a Dagster process needs in its environment; no secret stands in it."""
    return {
        "DAGSTER_HOME": str(dagster_home(settings)),
        "DAGSTER_DISABLE_TELEMETRY": "1",
        "SHORTDRAMA_HOME": str(settings.home),
        URL_NAME: dagster_url(settings),
    }


def make_tables() -> None:
    """Create Dagster's tables once and set the limits of its pools, before several processes race for it.

    The environment must be set. A pool nobody has limited is not held back on its first pass.
    """
    with dg.DagsterInstance.get() as instance:
        for pool, slots in POOLS.items():
            instance.event_log_storage.set_concurrency_slots(pool, slots)
