"""Held money is settled or given back, once, whoever asks how often (TT-3, V-6, V-7, D-7)."""

from concurrent.futures import ThreadPoolExecutor

import pytest
import sqlalchemy as sa

from shortdrama_pipeline.rules.ledger import Bill, compensate
from shortdrama_pipeline.rules.money import Money
from shortdrama_pipeline.services.auditing import verify_ledger
from shortdrama_pipeline.services.confirming import confirm_quote
from shortdrama_pipeline.services.wallets import show_wallet
from shortdrama_pipeline.store import audit, ledger
from shortdrama_pipeline.store.reservations import (
    Moved,
    Settlement,
    book_spend_many,
    load_settled,
    release_many,
    request_settlement_many,
    settle_many,
)
from tests.money.conftest import IMAGE_MICROS, PERSON, Rich, deliver

ENGINE = "schedule:engine"
FULL = 100_000_000


def order(rich: Rich) -> list[str]:
    quote_id = rich.plan().quote_id
    return list(confirm_quote(rich.studio, quote_id, idempotency_key="k", actor=PERSON).task_ids)


def bill(attempt_id: str, task_id: str, micros: int, **options: bool) -> Bill:
    cost = Money(micros, "XRH")
    return Bill(attempt_id, task_id, "rehearsal-image", cost, Money(40_000, "XRH"), **options)


def settle(rich: Rich, settlements: list[Settlement], *bills: Bill) -> Moved:
    with rich.db.begin() as tx:
        return settle_many(tx, settlements, bills=bills, actor=ENGINE)


def release(rich: Rich, task_ids: list[str], *bills: Bill) -> Moved:
    with rich.db.begin() as tx:
        return release_many(tx, task_ids, reason={"code": "refused"}, bills=bills, actor=ENGINE)


def test_a_batch_is_settled_released_and_billed_and_the_books_agree(rich: Rich) -> None:
    first, second, third = order(rich)
    attempts = [deliver(rich, each) for each in (first, second)]
    moved = settle(
        rich,
        [Settlement(first), Settlement(second, charged_micros=15_000)],
        *(bill(attempt, task, 40_000) for attempt, task in zip(attempts, (first, second), strict=True)),
    )
    assert set(moved.moved) == {first, second}
    assert release(rich, [third], bill(deliver(rich, third), third, 10_000)).moved == (third,)
    wallet = show_wallet(rich.studio)
    assert (wallet.reserved.micros, wallet.settled.micros) == (0, 55_000)
    assert wallet.available.micros == FULL - 55_000
    assert wallet.provider_spend == (Money(90_000, "XRH"),)
    assert verify_ledger(rich.studio).problems == ()


def test_nothing_is_charged_without_a_registered_deliverable(rich: Rich) -> None:
    tasks = order(rich)
    assert settle(rich, [Settlement(tasks[0])]).refused == {tasks[0]: "reserved"}
    with rich.db.begin() as tx:
        assert request_settlement_many(tx, tasks[:1]).refused == {tasks[0]: "reserved"}


def test_more_than_the_held_price_is_never_charged(rich: Rich) -> None:
    task = order(rich)[0]
    deliver(rich, task)
    settle(rich, [Settlement(task, charged_micros=10 * IMAGE_MICROS)])
    with rich.db.read() as tx:
        assert load_settled(tx, task) == Money(IMAGE_MICROS, "CNY")


def test_a_bill_above_the_ceiling_goes_to_the_platform_with_one_alarm(rich: Rich) -> None:
    task = order(rich)[0]
    attempt = deliver(rich, task)
    for _ in range(2):
        settle(rich, [Settlement(task)], bill(attempt, task, 65_000))
    accounts = rich.rows("select account, balance_micros from balances where currency = 'XRH' order by 1")
    assert [tuple(each.values()) for each in accounts] == [
        ("platform:compensation", -25_000),
        ("spend:rehearsal-image", -40_000),
        ("vendor:rehearsal-image", 65_000),
    ]
    assert [each["kind"] for each in rich.rows("select kind from alerts")] == ["billed_above_ceiling"]


def test_a_settlement_that_had_to_wait_is_made_later_and_once(rich: Rich) -> None:
    task = order(rich)[0]
    deliver(rich, task)
    with rich.db.begin() as tx:
        assert request_settlement_many(tx, [task]).moved == (task,)
    assert release(rich, [task]).refused == {task: "settlementPending"}
    assert settle(rich, [Settlement(task)]).moved == (task,)
    assert settle(rich, [Settlement(task)]).already == (task,)
    with rich.db.begin() as tx:
        assert request_settlement_many(tx, [task]).already == (task,)
    assert show_wallet(rich.studio).settled.micros == IMAGE_MICROS


def test_released_money_is_never_settled_and_settled_never_released(rich: Rich) -> None:
    first, second, _ = order(rich)
    release(rich, [first])
    deliver(rich, first)
    deliver(rich, second)
    settle(rich, [Settlement(second)])
    assert settle(rich, [Settlement(first)]).refused == {first: "released"}
    assert release(rich, [second]).refused == {second: "settled"}
    assert verify_ledger(rich.studio).problems == ()


def test_parallel_settlements_and_releases_of_one_task_have_one_effect(rich: Rich) -> None:
    tasks = order(rich)
    for each in tasks:
        deliver(rich, each)

    def act(number: int) -> int:
        ids = tasks if number % 2 else tasks[::-1]
        moved = settle(rich, [Settlement(each) for each in ids]) if number % 3 else release(rich, ids)
        return len(moved.moved)

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(act, range(24))) == 3
    assert verify_ledger(rich.studio).problems == ()


def test_compensation_happens_once_and_is_borne_by_the_platform(rich: Rich) -> None:
    task = order(rich)[0]
    attempt = deliver(rich, task)
    settle(rich, [Settlement(task)])
    for _ in range(2):
        with rich.db.begin() as tx:
            ledger.post(tx, compensate(task, load_settled(tx, task)), actor=PERSON)
            audit.record_decision(tx, "task.compensate", task, actor=PERSON)
            book_spend_many(tx, [bill(attempt, task, 40_000, platform_bears=True)], actor=ENGINE)
    assert show_wallet(rich.studio).available.micros == FULL - 2 * IMAGE_MICROS
    assert verify_ledger(rich.studio).problems == ()


def test_the_database_refuses_to_settle_above_the_held_amount(rich: Rich) -> None:
    order(rich)
    with pytest.raises(sa.exc.IntegrityError, match="settled_within"):
        rich.run("update reservations set state = 'settled', settled_micros = amount_micros + 1")
