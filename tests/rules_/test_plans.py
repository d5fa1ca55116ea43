"""The canonical form of what would be bought (P-3.1)."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shortdrama_pipeline.errors import NotReady
from shortdrama_pipeline.rules.money import Money
from shortdrama_pipeline.rules.plans import (
    INTEGER_MAX,
    ItemRequest,
    PricedItem,
    Use,
    canonical_bytes,
    input_hash,
    normalise,
    plan_body,
)
from shortdrama_pipeline.rules.states import MediaKind, Stage

REQUEST = ItemRequest(
    episode_id="2026-W32-0",
    subject="shot:s1-01",
    role="video",
    kind=MediaKind.VIDEO,
    params={"prompt": "café", "width": 1080, "frame_rate": [24, 1], "shot": {"line": None, "size": "wide"}},
    uses=(Use("frame", "ver_b", "sha256:b", "b" * 64), Use("bible", "ver_a", "sha256:a")),
    constraints={"binding_id": "vendor-video"},
)
ITEM = PricedItem(
    request=REQUEST,
    binding_id="vendor-video",
    product_model="model-2",
    candidates=("vendor-video",),
    price_version_id="price_1",
    price=Money(500_000, "CNY"),
    cost_max=Money(70_000, "USD"),
)


def hash_of(
    item: PricedItem,
    *,
    stage: Stage = Stage.SHOTS,
    kind: str = "operation",
    currency: str = "CNY",
    ceiling_micros: int | None = None,
) -> str:
    body = plan_body(stage, [item], kind=kind, currency=currency, ceiling_micros=ceiling_micros)
    return input_hash(body)


def test_a_plan_holds_every_field_a_snapshot_must_hold() -> None:
    body: dict[str, Any] = plan_body(
        Stage.SHOTS, [ITEM], kind="batch", currency="CNY", ceiling_micros=600_000
    )
    assert body["schema"] == 1
    assert (body["kind"], body["stage"], body["currency"]) == ("batch", "shots", "CNY")
    assert body["ceiling_micros"] == 600_000
    assert body["resend_after_proven_rejection"] == 3
    assert body["items"] == [
        {
            "item_id": "2026-W32-0/shot:s1-01#video",
            "episode_id": "2026-W32-0",
            "subject": "shot:s1-01",
            "role": "video",
            "kind": "video",
            "binding_id": "vendor-video",
            "product_model": "model-2",
            "candidates": ["vendor-video"],
            "price_version_id": "price_1",
            "price_micros": 500_000,
            "cost_micros_max": 70_000,
            "cost_currency": "USD",
            "outputs": 1,
            "params": dict(REQUEST.params),
            "uses": [
                {"version_id": "ver_a", "digest": "sha256:a", "sha256": None, "purpose": "bible"},
                {"version_id": "ver_b", "digest": "sha256:b", "sha256": "b" * 64, "purpose": "frame"},
            ],
            "constraints": {"binding_id": "vendor-video"},
        }
    ]


def test_the_hash_is_pinned_so_that_it_never_changes_unseen() -> None:
    assert hash_of(ITEM) == "sha256:a79e40955a849cbcee03ad85a8a41207f6451120fabc9aa0d685d9481071e191"


@pytest.mark.parametrize(
    "same",
    [
        {"shot": {"size": "wide", "line": None}, "frame_rate": [24, 1], "width": 1080, "prompt": "café"},
        {
            "prompt": "cafe\u0301",
            "width": 1080.0,
            "frame_rate": (24.0, 1),
            "shot": {"line": None, "size": "wide"},
        },
        {
            "prompt": "café",
            "width": Decimal("1.08E3"),
            "frame_rate": [Decimal("24.00"), 1],
            "shot": {"line": None, "size": "wide"},
        },
    ],
    ids=["key order", "composition and whole floats", "decimals"],
)
def test_equal_inputs_hash_equal(same: dict[str, object]) -> None:
    assert hash_of(replace(ITEM, request=replace(REQUEST, params=same))) == hash_of(ITEM)


def test_the_order_of_items_and_uses_does_not_matter() -> None:
    other = replace(ITEM, request=replace(REQUEST, subject="shot:s1-02"))
    turned = replace(ITEM, request=replace(REQUEST, uses=tuple(reversed(REQUEST.uses))))
    plans = [
        plan_body(Stage.SHOTS, order, kind="operation", currency="CNY")
        for order in ([ITEM, other], [other, turned])
    ]
    assert input_hash(plans[0]) == input_hash(plans[1])


CHANGED_REQUESTS = {
    "episode": {"episode_id": "2026-W32-1"},
    "subject": {"subject": "shot:s1-02"},
    "role": {"role": "frame"},
    "kind": {"kind": MediaKind.IMAGE},
    "one character": {"params": {**REQUEST.params, "prompt": "cafe"}},
    "one pixel": {"params": {**REQUEST.params, "width": 1081}},
    "true for one": {"params": {**REQUEST.params, "width": True}},
    "text for number": {"params": {**REQUEST.params, "width": "1080"}},
    "absent for null": {"params": {**REQUEST.params, "shot": {"size": "wide"}}},
    "list order": {"params": {**REQUEST.params, "frame_rate": [1, 24]}},
    "used version": {"uses": (replace(REQUEST.uses[0], version_id="ver_c"), REQUEST.uses[1])},
    "used digest": {"uses": (replace(REQUEST.uses[0], digest="sha256:c"), REQUEST.uses[1])},
    "used file": {"uses": (replace(REQUEST.uses[0], sha256="c" * 64), REQUEST.uses[1])},
    "purpose": {"uses": (replace(REQUEST.uses[0], purpose="script"), REQUEST.uses[1])},
    "one use less": {"uses": REQUEST.uses[:1]},
    "constraint": {"constraints": {}},
}
CHANGED_ITEMS = {
    "binding": {"binding_id": "other"},
    "model": {"product_model": "model-3"},
    "candidates": {"candidates": ("vendor-video", "other")},
    "price version": {"price_version_id": "price_2"},
    "one micro": {"price": Money(500_001, "CNY")},
    "cost": {"cost_max": Money(70_001, "USD")},
    "cost currency": {"cost_max": Money(70_000, "EUR")},
}
CHANGED_PLANS = {
    "stage": {"stage": Stage.PILOT},
    "kind": {"kind": "batch"},
    "ceiling": {"ceiling_micros": 500_001},
}


@pytest.mark.parametrize("change", CHANGED_REQUESTS.values(), ids=CHANGED_REQUESTS)
def test_any_changed_field_of_a_request_changes_the_hash(change: dict[str, Any]) -> None:
    assert hash_of(replace(ITEM, request=replace(REQUEST, **change))) != hash_of(ITEM)


@pytest.mark.parametrize("change", CHANGED_ITEMS.values(), ids=CHANGED_ITEMS)
def test_any_changed_field_of_price_or_channel_changes_the_hash(change: dict[str, Any]) -> None:
    assert hash_of(replace(ITEM, **change)) != hash_of(ITEM)


@pytest.mark.parametrize("change", CHANGED_PLANS.values(), ids=CHANGED_PLANS)
def test_any_changed_field_of_the_plan_changes_the_hash(change: dict[str, Any]) -> None:
    assert hash_of(ITEM, **change) != hash_of(ITEM)


@pytest.mark.parametrize(
    "value",
    [
        0.5,
        float("nan"),
        float("inf"),
        Decimal("0.1"),
        INTEGER_MAX + 1,
        b"bytes",
        {1: 2},
        "\ud800",
        {1, 2},
        object,
    ],
    ids=repr,
)
def test_what_has_no_canonical_form_is_refused_with_its_place(value: object) -> None:
    with pytest.raises(NotReady) as caught:
        hash_of(replace(ITEM, request=replace(REQUEST, params={"deep": [value]})))
    assert "params/deep/0" in str(caught.value)


def test_a_key_named_twice_after_composition_is_refused() -> None:
    with pytest.raises(NotReady):
        normalise({"é": 1, "e\u0301": 2})


def test_endless_nesting_is_refused() -> None:
    nested: list[object] = []
    for _ in range(100):
        nested = [nested]
    with pytest.raises(NotReady):
        normalise(nested)


def test_no_items_an_item_twice_and_a_sum_above_the_ceiling_are_refused() -> None:
    for items, ceiling in (([], None), ([ITEM, ITEM], None), ([ITEM], 499_999)):
        with pytest.raises(NotReady):
            plan_body(Stage.SHOTS, items, kind="operation", currency="CNY", ceiling_micros=ceiling)


def test_a_price_in_another_currency_is_refused() -> None:
    with pytest.raises(NotReady):
        hash_of(ITEM, currency="USD")


def test_a_free_plan_is_legal() -> None:
    assert hash_of(replace(ITEM, price=Money(0, "CNY")))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-INTEGER_MAX, INTEGER_MAX) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=40)
@given(json_values)
def test_normalising_twice_changes_nothing_more(value: object) -> None:
    try:
        once = normalise(value)
    except NotReady:
        return
    assert normalise(once) == once
    assert canonical_bytes({"v": value}) == canonical_bytes({"v": once})
