"""The revisions lead where `tables.py` and `guards.py` are, and never lose a race or a database."""

import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from shortdrama_pipeline.errors import Outside
from shortdrama_pipeline.ids import new_id
from shortdrama_pipeline.store import programs, schema, server
from shortdrama_pipeline.store.migrations import HEAD
from shortdrama_pipeline.store.tables import metadata

NewDatabase = Callable[[], str]


@pytest.fixture
def new_database(pg_server: server.Server) -> Iterator[NewDatabase]:
    engine = sa.create_engine(pg_server.url("postgres"), poolclass=sa.NullPool, isolation_level="AUTOCOMMIT")
    names: list[str] = []

    def make() -> str:
        names.append(new_id("empty"))
        with engine.connect() as connection:
            connection.execute(sa.text(f"create database {names[-1]}"))
        return pg_server.url(names[-1])

    yield make
    with engine.connect() as connection:
        for name in names:
            connection.execute(sa.text(f"drop database {name} with (force)"))


def written_down(url: str) -> list[str]:
    """Return the schema as PostgreSQL writes it, without alembic's own table, one statement each."""
    where = sa.make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
    ended = programs.run(
        "pg_dump", "--schema-only", "--no-owner", "--exclude-table=alembic_version", "--dbname", where
    )
    assert ended.code == 0, ended.text
    lines = (line.rstrip() for line in ended.text.splitlines())
    lines = (line for line in lines if line and not re.match(r"--|\\|SET |SELECT pg_catalog", line))
    return "\n".join(lines).split(";\n")


def test_the_revisions_and_the_tables_and_guards_are_one_schema(
    new_database: NewDatabase, db_url: str
) -> None:
    migrated = new_database()
    assert schema.upgrade(migrated) == HEAD
    assert written_down(migrated) == written_down(db_url)


def test_alembic_finds_no_difference(new_database: NewDatabase) -> None:
    url = new_database()
    schema.upgrade(url)
    with sa.create_engine(url, poolclass=sa.NullPool).connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, metadata) == []


def test_the_head_known_by_heart_is_the_head() -> None:
    config = Config()
    config.set_main_option("script_location", str(schema.MIGRATIONS))
    assert ScriptDirectory.from_config(config).get_heads() == [HEAD]


def test_four_at_once_make_the_tables_once(new_database: NewDatabase) -> None:
    url = new_database()
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(schema.upgrade, [url] * 4)) == [HEAD] * 4


def test_a_database_of_a_newer_program_is_left_alone(new_database: NewDatabase) -> None:
    url = new_database()
    schema.upgrade(url)
    with sa.create_engine(url, poolclass=sa.NullPool).begin() as connection:
        connection.execute(sa.text("update alembic_version set version_num = '9999'"))
    with pytest.raises(Outside, match="newer version"):
        schema.upgrade(url)


def test_tables_nobody_numbered_are_left_alone(new_database: NewDatabase) -> None:
    url = new_database()
    with sa.create_engine(url, poolclass=sa.NullPool).begin() as connection:
        connection.execute(sa.text("create table tasks (n int)"))
    with pytest.raises(Outside, match="no release"):
        schema.upgrade(url)


def test_a_server_that_is_not_there_is_outside() -> None:
    with pytest.raises(Outside) as caught:
        schema.upgrade("postgresql+psycopg://nobody@127.0.0.1:9/none?connect_timeout=2")
    assert caught.value.hint
