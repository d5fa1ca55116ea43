"""The embedded PostgreSQL, for real: started, killed, attacked."""

import os
import shutil
import signal
import stat
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa

from shortdrama_pipeline.errors import Outside
from shortdrama_pipeline.store import programs, server

QUICK = {"fsync": "off"}


@pytest.fixture(scope="module")
def old_modes(tmp_path_factory: pytest.TempPathFactory) -> dict[Path, int]:
    return {}


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory, old_modes: dict[Path, int]) -> Iterator[server.Server]:
    above = tmp_path_factory.mktemp("above")
    above.chmod(0o700)
    old_modes.update({each: each.stat().st_mode for each in (above, *above.parents)})
    home = above / "home"
    yield server.start(home, settings=QUICK)
    remove(home)


def remove(home: Path) -> None:
    found = server.find(home)
    if found:
        server.stop(home)
        shutil.rmtree(found.place, ignore_errors=True)


def home_of(running: server.Server) -> Path:
    return running.keys.parent


def ask(url: str, question: str = "select 1") -> object:
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with engine.connect() as tx:
        return tx.scalar(sa.text(question))


def postmaster(running: server.Server) -> int:
    return int((running.data / "postmaster.pid").read_text().split()[0])


def test_no_folder_above_is_opened_for_anyone(running: server.Server, old_modes: dict[Path, int]) -> None:
    assert {each: each.stat().st_mode for each in old_modes} == old_modes
    assert stat.S_IMODE(home_of(running).stat().st_mode) == 0o700
    assert stat.S_IMODE(running.keys.stat().st_mode) == 0o700


def test_only_its_owner_enters_the_socket_folder_and_the_data(running: server.Server) -> None:
    assert stat.S_IMODE(running.sockets.stat().st_mode) == 0o700
    assert stat.S_IMODE(running.data.stat().st_mode) == 0o700
    assert stat.S_IMODE(running.passfile.stat().st_mode) == 0o600
    assert len(os.fsencode(running.sockets / ".s.PGSQL.5432")) <= server.SOCKET_PATH_BYTES_MAX


def test_it_listens_on_no_network_and_asks_for_a_scram_password(running: server.Server) -> None:
    assert ask(running.url(), "show listen_addresses") == ""
    rules = (running.data / "pg_hba.conf").read_text()
    assert "trust" not in [word for line in rules.splitlines() if line[:1] != "#" for word in line.split()]


def test_the_password_stands_in_no_url_and_no_environment_or_command_line(running: server.Server) -> None:
    words = [line.rsplit(":", 1)[1] for line in running.passfile.read_text().splitlines()]
    assert len(words) == 2
    process = Path("/proc", str(postmaster(running)))
    told = running.url() + (process / "cmdline").read_text() + (process / "environ").read_text()
    assert not [word for word in words if word in told]
    assert "SHORTDRAMA" not in (process / "environ").read_text()


@pytest.mark.parametrize("password", ["", "wrong"])
def test_a_wrong_password_is_refused(running: server.Server, password: str) -> None:
    with pytest.raises(psycopg.OperationalError, match=r"password|passfile"):
        psycopg.connect(
            host=str(running.sockets),
            user="postgres",
            dbname="postgres",
            password=password,
            passfile="/nonexistent",
        )


def test_whoever_has_not_the_password_is_refused_and_other_accounts_do_not_even_enter(
    running: server.Server,
) -> None:
    question = ("-h", str(running.sockets), "-U", "shortdrama", "-w", "-c", "select 1")
    assert "no password supplied" in programs.run("psql", *question).text
    if os.geteuid() == 0:  # only root can try to be someone else
        ended = programs.run("psql", *question, uid=programs.listed_uid())
        assert ended.code != 0
        assert "Permission denied" in ended.text


def test_a_second_start_is_a_no_op(running: server.Server) -> None:
    pid = postmaster(running)
    again = server.start(home_of(running), settings=QUICK)
    assert not again.started
    assert postmaster(again) == pid


def test_whoever_comes_first_starts_it_and_the_others_wait(tmp_path: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        started = list(pool.map(lambda _: server.start(tmp_path / "home", settings=QUICK).started, range(4)))
    try:
        assert sorted(started) == [False, False, False, True]
    finally:
        remove(tmp_path / "home")


def test_it_comes_back_after_kill_9_with_what_was_committed(running: server.Server) -> None:
    engine = sa.create_engine(running.url(), poolclass=sa.NullPool)
    with engine.begin() as tx:
        tx.execute(sa.text("create table if not exists kept (n int)"))
        tx.execute(sa.text("insert into kept values (1)"))
    before = ask(running.url(), "select count(*) from kept")
    pid = postmaster(running)
    os.kill(pid, signal.SIGKILL)
    while running.answers():
        time.sleep(0.01)
    again = server.start(home_of(running), settings=QUICK)
    assert again.started
    assert postmaster(again) != pid
    assert ask(again.url(), "select count(*) from kept") == before


def test_a_pid_file_whose_number_another_program_has_does_not_stop_it(running: server.Server) -> None:
    server.stop(home_of(running))
    sleeper = subprocess.Popen(["/bin/sleep", "60"], user=running.uid, cwd="/")
    try:
        pid_file = running.data / "postmaster.pid"
        pid_file.write_text(
            f"{sleeper.pid}\n{running.data}\n1700000000\n5432\n{running.sockets}\n\n0 0\nready\n"
        )
        pid_file.chmod(0o600)
        assert not running.answers()
        assert server.start(home_of(running), settings=QUICK).started
    finally:
        sleeper.kill()
        sleeper.wait()


def test_a_stopped_database_is_told_as_such_and_started_by_the_next(running: server.Server) -> None:
    assert server.stop(home_of(running))
    assert not server.stop(home_of(running))
    assert not running.answers()
    server.start(home_of(running), settings=QUICK)
    assert ask(running.url()) == 1


def test_two_homes_run_side_by_side(running: server.Server, tmp_path: Path) -> None:
    other = server.start(tmp_path / "other", settings=QUICK)
    try:
        assert other.sockets != running.sockets
        assert ask(other.url()) == ask(running.url()) == 1
        assert running.uid is None or other.uid != running.uid
    finally:
        remove(tmp_path / "other")


def test_a_home_with_a_long_and_odd_name_works(tmp_path: Path) -> None:
    home = tmp_path / ("长 'quoted' name" * 5)
    odd = server.start(home, settings=QUICK)
    try:
        assert ask(odd.url("dagster", driver="psycopg2"), "select current_database()") == "dagster"
    finally:
        remove(home)


def test_lost_files_are_never_replaced_by_an_empty_database(tmp_path: Path) -> None:
    home = tmp_path / "home"
    lost = server.start(home, settings=QUICK)
    server.stop(home)
    moved = lost.data.rename(lost.place / "moved")
    try:
        with pytest.raises(Outside, match="are gone") as caught:
            server.start(home, settings=QUICK)
        assert str(lost.place) in caught.value.message
        moved.rename(lost.data)
        assert server.start(home, settings=QUICK).started
    finally:
        remove(home)


def test_a_server_whose_socket_was_swept_away_can_be_stopped_and_started(tmp_path: Path) -> None:
    home = tmp_path / "home"
    swept = server.start(home, settings=QUICK)
    try:
        shutil.rmtree(swept.sockets)
        assert not swept.answers()
        assert server.stop(home)
        assert ask(server.start(home, settings=QUICK).url()) == 1
    finally:
        remove(home)


def test_a_folder_of_somebody_else_never_holds_the_socket(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (tmp_path / "link").symlink_to(mine)
    assert server._can_hold_sockets(mine, None)
    assert not server._can_hold_sockets(mine, os.geteuid() + 1)
    assert not server._can_hold_sockets(tmp_path / "link", None)
    assert not server._can_hold_sockets(tmp_path / "a,b", None)
    assert not server._can_hold_sockets(tmp_path / ("long" * 30), None)


def test_the_product_keeps_its_word_to_the_disk() -> None:
    assert "fsync" not in server._SETTINGS
    assert "synchronous_commit" not in server._SETTINGS


def test_a_full_disk_is_named(running: server.Server) -> None:
    said = 'FATAL:  could not write lock file "postmaster.pid": No space left on device'
    error = server._reason(said, running)
    assert isinstance(error, Outside)
    assert "full" in error.message


def test_an_unusable_home_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Outside, match="cannot use") as caught:
        server.start(tmp_path / "file" / "home")
    assert caught.value.hint


def test_a_broken_configuration_is_told_with_postgresql_s_own_words(running: server.Server) -> None:
    server.stop(home_of(running))
    with pytest.raises(Outside, match="shared_buffers"):
        server.start(home_of(running), settings={**QUICK, "shared_buffers": "plenty"})
    assert server.start(home_of(running), settings=QUICK).started
