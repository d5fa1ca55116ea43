"""The real PostgreSQL under a virtual clock: one connection, one transaction around a whole schedule.

Each transaction of a simulated process is a savepoint, so a schedule leaves nothing behind and costs no
cleaning. The schema `sim` stands before `pg_catalog` on the search path and holds the clock.
"""

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg
import sqlalchemy as sa

from shortdrama_pipeline.errors import Outside, StaleState
from shortdrama_pipeline.store import guards
from shortdrama_pipeline.store.database import Database
from shortdrama_pipeline.store.tables import metadata
from tests.simulation.loop import Process

EPOCH = datetime(2026, 8, 3, tzinfo=UTC)
_CLOCK = """
create schema sim;
create function sim.clock_timestamp() returns timestamptz language sql stable as
  $$ select current_setting('sim.now')::timestamptz $$;
create function sim.now() returns timestamptz language sql stable as
  $$ select current_setting('sim.now')::timestamptz $$;
"""
_MOVES = re.compile(r"(update|insert into) (tasks|provider_attempts|reservations|media_files)\b")
OPTIONS = (
    "-c timezone=UTC -c search_path=sim,pg_catalog,public -c sim.now=2026-08-03T00:00:00Z -c jit=off"
    " -c plan_cache_mode=force_generic_plan"
)


def prepare(url: str) -> None:
    """Make tables, guards and the virtual clock in an empty database; defaults ask the clock too."""
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with engine.begin() as connection:
        metadata.create_all(connection)
        guards.install(connection)
        connection.exec_driver_sql(_CLOCK)
        for table in metadata.sorted_tables:
            for column in table.columns:
                default = column.server_default
                if isinstance(default, sa.DefaultClause) and "clock_timestamp" in str(default.arg):
                    connection.exec_driver_sql(
                        f"alter table {table.name} alter column {column.name}"
                        " set default sim.clock_timestamp()"
                    )


class Line:
    """The one connection. `now_us` is asked at the beginning of each transaction."""

    def __init__(self, url: str, now_us: Callable[[], int]) -> None:
        self.engine = sa.create_engine(
            url, poolclass=sa.NullPool, connect_args={"options": OPTIONS}, isolation_level="AUTOCOMMIT"
        )
        self.connect()
        self.now_us = now_us
        self._set_us = -1
        self._ticks = 0
        self.depth = 0
        self.notices: list[str] = []
        self.touched = False
        self.broken = ""
        sa.event.listen(self.engine, "before_cursor_execute", self._listen, retval=True)

    def connect(self) -> None:
        """Every statement is planned once, for good: planning takes longer than running on so few rows."""
        self.connection = self.engine.connect()
        raw = self.connection.connection.driver_connection
        assert isinstance(raw, psycopg.Connection)
        raw.prepare_threshold = 0
        raw.prepared_max = None
        self._pgconn = raw.pgconn

    def command(self, *words: str) -> None:
        """Commands of the transaction itself, past the driver, which would forget its plans at a rollback."""
        answer = self._pgconn.exec_("; ".join(words).encode())
        assert answer.status == psycopg.pq.ExecStatus.COMMAND_OK, answer.error_message

    def _listen(
        self, _c: object, _cursor: object, statement: str, parameters: object, *_: object
    ) -> tuple[str, object]:
        self.touched = self.touched or _MOVES.search(statement) is not None
        if "pg_notify" in statement:
            assert isinstance(parameters, dict)
            self.notices.append(str(list(parameters.values())[1]))
        if statement.startswith("set "):  # of isolation and time limits; they would outlast their transaction
            return "select 1", ()
        return statement, parameters

    def ask(self, query: str) -> list[list[str | None]]:
        """A look of the simulator itself, without the cost of a driver."""
        answer = self._pgconn.exec_(query.encode())
        assert answer.status == psycopg.pq.ExecStatus.TUPLES_OK, answer.error_message
        return [
            [None if (value := answer.get_value(row, column)) is None else value.decode()
             for column in range(answer.nfields)]
            for row in range(answer.ntuples)
        ]  # fmt: skip

    def set_clock(self, *then: str) -> None:
        """No two transactions share a moment: each is a microsecond later at least."""
        self._set_us = max(self.now_us(), self._set_us + 1)
        moment = (EPOCH + timedelta(microseconds=self._set_us)).isoformat()
        self.command(f"set sim.now = '{moment}'", *then)

    @contextmanager
    def schedule(self) -> Iterator[None]:
        """Everything inside is gone afterwards."""
        self._set_us = -1
        self.depth = 0
        self.broken = ""
        self.command("begin")
        try:
            yield
        finally:
            self.command("rollback")

    def cpu_s(self) -> float:
        """What the server has spent on this connection; 0 where that cannot be seen."""
        place = Path(f"/proc/{self._pgconn.backend_pid}/stat")
        words = place.read_text().rsplit(")", 1)[1].split() if place.exists() else ["0"] * 15
        return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")

    def sweep(self) -> None:
        """Clear away the rows of schedules that were rolled back."""
        self.connection.close()
        with self.engine.connect() as connection:
            connection.exec_driver_sql("vacuum")
        self.connect()

    def close(self) -> None:
        self.connection.close()
        self.engine.dispose()


class SimDatabase(Database):
    """What one process knows of the database.

    `meets(writing)` says what this transaction meets: nothing, "refused" (the server does not answer),
    "lost" (committed, but the answer is lost) or "deadlock". `committed` hears of each commit.
    """

    def __init__(
        self,
        line: Line,
        process: Process,
        *,
        meets: Callable[[bool], str],
        committed: Callable[[Process], None],
    ) -> None:
        self.line = line
        self.engine = line.engine
        self._process = process
        self._meets = meets
        self._committed = committed

    @contextmanager
    def begin(self) -> Iterator[sa.Connection]:
        self._process.check()
        trouble = self._meets(True)
        if trouble == "refused":
            raise away()
        line = self.line
        name = f"s{line.depth}"
        line.set_clock(f"savepoint {name}")
        line.depth += 1
        try:
            yield line.connection
            self._process.check()
            _deadlock(trouble)
        except BaseException:
            line.command(f"rollback to savepoint {name}", f"release savepoint {name}")
            raise
        finally:
            line.depth -= 1
        line.command(f"release savepoint {name}")
        self._committed(self._process)
        if trouble == "lost":
            raise away()

    @contextmanager
    def read(self) -> Iterator[sa.Connection]:
        self._process.check()
        if self._meets(False) == "refused":
            raise away()
        self.line.set_clock()
        try:
            yield self.line.connection
        except sa.exc.DBAPIError as error:
            self.line.broken = self.line.broken or f"a look at the database failed: {error.orig}"
            raise

    def close(self) -> None:
        """The line is everybody's."""


def _deadlock(trouble: str) -> None:
    if trouble == "deadlock":
        raise StaleState("Another process was working on the same rows", hint="again")


def away() -> Outside:
    return Outside("The database does not answer", hint="Start it again, then repeat")
