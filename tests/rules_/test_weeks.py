"""ISO weeks in the declared zone: every vector of the requirements, and the edges around them."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shortdrama_pipeline.rules import weeks

SHANGHAI = ZoneInfo("Asia/Shanghai")
NEW_YORK = ZoneInfo("America/New_York")
VECTORS = {
    "2026-08-03": "2026-W32",
    "2026-08-07": "2026-W32",
    "2026-08-09": "2026-W32",
    "2026-08-10": "2026-W33",
    "2025-12-29": "2026-W01",
    "2024-12-30": "2025-W01",
    "2021-01-03": "2020-W53",
    "2026-12-28": "2026-W53",
    "2026-12-31": "2026-W53",
    "2027-01-01": "2026-W53",
    "2027-01-03": "2026-W53",
    "2027-01-04": "2027-W01",
    "2024-12-29": "2024-W52",
    "2021-01-04": "2021-W01",
    "2020-12-31": "2020-W53",
    "2028-02-29": "2028-W09",
}


@pytest.mark.parametrize(("day", "week"), VECTORS.items())
def test_a_day_lies_in_its_iso_week(day: str, week: str) -> None:
    assert weeks.week_id(date.fromisoformat(day)) == week


@pytest.mark.parametrize(("zone", "week"), [("UTC", "2026-W32"), ("Asia/Shanghai", "2026-W33")])
def test_the_declared_zone_decides_the_week_of_an_instant(zone: str, week: str) -> None:
    assert weeks.week_id_at(datetime(2026, 8, 9, 16, 30, tzinfo=UTC), ZoneInfo(zone)) == week


@pytest.mark.parametrize(
    ("instant", "week"),
    [
        ("2026-08-09T15:59:59.999999+00:00", "2026-W32"),
        ("2026-08-09T16:00:00+00:00", "2026-W33"),
        ("2026-08-10T00:00:00+08:00", "2026-W33"),
        ("2026-12-31T16:00:00+00:00", "2026-W53"),
        ("2027-01-03T16:00:00+00:00", "2027-W01"),
    ],
)
def test_a_week_turns_at_midnight_in_shanghai(instant: str, week: str) -> None:
    assert weeks.week_id_at(datetime.fromisoformat(instant), SHANGHAI) == week


def test_both_passes_of_a_repeated_hour_lie_on_one_day() -> None:
    first = datetime(2026, 11, 1, 1, 30, tzinfo=NEW_YORK)
    assert {weeks.local_date(first.replace(fold=fold), NEW_YORK) for fold in (0, 1)} == {date(2026, 11, 1)}


def test_the_instants_around_a_missing_hour_lie_on_one_day() -> None:
    before = datetime(2026, 3, 8, 6, 59, tzinfo=UTC)
    days = {weeks.local_date(before + timedelta(minutes=each), NEW_YORK) for each in (0, 1, 2)}
    assert days == {date(2026, 3, 8)}


def test_an_instant_without_a_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="time zone"):
        weeks.local_date(datetime(2026, 8, 9, 16, 30), SHANGHAI)  # noqa: DTZ001 - that is what is refused


@given(st.dates(date(1990, 1, 1), date(2200, 12, 31)))
def test_a_week_has_seven_days_and_is_never_zero_or_above_53(day: date) -> None:
    monday = day - timedelta(days=day.weekday())
    assert {weeks.week_id(monday + timedelta(days=each)) for each in range(7)} == {weeks.week_id(day)}
    assert (
        weeks.week_id(monday - timedelta(days=1))
        < weeks.week_id(day)
        < weeks.week_id(monday + timedelta(days=7))
    )
    assert 1 <= int(weeks.week_id(day)[-2:]) <= 53
