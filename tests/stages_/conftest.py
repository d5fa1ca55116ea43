"""A studio with published prices, and one whose episode has gone all the way to its timeline."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa

from shortdrama_pipeline.ids import new_id
from shortdrama_pipeline.media.object_store import LocalObjectStore
from shortdrama_pipeline.providers.registry import ADAPTERS
from shortdrama_pipeline.rules.states import Stage
from shortdrama_pipeline.services.context import Studio
from shortdrama_pipeline.services.opening import bindings_of
from shortdrama_pipeline.services.pricing import ensure_published
from shortdrama_pipeline.settings import Settings
from shortdrama_pipeline.store import server
from shortdrama_pipeline.store.database import Database
from tests.stages_.flow import drive_to, episode_with_script


@pytest.fixture
def priced(studio: Studio) -> Studio:
    """The studio of the tests with its price list in force. No vendor answers behind it."""
    ensure_published(studio)
    return studio


@pytest.fixture(scope="session")
def filmed_template(
    pg_server: server.Server, template_db: str, tmp_path_factory: pytest.TempPathFactory
) -> str:
    """Name a database in which the episode 2026-W32-0 has passed every gate but the last."""
    name = new_id("filmed")
    _create(pg_server, name, template_db)
    home: Path = tmp_path_factory.mktemp("filmed")
    settings = Settings(home=home)
    database = Database(pg_server.url(name))
    studio = Studio(settings, database, LocalObjectStore(home / "media"), bindings_of(settings), ADAPTERS)
    ensure_published(studio)
    drive_to(studio, episode_with_script(studio), Stage.EXPORT)
    database.close()
    return name


@pytest.fixture
def filmed(studio: Studio, pg_server: server.Server, filmed_template: str) -> Iterator[Studio]:
    """The studio of the tests on a clone of that database."""
    name = new_id("test")
    _create(pg_server, name, filmed_template)
    database = Database(pg_server.url(name))
    yield replace(studio, db=database)
    database.close()
    with _maintenance(pg_server) as connection:
        connection.execute(sa.text(f"drop database {name} with (force)"))


def _create(running: server.Server, name: str, template: str) -> None:
    with _maintenance(running) as connection:
        connection.execute(sa.text(f"create database {name} template {template} strategy file_copy"))


def _maintenance(running: server.Server) -> sa.Connection:
    engine = sa.create_engine(running.url("postgres"), poolclass=sa.NullPool, isolation_level="AUTOCOMMIT")
    return engine.connect()
