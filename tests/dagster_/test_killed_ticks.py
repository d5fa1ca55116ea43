"""Dagster's daemon killed with -9 between every two steps of a tick: the next goes on, nothing doubles."""

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa

from resources import instance as dagster_instance
from shortdrama_pipeline.crashpoints import Point
from shortdrama_pipeline.ids import new_id
from shortdrama_pipeline.rules.states import Stage
from shortdrama_pipeline.services import scheduling
from shortdrama_pipeline.services.draining import drain
from shortdrama_pipeline.services.gates import pass_gate
from shortdrama_pipeline.settings import Settings, load
from shortdrama_pipeline.store import server
from tests.dagster_.conftest import PERSON, World
from tests.dagster_.ticking import PARTITION_ADDED, Turn

STEPS_OF_A_SENSOR = ["TICK_CREATED", "RUN_IDS_RESERVED", "RUN_CREATED", "RUN_LAUNCHED"]
STEPS_OF_A_SCHEDULE = ["TICK_CREATED", "RUN_CREATED", "RUN_LAUNCHED", "RUN_ADDED", "TICK_SUCCESS"]
SCHEDULE = '\n[[schedule]]\nid = "often"\ncron = "* * * * *"\nlabels = {env = "test"}\n'
MINUTE = 60


@pytest.fixture(scope="module")
def zygote() -> Iterator[Callable[[Turn], int]]:
    """Give turns to a process that has Dagster imported; returns how each ended."""
    command = [sys.executable, "-m", "tests.dagster_.ticking"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        tell, hear = process.stdin, process.stdout

        def take(turn: Turn) -> int:
            tell.write(turn.to_line() + "\n")
            tell.flush()
            return int(hear.readline())

        yield take
        tell.close()


@pytest.fixture(scope="module")
def dagster_template(pg_server: server.Server, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A database with Dagster's tables, to clone from."""
    import dagster as dg

    name = new_id("dagster")
    with _maintenance(pg_server) as connection:
        connection.execute(sa.text(f"create database {name}"))
    url = pg_server.url(name, driver="psycopg2")
    storage = {"postgres": {"postgres_url": url}}
    with dg.instance_for_test(
        overrides={"storage": storage, "telemetry": {"enabled": False}},
        temp_dir=str(tmp_path_factory.mktemp("dagster")),
    ) as made:
        made.event_log_storage.set_concurrency_slots("order", 4)
        made.event_log_storage.set_concurrency_slots("drain", 1)
    return name


@pytest.fixture
def configured(
    configured: Settings, home: Path, pg_server: server.Server, dagster_template: str
) -> Iterator[Settings]:
    name = new_id("dagster")
    with _maintenance(pg_server) as connection:
        connection.execute(sa.text(f"create database {name} template {dagster_template}"))
    file = home / "shortdrama.toml"
    url = pg_server.url(name, driver="psycopg2")
    file.write_text(f'{file.read_text()}{SCHEDULE}\n[dagster]\nurl = "{url}"\n')
    yield load(home, None, environment={})
    with _maintenance(pg_server) as connection:
        connection.execute(sa.text(f"drop database {name} with (force)"))


@dataclass(slots=True)
class Ticks:
    """The daemon of this studio, turn by turn, and Dagster's runs as its database holds them."""

    take: Callable[[Turn], int]
    settings: Settings
    database: sa.Engine
    now: datetime = field(default_factory=lambda: datetime.now(UTC).replace(second=5, microsecond=0))

    def turn(self, what: str, name: str = "", flag: str = "", point: str = "", *, later_s: int = 5) -> int:
        """Take one turn, `later_s` after the last by the daemon's own clock."""
        self.now += timedelta(seconds=later_s)
        environment = dagster_instance.environment(self.settings)
        return self.take(Turn(what, environment, self.now.isoformat(), name, flag, point))

    def runs(self, job: str) -> list[str]:
        """Return the run keys of a job's runs."""
        with self.database.connect() as connection:
            return list(
                connection.execute(
                    sa.text(
                        "select value from runs join run_tags using (run_id)"
                        " where pipeline_name = :job and key = 'dagster/run_key'"
                    ),
                    {"job": job},
                ).scalars()
            )


@pytest.fixture
def ticks(zygote: Callable[[Turn], int], configured: Settings) -> Ticks:
    dagster_instance.write_config(configured)
    url = sa.make_url(configured.dagster.url).set(drivername="postgresql+psycopg")
    return Ticks(zygote, configured, sa.create_engine(url, poolclass=sa.NullPool))


def _order(world: World, number: int) -> None:
    """Confirm the assets of a new episode: one more row in the Outbox."""
    episode_id = world.episode(number=number)
    for stage in (Stage.OUTLINE, Stage.SCRIPT):
        pass_gate(world.studio, episode_id, stage, actor=PERSON, rights=True)
    world.confirm(episode_id, Stage.ASSETS)


def _count(world: World, query: str) -> int:
    with world.studio.db.read() as tx:
        return int(tx.execute(sa.text(query)).scalar_one())


def test_a_daemon_killed_while_it_hands_over_makes_one_run_per_row_and_one_post_per_item(
    world: World, ticks: Ticks
) -> None:
    kills: list[tuple[str, str, str]] = [
        *(("outbox", each, "") for each in STEPS_OF_A_SENSOR),
        ("", "", Point.DISPATCH_PUBLISHED),
        ("", "", Point.DISPATCH_MARKED),
    ]
    for number, kill in enumerate(kills):
        _order(world, number)
        assert ticks.turn("sensors", *kill) == -signal.SIGKILL, kill
        assert ticks.turn("sensors") == 0, kill
    for _ in range(2):
        assert ticks.turn("sensors") == 0
    assert len(ticks.runs("order")) == len(set(ticks.runs("order"))) == len(kills)
    assert _count(world, "select count(*) from outbox where sent_at is null") == 0
    drain(world.studio, worker="test")
    assert world.posts() == _count(world, "select count(*) from tasks where state = 'succeeded'")
    assert _count(world, "select count(*) from tasks where state <> 'succeeded'") == 0
    assert ticks.turn("sensors") == 0
    assert len(ticks.runs("order")) == len(kills)


def test_a_daemon_killed_in_a_schedule_s_tick_allocates_one_episode_and_asks_for_one_plan_per_time(
    world: World, ticks: Ticks
) -> None:
    kills: list[tuple[str, str, str]] = [
        *(("often", each, "") for each in STEPS_OF_A_SCHEDULE),
        ("", "", Point.ALLOCATE_COMMITTED),
        ("", "", PARTITION_ADDED),
    ]
    assert ticks.turn("schedules") == 0  # switches it on
    for kill in kills:
        assert ticks.turn("schedules", *kill, later_s=MINUTE) == -signal.SIGKILL, kill
        assert ticks.turn("schedules", later_s=0) == 0, kill
    assert ticks.turn("schedules", later_s=0) == 0
    episode_ids = scheduling.episode_ids(world.studio)
    assert len(episode_ids) == len(kills)
    plans = ticks.runs("plan")
    assert len(plans) == len(set(plans)) == len(kills)
    assert all(each.startswith("plan:outline:scheduled-run:often:") for each in plans)
    with ticks.database.connect() as connection:
        partitions = connection.execute(sa.text("select partition from dynamic_partitions")).scalars()
        assert sorted(partitions) == sorted(episode_ids)
    assert world.posts() == 0


def _maintenance(running: server.Server) -> sa.Connection:
    engine = sa.create_engine(running.url("postgres"), poolclass=sa.NullPool, isolation_level="AUTOCOMMIT")
    return engine.connect()
