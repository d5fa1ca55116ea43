"""ISO weeks in one declared business time zone.

The week-year is ISO 8601's: 2027-01-01 lies in 2026-W53, never in 2027-W53 or 2027-W00.
"""

from datetime import date, datetime, tzinfo


def local_date(at: datetime, zone: tzinfo) -> date:
    """Return the calendar day of the instant `at` (aware) in `zone`."""
    if at.tzinfo is None:
        raise ValueError("an instant needs a time zone")
    return at.astimezone(zone).date()


def week_id(day: date) -> str:
    """Return the ISO week of `day`, such as 2026-W32."""
    year, week, _ = day.isocalendar()
    return f"{year:04d}-W{week:02d}"


def week_id_at(at: datetime, zone: tzinfo) -> str:
    """Return the ISO week in which the instant `at` lies, as seen in `zone`."""
    return week_id(local_date(at, zone))
