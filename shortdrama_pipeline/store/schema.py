"""Brings a database to the schema of this version, by the revisions in `migrations/`."""

from pathlib import Path

import sqlalchemy as sa

from shortdrama_pipeline.errors import Outside
from shortdrama_pipeline.store.migrations import HEAD

UPGRADE_LOCK = 0x5D_0001  # one upgrade at a time on a database
MIGRATIONS = Path(__file__).parent / "migrations"


def upgrade(url: str) -> str:
    """Make or change the tables, once, whoever asks at the same time; return the revision.

    A no-op of one look when they are current. Raises Outside for a database of a newer program, for
    one whose tables nobody numbered, and when a lock cannot be had: nothing is changed then.
    """
    engine = sa.create_engine(url, poolclass=sa.NullPool, hide_parameters=True)
    try:
        with engine.connect() as connection:
            if revision_of(connection) == HEAD:
                return HEAD
        with engine.begin() as connection:
            connection.execute(sa.text("set local lock_timeout = '30s'"))
            connection.execute(sa.text("set local statement_timeout = '15min'"))
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(UPGRADE_LOCK)))
            _migrate(connection)
    except sa.exc.OperationalError as error:
        raise Outside(
            f"The tables could not be brought up to date: {str(error.orig).strip()}",
            hint="Start the database, stop the workers that use it, then repeat; nothing is changed",
        ) from error
    return HEAD


def revision_of(connection: sa.Connection) -> str | None:
    """Return the revision a database says it has; None for one without tables of ours."""
    if connection.scalar(sa.text("select to_regclass('alembic_version')")) is None:
        return None
    revision: str | None = connection.scalar(sa.text("select version_num from alembic_version"))
    return revision


def beside(url: str, *, suffix: str, driver: str) -> str:
    """Return the URL of a database on the same server whose name has `suffix` behind."""
    own = sa.make_url(url)
    return own.set(
        drivername=f"postgresql+{driver}", database=f"{own.database or ''}{suffix}"
    ).render_as_string(hide_password=False)


def _migrate(connection: sa.Connection) -> None:
    from alembic import command
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    present = revision_of(connection)
    known = {each.revision for each in ScriptDirectory.from_config(config).walk_revisions()}
    if present is not None and present not in known:
        raise Outside(
            f"The database is of a newer version ({present}) than this program ({HEAD})",
            hint="Install the newer version, or restore a backup of this one's",
            revision=present,
        )
    if present is None and connection.scalar(sa.text("select to_regclass('tasks')")) is not None:
        raise Outside(
            "The database has tables that no release of this program made",
            hint="Name another home with --home, or another database",
        )
    command.upgrade(config, "head")
