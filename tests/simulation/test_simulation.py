"""Three hundred schedules in every run of the tests, and a history that repeats itself."""

import subprocess
import sys
from pathlib import Path

import pytest
import sqlalchemy as sa

from shortdrama_pipeline.ids import new_id
from shortdrama_pipeline.store.server import Server

ROOT = Path(__file__).parent.parent.parent
HALF = 150


def simulate(pg_server: Server, *words: str) -> "subprocess.CompletedProcess[str]":
    """In a process of its own, whose sets have the order they always have."""
    name = new_id("sim")
    engine = sa.create_engine(pg_server.url("postgres"), poolclass=sa.NullPool, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.exec_driver_sql(f"create database {name}")
    try:
        command = [sys.executable, "-m", "tests.simulation", "--url", pg_server.url(name), *words]
        return subprocess.run(command, cwd=ROOT, text=True, capture_output=True, check=False)
    finally:
        with engine.connect() as connection:
            connection.exec_driver_sql(f"drop database {name} with (force)")


@pytest.mark.parametrize("first", [0, HALF])
def test_whatever_befalls_workers_and_vendor_every_invariant_holds(pg_server: Server, first: int) -> None:
    done = simulate(pg_server, "--seed", "1", "--first", str(first), "--schedules", str(HALF))
    assert done.returncode == 0, done.stdout + done.stderr
    sys.stdout.write(done.stdout)


@pytest.mark.parametrize("number", [76, 96])
def test_a_schedule_replays_from_its_seed_to_the_letter(pg_server: Server, number: int) -> None:
    first, second = (simulate(pg_server, "--seed", "1", "--only", str(number)).stdout for _ in range(2))
    assert "worker-" in first
    assert first == second
