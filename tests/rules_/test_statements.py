"""A vendor's bill beside our book."""

from shortdrama_pipeline.rules.money import Money
from shortdrama_pipeline.rules.statements import Booked, Charge, compare


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
        Charge("r4", xrh(1)),
        Charge("r4", xrh(1)),
        Charge("r5", Money(1, "USD")),
    ]
    booked = [
        Booked("r2", "a2", xrh(5)),
        Booked("r3", "a3", xrh(7)),
        Booked("r4", "a4", xrh(1)),
        Booked("r5", "a5", xrh(1)),
    ]
    assert [(each.kind, each.external_id, each.attempt_id) for each in compare(billed, booked)] == [
        ("unknown_to_us", "r1", None),
        ("amount_differs", "r2", "a2"),
        ("not_billed", "r3", "a3"),
        ("billed_twice", "r4", "a4"),
        ("amount_differs", "r5", "a5"),
    ]
