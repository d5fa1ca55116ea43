"""Crash points: inert unless armed, armed as the plan says."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from shortdrama_pipeline import crashpoints
from shortdrama_pipeline.crashpoints import Point, reach

ROOT = Path(__file__).parent.parent
TWICE = """
from shortdrama_pipeline.crashpoints import Point, reach
reach(Point.FENCE_COMMITTED)
reach(Point.FENCE_COMMITTED)
print("lived")
"""


def _run(plan: str, log: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, crashpoints.ENVIRONMENT: plan, crashpoints.FIRED_LOG: str(log)}
    return subprocess.run(
        [sys.executable, "-c", TWICE],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_a_point_is_inert_unless_armed() -> None:
    for each in Point:
        reach(each)


def test_an_armed_handler_sees_the_point_until_it_is_disarmed() -> None:
    seen: list[Point] = []
    crashpoints.arm(seen.append)
    try:
        reach(Point.CONFIRM_COMMITTED)
    finally:
        crashpoints.arm(None)
    reach(Point.CONFIRM_LOCKED)
    assert seen == [Point.CONFIRM_COMMITTED]


def test_the_environment_kills_a_process_at_the_nth_time_and_leaves_a_line(tmp_path: Path) -> None:
    log = tmp_path / "fired"
    done = _run("fence.committed=kill@2", log)
    assert done.returncode == -signal.SIGKILL
    assert log.read_text().split()[:2] == ["fence.committed", "kill"]


def test_a_time_that_never_comes_fires_nothing(tmp_path: Path) -> None:
    log = tmp_path / "fired"
    done = _run("fence.committed=kill@3", log)
    assert done.stdout == "lived\n"
    assert not log.exists()


@pytest.mark.parametrize("plan", ["nowhere=kill", "fence.committed=explode", "fence.committed=kill@soon"])
def test_a_plan_that_says_nothing_real_is_refused_at_start(plan: str, tmp_path: Path) -> None:
    done = _run(plan, tmp_path / "fired")
    assert done.returncode != 0
    assert "ValueError" in done.stderr
