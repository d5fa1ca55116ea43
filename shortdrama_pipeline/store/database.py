"""The one way to a connection: `db.begin()` for load-decide-record, `db.read()` for looking.

A transaction is opened by a service, is short, and is never held over a network call.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import sqlalchemy as sa
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.pool import ConnectionPoolEntry, PoolProxiedConnection

from shortdrama_pipeline.errors import Conflict, Outside, ShortdramaError, StaleState

CONNECT_SECONDS_MAX = 5
REST_S = 2  # above the second after which an idle worker looks around: its connections are never asked
# A transaction is short: one that waits for a lock or sits idle this long belongs to a process in trouble.
SESSION = "-c timezone=UTC -c lock_timeout=15s -c idle_in_transaction_session_timeout=120s"


class Database:
    """A SQLAlchemy engine on PostgreSQL (`postgresql+psycopg://`)."""

    def __init__(self, url: str, *, pool_size: int = 8) -> None:
        self.engine = sa.create_engine(
            url,
            pool_size=pool_size,
            max_overflow=4,
            pool_use_lifo=True,
            hide_parameters=True,  # a traceback must not print what was bound: texts, references, keys
            connect_args={"connect_timeout": CONNECT_SECONDS_MAX, "options": SESSION},
        )
        sa.event.listen(self.engine, "checkin", _note_rest)
        sa.event.listen(self.engine, "checkout", _look_whether_alive)

    @contextmanager
    def begin(self) -> Iterator[sa.Connection]:
        """One transaction: committed on return, rolled back on any exception."""
        with named(), self.engine.begin() as tx:
            yield tx

    @contextmanager
    def read(self) -> Iterator[sa.Connection]:
        """A read-only look; nothing written in it stays."""
        with named(), self.engine.connect() as tx:
            yield tx
            tx.rollback()

    def close(self) -> None:
        self.engine.dispose()


def _note_rest(_connection: DBAPIConnection | None, record: ConnectionPoolEntry) -> None:
    record.info["rests_since"] = time.monotonic()


def _look_whether_alive(
    connection: DBAPIConnection, record: ConnectionPoolEntry, _proxy: PoolProxiedConnection
) -> None:
    """Ask a connection that rested whether it is alive; a round trip before every use would be dear."""
    rests_since = record.info.get("rests_since")
    if rests_since is None or time.monotonic() - rests_since < REST_S:
        return
    assert isinstance(connection, psycopg.Connection)
    try:
        connection.autocommit = True
        connection.execute("")
        connection.autocommit = False
    except psycopg.Error as error:
        raise sa.exc.DisconnectionError from error


@contextmanager
def named() -> Iterator[None]:
    """Give what the server or the line to it did a name of ours; a broken rule passes as it is."""
    try:
        yield
    except sa.exc.OperationalError as error:
        raise _name(str(getattr(error.orig, "sqlstate", None) or "")) from error
    except sa.exc.TimeoutError as error:
        raise Outside(
            "Every connection of this process is in use",
            hint="Start fewer workers in one process, then repeat",
        ) from error


def _name(sqlstate: str) -> ShortdramaError:
    """See PostgreSQL's appendix A: classes 40, 53, 55 and 57; everything else is a line that is down."""
    match sqlstate:
        case "40001" | "40P01" | "55P03":
            return StaleState(
                "Another process was working on the same rows", hint="Nothing is changed; repeat the command"
            )
        case "55006":
            return Conflict(
                "Somebody is connected to that database",
                hint="Stop its workers and pages, then repeat; nothing is changed",
            )
        case "53100":
            return Outside(
                "The database's disk is full", hint="Free some space, then repeat; nothing is lost"
            )
        case "53200" | "53300" | "53400":
            return Outside(
                "The database has no connection or memory left",
                hint="Stop some workers, or wait, then repeat",
            )
        case "57014":
            return Outside("The database took too long", hint="Repeat the command when it is less busy")
        case _:
            return Outside(
                "The database does not answer",
                hint="Start it again (any command starts the embedded one), then repeat",
            )
