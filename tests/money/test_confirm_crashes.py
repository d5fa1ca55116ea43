"""T1 is one transaction: wherever it breaks, all of its rows exist or none (P-6.1, P-6.2)."""

import multiprocessing
import random
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread

import pytest
import sqlalchemy as sa

from shortdrama_pipeline.services.auditing import verify_all
from shortdrama_pipeline.services.confirming import confirm_quote
from shortdrama_pipeline.services.wallets import show_wallet
from tests.money.clicking import confirm_all
from tests.money.conftest import PERSON, Rich, image

NOTHING = {"executions": 0, "tasks": 0, "reservations": 0, "outbox": 0, "grants": 0}
KILLS = 3


class Crash(Exception):
    """The process died here."""


@contextmanager
def crash_at(rich: Rich, number: int) -> Iterator[list[str]]:
    """Die before the statement of that number reaches the database; yields the statements seen."""
    seen: list[str] = []

    def before(_c: object, _cursor: object, statement: str, *_: object) -> None:
        seen.append(statement)
        if len(seen) == number:
            raise Crash(statement)

    sa.event.listen(rich.db.engine, "before_cursor_execute", before)
    try:
        yield seen
    finally:
        sa.event.remove(rich.db.engine, "before_cursor_execute", before)


def statements_of_a_confirm(rich: Rich) -> int:
    """How many statements T1 has, before the wake-up that follows it."""
    planned = [rich.plan([image(number)]) for number in (90, 91)]
    confirm_quote(rich.studio, planned[0].quote_id, idempotency_key="first", actor=PERSON)  # opens an account
    with crash_at(rich, 0) as seen:
        confirm_quote(rich.studio, planned[1].quote_id, idempotency_key="second", actor=PERSON)
    return next(number for number, each in enumerate(seen) if "pg_notify" in each)


def test_a_crash_at_any_statement_leaves_nothing_and_the_same_key_then_succeeds(rich: Rich) -> None:
    statements = statements_of_a_confirm(rich)
    before, available = rich.t1_rows(), show_wallet(rich.studio).available
    planned = rich.plan()
    for number in range(1, statements + 1):
        with crash_at(rich, number), pytest.raises(Crash):
            confirm_quote(rich.studio, planned.quote_id, idempotency_key="k", actor=PERSON)
        assert rich.t1_rows() == before, number
        assert show_wallet(rich.studio).available == available, number
    assert confirm_quote(rich.studio, planned.quote_id, idempotency_key="k", actor=PERSON).created
    assert verify_all(rich.studio).problems == ()


def test_a_commit_that_fails_leaves_nothing(rich: Rich) -> None:
    planned = rich.plan()

    def dies(_: object) -> None:
        raise Crash("commit")

    sa.event.listen(rich.db.engine, "commit", dies)
    try:
        with pytest.raises(Crash):
            confirm_quote(rich.studio, planned.quote_id, idempotency_key="k", actor=PERSON)
    finally:
        sa.event.remove(rich.db.engine, "commit", dies)
    assert rich.t1_rows() == NOTHING


def test_a_confirm_takes_the_same_few_statements_for_any_number_of_items(rich: Rich) -> None:
    counts = []
    for first, items in ((500, 1), (1, 1), (100, 60)):
        planned = rich.plan([image(first + each) for each in range(items)])
        with crash_at(rich, 0) as seen:
            confirm_quote(rich.studio, planned.quote_id, idempotency_key=f"k{first}", actor=PERSON)
        counts.append(len(seen))
    assert counts[1] == counts[2] <= 18


HALF_STATES = """
select (select count(*) from executions) * 5 - (select count(*) from tasks) as tasks,
 (select count(*) from tasks) - (select count(*) from reservations) as reservations,
 (select count(*) from executions) - (select count(*) from outbox) as outbox,
 (select count(*) from executions) - (select count(*) from quotes where state = 'confirmed') as quotes,
 (select coalesce(sum(amount_micros), 0) from reservations)
  - (select coalesce(sum(balance_micros), 0) from balances where account = 'wallet:studio:reserved') as held
"""


def test_killed_processes_never_show_a_reader_a_half_confirm(rich: Rich, db_url: str) -> None:
    quote_ids = [rich.plan([image(5 * number + each) for each in range(5)]).quote_id for number in range(40)]
    done, half = Event(), list[object]()

    def look() -> None:
        while not done.is_set():
            with rich.db.read() as tx:
                row = tx.execute(sa.text(HALF_STATES)).one()
            if any(row):
                half.append(row)
            done.wait(0.002)

    reader = Thread(target=look)
    reader.start()
    chance = random.Random(7)
    processes = multiprocessing.get_context("forkserver")
    processes.set_forkserver_preload(["tests.money.clicking"])
    try:
        for _ in range(KILLS):
            before = rich.count("executions")
            process = processes.Process(
                target=confirm_all, args=(db_url, rich.studio.settings.home, quote_ids)
            )
            process.start()
            while rich.count("executions") == before:
                done.wait(0.005)
            done.wait(chance.uniform(0, 0.05))
            process.kill()
            process.join()
    finally:
        done.set()
        reader.join()
    assert half == []
    for quote_id in quote_ids:  # whoever clicks again gets what is there, or buys what is not
        confirm_quote(rich.studio, quote_id, idempotency_key=quote_id, actor=PERSON)
    assert rich.t1_rows()["tasks"] == 5 * len(quote_ids)
    assert verify_all(rich.studio).problems == ()
