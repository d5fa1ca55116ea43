"""Allocation against a real database: Part I, row by row."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa

from shortdrama_pipeline.errors import Conflict, Outside, UnknownId, UsageError
from shortdrama_pipeline.services.allocating import Allocated, allocate
from shortdrama_pipeline.services.context import Studio
from shortdrama_pipeline.settings import Settings, StudioSettings
from shortdrama_pipeline.store import episodes
from shortdrama_pipeline.store.database import Database
from tests.allocation.racing import bare_studio

FRIDAY = datetime(2026, 8, 7, 1, 0, tzinfo=UTC)
NEXT_FRIDAY = FRIDAY + timedelta(days=7)
EDGE = datetime(2026, 8, 9, 16, 30, tzinfo=UTC)  # week 32 in UTC, week 33 in Shanghai


@pytest.fixture
def bare(db: Database, home: Path) -> Studio:
    return bare_studio(db, home)


def run(studio: Studio, key: str, at: datetime = FRIDAY, *, kind: str = "episode") -> Allocated:
    return allocate(studio, key=key, at=at, actor="person:test", kind=kind)


def in_zone(studio: Studio, zone: str) -> Studio:
    settings = Settings(home=studio.settings.home, studio=StudioSettings(time_zone=zone))
    return Studio(settings, studio.db, studio.objects, {}, {})


def rows(studio: Studio) -> list[tuple[object, ...]]:
    with studio.db.read() as tx:
        found = tx.execute(sa.text("select * from episodes order by episode_id")).all()
        audit = tx.execute(sa.text("select * from audit_log order by audit_id")).all()
        return [tuple(each) for each in [*found, *audit]]


# --- the seven properties of A-23; the eighth and ninth stand with the entry points -------------------


def test_the_sequence_grows_in_a_week_and_restarts_at_zero_in_the_next(bare: Studio) -> None:
    this_week = [run(bare, f"run-{each}").episode_id for each in range(3)]
    next_week = [run(bare, f"next-{each}", NEXT_FRIDAY).episode_id for each in range(2)]
    assert this_week == ["2026-W32-0", "2026-W32-1", "2026-W32-2"]
    assert next_week == ["2026-W33-0", "2026-W33-1"]


def test_the_same_key_returns_the_same_task_after_an_abnormal_retry(bare: Studio) -> None:
    first = run(bare, "a")
    run(bare, "b")
    run(bare, "c")
    again = run(bare, "a", FRIDAY + timedelta(hours=5))
    assert (first.created, again.created) == (True, False)
    assert again.episode_id == first.episode_id == "2026-W32-0"
    assert run(bare, "d").sequence == 3


def test_a_key_cannot_silently_cross_weeks(bare: Studio) -> None:
    run(bare, "a")
    before = rows(bare)
    with pytest.raises(Conflict) as refused:
        run(bare, "a", NEXT_FRIDAY)
    assert refused.value.exit_code == 5
    assert refused.value.facts["episode_id"] == "2026-W32-0"
    assert refused.value.facts["week_id"] == "2026-W33"
    assert rows(bare) == before


def test_several_completed_tasks_of_one_week_stay_in_history_and_count(bare: Studio) -> None:
    for key in "abc":
        run(bare, key)
    with bare.db.begin() as tx:
        tx.execute(
            sa.text("update episodes set state = 'completed', completed_at = now() where sequence < 3")
        )
    assert run(bare, "d").episode_id == "2026-W32-3"
    assert run(bare, "b").episode_id == "2026-W32-1"
    with bare.db.read() as tx:
        states = [each.state for each in episodes.load_all(tx)]
    assert states == ["completed", "completed", "completed", "live"]


def test_an_unknown_task_fails_before_anything_else_is_looked_at(bare: Studio) -> None:
    with bare.db.read() as tx, pytest.raises(UnknownId) as refused:
        episodes.require_episode(tx, "2026-W32-7")
    assert refused.value.exit_code == 3
    assert "Unknown episode" in refused.value.message


# --- identity and what is kept --------------------------------------------------------------------------


def test_the_row_keeps_key_zone_time_and_actor(bare: Studio) -> None:
    given = run(bare, "scheduled-run:2026-08-07")
    with bare.db.read() as tx:
        kept = episodes.require_episode(tx, given.episode_id)
    assert kept.allocation_key == "scheduled-run:2026-08-07"
    assert (kept.week_id, kept.sequence) == ("2026-W32", 0)
    assert kept.episode_id == f"{kept.week_id}-{kept.sequence}"
    assert (kept.time_zone, kept.scheduled_for, kept.actor) == ("Asia/Shanghai", FRIDAY, "person:test")


def test_directory_history_and_answer_show_the_same_id(bare: Studio) -> None:
    ids = [run(bare, key).episode_id for key in "abc"]
    folders = sorted(each.name for each in (bare.settings.home / "episodes").iterdir())
    with bare.db.read() as tx:
        history = list(tx.execute(sa.text("select subject_id from audit_log order by audit_id")).scalars())
    assert ids == folders == history == ["2026-W32-0", "2026-W32-1", "2026-W32-2"]


def test_a_lost_directory_changes_nothing_and_is_made_again(bare: Studio) -> None:
    folder = bare.settings.home / "episodes" / run(bare, "a").episode_id
    folder.rmdir()
    assert run(bare, "a").created is False
    assert folder.is_dir()


@pytest.mark.parametrize(
    "key", ["scheduled-run:2026-08-07", "demo:2026-W32", "a run with spaces", "每周一集", "%s; --'"]
)
def test_keys_of_any_format_work(bare: Studio, key: str) -> None:
    assert run(bare, key).episode_id == run(bare, key).episode_id == "2026-W32-0"


@pytest.mark.parametrize("key", ["", "  ", "\n"])
def test_an_empty_key_is_refused_and_writes_nothing(bare: Studio, key: str) -> None:
    with pytest.raises(UsageError):
        run(bare, key)
    assert rows(bare) == []


def test_a_time_without_a_zone_is_refused(bare: Studio) -> None:
    with pytest.raises(UsageError, match="zone"):
        run(bare, "a", datetime(2026, 8, 7, 9, 0))  # noqa: DTZ001 - that is what is refused


def test_interleaved_retries_leave_one_id_per_key(bare: Studio) -> None:
    keys = ["a", "b", "a", "c", "b", "a", "d", "c"]
    ids = {
        (key, run(bare, key, FRIDAY + timedelta(minutes=place)).episode_id) for place, key in enumerate(keys)
    }
    assert ids == {("a", "2026-W32-0"), ("b", "2026-W32-1"), ("c", "2026-W32-2"), ("d", "2026-W32-3")}


@pytest.mark.parametrize(
    ("day", "episode_id"),
    [
        ("2026-08-03", "2026-W32-0"),
        ("2026-08-09", "2026-W32-0"),
        ("2026-08-10", "2026-W33-0"),
        ("2025-12-29", "2026-W01-0"),
        ("2024-12-30", "2025-W01-0"),
        ("2021-01-03", "2020-W53-0"),
        ("2026-12-28", "2026-W53-0"),
        ("2027-01-01", "2026-W53-0"),
        ("2027-01-03", "2026-W53-0"),
        ("2027-01-04", "2027-W01-0"),
    ],
)
def test_every_week_vector_gives_its_id(bare: Studio, day: str, episode_id: str) -> None:
    assert run(bare, "a", datetime.fromisoformat(f"{day}T12:00:00+08:00")).episode_id == episode_id


# --- zones ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("zone", "week"), [("UTC", "2026-W32"), ("Asia/Shanghai", "2026-W33")])
def test_the_declared_zone_decides(bare: Studio, zone: str, week: str) -> None:
    assert run(in_zone(bare, zone), "a", EDGE).week_id == week


def test_a_retry_after_a_zone_change_fails_and_allocates_nothing(bare: Studio) -> None:
    run(in_zone(bare, "UTC"), "a", EDGE)
    before = rows(bare)
    with pytest.raises(Conflict) as refused:
        run(in_zone(bare, "Asia/Shanghai"), "a", EDGE)
    assert refused.value.facts["held_time_zone"] == "UTC"
    assert refused.value.facts["time_zone"] == "Asia/Shanghai"
    assert rows(bare) == before


# --- several matches, other kinds -------------------------------------------------------------------------


def test_a_key_held_by_two_rows_is_refused_and_names_both(bare: Studio) -> None:
    run(bare, "a")
    with bare.db.begin() as tx:
        tx.execute(sa.text("alter table episodes drop constraint uq_episodes_kind_allocation_key"))
        tx.execute(
            sa.text(
                "insert into episodes (episode_id, kind, week_id, sequence, allocation_key, time_zone,"
                " scheduled_for, state, actor) values"
                " ('2026-W32-1', 'episode', '2026-W32', 1, 'a', 'UTC', now(), 'live', 'person:hand')"
            )
        )
    before = rows(bare)
    with pytest.raises(Conflict) as refused:
        run(bare, "a")
    assert refused.value.facts["episode_ids"] == ["2026-W32-0", "2026-W32-1"]
    assert rows(bare) == before


def test_the_database_refuses_a_second_row_for_a_key(bare: Studio) -> None:
    run(bare, "a")
    copy = sa.text(
        "insert into episodes (episode_id, kind, week_id, sequence, allocation_key, time_zone, scheduled_for,"
        " state, actor) select 'x', kind, week_id, 9, allocation_key, time_zone, scheduled_for, state, actor"
        " from episodes"
    )
    with pytest.raises(sa.exc.IntegrityError, match="uq_episodes_kind_allocation_key"), bare.db.begin() as tx:
        tx.execute(copy)


def test_a_second_kind_of_periodic_work_numbers_by_itself(bare: Studio) -> None:
    run(bare, "a")
    exports = [run(bare, f"export-{each}", kind="report").episode_id for each in range(2)]
    assert exports == ["report-2026-W32-0", "report-2026-W32-1"]
    assert run(bare, "b").episode_id == "2026-W32-1"


def test_a_key_of_one_kind_is_never_taken_for_another(bare: Studio) -> None:
    run(bare, "a")
    with pytest.raises(Conflict, match="report"):
        run(bare, "a", kind="report")


def test_an_unknown_series_is_refused_before_anything_is_written(bare: Studio) -> None:
    with pytest.raises(UnknownId):
        allocate(bare, key="a", at=FRIDAY, series="ser_none", actor="person:test")
    assert rows(bare) == []


# --- boundary -----------------------------------------------------------------------------------------------


def test_allocation_needs_no_binding_adapter_or_credential(bare: Studio) -> None:
    assert (dict(bare.bindings), dict(bare.adapters)) == ({}, {})
    assert run(bare, "a").created


def test_a_database_that_is_away_is_outside_and_the_key_finds_its_id_later(bare: Studio, home: Path) -> None:
    away = bare_studio(Database("postgresql+psycopg://nobody@127.0.0.1:9/none"), home)
    with pytest.raises(Outside) as refused:
        run(away, "a")
    assert refused.value.exit_code == 7
    assert run(bare, "a").episode_id == "2026-W32-0"


def test_the_connection_goes_back_to_the_pool_as_it_came(bare: Studio) -> None:
    run(bare, "a")
    with bare.db.read() as tx:
        tx.execute(sa.text("update episodes set actor = 'person:half'"))
    with bare.db.read() as tx:
        assert episodes.require_episode(tx, "2026-W32-0").actor == "person:test"
