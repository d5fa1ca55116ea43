"""A studio opens from its settings, in any number of processes, and keeps what it chose once."""

import shutil
import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import sqlalchemy as sa

from shortdrama_pipeline.errors import Outside, SettingsError
from shortdrama_pipeline.services import opening
from shortdrama_pipeline.settings import Settings, load
from shortdrama_pipeline.store import server
from shortdrama_pipeline.store.tables import price_versions


@pytest.fixture
def embedded(tmp_path: Path) -> Iterator[Settings]:
    home = tmp_path / "studio"
    server.start(home, settings={"fsync": "off"})
    yield load(home, None, environment={})
    found = server.find(home)
    assert found is not None
    server.stop(home)
    shutil.rmtree(found.place)


def external(url: str, home: Path, text: str = "") -> Settings:
    home.mkdir(exist_ok=True)
    (home / "shortdrama.toml").write_text(text)
    return load(home, None, environment={"SHORTDRAMA_DATABASE__URL": url})


def test_the_embedded_studio_is_ready_at_once_and_costs_what_is_published(embedded: Settings) -> None:
    first, second = opening.open_studio(embedded), opening.open_studio(embedded)
    assert first.bindings == second.bindings
    with second.db.read() as tx:
        assert tx.scalar(sa.select(sa.func.count()).select_from(price_versions)) == len(first.bindings)
    first.db.close()
    second.db.close()
    with sa.create_engine(opening.dagster_url(embedded), poolclass=sa.NullPool).connect() as connection:
        assert connection.scalar(sa.text("select current_database()")) == "dagster"


def test_what_is_secret_in_the_home_is_its_owner_s_alone(tmp_path: Path) -> None:
    home = tmp_path / "new"
    opening.make_home(home)
    key = opening.rehearsal_key(home)
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert len(key.read_text()) > 32


def test_port_and_key_are_chosen_once_whoever_asks_at_the_same_time(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        ports = set(pool.map(opening.rehearsal_port, [tmp_path] * 8))
        keys = {each.read_text() for each in pool.map(opening.rehearsal_key, [tmp_path] * 8)}
    assert len(ports) == len(keys) == 1
    assert sorted(each.name for each in (tmp_path / "rehearsal").iterdir()) == ["key", "port"]


def test_without_bindings_there_are_the_four_of_the_rehearsal_provider(tmp_path: Path) -> None:
    bindings = opening.bindings_of(Settings(home=tmp_path))
    assert sorted(bindings) == ["rehearsal-image", "rehearsal-speech", "rehearsal-text", "rehearsal-video"]
    video = bindings["rehearsal-video"]
    assert video.base_url == f"http://127.0.0.1:{opening.rehearsal_port(tmp_path)}"
    assert video.credential == f"file:{tmp_path / 'rehearsal' / 'key'}"
    assert video.allow_private


def test_a_protocol_nobody_speaks_is_refused_by_name(db_url: str, tmp_path: Path) -> None:
    binding = (
        '[[binding]]\nid = "b"\nkind = "video"\nprotocol = "klingon"\nmodel = "m"\n'
        'base_url = "https://v.example"\ncredential = "env:KEY"\n'
    )
    with pytest.raises(SettingsError, match="klingon"):
        opening.open_studio(external(db_url, tmp_path / "home", binding))


def test_a_server_of_one_s_own_has_dagster_s_database_beside_the_facts(db_url: str, tmp_path: Path) -> None:
    settings = external(db_url, tmp_path / "home")
    assert opening.database_url(settings) == db_url
    beside = sa.make_url(opening.dagster_url(settings))
    assert beside.drivername == "postgresql+psycopg2"
    assert beside.database == f"{sa.make_url(db_url).database}_dagster"


def test_a_home_that_cannot_be_made_is_outside(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Outside, match="cannot be made") as caught:
        opening.make_home(tmp_path / "file" / "home")
    assert caught.value.exit_code == 7
