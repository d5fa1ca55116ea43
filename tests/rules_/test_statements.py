"""A vendor's bill beside our book."""

from hypothesis import given
from hypothesis import strategies as st

from shortdrama_pipeline.rules.money import Money
from shortdrama_pipeline.rules.statements import Booked, Charge, compare, totals


def xrh(micros: int) -> Money:
    return Money(micros, "XRH")


def test_a_bill_that_agrees_has_no_difference() -> None:
    assert (
        compare(
            [Charge("r1", xrh(5)), Charge("r0", xrh(0))],
            [Booked("r1", "a1", xrh(5)), Booked("r2", "a2", xrh(0))],
        )
        == []
    )


def test_every_disagreement_is_named_from_both_sides() -> None:
    billed = [
        Charge("r1", xrh(5)),
        Charge("r2", xrh(6)),
        Charge("r4", xrh(1), line=3),
        Charge("r4", xrh(1), line=4),
        Charge("r5", Money(1, "USD")),
        Charge("r6", xrh(2), "a6"),
        Charge("r7", xrh(2), "a7"),
    ]
    booked = [
        Booked("r2", "a2", xrh(5)),
        Booked("r3", "a3", xrh(7)),
        Booked("r4", "a4", xrh(1)),
        Booked("r5", "a5", xrh(1)),
        Booked("r8", "a8", xrh(0)),
        Booked("r8", "a9", xrh(0)),
    ]
    found = compare(billed, booked, attempts={"a6": "t6"})
    assert [(each.kind, each.external_id, each.attempt_id) for each in found] == [
        ("unknown_to_us", "r1", None),
        ("amount_differs", "r2", "a2"),
        ("not_billed", "r3", "a3"),
        ("billed_twice", "r4", "a4"),
        ("amount_differs", "r5", "a5"),
        ("not_accepted_by_us", "r6", "a6"),
        ("unknown_to_us", "r7", None),
        ("booked_twice", "r8", "a9"),
    ]
    assert found[3].line == 4
    assert found[5].task_id == "t6"
    assert all(each.to_json()["hint"] for each in found)


def test_totals_never_mix_currencies() -> None:
    assert totals([xrh(1), Money(2, "CNY"), xrh(3)]) == [Money(2, "CNY"), xrh(4)]


LINES = st.lists(st.tuples(st.sampled_from("abcd"), st.integers(0, 2)), max_size=6)


@given(LINES, LINES)
def test_equal_totals_without_differences_and_no_difference_is_lost(
    billed: list[tuple[str, int]], booked: list[tuple[str, int]]
) -> None:
    charges = [Charge(name, xrh(micros)) for name, micros in billed]
    ours = [Booked(name, f"a{number}", xrh(micros)) for number, (name, micros) in enumerate(booked)]
    found = compare(charges, ours)
    if not found:
        assert sum(micros for _, micros in billed) == sum(micros for _, micros in booked)
    swapped = compare(
        [Charge(each.external_id, each.amount) for each in ours],
        [Booked(each.external_id, f"b{number}", each.amount) for number, each in enumerate(charges)],
    )
    assert len(swapped) == len(found)
