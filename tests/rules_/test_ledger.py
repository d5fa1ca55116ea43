"""Double entry: zero-sum whatever happens, never below zero, never settled above what was held."""

from collections import defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shortdrama_pipeline.rules.ledger import (
    AVAILABLE,
    COMPENSATION,
    RESERVED,
    REVENUE,
    Bill,
    Entry,
    billed_above,
    compensate,
    hold,
    movements,
    release,
    settle,
    spend,
    top_up,
)
from shortdrama_pipeline.rules.money import Money


def cny(micros: int) -> Money:
    return Money(micros, "CNY")


def test_a_settlement_takes_what_is_due_and_gives_the_rest_back() -> None:
    assert [
        (e.business_key, e.debit_account, e.credit_account, e.amount.micros)
        for e in settle("t", held=cny(10), charged=cny(7))
    ] == [
        ("settle:t", RESERVED, REVENUE, 7),
        ("release:t", RESERVED, AVAILABLE, 3),
    ]


def test_nothing_is_booked_for_a_free_item() -> None:
    assert hold("t", cny(0)) == release("t", cny(0)) == settle("t", held=cny(0), charged=cny(0)) == []


def test_more_than_was_held_can_never_be_charged() -> None:
    with pytest.raises(AssertionError):
        settle("t", held=cny(10), charged=cny(11))


def test_a_bill_above_the_ceiling_is_split_between_studio_and_platform() -> None:
    bill = Bill("a", "t", "b", cost=Money(12, "USD"), cost_max=Money(10, "USD"))
    assert billed_above(bill)
    assert [(e.business_key, e.debit_account, e.credit_account, e.amount.micros) for e in spend(bill)] == [
        ("spend:a", "spend:b", "vendor:b", 10),
        ("overrun:a", COMPENSATION, "vendor:b", 2),
    ]


def test_a_bill_in_an_unexpected_currency_is_booked_in_it_with_an_alarm() -> None:
    bill = Bill("a", "t", "b", cost=Money(12, "EUR"), cost_max=Money(10, "USD"))
    assert billed_above(bill)
    assert [e.amount for e in spend(bill)] == [Money(12, "EUR")]


def test_a_delivery_accident_is_borne_by_the_platform() -> None:
    bill = Bill("a", "t", "b", cost=Money(9, "USD"), cost_max=Money(10, "USD"), platform_bears=True)
    assert not billed_above(bill)
    assert [e.debit_account for e in spend(bill)] == [COMPENSATION]


def test_compensation_gives_a_settled_sum_back_at_the_platforms_cost() -> None:
    (entry,) = compensate("t", cny(7))
    assert (entry.debit_account, entry.credit_account) == (COMPENSATION, AVAILABLE)


@settings(max_examples=30)
@given(st.data())
def test_any_course_of_holds_settlements_and_releases_keeps_sums_and_balances(data: st.DataObject) -> None:
    balances: defaultdict[tuple[str, str], int] = defaultdict(int)
    held: dict[str, Money] = {}

    def book(entries: list[Entry]) -> None:
        for account, moved in movements(entries).items():
            balances[account] += moved

    book([top_up("first", cny(1_000))])
    for number in range(data.draw(st.integers(0, 25))):
        action = data.draw(st.sampled_from(["hold", "settle", "release", "bill"]))
        if action == "hold":
            price = cny(data.draw(st.integers(0, 300)))
            if price.micros <= balances[AVAILABLE, "CNY"]:
                held[f"t{number}"] = price
                book(hold(f"t{number}", price))
        elif action == "bill":
            cost = Money(data.draw(st.integers(0, 50)), "XRH")
            book(spend(Bill(f"a{number}", "t", "b", cost=cost, cost_max=Money(20, "XRH"))))
        elif held:
            task = data.draw(st.sampled_from(sorted(held)))
            price = held.pop(task)
            if action == "settle":
                book(settle(task, held=price, charged=cny(data.draw(st.integers(0, price.micros)))))
            else:
                book(release(task, price))
        assert sum(micros for (_, currency), micros in balances.items() if currency == "CNY") == 0
        assert sum(micros for (_, currency), micros in balances.items() if currency == "XRH") == 0
        assert balances[AVAILABLE, "CNY"] >= 0
        assert balances[RESERVED, "CNY"] == sum(price.micros for price in held.values())
