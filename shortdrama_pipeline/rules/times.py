"""How a time is written wherever it leaves the program: RFC 3339, in UTC, with Z."""

from datetime import UTC, datetime


def rfc3339(at: datetime) -> str:
    """Write an aware time to the millisecond."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
