"""A database into one file and back. What is replaced is kept beside, never dropped."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import sqlalchemy as sa

from shortdrama_pipeline.errors import Conflict, Outside, Refusal, UsageError
from shortdrama_pipeline.store import programs
from shortdrama_pipeline.store.database import named
from shortdrama_pipeline.store.tables import episodes, ledger_entries, series

FACTS = (series, episodes, ledger_entries)  # a database without any of these holds nothing yet
SPARE = "shortdrama_restoring"


def backup(url: str, file: Path, *, environment: Mapping[str, str]) -> int:
    """Write the whole database, as of one instant, to `file` (mode 600); return its bytes.

    However long it takes; what is broken off leaves no file.
    """
    fresh = file.with_name(file.name + ".new")
    try:
        ended = programs.run(
            "pg_dump", "--format=custom", "--no-owner", "--file", str(fresh.absolute()),
            "--dbname", _libpq(url), add=tuple(environment.items()), seconds_max=None,
        )  # fmt: skip
        if ended.code:
            raise Outside(
                f"The backup failed: {_said(ended)}", hint="Free some space or mend the cause, then repeat"
            )
        fresh.replace(file)
    finally:
        fresh.unlink(missing_ok=True)
    return file.stat().st_size


def restore(
    url: str, file: Path, *, into_empty: bool, now: datetime, environment: Mapping[str, str]
) -> str | None:
    """Put the database of `file` in place of the present one; all or nothing.

    A present one with facts is refused (Refusal), unless `into_empty`: then it is kept under another
    name, which is returned. Anyone connected is a Conflict.
    """
    if not file.is_file():
        raise UsageError(f"There is no file {file}", hint="Name a file that `db backup` wrote")
    own = sa.make_url(url).database or ""
    holds_facts = _holds_facts(url)
    if holds_facts and not into_empty:
        raise Refusal(
            f"The database {own} is not empty",
            hint="Back it up, then repeat with --into-empty; it is kept beside",
        )
    kept = f"{own}_before_{now:%Y%m%d_%H%M%S}"
    with _maintenance(url) as connection:
        others = connection.scalar(
            sa.text("select count(*) from pg_stat_activity where datname = :own"), {"own": own}
        )
        if others:
            raise Conflict(
                f"{others} connections still use {own}", hint="Stop its workers and pages, then repeat"
            )
        connection.execute(sa.text(f'drop database if exists "{SPARE}"'))
        connection.execute(sa.text(f'create database "{SPARE}"'))
        try:
            _fill_spare(url, file, environment=environment)
            _swap(url, own, kept)
        except BaseException:
            connection.execute(sa.text(f'drop database if exists "{SPARE}"'))
            raise
        if not holds_facts:
            connection.execute(sa.text(f'drop database "{kept}"'))
    return kept if holds_facts else None


def _fill_spare(url: str, file: Path, *, environment: Mapping[str, str]) -> None:
    ended = programs.run(
        "pg_restore", "--exit-on-error", "--single-transaction", "--no-owner", "--no-privileges",
        "--dbname", _libpq(_other(url, SPARE)), str(file.absolute()),
        add=tuple(environment.items()), seconds_max=None,
    )  # fmt: skip
    if ended.code:
        raise Outside(
            f"The restore failed, nothing is changed: {_said(ended)}",
            hint="Use a file that `db backup` wrote",
        )


def _swap(url: str, own: str, kept: str) -> None:
    """Put the spare database in place, in one transaction. Conflict if somebody connected meanwhile."""
    engine = sa.create_engine(_other(url, "postgres"), poolclass=sa.NullPool, hide_parameters=True)
    with named(), engine.begin() as tx:
        tx.execute(sa.text(f'alter database "{own}" rename to "{kept}"'))
        tx.execute(sa.text(f'alter database "{SPARE}" rename to "{own}"'))


def _holds_facts(url: str) -> bool:
    engine = sa.create_engine(url, poolclass=sa.NullPool, hide_parameters=True)
    with named(), engine.connect() as tx:
        there = set(sa.inspect(tx).get_table_names())
        return any(
            table.name in there and tx.execute(sa.select(sa.literal(1)).select_from(table).limit(1)).first()
            for table in FACTS
        )


@contextmanager
def _maintenance(url: str) -> Iterator[sa.Connection]:
    engine = sa.create_engine(
        _other(url, "postgres"), poolclass=sa.NullPool, hide_parameters=True, isolation_level="AUTOCOMMIT"
    )
    with named(), engine.connect() as connection:
        yield connection


def _other(url: str, database: str) -> str:
    return sa.make_url(url).set(database=database).render_as_string(hide_password=False)


def _libpq(url: str) -> str:
    return sa.make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)


def _said(ended: programs.Finished) -> str:
    return " ".join(ended.text.split())[-400:] or f"code {ended.code}"
