"""The identity of scheduled runs: one key per run, whatever the clock, the cron or the retry does."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shortdrama_pipeline.errors import SettingsError
from shortdrama_pipeline.rules import schedules
from shortdrama_pipeline.rules.schedules import Era

SHANGHAI = ZoneInfo("Asia/Shanghai")
NEW_YORK = ZoneInfo("America/New_York")
WEEKLY = "0 9 * * 1"


def instant(text: str) -> datetime:
    return datetime.fromisoformat(text)


def day_of(day: str, cron: str, zone: ZoneInfo) -> list[datetime]:
    start = datetime.fromisoformat(day).replace(tzinfo=zone)
    return list(
        schedules.times(
            cron, start - timedelta(seconds=1), start + timedelta(hours=23, minutes=59), zone=zone
        )
    )


def test_a_weekly_run_is_named_by_schedule_and_local_date() -> None:
    key = schedules.run_key("weekly", WEEKLY, instant("2026-08-03T01:00:00+00:00"), zone=SHANGHAI)
    assert key == "scheduled-run:weekly:2026-08-03"


def test_the_date_is_the_declared_zone_s_not_utc_s() -> None:
    key = schedules.run_key("late", "0 1 * * *", instant("2026-08-09T17:00:00+00:00"), zone=SHANGHAI)
    assert key == "scheduled-run:late:2026-08-10"


@pytest.mark.parametrize(("hour", "slot"), [("09:00", "0900"), ("18:30", "1830")])
def test_a_run_of_several_a_day_adds_its_slot(hour: str, slot: str) -> None:
    at = instant(f"2026-08-03T{hour}:00+08:00")
    cron = "0,30 9,18 * * *"
    assert schedules.run_key("news", cron, at, zone=SHANGHAI) == f"scheduled-run:news:2026-08-03:{slot}"


@pytest.mark.parametrize(
    ("day", "cron", "runs"),
    [
        ("2026-11-01", "30 1 * * *", 1),
        ("2026-11-01", "0 9 * * *", 1),
        ("2026-03-08", "30 2 * * *", 1),
        ("2026-03-08", "0 9 * * *", 1),
        ("2026-11-01", "30 1,13 * * *", 2),
        ("2026-03-08", "30 2,14 * * *", 2),
        ("2026-11-01", "0 * * * *", 25),
        ("2026-03-08", "0 * * * *", 23),
        ("2026-08-03", "0 * * * *", 24),
        ("2026-11-01", "*/20 1-3 * * *", 12),
        ("2026-03-08", "*/20 1-3 * * *", 6),
    ],
)
def test_days_with_a_repeated_or_missing_hour_give_one_key_per_run(day: str, cron: str, runs: int) -> None:
    instants = day_of(day, cron, NEW_YORK)
    keys = [schedules.run_key("dst", cron, each, zone=NEW_YORK) for each in instants]
    assert len(instants) == runs
    assert len(set(keys)) == runs


@pytest.mark.parametrize("fold", [0, 1])
def test_a_daily_run_in_a_repeated_hour_has_one_key_whichever_pass_fires(fold: int) -> None:
    at = datetime(2026, 11, 1, 1, 30, tzinfo=NEW_YORK, fold=fold)
    assert schedules.run_key("dst", "30 1 * * *", at, zone=NEW_YORK) == "scheduled-run:dst:2026-11-01"
    assert schedules.run_key("dst", "30 1,13 * * *", at, zone=NEW_YORK) == "scheduled-run:dst:2026-11-01:0130"


@pytest.mark.parametrize("minute", [0, 30])
def test_a_run_moved_out_of_a_missing_hour_keeps_its_slot(minute: int) -> None:
    at = datetime(2026, 3, 8, 3, minute, tzinfo=NEW_YORK)
    assert schedules.run_key("dst", "30 2,14 * * *", at, zone=NEW_YORK).endswith(":0230")


def test_a_run_already_allocated_under_another_spelling_keeps_its_key() -> None:
    nine = instant("2026-08-03T09:00:00+08:00")
    plain = "scheduled-run:weekly:2026-08-03"
    assert schedules.held_key(f"{plain}:0900", nine, {plain: nine}) == plain


def test_a_day_that_had_its_run_is_not_repeated_when_the_hour_changes() -> None:
    nine, noon = instant("2026-08-03T09:00:00+08:00"), instant("2026-08-03T12:00:00+08:00")
    plain = "scheduled-run:weekly:2026-08-03"
    assert schedules.held_key(plain, noon, {plain: nine}) == plain
    assert schedules.held_key(plain, noon, {f"{plain}:0900": nine}) == f"{plain}:0900"


def test_a_second_slot_of_a_day_is_a_run_of_its_own() -> None:
    nine, noon = instant("2026-08-03T09:00:00+08:00"), instant("2026-08-03T12:00:00+08:00")
    key = "scheduled-run:news:2026-08-03:1200"
    assert schedules.held_key(key, noon, {"scheduled-run:news:2026-08-03:0900": nine}) == key


def test_a_downtime_s_runs_are_listed_oldest_first() -> None:
    era = Era(instant("2026-07-30T00:00:00+00:00"), WEEKLY, SHANGHAI, running=True)
    found = [at for at, _ in schedules.missed([era], now=instant("2026-08-20T00:00:00+00:00"))]
    assert [each.date().isoformat() for each in found] == ["2026-08-03", "2026-08-10", "2026-08-17"]


def test_nothing_before_the_first_activation_is_missed() -> None:
    era = Era(instant("2026-08-03T01:00:00+00:00"), WEEKLY, SHANGHAI, running=True)
    assert list(schedules.missed([era], now=instant("2026-08-03T02:00:00+00:00"))) == []


def test_a_new_cron_never_fills_the_past() -> None:
    old = Era(instant("2026-07-30T00:00:00+00:00"), WEEKLY, SHANGHAI, running=True)
    new = Era(instant("2026-08-12T00:00:00+00:00"), "0 9 * * 3", SHANGHAI, running=True)
    found = [
        (at.date().isoformat(), era.cron)
        for at, era in schedules.missed([old, new], now=instant("2026-08-20T00:00:00Z"))
    ]
    assert found == [
        ("2026-08-03", WEEKLY),
        ("2026-08-10", WEEKLY),
        ("2026-08-12", "0 9 * * 3"),
        ("2026-08-19", "0 9 * * 3"),
    ]


def test_a_time_switched_off_is_not_filled() -> None:
    on = Era(instant("2026-07-30T00:00:00+00:00"), WEEKLY, SHANGHAI, running=True)
    off = Era(instant("2026-08-04T00:00:00+00:00"), WEEKLY, SHANGHAI, running=False)
    again = Era(instant("2026-08-18T00:00:00+00:00"), WEEKLY, SHANGHAI, running=True)
    found = [
        at.date().isoformat()
        for at, _ in schedules.missed([on, off, again], now=instant("2026-08-25T00:00:00Z"))
    ]
    assert found == ["2026-08-03", "2026-08-24"]


@pytest.mark.parametrize(("cron", "days"), [("0 9 * * *", 700), ("0 * * * *", 30)])
def test_however_many_runs_a_schedule_has_had_the_one_missing_is_found(cron: str, days: int) -> None:
    era = Era(instant("2024-01-01T00:00:00+00:00"), cron, SHANGHAI, running=True)
    now = era.since + timedelta(days=days)
    fired = [at for at, _ in schedules.missed([era], now=now)]
    assert len(fired) > schedules.MISSED_MAX
    for lost in (fired[0], fired[len(fired) // 2], fired[-1]):
        assert [at for at, _ in schedules.missed([era], now=now, known=set(fired) - {lost})] == [lost]


def test_what_was_looked_at_before_is_not_looked_at_again() -> None:
    old = Era(instant("2026-07-01T00:00:00+00:00"), "0 * * * *", SHANGHAI, running=True)
    new = Era(instant("2026-07-30T00:00:00+00:00"), WEEKLY, SHANGHAI, running=True)
    found = schedules.missed(
        [old, new], now=instant("2026-08-20T00:00:00Z"), after=instant("2026-08-10T01:00:00Z")
    )
    assert [at.date().isoformat() for at, _ in found] == ["2026-08-17"]


@pytest.mark.parametrize("cron", ["", "0 9 * *", "@weekly", "60 9 * * 1", "0 9 * * 1 2026", "nine"])
def test_an_unreadable_cron_is_refused(cron: str) -> None:
    with pytest.raises(SettingsError):
        schedules.check("weekly", cron)


@pytest.mark.parametrize("schedule_id", ["", "a:b", "a b", "-a", "x" * 65])
def test_an_id_that_would_blur_the_key_is_refused(schedule_id: str) -> None:
    with pytest.raises(SettingsError):
        schedules.check(schedule_id, WEEKLY)


@given(
    st.datetimes(datetime(2020, 1, 1), datetime(2035, 1, 1)),  # noqa: DTZ001 - made aware below
    st.sampled_from(
        ["30 1 * * *", "30 2 * * *", "0 * * * *", "*/20 1-3 * * *", "0 9 * * 1", "30 2,14 * * *"]
    ),
    st.sampled_from(["America/New_York", "Europe/Berlin", "Asia/Shanghai", "Australia/Lord_Howe"]),
)
def test_times_grow_and_every_one_has_a_key_of_its_own(start: datetime, cron: str, zone_name: str) -> None:
    zone = ZoneInfo(zone_name)
    after = start.replace(tzinfo=UTC)
    found = list(schedules.times(cron, after, after + timedelta(days=2), zone=zone))
    assert all(earlier < later for earlier, later in pairwise(found))
    assert len({schedules.run_key("any", cron, each, zone=zone) for each in found}) == len(found)
