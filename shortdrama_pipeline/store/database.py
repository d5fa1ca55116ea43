"""The one way to a connection: `db.begin()` for load-decide-record, `db.read()` for looking.

A transaction is opened by a service, is short, and is never held over a network call.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import sqlalchemy as sa

from shortdrama_pipeline.errors import Outside


class Database:
    """A SQLAlchemy engine on PostgreSQL (`postgresql+psycopg://`)."""

    def __init__(self, url: str, *, pool_size: int = 8) -> None:
        self.engine = sa.create_engine(
            url,
            pool_size=pool_size,
            max_overflow=4,
            pool_pre_ping=True,
            connect_args={"connect_timeout": 5, "options": "-c timezone=UTC"},
        )

    @contextmanager
    def begin(self) -> Iterator[sa.Connection]:
        """One transaction: committed on return, rolled back on any exception."""
        with _outside_if_down(), self.engine.begin() as tx:
            yield tx

    @contextmanager
    def read(self) -> Iterator[sa.Connection]:
        """A read-only look; nothing written in it stays."""
        with _outside_if_down(), self.engine.connect() as tx:
            yield tx
            tx.rollback()

    def close(self) -> None:
        self.engine.dispose()


@contextmanager
def _outside_if_down() -> Iterator[None]:
    try:
        yield
    except sa.exc.OperationalError as error:
        raise Outside(
            "The database does not answer",
            hint="Start it again (any shortdrama command does, for the embedded one) and repeat the command",
        ) from error
