"""The five limits of a budget (P-3.7) and who may decide (D-22)."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from shortdrama_pipeline.errors import GrantRefused, UsageError
from shortdrama_pipeline.rules.actors import parse_actor, require_confirmer, require_person
from shortdrama_pipeline.rules.grants import Grant, GrantKind, Scope, check_budget
from shortdrama_pipeline.rules.money import Money

NOW = datetime(2026, 8, 7, 9, tzinfo=UTC)
BUDGET = Grant(
    grant_id="grant_1",
    kind=GrantKind.BUDGET,
    quote_id=None,
    input_hash=None,
    limit=Money(100, "CNY"),
    used_micros=60,
    uses=1,
    uses_max=2,
    scope=Scope(stages=("shots",), episodes=("e0",), kinds=("video",), bindings=("b",), models=("m",)),
    expires_at=NOW + timedelta(seconds=1),
    revoked_at=None,
    actor="person:lin",
)
WANTED = Scope(
    stages=("shots",), episodes=("e0",), kinds=("video",), bindings=("b",), models=("m",), items=("i",)
)
TOTAL = Money(40, "CNY")


def test_a_quote_that_just_fits_is_covered() -> None:
    check_budget(BUDGET, wanted=WANTED, total=TOTAL, now=NOW)


def test_an_empty_list_of_a_budget_means_any() -> None:
    anything = replace(BUDGET, scope=Scope(), uses_max=None)
    check_budget(anything, wanted=replace(WANTED, kinds=("image", "video")), total=TOTAL, now=NOW)


@pytest.mark.parametrize(
    ("grant", "wanted", "total", "now", "limit"),
    [
        ({}, {}, Money(41, "CNY"), NOW, "amount"),
        ({}, {}, TOTAL, NOW + timedelta(seconds=1), "validity"),
        ({"uses": 2}, {}, TOTAL, NOW, "uses"),
        ({}, {"kinds": ("image", "video")}, TOTAL, NOW, "capability"),
        ({}, {"models": ("m", "m2")}, TOTAL, NOW, "model"),
        ({}, {"bindings": ("b2",)}, TOTAL, NOW, "binding"),
        ({}, {"episodes": ("e0", "e1")}, TOTAL, NOW, "episode"),
        ({}, {"stages": ("pilot",)}, TOTAL, NOW, "stage"),
        ({"revoked_at": NOW}, {}, TOTAL, NOW, "revoked"),
        ({"kind": GrantKind.OPERATION}, {}, TOTAL, NOW, "kind"),
        ({}, {}, Money(1, "USD"), NOW, "currency"),
    ],
)
def test_each_limit_is_refused_when_it_is_passed_by_the_smallest_step(
    grant: dict[str, Any], wanted: dict[str, Any], total: Money, now: datetime, limit: str
) -> None:
    with pytest.raises(GrantRefused) as caught:
        check_budget(replace(BUDGET, **grant), wanted=replace(WANTED, **wanted), total=total, now=now)
    assert caught.value.facts["limit"] == limit


def test_a_person_confirms_a_schedule_only_under_a_budget_an_agent_never() -> None:
    assert str(require_confirmer("person:lin", under_budget=False)) == "person:lin"
    assert str(require_confirmer("schedule:weekly", under_budget=True)) == "schedule:weekly"
    for actor, under_budget in (("schedule:weekly", False), ("agent:d", False), ("agent:d", True)):
        with pytest.raises(GrantRefused):
            require_confirmer(actor, under_budget=under_budget)
    with pytest.raises(GrantRefused):
        require_person("schedule:weekly", "revoke a Grant")


@pytest.mark.parametrize("text", ["", "lin", "robot:x", "person:", "person:  ", "agent:" + "x" * 300])
def test_what_names_no_actor_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_actor(text)
