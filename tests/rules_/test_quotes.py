"""What stands against a Quote at the moment of the click (P-3.2 to P-3.4)."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from shortdrama_pipeline.rules.quotes import Present, QuotedItem, Route, objections

NOW = datetime(2026, 8, 7, 9, tzinfo=UTC)
ITEM = QuotedItem(
    item_id="e/shot:s1-01#video",
    episode_id="e",
    subject="shot:s1-01",
    role="video",
    kind="video",
    binding_id="b",
    product_model="m",
    price_version_id="price_1",
    price_micros=1,
    used=(("ver_1", "sha256:1"),),
)
PRESENT = Present(
    now=NOW,
    routes={"b": Route("video", "m")},
    prices={"b": "price_1"},
    chosen={"ver_1": "ver_1"},
    ordered=frozenset(),
)


def codes(present: Present, *, expires_at: datetime = NOW + timedelta(seconds=1)) -> list[str]:
    items = [ITEM, replace(ITEM, item_id="e/shot:s1-02#video")]
    return [each.code for each in objections(items, expires_at=expires_at, present=present)]


def test_nothing_stands_against_an_unchanged_quote() -> None:
    assert codes(PRESENT) == []
    assert codes(replace(PRESENT, chosen={})) == []


def test_a_quote_is_dead_at_the_very_second_it_expires() -> None:
    assert codes(PRESENT, expires_at=NOW) == ["expired"]
    assert codes(PRESENT, expires_at=NOW + timedelta(microseconds=1)) == []


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"routes": {}}, ["route"]),
        ({"routes": {"b": Route("video", "m2")}}, ["route"]),
        ({"routes": {"b": Route("image", "m")}}, ["route"]),
        ({"prices": {}}, ["price"]),
        ({"prices": {"b": "price_2"}}, ["price"]),
        ({"chosen": {"ver_1": "ver_2"}}, ["input", "input"]),
        ({"ordered": frozenset({ITEM.item_id})}, ["ordered"]),
    ],
)
def test_every_change_is_named_a_channel_once_and_an_item_by_itself(
    change: dict[str, Any], expected: list[str]
) -> None:
    assert codes(replace(PRESENT, **change)) == expected
