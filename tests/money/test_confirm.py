"""T1: one click, all rows or none, once."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier

import pytest

from shortdrama_pipeline.errors import (
    Conflict,
    GrantRefused,
    InsufficientFunds,
    QuoteNotConfirmable,
    UnknownId,
)
from shortdrama_pipeline.services.confirming import confirm_quote
from shortdrama_pipeline.services.wallets import show_wallet
from shortdrama_pipeline.store.database import Database
from tests.money.conftest import IMAGE_MICROS, PERSON, Rich, image, script_version, select_version

NOTHING = {"executions": 0, "tasks": 0, "reservations": 0, "outbox": 0, "grants": 0}


def test_a_confirm_makes_one_execution_and_outbox_row_and_a_task_and_reservation_per_item(rich: Rich) -> None:
    planned = rich.plan()
    confirmed = confirm_quote(rich.studio, planned.quote_id, idempotency_key="k", actor=PERSON)
    assert confirmed.created
    assert rich.t1_rows() == {"executions": 1, "tasks": 3, "reservations": 3, "outbox": 1, "grants": 1}
    wallet = show_wallet(rich.studio)
    assert wallet.reserved.micros == 3 * IMAGE_MICROS
    assert wallet.available.micros == 100_000_000 - 3 * IMAGE_MICROS


def test_a_task_carries_its_frozen_item_the_plans_hash_a_deadline_and_its_grant(rich: Rich) -> None:
    planned = rich.plan([image(1)])
    confirm_quote(rich.studio, planned.quote_id, idempotency_key="k", actor=PERSON)
    (task,) = rich.rows(
        "select t.*, g.input_hash as grant_hash, t.deadline_at - t.created_at > interval '23 hours' as late"
        " from tasks t join grants g using (grant_id)"
    )
    assert (task["state"], task["stage"], task["kind"], task["role"]) == (
        "queued",
        "storyboard",
        "image",
        "frame",
    )
    assert task["input_hash"] == planned.input_hash == task["grant_hash"]
    assert task["request"]["params"]["prompt"] == "shot 1"  # type: ignore[index]
    assert task["late"]


def test_the_same_key_again_answers_the_original(rich: Rich) -> None:
    planned = rich.plan()
    first = confirm_quote(rich.studio, planned.quote_id, idempotency_key="k", actor=PERSON)
    again = confirm_quote(rich.studio, planned.quote_id, idempotency_key="k", actor=PERSON)
    assert (again.execution_id, again.task_ids, again.created) == (first.execution_id, first.task_ids, False)


def test_another_key_on_the_same_quote_answers_the_original(rich: Rich) -> None:
    planned = rich.plan()
    first = confirm_quote(rich.studio, planned.quote_id, idempotency_key="k", actor=PERSON)
    again = confirm_quote(rich.studio, planned.quote_id, idempotency_key="other", actor="person:chen")
    assert (again.execution_id, again.created) == (first.execution_id, False)


def test_the_same_key_with_other_content_is_a_conflict_without_effect(rich: Rich) -> None:
    first, second = rich.plan([image(1)]), rich.plan([image(2)])
    confirm_quote(rich.studio, first.quote_id, idempotency_key="k", actor=PERSON)
    before = rich.t1_rows()
    with pytest.raises(Conflict):
        confirm_quote(rich.studio, second.quote_id, idempotency_key="k", actor=PERSON)
    assert rich.t1_rows() == before


@pytest.mark.parametrize("actor", ["agent:director", "schedule:weekly"])
def test_only_a_person_confirms_without_a_budget(rich: Rich, actor: str) -> None:
    planned = rich.plan()
    with pytest.raises(GrantRefused):
        confirm_quote(rich.studio, planned.quote_id, idempotency_key="k", actor=actor)
    assert rich.t1_rows() == NOTHING


def test_an_agent_may_plan(rich: Rich) -> None:
    assert rich.plan(actor="agent:director").total.micros == 3 * IMAGE_MICROS


def test_an_unknown_quote_is_unknown(rich: Rich) -> None:
    with pytest.raises(UnknownId):
        confirm_quote(rich.studio, "quote_forged", idempotency_key="k", actor=PERSON)


def test_a_quote_above_the_balance_is_refused_with_what_is_missing(rich: Rich) -> None:
    planned = rich.plan()
    rich.run(
        "update balances set balance_micros = :left where account = 'wallet:studio:available'",
        left=3 * IMAGE_MICROS - 1,
    )
    with pytest.raises(InsufficientFunds) as caught:
        confirm_quote(rich.studio, planned.quote_id, idempotency_key="k", actor=PERSON)
    assert caught.value.facts["missing"] == {"micros": 1, "currency": "CNY"}
    assert rich.t1_rows() == NOTHING


def test_an_expired_quote_comes_back_as_a_new_one_with_nothing_reserved(rich: Rich) -> None:
    planned = rich.plan(quote_valid_s=0)
    with pytest.raises(QuoteNotConfirmable) as caught:
        confirm_quote(rich.studio, planned.quote_id, idempotency_key="k", actor=PERSON)
    new_quote_id = str(caught.value.facts["new_quote_id"])
    assert caught.value.facts["reasons"] == ["expired"]
    assert rich.t1_rows() == NOTHING
    assert confirm_quote(rich.studio, new_quote_id, idempotency_key="k", actor=PERSON).created


def test_a_newer_choice_of_an_input_makes_a_new_quote(rich: Rich) -> None:
    use = script_version(rich.studio, "ver_1", 1, "sha256:1")
    select_version(rich.studio, "ver_1")
    planned = rich.plan([image(1, uses=(use,))])
    newer = script_version(rich.studio, "ver_2", 2, "sha256:2")
    select_version(rich.studio, "ver_2")
    with pytest.raises(QuoteNotConfirmable) as caught:
        confirm_quote(
            rich.studio,
            planned.quote_id,
            idempotency_key="k",
            actor=PERSON,
            stage_requests=lambda *_: [image(1, uses=(newer,))],
        )
    assert caught.value.facts["reasons"] == ["input"]
    (old, new) = rich.rows(
        "select p.body->'items'->0->'uses'->0->>'version_id' as version_id from quotes q join plans p"
        " using (plan_id) order by q.created_at"
    )
    assert (old["version_id"], new["version_id"]) == ("ver_1", "ver_2")


def test_64_parallel_confirms_of_one_quote_make_one_execution(rich: Rich) -> None:
    planned = rich.plan()
    barrier = Barrier(16)

    def click(number: int) -> tuple[str, bool]:
        barrier.wait()
        key = "k" if number % 2 else f"k-{number}"
        confirmed = confirm_quote(rich.studio, planned.quote_id, idempotency_key=key, actor=PERSON)
        return confirmed.execution_id, confirmed.created

    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(click, range(64)))
    assert len({execution_id for execution_id, _ in answers}) == 1
    assert sum(created for _, created in answers) == 1
    assert rich.t1_rows() == {"executions": 1, "tasks": 3, "reservations": 3, "outbox": 1, "grants": 1}


def test_one_key_on_two_quotes_from_two_processes_confirms_one_and_conflicts_for_the_other(
    rich: Rich, db_url: str
) -> None:
    """Two engines share no lock in memory: the unique key decides, and the loser looks again (G-201)."""
    other = Database(db_url)
    studios = [rich.studio, replace(rich.studio, db=other)]
    for round_ in range(8):
        quotes = [rich.plan([image(10 * round_ + each)]).quote_id for each in range(2)]
        barrier = Barrier(2)

        def click(
            number: int, quotes: list[str] = quotes, barrier: Barrier = barrier, key: str = f"k{round_}"
        ) -> str:
            barrier.wait()
            try:
                confirm_quote(studios[number], quotes[number], idempotency_key=key, actor=PERSON)
            except Conflict:
                return "conflict"
            return "confirmed"

        with ThreadPoolExecutor(2) as pool:
            assert sorted(pool.map(click, range(2))) == ["confirmed", "conflict"]
    other.close()
    assert rich.count("executions") == 8


def test_two_quotes_for_the_same_item_from_two_processes_buy_it_once(rich: Rich, db_url: str) -> None:
    other = Database(db_url)
    studios = [rich.studio, replace(rich.studio, db=other)]
    quotes = [rich.plan([image(1)]).quote_id for _ in range(2)]
    barrier = Barrier(2)

    def click(number: int) -> str:
        barrier.wait()
        try:
            confirm_quote(studios[number], quotes[number], idempotency_key=f"k{number}", actor=PERSON)
        except QuoteNotConfirmable as refusal:
            return str(refusal.facts["reasons"])
        return "bought"

    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(click, range(2))) == ["['ordered']", "bought"]
    other.close()
    assert rich.count("tasks") == 1


def test_a_binding_swapped_between_quote_and_click_makes_a_new_quote_on_the_new_route(rich: Rich) -> None:
    planned = rich.plan([image(1)])
    bindings = dict(rich.studio.bindings)
    bindings["rehearsal-image"] = replace(bindings["rehearsal-image"], model="animatic-2")
    swapped = replace(rich.studio, bindings=bindings)
    with pytest.raises(QuoteNotConfirmable) as caught:
        confirm_quote(swapped, planned.quote_id, idempotency_key="k", actor=PERSON)
    assert caught.value.facts["reasons"] == ["route"]
    (new,) = rich.rows(
        "select body->'items'->0->>'product_model' as model from plans join quotes using (plan_id)"
        " where quote_id = :id",
        id=caught.value.facts["new_quote_id"],
    )
    assert new["model"] == "animatic-2"
    assert rich.t1_rows() == NOTHING


def test_a_superseded_quote_keeps_naming_the_one_in_its_place(rich: Rich) -> None:
    planned = rich.plan(quote_valid_s=0)
    named = []
    for _ in range(2):
        with pytest.raises(QuoteNotConfirmable) as caught:
            confirm_quote(rich.studio, planned.quote_id, idempotency_key="k", actor=PERSON)
        named.append(caught.value.facts["new_quote_id"])
    assert named[0] == named[1]
    assert rich.count("quotes") == 2


def test_a_quote_whose_binding_is_gone_is_refused_without_a_new_one(rich: Rich) -> None:
    planned = rich.plan([image(1)])
    bindings = {name: each for name, each in rich.studio.bindings.items() if name != "rehearsal-image"}
    with pytest.raises(QuoteNotConfirmable) as caught:
        confirm_quote(
            replace(rich.studio, bindings=bindings), planned.quote_id, idempotency_key="k", actor=PERSON
        )
    assert caught.value.facts["new_quote_id"] is None
