"""A finished demo is shown without its database only while nothing can have changed."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from shortdrama_pipeline.cli import finished
from shortdrama_pipeline.cli.finished import Finished, Place

NOW = datetime(2026, 12, 1, 4, tzinfo=UTC)
ZONE = "Asia/Shanghai"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place.of(tmp_path, None, {"SHORTDRAMA_STUDIO__CURRENCY": "CNY", "LANG": "C"})


@pytest.fixture
def control(tmp_path: Path) -> Path:
    file = tmp_path / "pg_control"
    file.write_bytes(b"shut down")
    return file


@pytest.fixture
def shown(place: Place, control: Path) -> Finished:
    film = place.home / "film.mp4"
    film.write_bytes(b"film")
    document: dict[str, object] = {"files": [{"role": "film", "path": str(film), "bytes": 4}]}
    made = Finished(document, [{"stage": "export", "state": "done"}])
    finished.keep(place, made, control=control, week="2026-W49", time_zone=ZONE)
    return made


def test_what_was_shown_is_shown_again(place: Place, shown: Finished) -> None:
    assert finished.find(place, NOW) == shown


def test_a_database_opened_since_is_asked(place: Place, shown: Finished, control: Path) -> None:
    control.write_bytes(b"in production")
    assert shown.document
    assert finished.find(place, NOW) is None


def test_another_week_is_another_film(place: Place, shown: Finished) -> None:
    assert shown.document
    assert finished.find(place, NOW + timedelta(days=7)) is None


@pytest.mark.parametrize("damage", ["gone", "cut"])
def test_a_pack_that_is_not_whole_is_made_whole_first(place: Place, shown: Finished, damage: str) -> None:
    assert shown.document
    film = place.home / "film.mp4"
    if damage == "gone":
        film.unlink()
    else:
        film.write_bytes(b"fil")
    assert finished.find(place, NOW) is None


def test_other_settings_read_the_database(place: Place, shown: Finished) -> None:
    assert shown.document
    assert finished.find(Place.of(place.home, None, {"SHORTDRAMA_STUDIO__CURRENCY": "USD"}), NOW) is None
    assert finished.find(Place.of(place.home, None, dict(place.environment) | {"LANG": "de"}), NOW) == shown
    (place.home / "shortdrama.toml").write_text("[studio]\n")
    assert finished.find(place, NOW) is None


def test_a_home_that_was_moved_names_no_file_of_its_old_place(
    place: Place, shown: Finished, tmp_path_factory: pytest.TempPathFactory
) -> None:
    assert shown.document
    moved = tmp_path_factory.mktemp("moved")
    (moved / "demo").mkdir()
    (moved / finished.FILE).write_bytes((place.home / finished.FILE).read_bytes())
    assert finished.find(Place.of(moved, None, place.environment), NOW) is None


@pytest.mark.parametrize("text", ["", "[]", "{}", json.dumps({"schema": 1, "week": "2026-W49"})])
def test_half_a_memory_is_none(place: Place, shown: Finished, text: str) -> None:
    assert shown.document
    (place.home / finished.FILE).write_text(text)
    assert finished.find(place, NOW) is None


def test_the_place_is_that_of_the_settings(tmp_path: Path) -> None:
    environment = {"SHORTDRAMA_HOME": str(tmp_path / "a"), "SHORTDRAMA_CONFIG": str(tmp_path / "c.toml")}
    found = Place.of(None, None, environment)
    assert (found.home, found.config) == (tmp_path / "a", tmp_path / "c.toml")
    assert Place.of(tmp_path, tmp_path / "d.toml", environment).config == tmp_path / "d.toml"
    assert Place.of(tmp_path, None, {}).config == tmp_path / "shortdrama.toml"
