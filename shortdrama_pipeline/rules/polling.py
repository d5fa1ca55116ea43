"""When to ask a vendor again, and what an answer to a status query means (P-7.3 to P-7.5).

A query proves something only when it says so: network trouble, an unknown word and a passed time
limit leave the job what it was. Times are milliseconds, jitter is 0 to 1000 per mille.
"""

from dataclasses import dataclass
from enum import StrEnum

WAIT_LIMIT_S = 3_600  # then a person is told; queries go on slowly until the vendor's retention ends
SLOW_QUERY_S = 300
QUERY_FAILURES_MAX = 100
QUERY_BACKOFF_MS = 1_000
QUERY_BACKOFF_MS_MAX = 60_000
LOOK_AGAIN_MS = 5_000
DOWNLOAD_TRIES_MAX = 4
DOWNLOAD_BACKOFF_MS = 250


class QueryCase(StrEnum):
    """The reasons recorded when a waiting Task needs a person or a slower look."""

    QUERY_UNANSWERED = "queryUnanswered"
    ACCESS_LOST = "accessLost"  # auth error on GET is not a generation failure (F13)
    STILL_WORKING = "overdue"
    GENERATION_FAILED = "generationFailed"
    RESULT_EXPIRED = "resultExpired"
    UNRECOGNISED_STATUS = "unrecognisedStatus"


@dataclass(frozen=True, slots=True)
class Advice:
    """The adapter's own rhythm and the vendor's word, if it gave one."""

    poll_after_ms: int
    poll_max_ms: int
    vendor_ms: int | None = None


def next_poll_ms(advice: Advice, polls: int, *, jitter_permille: int) -> int:
    """Grow by half from `poll_after_ms` to `poll_max_ms`; vendor advice is a lower bound (P-7.4)."""
    pause = advice.poll_after_ms
    for _ in range(min(polls, 20)):
        pause = min(pause + pause // 2, advice.poll_max_ms)
    pause = max(pause, advice.vendor_ms or 0)
    return pause + pause * jitter_permille // 5000


def after_failure_ms(failures: int, *, retry_after_ms: int | None, jitter_permille: int) -> int:
    """Bounded doubling after a failed query; `Retry-After` is a lower bound (P-9.3)."""
    pause = min(QUERY_BACKOFF_MS << min(max(failures - 1, 0), 10), QUERY_BACKOFF_MS_MAX)
    pause = max(pause, retry_after_ms or 0)
    return pause + pause * jitter_permille // 5000


def look_again_ms(silent_s: int, *, slow_ms: int) -> int:
    """After a look-up without a word: three times as long as it has been silent, up to the slow look."""
    return min(max(silent_s * 3000, LOOK_AGAIN_MS), slow_ms)


def download_pause_ms(tries: int, *, jitter_permille: int) -> int:
    """Doubling pause between downloads of one result (P-9.4)."""
    pause = DOWNLOAD_BACKOFF_MS << min(tries - 1, 6)
    return pause + pause * jitter_permille // 5000
