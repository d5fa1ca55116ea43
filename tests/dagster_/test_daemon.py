"""The real thing: `shortdrama dev` with Dagster's page and daemon takes an episode to a finished stage."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from shortdrama_pipeline.ids import new_id
from shortdrama_pipeline.rules.money import Money
from shortdrama_pipeline.rules.states import Stage
from shortdrama_pipeline.services.confirming import confirm_quote
from shortdrama_pipeline.services.context import Studio
from shortdrama_pipeline.services.gates import pass_gate
from shortdrama_pipeline.services.opening import open_studio
from shortdrama_pipeline.services.stage_planning import plan_stage
from shortdrama_pipeline.services.wallets import top_up
from shortdrama_pipeline.settings import Settings, load
from shortdrama_pipeline.store import server
from tests.dagster_.conftest import PERSON
from tests.fake_vendor import FakeVendor
from tests.stages_ import flow

START_SECONDS_MAX = 120
WORK_SECONDS_MAX = 120


@pytest.fixture
def dagster_db(pg_server: server.Server) -> Iterator[sa.Engine]:
    """An empty database for Dagster's own storage."""
    name = new_id("dagster")
    main = sa.create_engine(pg_server.url("postgres"), poolclass=sa.NullPool, isolation_level="AUTOCOMMIT")
    with main.connect() as connection:
        connection.execute(sa.text(f"create database {name}"))
    engine = sa.create_engine(pg_server.url(name), poolclass=sa.NullPool)
    yield engine
    with main.connect() as connection:
        connection.execute(sa.text(f"drop database {name} with (force)"))


@pytest.fixture
def configured(configured: Settings, home: Path, pg_server: server.Server, dagster_db: sa.Engine) -> Settings:
    file = home / "shortdrama.toml"
    url = pg_server.url(str(dagster_db.url.database), driver="psycopg2")
    file.write_text(f'{file.read_text()}\n[dagster]\nurl = "{url}"\n')
    return load(home, None, environment={})


@pytest.fixture
def studio(configured: Settings) -> Iterator[Studio]:
    opened = open_studio(configured)
    top_up(opened, Money(1_000_000_000, "CNY"), key="test", actor=PERSON)
    yield opened
    opened.db.close()


@pytest.fixture
def dev(studio: Studio, home: Path) -> Iterator["subprocess.Popen[str]"]:
    """`shortdrama dev`, ready; ended by Ctrl-C, leaving nobody behind."""
    program = "from shortdrama_pipeline.cli.app import main; main()"
    command = [sys.executable, "-c", program, "dev", "--home", str(home), "--port", "0"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    ) as process:
        try:
            _await_line(process, "Ctrl-C stops all of it")
            yield process
        finally:
            children = _children(process.pid)
            process.send_signal(signal.SIGINT)
            process.wait(timeout=60)
    assert process.returncode == 0
    assert not [each for each in children if Path("/proc", str(each)).exists()]


def test_the_daemon_takes_an_episode_from_script_to_a_finished_stage_and_a_kill_orders_nothing_twice(
    studio: Studio, vendor: FakeVendor, dev: "subprocess.Popen[str]", dagster_db: sa.Engine
) -> None:
    episode_id = flow.episode_with_script(studio)
    for stage in (Stage.OUTLINE, Stage.SCRIPT):
        pass_gate(studio, episode_id, stage, actor=PERSON, rights=True)
    planned = plan_stage(studio, episode_id, Stage.ASSETS, actor=PERSON)
    confirm_quote(studio, planned.quote_id, idempotency_key="once", actor=PERSON)
    _await(lambda: "assets_ordered" in _materialised(dagster_db, episode_id) or bool(vendor.posts()))
    _kill_daemon(dev.pid)
    wanted = {"outline", "script", "assets_ordered", "assets", "outline_confirmed", "script_confirmed"}
    _await(lambda: wanted <= _materialised(dagster_db, episode_id))
    assert len(vendor.posts()) == len(planned.items)
    assert len({seen.body["client_id"] for seen in vendor.posts()}) == len(planned.items)
    assert "FAILURE" not in _run_states(dagster_db)


def _materialised(engine: sa.Engine, episode_id: str) -> set[str]:
    query = sa.text(
        "select distinct asset_key from event_logs where dagster_event_type = 'ASSET_MATERIALIZATION'"
        " and partition = :episode_id"
    )
    with engine.connect() as connection:
        return {
            str(key).strip('[]"') for key in connection.execute(query, {"episode_id": episode_id}).scalars()
        }


def _run_states(engine: sa.Engine) -> set[str]:
    with engine.connect() as connection:
        return set(connection.execute(sa.text("select distinct status from runs")).scalars())


def _await(true: Callable[[], bool]) -> None:
    pause = threading.Event()
    for _ in range(WORK_SECONDS_MAX * 2):
        if true():
            return
        pause.wait(0.5)
    raise AssertionError("it never came")


def _await_line(process: "subprocess.Popen[str]", wanted: str) -> None:
    """Read what the process says until the line comes; a timer ends one that hangs."""
    assert process.stdout is not None
    timer = threading.Timer(START_SECONDS_MAX, process.kill)
    timer.start()
    said: list[str] = []
    while not said or (wanted not in said[-1] and said[-1]):
        said.append(process.stdout.readline())
    timer.cancel()
    assert wanted in said[-1], "".join(said)


def _children(pid: int) -> list[int]:
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rsplit(") ", 1)[1].split()
        except OSError:
            continue
        if int(fields[1]) == pid:
            found.append(int(stat.parent.name))
    return found


def _kill_daemon(pid: int) -> None:
    for child in _children(pid):
        if b"dagster._daemon" in Path("/proc", str(child), "cmdline").read_bytes():
            os.kill(child, signal.SIGKILL)
            return
    raise AssertionError("there is no daemon")
