"""Scheduled runs: one episode per scheduled time, whoever evaluates it how often (A-25, D-11, D-20)."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import dagster as dg
import pytest
import sqlalchemy as sa

from shortdrama_pipeline.rules.states import Stage
from shortdrama_pipeline.services import scheduling
from shortdrama_pipeline.services.context import Studio
from shortdrama_pipeline.settings import ScheduleSettings
from shortdrama_pipeline.store.series import record_series
from tests.dagster_.conftest import PERSON, World

WEEKLY = ScheduleSettings(id="weekly", cron="0 9 * * 1", labels={"env": "test"})
MONDAY = datetime(2026, 8, 3, 1, 0, tzinfo=UTC)  # 9:00 in Shanghai
WEEK = timedelta(weeks=1)
ON = frozenset({"weekly"})


@pytest.fixture
def kept() -> Iterator[dg.DagsterInstance]:
    """An instance on disk: a schedule's context wants one."""
    with dg.instance_for_test(overrides={"telemetry": {"enabled": False}}) as opened:
        yield opened


def tick(world: World, kept: dg.DagsterInstance, at: datetime) -> dg.RunRequest:
    """Evaluate the weekly schedule as the daemon does."""
    schedule = world.defs.resolve_schedule_def("weekly")
    with dg.build_schedule_context(
        instance=kept,
        scheduled_execution_time=at,
        repository_def=world.defs.get_repository_def(),
        resources=world.resources,
    ) as context:
        (request,) = schedule.evaluate_tick(context).run_requests or []
    return request


def ids(studio: Studio) -> list[str]:
    return scheduling.episode_ids(studio)


def test_a_tick_allocates_adds_the_partition_and_asks_for_a_free_plan(
    world: World, kept: dg.DagsterInstance
) -> None:
    request = tick(world, kept, MONDAY)
    assert request.partition_key == "2026-W32-0"
    assert kept.get_dynamic_partitions("episode_id") == ["2026-W32-0"]
    assert request.run_key == "plan:outline:scheduled-run:weekly:2026-08-03"
    assert world.posts() == 0


def test_a_tick_evaluated_again_gives_the_same_episode_and_key(
    world: World, kept: dg.DagsterInstance
) -> None:
    asked = {(each.partition_key, each.run_key) for each in (tick(world, kept, MONDAY) for _ in range(3))}
    assert len(asked) == 1
    assert ids(world.studio) == ["2026-W32-0"]


def test_overlapping_evaluations_of_one_tick_give_one_episode(world: World) -> None:
    with ThreadPoolExecutor(8) as pool:
        runs = pool.map(lambda _: scheduling.allocate_scheduled(world.studio, WEEKLY, MONDAY), range(16))
        assert {each.episode_id for each in runs} == {"2026-W32-0"}
    assert ids(world.studio) == ["2026-W32-0"]


def test_the_next_week_is_the_next_episode(world: World, kept: dg.DagsterInstance) -> None:
    assert [tick(world, kept, MONDAY + each * WEEK).partition_key for each in range(3)] == [
        "2026-W32-0",
        "2026-W33-0",
        "2026-W34-0",
    ]


def test_a_downtime_s_weeks_are_filled_once(world: World) -> None:
    studio = world.studio
    scheduling.note_in_force(studio, [WEEKLY], running=ON, now=MONDAY - timedelta(days=1))
    scheduling.allocate_scheduled(studio, WEEKLY, MONDAY)
    filled = scheduling.fill_missed(studio, [WEEKLY], now=MONDAY + 3 * WEEK)
    assert [each.episode_id for each in filled] == ["2026-W33-0", "2026-W34-0", "2026-W35-0"]
    assert filled[0].allocation_key == "scheduled-run:weekly:2026-08-10"
    assert scheduling.fill_missed(studio, [WEEKLY], now=MONDAY + 3 * WEEK) == []


def test_a_late_tick_of_a_filled_week_finds_its_episode(world: World) -> None:
    scheduling.note_in_force(world.studio, [WEEKLY], running=ON, now=MONDAY - timedelta(days=1))
    (filled,) = scheduling.fill_missed(world.studio, [WEEKLY], now=MONDAY)
    late = scheduling.allocate_scheduled(world.studio, WEEKLY, MONDAY)
    assert (late.episode_id, late.created) == (filled.episode_id, False)


def test_nothing_before_the_first_activation_is_filled(world: World) -> None:
    scheduling.note_in_force(world.studio, [WEEKLY], running=ON, now=MONDAY + timedelta(hours=1))
    assert scheduling.fill_missed(world.studio, [WEEKLY], now=MONDAY + timedelta(days=1)) == []


def test_a_schedule_switched_off_misses_nothing(world: World) -> None:
    studio = world.studio
    scheduling.note_in_force(studio, [WEEKLY], running=ON, now=MONDAY - timedelta(days=1))
    scheduling.note_in_force(studio, [WEEKLY], running=frozenset(), now=MONDAY + timedelta(days=1))
    scheduling.note_in_force(studio, [WEEKLY], running=ON, now=MONDAY + 2 * WEEK + timedelta(days=1))
    filled = scheduling.fill_missed(studio, [WEEKLY], now=MONDAY + 3 * WEEK)
    assert [each.week_id for each in filled] == ["2026-W32", "2026-W35"]


@pytest.mark.parametrize("cron", ["0 10 * * 1", "0 9,18 * * 1"])
def test_a_changed_cron_neither_changes_nor_repeats_an_allocated_run(world: World, cron: str) -> None:
    studio = world.studio
    scheduling.note_in_force(studio, [WEEKLY], running=ON, now=MONDAY - timedelta(days=1))
    first = scheduling.allocate_scheduled(studio, WEEKLY, MONDAY)
    changed = WEEKLY.model_copy(update={"cron": cron})
    scheduling.note_in_force(studio, [changed], running=ON, now=MONDAY + timedelta(days=1))
    assert scheduling.fill_missed(studio, [changed], now=MONDAY + timedelta(days=6)) == []
    same_time = scheduling.allocate_scheduled(studio, changed, MONDAY)
    assert (same_time.episode_id, same_time.allocation_key) == (first.episode_id, first.allocation_key)


def test_an_hour_moved_on_the_day_itself_finds_the_day_s_run(world: World) -> None:
    first = scheduling.allocate_scheduled(world.studio, WEEKLY, MONDAY)
    later = WEEKLY.model_copy(update={"cron": "0 12 * * 1"})
    again = scheduling.allocate_scheduled(world.studio, later, MONDAY + timedelta(hours=3))
    assert (again.episode_id, again.created) == (first.episode_id, False)


def test_the_same_schedule_twice_in_force_is_written_down_once(world: World) -> None:
    for each in range(3):
        scheduling.note_in_force(world.studio, [WEEKLY], running=ON, now=MONDAY + timedelta(hours=each))
    with world.studio.db.read() as tx:
        noted = tx.execute(sa.text("select count(*) from audit_log where action = 'schedule.in_force'"))
        assert noted.scalar_one() == 1


def test_a_scheduled_run_leaves_one_quote_and_pays_nothing(world: World) -> None:
    brief: dict[str, object] = {
        "premise": "一封迟到的信",
        "genre": "悬疑",
        "style": "",
        "language": "zh-CN",
        "length_s": 60,
        "seed": 1,
    }
    with world.studio.db.begin() as tx:
        series_id = record_series(tx, title="信", brief=brief, actor=PERSON)
    spec = WEEKLY.model_copy(update={"series": series_id})
    episode_id = scheduling.allocate_scheduled(world.studio, spec, MONDAY).episode_id
    plans = [scheduling.plan_free(world.studio, episode_id, Stage.OUTLINE, spec=spec) for _ in range(3)]
    assert len({each.quote_id for each in plans}) == 1
    assert plans[0].quote_id is not None
    assert plans[0].execution_id is None
    assert world.posts() == 0


def test_without_a_brief_the_reason_is_told_and_nothing_fails(world: World) -> None:
    episode_id = scheduling.allocate_scheduled(world.studio, WEEKLY, MONDAY).episode_id
    left = scheduling.plan_free(world.studio, episode_id, Stage.OUTLINE, spec=WEEKLY)
    assert left.quote_id is None
    assert left.why_none


def test_reconcile_gives_every_episode_its_partition(world: World, kept: dg.DagsterInstance) -> None:
    scheduling.allocate_scheduled(world.studio, WEEKLY, MONDAY)
    with dg.build_sensor_context(instance=kept, definitions=world.defs, resources=world.resources) as context:
        result = world.defs.resolve_sensor_def("reconcile").evaluate_tick(context)
    (request,) = result.dynamic_partitions_requests or []
    assert request.partition_keys == ["2026-W32-0"]
