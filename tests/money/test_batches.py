"""One approval over explicit episodes; nothing joins it, nothing done is done again (P-11, F16)."""

from collections.abc import Sequence

import pytest

from shortdrama_pipeline.errors import (
    GrantRefused,
    NotReady,
    QuoteNotConfirmable,
    Refusal,
    UnknownId,
    UsageError,
)
from shortdrama_pipeline.rules.plans import ItemRequest
from shortdrama_pipeline.rules.states import Stage
from shortdrama_pipeline.services.auditing import verify_all
from shortdrama_pipeline.services.batches import (
    BatchView,
    confirm_batch,
    continue_batch,
    plan_batch,
    show_batch,
)
from shortdrama_pipeline.services.context import Studio
from tests.money.conftest import IMAGE_MICROS, PERSON, Rich, image

EPISODES = ["2026-W32-0", "2026-W32-1"]


def two_shots(_: Studio, episode_id: str, stage: Stage, items: Sequence[str] | None) -> list[ItemRequest]:
    """A stage that lacks two frames per episode, and nothing in the third."""
    assert stage is Stage.STORYBOARD
    if episode_id == "2026-W32-2":
        raise NotReady("Nothing of storyboard is missing", only="missing")
    both = [image(number, episode_id=episode_id) for number in (1, 2)]
    return [each for each in both if items is None or each.item_id in items]


def plan(rich: Rich, episodes: Sequence[str] = EPISODES, *, ceiling_micros: int | None = None) -> BatchView:
    return plan_batch(
        rich.studio,
        episodes,
        Stage.STORYBOARD,
        actor=PERSON,
        ceiling_micros=ceiling_micros,
        stage_requests=two_shots,
    )


def test_a_batch_has_stable_items_one_ceiling_and_one_grant_of_its_kind(rich: Rich) -> None:
    view = plan(rich)
    assert [each.item_id for each in view.items] == [
        f"{episode}/shot:s1-0{number}#frame" for episode in EPISODES for number in (1, 2)
    ]
    assert view.batch.ceiling.micros == 4 * IMAGE_MICROS
    confirmed = confirm_batch(rich.studio, view.batch.batch_id, idempotency_key="k", actor=PERSON)
    assert len(confirmed.task_ids) == 4
    (grant,) = rich.rows("select kind, scope->'episodes' as episodes from grants")
    assert grant == {"kind": "batch", "episodes": EPISODES}
    states = {each.state for each in show_batch(rich.studio, view.batch.batch_id).items}
    assert states == {"queued"}


def test_the_order_of_the_episodes_does_not_change_what_is_bought(rich: Rich) -> None:
    first, second = plan(rich), plan(rich, EPISODES[::-1])
    hashes = rich.rows("select distinct input_hash from plans")
    assert len(hashes) == 1
    assert [each.item_id for each in first.items] == [each.item_id for each in second.items]


def test_a_confirmed_batch_takes_no_further_item(rich: Rich) -> None:
    view = plan(rich)
    confirm_batch(rich.studio, view.batch.batch_id, idempotency_key="k", actor=PERSON)
    again = confirm_batch(rich.studio, view.batch.batch_id, idempotency_key="k2", actor=PERSON)
    assert not again.created
    assert rich.count("tasks") == 4
    with pytest.raises(QuoteNotConfirmable):  # the same items again, in another batch
        confirm_batch(rich.studio, plan(rich).batch.batch_id, idempotency_key="k3", actor=PERSON)
    assert rich.count("tasks") == 4


def test_an_overlapping_batch_is_quoted_again_without_what_was_ordered(rich: Rich) -> None:
    small, large = plan(rich, EPISODES[:1]), plan(rich)
    confirm_batch(rich.studio, small.batch.batch_id, idempotency_key="k", actor=PERSON)
    with pytest.raises(QuoteNotConfirmable) as caught:
        confirm_batch(rich.studio, large.batch.batch_id, idempotency_key="k2", actor=PERSON)
    new_batch_id = str(caught.value.facts["new_batch_id"])
    assert {each.episode_id for each in show_batch(rich.studio, new_batch_id).items} == {EPISODES[1]}
    confirm_batch(rich.studio, new_batch_id, idempotency_key="k2", actor=PERSON)
    assert rich.count("tasks") == 4


def test_continue_queries_what_is_open_quotes_what_failed_and_touches_nothing_else(rich: Rich) -> None:
    view = plan(rich)
    batch_id = view.batch.batch_id
    tasks = confirm_batch(rich.studio, batch_id, idempotency_key="k", actor=PERSON).task_ids
    rich.run("update tasks set state = 'running' where task_id <> :t", t=tasks[0])
    rich.run(
        "update tasks set state = 'failed', reason = '{\"code\": \"refused\"}', next_action_at = null"
        " where task_id = :t",
        t=tasks[1],
    )
    rich.run(
        "update tasks set state = 'needsReconciliation', next_action_at = now() + interval '1 day'"
        " where task_id = :t",
        t=tasks[2],
    )
    before = rich.count("tasks")
    continued = continue_batch(rich.studio, batch_id, actor="agent:helper", stage_requests=two_shots)
    assert continued.queried == (tasks[2],)
    assert continued.failed == (tasks[1],)
    assert set(continued.untouched) == {tasks[0], tasks[3]}
    assert rich.count("tasks") == before
    (due,) = rich.rows(
        "select next_action_at <= clock_timestamp() as now from tasks where task_id = :t", t=tasks[2]
    )
    assert due["now"]
    new = show_batch(rich.studio, str(continued.new_batch_id))
    assert [(each.item_id, each.state) for each in new.items] == [(view.items[1].item_id, "quoted")]
    confirm_batch(rich.studio, new.batch.batch_id, idempotency_key="k2", actor=PERSON)
    once_more = continue_batch(rich.studio, batch_id, actor=PERSON, stage_requests=two_shots)
    assert (once_more.failed, once_more.new_quote_id) == ((), None)


def test_an_episode_that_lacks_nothing_adds_nothing(rich: Rich) -> None:
    assert len(plan(rich, [*EPISODES, "2026-W32-2"]).items) == 4
    with pytest.raises(NotReady):
        plan(rich, ["2026-W32-2"])


def test_a_ceiling_below_the_sum_is_refused_and_nothing_is_stored(rich: Rich) -> None:
    with pytest.raises(NotReady):
        plan(rich, ceiling_micros=4 * IMAGE_MICROS - 1)
    assert plan(rich, ceiling_micros=4 * IMAGE_MICROS).batch.ceiling.micros == 4 * IMAGE_MICROS
    assert rich.count("plans") == 1


def test_what_is_no_batch_is_refused(rich: Rich) -> None:
    with pytest.raises(UnknownId):
        plan(rich, ["2026-W32-9"])
    with pytest.raises(UsageError):
        plan(rich, [])
    with pytest.raises(UsageError):
        plan_batch(rich.studio, EPISODES, Stage.EXPORT, actor=PERSON, stage_requests=two_shots)
    with pytest.raises(UnknownId):
        show_batch(rich.studio, "batch_none")
    view = plan(rich)
    with pytest.raises(Refusal):
        continue_batch(rich.studio, view.batch.batch_id, actor=PERSON, stage_requests=two_shots)
    with pytest.raises(GrantRefused):
        confirm_batch(rich.studio, view.batch.batch_id, idempotency_key="k", actor="agent:helper")
    assert verify_all(rich.studio).ok
