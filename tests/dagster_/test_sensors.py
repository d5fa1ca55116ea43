"""Sensors as the daemon calls them: real rows in, requests out; called twice they ask for one run."""

from collections.abc import Iterator
from datetime import timedelta

import dagster as dg
import pytest
import sqlalchemy as sa
from dagster._core.definitions.partitions.context import partition_loading_context

from resources.backfills import BACKFILL_ID_MAX
from sensors import deciding, jobs
from sensors.deciding import Mark
from sensors.delivering import order_request
from shortdrama_pipeline.errors import NeedsPerson
from shortdrama_pipeline.ids import new_id
from shortdrama_pipeline.rules.states import Stage, VersionKind
from shortdrama_pipeline.services import watching
from shortdrama_pipeline.services.batches import confirm_batch, plan_batch
from shortdrama_pipeline.services.draining import drain
from shortdrama_pipeline.services.episode_views import episode_status
from shortdrama_pipeline.services.gates import pass_gate
from shortdrama_pipeline.services.versioning import select_version as choose
from shortdrama_pipeline.store.alerts import UNREADABLE, Alert, record_alerts
from shortdrama_pipeline.store.selections import load_selected, select_version
from shortdrama_pipeline.store.versions import Draft, load_version, record_versions
from shortdrama_pipeline.store.watching import Delivery
from tests.dagster_.conftest import PERSON, World


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    """An instance that keeps schedules too."""
    with dg.instance_for_test(overrides={"telemetry": {"enabled": False}}) as opened:
        yield opened


def evaluate(world: World, name: str, cursor: str | None = None) -> dg.SensorResult:
    """Evaluate a sensor once; the answer is Dagster's own record of it."""
    with (
        partition_loading_context(dynamic_partitions_store=world.instance),
        dg.build_sensor_context(
            instance=world.instance, cursor=cursor, definitions=world.defs, resources=world.resources
        ) as context,
    ):
        result = world.defs.resolve_sensor_def(name).evaluate_tick(context)
    return dg.SensorResult(
        run_requests=list(result.run_requests or []),
        cursor=result.cursor,
        asset_events=list(result.asset_events),
    )


def keys(result: dg.SensorResult) -> list[str | None]:
    return [each.run_key for each in result.run_requests or []]


def to_assets(world: World, *, number: int = 0) -> str:
    episode_id = world.episode(number=number)
    for stage in (Stage.OUTLINE, Stage.SCRIPT):
        pass_gate(world.studio, episode_id, stage, actor=PERSON, rights=True)
    return episode_id


def test_the_outbox_asks_for_one_run_per_row_under_its_stable_id(world: World) -> None:
    episode_id = to_assets(world)
    world.confirm(episode_id, Stage.ASSETS)
    first, again = evaluate(world, "outbox"), evaluate(world, "outbox")
    (request,) = first.run_requests or []
    assert request.partition_key == episode_id
    assert request.asset_selection == [dg.AssetKey("assets_ordered")]
    assert keys(first) == keys(again)
    assert str(keys(first)[0]).startswith("outbox:job_")


def test_a_delivered_row_is_marked_and_not_asked_for_again(world: World) -> None:
    world.confirm(to_assets(world), Stage.ASSETS)
    first = evaluate(world, "outbox")
    second = evaluate(world, "outbox", first.cursor)
    third = evaluate(world, "outbox", second.cursor)
    assert (len(keys(first)), keys(second), keys(third)) == (1, [], [])
    with world.studio.db.read() as tx:
        sent = tx.execute(sa.text("select deliveries, sent_at is not null from outbox")).one()
    assert tuple(sent) == (1, True)


def test_a_row_whose_run_never_came_is_delivered_again_under_the_next_key(world: World) -> None:
    world.confirm(to_assets(world), Stage.ASSETS)
    first = evaluate(world, "outbox")
    evaluate(world, "outbox", first.cursor)
    with world.studio.db.begin() as tx:
        tx.execute(sa.text("update outbox set sent_at = sent_at - interval '1 hour'"))
    again = evaluate(world, "outbox", "")
    assert str(keys(first)[0]).removesuffix(":0") == str(keys(again)[0]).removesuffix(":1")


def test_a_row_over_two_episodes_asks_for_two_runs() -> None:
    row = Delivery("job_1", "assets", ("2026-W32-0", "2026-W32-1"), 0, None)
    requests = [order_request(row, each) for each in row.episode_ids]
    assert len({each.run_key for each in requests}) == 2


def test_a_held_task_is_looked_at_now_and_then_only(world: World) -> None:
    world.confirm(to_assets(world), Stage.ASSETS)
    key = world.studio.settings.home / "rehearsal" / "key"
    kept = key.read_text()
    key.unlink()
    drain(world.studio, worker="test")
    key.write_text(kept)
    for ago, turns in (("2 minutes", 0), ("10 minutes", 1)):
        with world.studio.db.begin() as tx:
            held = tx.execute(
                sa.text(
                    "update tasks set next_action_at = clock_timestamp() - cast(:ago as interval)"
                    " where hold_reason->>'code' = 'credentialMissing' and state = 'queued'"
                ),
                {"ago": ago},
            )
            assert held.rowcount > 0
        assert len(keys(evaluate(world, "due_work"))) == turns


def test_due_work_starts_a_turn_only_where_something_is_due_and_none_is_running(world: World) -> None:
    assert keys(evaluate(world, "due_work")) == []
    world.confirm(to_assets(world), Stage.ASSETS)
    assert keys(evaluate(world, "due_work")) == [], "the outbox's run is coming"
    with world.studio.db.begin() as tx:
        tx.execute(sa.text("update tasks set next_action_at = next_action_at - interval '1 minute'"))
    assert len(keys(evaluate(world, "due_work"))) == 1
    world.instance.create_run_for_job(
        world.defs.resolve_job_def(jobs.drain.name), status=dg.DagsterRunStatus.STARTED
    )
    assert keys(evaluate(world, "due_work")) == []


def test_a_passed_gate_is_shown_and_the_next_stage_planned_once(world: World) -> None:
    episode_id = to_assets(world)
    first = evaluate(world, "passed_gates")
    shown = [each for each in first.asset_events if isinstance(each, dg.AssetMaterialization)]
    assert [each.asset_key.to_user_string() for each in shown] == ["outline_confirmed", "script_confirmed"]
    checked = [each for each in first.asset_events if isinstance(each, dg.AssetCheckEvaluation)]
    assert [each.asset_key.to_user_string() for each in checked] == ["outline", "script"]
    (request,) = first.run_requests or []
    assert request.partition_key == episode_id
    assert request.run_config["ops"]["leave_quote"]["config"]["stage"] == "assets"
    second = evaluate(world, "passed_gates", first.cursor)
    assert (keys(second), list(second.asset_events)) == ([], [])


def test_a_gate_that_is_shown_already_is_not_shown_again(world: World) -> None:
    to_assets(world)
    for event in evaluate(world, "passed_gates").asset_events:
        world.instance.report_runless_asset_event(event)
    assert list(evaluate(world, "passed_gates").asset_events) == []


def test_a_stage_is_asked_for_when_its_last_bought_item_is_in(world: World) -> None:
    episode_id = to_assets(world)
    before = evaluate(world, "completed_stages")
    (request,) = before.run_requests or []
    assert request.asset_selection == [dg.AssetKey("outline"), dg.AssetKey("script")]
    world.confirm(episode_id, Stage.ASSETS)
    assert all("assets" not in str(each) for each in keys(evaluate(world, "completed_stages")))
    drain(world.studio, worker="test")
    asked = [each for each in keys(evaluate(world, "completed_stages")) if ":assets:" in str(each)]
    assert len(asked) == 1


def test_a_stage_that_dagster_shows_is_not_asked_for_again(world: World) -> None:
    episode_id = to_assets(world)
    world.complete("outline", episode_id=episode_id)
    world.complete("script", episode_id=episode_id)
    assert keys(evaluate(world, "completed_stages")) == []


def test_a_stage_whose_run_was_lost_is_asked_for_again_under_another_key(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    to_assets(world)
    (first,) = evaluate(world, "completed_stages").run_requests or []
    world.instance.create_run_for_job(
        world.defs.resolve_job_def(jobs.finish.name),
        status=dg.DagsterRunStatus.FAILURE,
        tags=dict(first.tags),
    )
    assert keys(evaluate(world, "completed_stages")) == [first.run_key], "too early for another"
    monkeypatch.setattr(deciding, "TURN_PAUSE", timedelta(0))
    (again,) = evaluate(world, "completed_stages").run_requests or []
    assert (again.run_key, again.asset_selection) == (f"{first.run_key}:1", first.asset_selection)


def test_a_confirmed_batch_becomes_one_backfill_over_exactly_its_episodes(world: World) -> None:
    chosen = [to_assets(world, number=number) for number in (0, 1)]
    to_assets(world, number=2)
    batch = plan_batch(world.studio, chosen, Stage.ASSETS, actor=PERSON).batch
    assert evaluate(world, "confirmed_batches").run_requests == []
    confirm_batch(world.studio, batch.batch_id, idempotency_key="once", actor=PERSON)
    for _ in range(3):
        evaluate(world, "confirmed_batches")
    (backfill,) = world.instance.get_backfills()
    assert backfill.backfill_id == batch.batch_id
    assert len(backfill.backfill_id) <= BACKFILL_ID_MAX, "PostgreSQL would refuse it"
    assert backfill.tags["dagster/max_retries"] == "0"
    graph = world.defs.get_repository_def().asset_graph
    with partition_loading_context(dynamic_partitions_store=world.instance):
        data = backfill.get_asset_backfill_data(graph)
        wanted = data.target_subset.get_partitions_subset(dg.AssetKey("assets_ordered"))
    assert set(wanted.get_partition_keys()) == set(chosen)
    assert set(data.target_subset.asset_keys) == {dg.AssetKey("assets_ordered")}
    assert keys(evaluate(world, "outbox")) == []


def test_an_alert_is_shown_on_the_stage_it_concerns_once(world: World) -> None:
    world.confirm(to_assets(world), Stage.ASSETS)
    with world.studio.db.begin() as tx:
        task_id = tx.execute(sa.text("select task_id from tasks limit 1")).scalar_one()
        record_alerts(
            tx, [Alert("needsReconciliation", task_id, "look at it"), Alert("disk", new_id("x"), "full")]
        )
    first = evaluate(world, "alerts")
    (event,) = first.asset_events
    assert event.asset_key == dg.AssetKey("assets")
    assert list(evaluate(world, "alerts", first.cursor).asset_events) == []


def test_two_hundred_alerts_of_one_minute_do_not_hide_the_next(world: World) -> None:
    raised = [Alert("disk", f"disk-{each:03}", "full") for each in range(watching.ROWS_MAX + 20)]
    with world.studio.db.begin() as tx:
        record_alerts(tx, raised)
    said, mark = set[str](), Mark()
    for _ in range(4):
        new = watching.alerts_since(world.studio, mark.behind, seen=mark.seen_ids)
        said |= {row.entity_id for row in new}
        mark = Mark.read(mark.after(new).write())
    assert said == {each.entity_id for each in raised}


def test_more_changed_episodes_than_one_look_holds_are_all_swept(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "ROWS_MAX", 1)
    wanted = {world.episode(number=number) for number in range(3)}
    swept, cursor = set[str | None](), None
    for _ in range(4):
        result = evaluate(world, "completed_stages", cursor)
        swept |= {each.partition_key for each in result.run_requests or []}
        cursor = result.cursor
    assert swept == wanted


def test_an_episode_that_cannot_be_read_is_an_alert_and_stops_no_other(world: World) -> None:
    broken, sound = world.episode(number=0), to_assets(world, number=1)
    pass_gate(world.studio, broken, Stage.OUTLINE, actor=PERSON, rights=True)
    script = chosen_script(world, broken)
    unreadable = Draft(
        VersionKind.SCRIPT, broken, "script", "content", {"scenes": [{"id": "s1"}]}, actor=PERSON
    )
    with world.studio.db.begin() as tx:
        (version_id,) = record_versions(tx, [unreadable])
        select_version(tx, load_version(tx, version_id), actor=PERSON)
    stages, gates = evaluate(world, "completed_stages"), evaluate(world, "passed_gates")
    assert {each.partition_key for each in stages.run_requests or []} == {sound}
    assert {each.partition_key for each in gates.run_requests or []} == {sound}
    (alert,) = watching.alerts_since(world.studio, None)
    assert (alert.kind, alert.episode_id) == (UNREADABLE, broken)
    assert version_id in alert.message
    with pytest.raises(NeedsPerson, match=version_id):
        episode_status(world.studio, broken)
    choose(world.studio, script, actor=PERSON)
    assert watching.alerts_since(world.studio, None) == []
    swept = evaluate(world, "completed_stages")
    assert {each.partition_key for each in swept.run_requests or []} == {broken, sound}


def chosen_script(world: World, episode_id: str) -> str:
    with world.studio.db.read() as tx:
        return load_selected(tx, episode_id, "script").version_id


@pytest.mark.parametrize(
    "name",
    ["outbox", "due_work", "passed_gates", "completed_stages", "confirmed_batches", "alerts", "reconcile"],
)
def test_every_sensor_is_quiet_in_an_empty_studio_and_orders_nothing(world: World, name: str) -> None:
    assert keys(evaluate(world, name)) == []
    assert world.vendor.seen == []
