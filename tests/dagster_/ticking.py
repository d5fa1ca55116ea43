"""`python -m tests.dagster_.ticking`: a turn of Dagster's daemon per line of input, to be killed.

It imports Dagster once and forks for every turn, so that a real kill -9 costs no second of importing.
A line is a JSON `Turn`; the answer is one line, the signal the turn died by, or 0.
"""

import json
import logging
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from dagster import DagsterInstance
from dagster._core.remote_origin import CodeLocationOrigin, InProcessCodeLocationOrigin
from dagster._core.test_utils import create_test_daemon_workspace_context, freeze_time
from dagster._core.types.loadable_target_origin import LoadableTargetOrigin
from dagster._core.workspace.load_target import WorkspaceLoadTarget
from dagster._daemon.sensor import execute_sensor_iteration
from dagster._scheduler.scheduler import launch_scheduled_runs

from shortdrama_pipeline import crashpoints

if TYPE_CHECKING:
    from dagster._utils import DebugCrashFlags

DEFINITIONS = Path(__file__).with_name("ticking_definitions.py")
PARTITION_ADDED = "partition.added"
LOG = logging.getLogger("ticking")


@dataclass(frozen=True, slots=True)
class Turn:
    """`what` is "sensors" or "schedules". `name` and `flag`, or `point`, say where it is killed."""

    what: str
    environment: dict[str, str]
    now: str  # what this turn believes it is
    name: str = ""
    flag: str = ""
    point: str = ""

    def to_line(self) -> str:
        return json.dumps(asdict(self))


class _Here(WorkspaceLoadTarget):
    """Our code, loaded into the daemon's own process: killed with it."""

    def create_origins(self) -> Sequence[CodeLocationOrigin]:
        target = LoadableTargetOrigin(
            python_file=str(DEFINITIONS), attribute="defs", executable_path=sys.executable
        )
        return [InProcessCodeLocationOrigin(target, location_name="shortdrama")]


def take(turn: Turn) -> None:
    """Do what the daemon does in one loop, at the time the turn names."""
    os.environ.update(turn.environment)
    _arm(turn)
    flags: DebugCrashFlags | None = {turn.name: {turn.flag: signal.SIGKILL}} if turn.flag else None
    now = datetime.fromisoformat(turn.now)
    with (
        DagsterInstance.get() as instance,
        freeze_time(now),
        create_test_daemon_workspace_context(_Here(), instance) as workspace,
    ):
        if turn.what == "sensors":
            steps = execute_sensor_iteration(workspace, LOG, None, None, debug_crash_flags=flags)
        else:
            steps = launch_scheduled_runs(
                workspace, LOG, now, {}, debug_crash_flags=flags, max_tick_retries=5
            )
        for step in steps:
            if step is not None:
                LOG.error("%s", step)


def _arm(turn: Turn) -> None:
    """Kill this process where the turn says, by a point of ours or right after a partition was added."""
    if turn.point == PARTITION_ADDED:
        add = DagsterInstance.add_dynamic_partitions

        def add_and_die(
            self: DagsterInstance, partitions_def_name: str, partition_keys: Sequence[str]
        ) -> None:
            add(self, partitions_def_name, partition_keys)
            os.kill(os.getpid(), signal.SIGKILL)

        DagsterInstance.add_dynamic_partitions = add_and_die  # type: ignore[method-assign]
    elif turn.point:
        wanted = crashpoints.Point(turn.point)
        crashpoints.arm(lambda point: os.kill(os.getpid(), signal.SIGKILL) if point is wanted else None)


def main() -> None:
    """Fork for every line; say how the turn ended."""
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            os.dup2(2, 1)  # Dagster says things on stdout, which is for the answers
            try:
                take(Turn(**json.loads(line)))
            except BaseException:  # noqa: BLE001 - said to whoever reads the log, then this process is over
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        _, status = os.waitpid(pid, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
