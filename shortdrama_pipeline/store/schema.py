"""Brings a database to the tables of `tables.py` and the guards of `guards.py`."""

from importlib import import_module
from importlib.util import find_spec

import sqlalchemy as sa

from shortdrama_pipeline.store.tables import metadata

UPGRADE_LOCK = 0x5D_0001  # one upgrade at a time on a database


def upgrade(url: str) -> str:
    """Make or change the tables, once, whoever asks at the same time; a no-op when they are current.

    Returns the revision it now has.
    """
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with engine.begin() as connection:
        connection.execute(sa.text("set local lock_timeout = '30s'"))
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(UPGRADE_LOCK)))
        metadata.create_all(connection)
        if find_spec("shortdrama_pipeline.store.guards"):
            import_module("shortdrama_pipeline.store.guards").install(connection)
    return "unfrozen"


def beside(url: str, *, suffix: str, driver: str) -> str:
    """Return the URL of a database on the same server whose name has `suffix` behind."""
    own = sa.make_url(url)
    return own.set(
        drivername=f"postgresql+{driver}", database=f"{own.database or ''}{suffix}"
    ).render_as_string(hide_password=False)
