"""What the server does to a transaction gets a name of ours; what a rule refuses passes as it is."""

import threading
from pathlib import Path

import pytest
import sqlalchemy as sa

from shortdrama_pipeline.errors import Outside, StaleState
from shortdrama_pipeline.store.database import Database
from shortdrama_pipeline.store.tables import series


def add(tx: sa.Connection, series_id: str) -> None:
    tx.execute(sa.insert(series).values(series_id=series_id, title="t", brief={}, actor="person:a"))


def count(db: Database) -> int:
    with db.read() as tx:
        return int(tx.scalar(sa.select(sa.func.count()).select_from(series)) or 0)


def add_and_break_off(db: Database) -> None:
    with db.begin() as tx:
        add(tx, "b")
        raise ZeroDivisionError


def add_after_being_killed(db: Database) -> None:
    with db.begin() as tx:
        mine = tx.scalar(sa.text("select pg_backend_pid()"))
        with db.begin() as killer:
            killer.execute(sa.text("select pg_terminate_backend(:pid)"), {"pid": mine})
        add(tx, "a")


def test_a_transaction_is_kept_on_return_and_undone_by_any_exception(db: Database) -> None:
    with db.begin() as tx:
        add(tx, "a")
    with pytest.raises(ZeroDivisionError):
        add_and_break_off(db)
    assert count(db) == 1


def test_nothing_written_while_looking_stays(db: Database) -> None:
    with db.read() as tx:
        add(tx, "a")
    assert count(db) == 0


def test_a_broken_rule_passes_as_it_is(db: Database) -> None:
    with db.begin() as tx:
        add(tx, "a")
    with pytest.raises(sa.exc.IntegrityError, match="pk_series"), db.begin() as tx:
        add(tx, "a")


def test_a_server_that_is_not_there_is_outside(tmp_path: Path) -> None:
    down = Database(f"postgresql+psycopg://a@/x?host={tmp_path}")
    with pytest.raises(Outside, match="does not answer") as caught, down.begin():
        pass
    assert caught.value.hint


def test_a_connection_killed_in_a_transaction_is_outside_and_the_next_one_works(db: Database) -> None:
    with pytest.raises(Outside):
        add_after_being_killed(db)
    assert count(db) == 0


def test_two_that_wait_for_each_other_are_told_to_repeat(db: Database) -> None:
    with db.begin() as tx:
        add(tx, "a")
        add(tx, "b")
    both = threading.Barrier(2, timeout=10)
    names: list[str] = []

    def touch(first: str, second: str) -> None:
        change = sa.text("update series set title = title || 'x' where series_id = :id")
        try:
            with db.begin() as tx:
                tx.execute(change, {"id": first})
                both.wait()
                tx.execute(change, {"id": second})
        except StaleState as error:
            names.append(error.hint)

    threads = [threading.Thread(target=touch, args=each) for each in (("a", "b"), ("b", "a"))]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert names == ["Nothing is changed; repeat the command"]


def test_every_connection_speaks_utc_and_waits_for_no_lock_for_ever(db: Database) -> None:
    with db.read() as tx:
        told = {
            name: tx.scalar(sa.text(f"show {name}"))
            for name in ("timezone", "lock_timeout", "idle_in_transaction_session_timeout")
        }
    assert told == {"timezone": "UTC", "lock_timeout": "15s", "idle_in_transaction_session_timeout": "2min"}


def test_an_error_never_prints_what_was_bound(db: Database) -> None:
    with pytest.raises(sa.exc.DBAPIError) as caught, db.begin() as tx:
        tx.execute(sa.text("select 1 / (length(cast(:said as text)) - 6)"), {"said": "hunter"})
    assert "hunter" not in str(caught.value)
