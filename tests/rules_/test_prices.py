"""Exact prices, rounded in one place."""

from dataclasses import replace
from decimal import Decimal

import pytest

from shortdrama_pipeline.errors import NotReady, UsageError
from shortdrama_pipeline.rules.money import Money
from shortdrama_pipeline.rules.prices import (
    Price,
    PriceUnit,
    Rate,
    amount,
    check_price,
    plain,
    price_from_json,
    vendor_cost_max,
)
from shortdrama_pipeline.rules.states import MediaKind

VIDEO = {"duration_frames": 100, "frame_rate": [24, 1]}
PRICE = Price(
    binding_id="vendor-video",
    kind=MediaKind.VIDEO,
    user=Rate("CNY", PriceUnit.SECOND, Decimal("497000.5")),
    vendor=Rate("USD", PriceUnit.SECOND, Decimal(70_000), units_min=Decimal(5), units_step=Decimal("0.5")),
    delivery_deadline_s=86_400,
    source="https://vendor.example/pricing",
    dated="2026-11-30",
)


def test_a_second_is_counted_by_frames_and_rounded_up_once() -> None:
    # 100 / 24 s x 497000.5 = 2070835.41666…
    assert amount(PRICE.user, VIDEO) == Money(2_070_836, "CNY")


def test_units_are_rounded_up_to_the_step_and_the_least() -> None:
    assert vendor_cost_max(PRICE, VIDEO) == Money(350_000, "USD")  # 4.17 s is billed as 5
    assert vendor_cost_max(PRICE, {"duration_ms": 5_001}) == Money(385_000, "USD")  # as 5.5


def test_a_base_is_charged_once() -> None:
    assert amount(replace(PRICE.user, micros_base=7, micros_per_unit=Decimal(0)), VIDEO) == Money(7, "CNY")


def test_characters_are_code_points_without_the_blanks_around() -> None:
    rate = Rate("CNY", PriceUnit.CHARACTER, Decimal(300))
    assert amount(rate, {"text": " 你好，世界 \n"}) == Money(1_500, "CNY")


@pytest.mark.parametrize("params", [{}, {"duration_ms": 0}, {"duration_frames": -1, "frame_rate": [24, 1]}])
def test_what_cannot_be_counted_is_not_ready(params: dict[str, object]) -> None:
    with pytest.raises(NotReady):
        amount(PRICE.user, params)


def test_speech_without_text_is_not_ready() -> None:
    with pytest.raises(NotReady):
        amount(Rate("CNY", PriceUnit.CHARACTER, Decimal(1)), {})


def test_an_impossible_sum_is_not_ready() -> None:
    with pytest.raises(NotReady):
        amount(Rate("CNY", PriceUnit.SECOND, Decimal(10**15)), {"duration_ms": 2_000})


@pytest.mark.parametrize(
    "wrong",
    [
        replace(PRICE, kind=MediaKind.IMAGE),
        replace(PRICE, user=replace(PRICE.user, micros_per_unit=Decimal(-1))),
        replace(PRICE, user=replace(PRICE.user, micros_per_unit=Decimal("NaN"))),
        replace(PRICE, vendor=replace(PRICE.vendor, micros_base=-1)),
        replace(PRICE, delivery_deadline_s=0),
    ],
)
def test_an_impossible_price_is_refused(wrong: Price) -> None:
    with pytest.raises(UsageError):
        check_price(wrong)


def test_a_price_reads_back_what_it_wrote_and_writes_numbers_in_one_form() -> None:
    assert price_from_json(PRICE.to_json()) == PRICE
    assert [plain(Decimal(each)) for each in ("12.50", "3E2", "0", "0.10", "100")] == [
        "12.5",
        "300",
        "0",
        "0.1",
        "100",
    ]
