"""`make dagster-faults`: backfills, a lost database and retries under the real daemon; minutes, not seconds.

One `dev` serves all tests of this file, in their order: the last takes Dagster's database away.
"""

import sqlalchemy as sa

from shortdrama_pipeline.rules.states import Stage
from shortdrama_pipeline.services.batches import confirm_batch, continue_batch, plan_batch, show_batch
from shortdrama_pipeline.services.gates import pass_gate
from shortdrama_pipeline.store import server
from tests.dagster_.conftest import PERSON
from tests.dagster_.living import Living
from tests.fake_vendor import error
from tests.stages_ import flow


def test_a_batch_is_a_backfill_over_its_episodes_and_a_failed_item_touches_no_neighbour(
    living: Living,
) -> None:
    chosen = [living.episode(number, stage=Stage.SHOTS) for number in (1, 2)]
    living.vendor.script("videos", error(422, "content_refused"))
    before = len(living.vendor.posts("videos"))
    batch = plan_batch(living.studio, chosen, Stage.SHOTS, actor=PERSON).batch
    confirm_batch(living.studio, batch.batch_id, idempotency_key="once", actor=PERSON)
    living.await_true(lambda: {"succeeded", "failed"} == _states(living, batch.batch_id))
    items = show_batch(living.studio, batch.batch_id).items
    (failed,) = [each for each in items if each.state == "failed"]
    (neighbour,) = set(chosen) - {failed.episode_id}
    living.await_true(lambda: {"shots_ordered", "shots"} <= living.materialised(neighbour))
    assert "shots" not in living.materialised(failed.episode_id)
    backfills = {row.key for row in living.rows("select key from bulk_actions")}
    assert batch.batch_id in backfills
    partitions = living.rows(
        "select distinct partition from event_logs where partition is not null"
        " and run_id in (select run_id from run_tags where key = 'shortdrama/batch' and value = :batch)",
        batch=batch.batch_id,
    )
    assert {row.partition for row in partitions} <= set(chosen)
    assert len(living.vendor.posts("videos")) - before == len(items)
    _continue(living, batch.batch_id, failed.item_id)
    living.await_true(lambda: "shots" in living.materialised(failed.episode_id))
    assert len(living.vendor.posts("videos")) - before == len(items) + 1


def _continue(living: Living, batch_id: str, item_id: str) -> None:
    """Quote the failed item anew, for nothing else, and confirm that."""
    continued = continue_batch(living.studio, batch_id, actor=PERSON)
    again = show_batch(living.studio, str(continued.new_batch_id))
    assert [each.item_id for each in again.items] == [item_id]
    confirm_batch(living.studio, again.batch.batch_id, idempotency_key="again", actor=PERSON)


def _states(living: Living, batch_id: str) -> set[str]:
    return {each.state for each in show_batch(living.studio, batch_id).items}


def test_a_backfill_nobody_approved_buys_nothing_and_says_why(living: Living) -> None:
    bare, standing = flow.episode_with_script(living.studio, number=3), living.episode(4, stage=Stage.ASSETS)
    for episode_id in (bare, standing):
        living.await_known(episode_id)
    posts = len(living.vendor.posts())
    backfill = living.backfill(living.every_asset(), [bare, standing])
    alone = living.backfill(["assets_ordered"], [bare, standing])
    for each in (backfill, alone):
        living.await_true(lambda asked=each: _ended(living, asked, of=2))  # type: ignore[misc]
    for run_id in living.run_states(dagster__backfill=alone):
        assert any(word in living.words(run_id) for word in ("not ordered", "gate"))
    assert len(living.vendor.posts()) == posts


def _ended(living: Living, backfill: str, *, of: int) -> bool:
    states = list(living.run_states(dagster__backfill=backfill).values())
    return len(states) == of and all(each in {"SUCCESS", "FAILURE"} for each in states)


def test_dagster_s_database_dropped_and_made_anew_loses_no_work_and_orders_nothing_twice(
    living: Living, pg_server: server.Server
) -> None:
    episode_id = living.episode(5, stage=Stage.ASSETS)
    before = len(living.vendor.posts())
    items = living.order(episode_id, Stage.ASSETS)
    living.await_true(lambda: len(living.vendor.posts()) > before)
    _drop_and_make(pg_server, str(living.dagster.url.database))
    living.stop()
    living.start()
    # What was handed over before is history of Dagster's, lost with it; what is complete is shown anew.
    living.await_true(lambda: {"outline", "script", "assets"} <= living.materialised(episode_id))
    assert len(living.vendor.posts()) - before == items
    assert living.twice_posted() == []
    pass_gate(living.studio, episode_id, Stage.ASSETS, actor=PERSON)
    living.await_true(lambda: "assets_confirmed" in living.materialised(episode_id))


def _drop_and_make(pg_server: server.Server, name: str) -> None:
    main = sa.create_engine(pg_server.url("postgres"), poolclass=sa.NullPool, isolation_level="AUTOCOMMIT")
    with main.connect() as connection:
        connection.execute(sa.text(f"drop database {name} with (force)"))
        connection.execute(sa.text(f"create database {name}"))
