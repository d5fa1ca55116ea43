"""`shortdrama db`, as it is called: on a home of its own."""

import json
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from shortdrama_pipeline.cli import app
from shortdrama_pipeline.errors import Outside
from shortdrama_pipeline.store import backup, programs, server
from shortdrama_pipeline.store.tables import series


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    home = tmp_path_factory.mktemp("db") / "home"
    server.start(home, settings={"fsync": "off"})
    yield home
    found = server.find(home)
    assert found is not None
    server.stop(home)
    shutil.rmtree(found.place)


@pytest.fixture(autouse=True)
def _running(home: Path) -> None:
    server.start(home, settings={"fsync": "off"})


def call(
    capsys: pytest.CaptureFixture[str], home: Path, *words: str, code: int = 0
) -> dict[str, dict[str, object] | object]:
    assert app.run([*words, "--json", "--home", str(home)]) == code
    document: dict[str, object] = json.loads(capsys.readouterr().out)
    return document


def add_series(home: Path, series_id: str) -> None:
    found = server.find(home)
    assert found is not None
    with sa.create_engine(found.url(), poolclass=sa.NullPool).begin() as tx:
        tx.execute(sa.insert(series).values(series_id=series_id, title="t", brief={}, actor="person:a"))


def all_series(home: Path) -> set[str]:
    found = server.find(home)
    assert found is not None
    with sa.create_engine(found.url(), poolclass=sa.NullPool).connect() as tx:
        return set(tx.scalars(sa.select(series.c.series_id)))


def test_upgrade_and_url_say_where_the_facts_are(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(capsys, home, "db", "upgrade") == call(capsys, home, "db", "upgrade")
    where = call(capsys, home, "db", "url")
    assert str(where["url"]).startswith("postgresql+psycopg://shortdrama@")
    assert "passfile" in str(where["dagster_url"])


def test_a_backup_brings_back_what_it_holds_and_keeps_what_it_replaces(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call(capsys, home, "db", "upgrade")
    add_series(home, "series_kept")
    file = tmp_path / "backup"
    assert call(capsys, home, "db", "backup", str(file))["bytes"] == file.stat().st_size
    assert file.stat().st_mode & 0o077 == 0
    add_series(home, "series_later")

    refused = call(capsys, home, "db", "restore", str(file), code=4)
    assert "not empty" in str(refused["error"])
    assert all_series(home) == {"series_kept", "series_later"}

    done = call(capsys, home, "db", "restore", str(file), "--into-empty")
    assert "_before_" in str(done["former_kept_as"])
    assert all_series(home) == {"series_kept"}


def test_a_restore_waits_for_nobody_who_is_still_connected(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call(capsys, home, "db", "upgrade")
    file = tmp_path / "backup"
    call(capsys, home, "db", "backup", str(file))
    found = server.find(home)
    assert found is not None
    with sa.create_engine(found.url(), poolclass=sa.NullPool).connect():
        refused = call(capsys, home, "db", "restore", str(file), "--into-empty", code=5)
    assert "still use" in str(refused["error"])


def test_somebody_who_connects_while_it_restores_is_a_conflict_and_loses_nothing(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    call(capsys, home, "db", "upgrade")
    file = tmp_path / "backup"
    call(capsys, home, "db", "backup", str(file))
    found = server.find(home)
    assert found is not None
    late = sa.create_engine(found.url(), poolclass=sa.NullPool)
    guests = []
    fill = backup._fill_spare

    def fill_and_be_visited(url: str, file: Path, *, environment: Mapping[str, str]) -> None:
        fill(url, file, environment=environment)
        guests.append(late.connect())

    monkeypatch.setattr(backup, "_fill_spare", fill_and_be_visited)
    refused = call(capsys, home, "db", "restore", str(file), "--into-empty", code=5)
    (guest,) = guests
    names = set(guest.scalars(sa.text("select datname from pg_database")))
    guest.close()
    assert "connected" in str(refused["error"])
    assert backup.SPARE not in names
    all_series(home)


@pytest.mark.parametrize("said", [KeyboardInterrupt(), Outside("took longer")])
def test_a_backup_broken_off_leaves_no_half_file(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: BaseException
) -> None:
    found = server.find(home)
    assert found is not None

    def broken_off(_: str, *arguments: str, **_options: object) -> programs.Finished:
        Path(arguments[arguments.index("--file") + 1]).write_text("half")
        raise said

    monkeypatch.setattr(programs, "run", broken_off)
    with pytest.raises(type(said)):
        backup.backup(found.url(), tmp_path / "backup", environment={})
    assert list(tmp_path.iterdir()) == []


def test_a_backup_and_a_restore_may_take_as_long_as_they_need(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    call(capsys, home, "db", "upgrade")
    asked: list[object] = []
    run = programs.run

    def noted(name: str, *arguments: str, **options: Any) -> programs.Finished:  # noqa: ANN401 - handed on
        asked.append((name, options["seconds_max"]))
        return run(name, *arguments, **options)

    monkeypatch.setattr(programs, "run", noted)
    call(capsys, home, "db", "backup", str(tmp_path / "backup"))
    call(capsys, home, "db", "restore", str(tmp_path / "backup"), "--into-empty")
    assert asked == [("pg_dump", None), ("pg_restore", None)]


def test_a_file_that_is_no_backup_changes_nothing(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call(capsys, home, "db", "upgrade")
    before = all_series(home)
    (tmp_path / "no-backup").write_text("hello")
    refused = call(capsys, home, "db", "restore", str(tmp_path / "no-backup"), "--into-empty", code=7)
    assert "nothing is changed" in str(refused["error"])
    call(capsys, home, "db", "restore", str(tmp_path / "none"), code=2)
    assert all_series(home) == before


def test_stop_stops_and_says_when_there_was_nothing_to_stop(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(capsys, home, "db", "stop") == {"stopped": True}
    assert call(capsys, home, "db", "stop") == {"stopped": False}


def test_a_broken_file_of_settings_ends_with_2_and_names_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "shortdrama.toml").write_text("[studio\n")
    refused = call(capsys, tmp_path, "db", "url", code=2)
    assert "shortdrama.toml" in str(refused["error"])


def test_a_home_nobody_can_make_ends_with_7(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    refused = call(capsys, tmp_path / "file" / "home", "db", "upgrade", code=7)
    assert "home" in str(refused["error"])


def test_a_database_that_does_not_answer_ends_with_7(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHORTDRAMA_DATABASE__URL", "postgresql+psycopg://a@127.0.0.1:9/x?connect_timeout=2")
    refused = call(capsys, tmp_path / "home", "db", "upgrade", code=7)
    assert "Start the database" in str(refused["error"])
