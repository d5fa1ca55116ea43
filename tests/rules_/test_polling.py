from itertools import product

import pytest

from shortdrama_pipeline.errors import IllegalTransition
from shortdrama_pipeline.rules import media_files
from shortdrama_pipeline.rules.leases import LEASE_MS, TAKEOVER_SCAN_MS, send_until_ms
from shortdrama_pipeline.rules.polling import (
    Advice,
    after_failure_ms,
    download_pause_ms,
    look_again_ms,
    next_poll_ms,
)
from shortdrama_pipeline.rules.states import MediaState

ADVICE = Advice(poll_after_ms=2000, poll_max_ms=30_000)


def test_polls_start_soon_and_grow_to_the_adapters_limit() -> None:
    pauses = [next_poll_ms(ADVICE, n, jitter_permille=0) for n in range(12)]
    assert pauses[0] == 2000
    assert pauses == sorted(pauses)
    assert pauses[-1] == 30_000


@pytest.mark.parametrize("jitter", [0, 1, 500, 1000])
def test_the_vendors_advice_is_a_lower_bound_and_jitter_only_adds(jitter: int) -> None:
    told = Advice(poll_after_ms=2000, poll_max_ms=30_000, vendor_ms=45_000)
    assert next_poll_ms(told, 0, jitter_permille=jitter) >= 45_000
    assert next_poll_ms(ADVICE, 0, jitter_permille=jitter) <= 2400


def test_failed_queries_back_off_within_bounds_and_honour_retry_after() -> None:
    assert after_failure_ms(1, retry_after_ms=None, jitter_permille=0) == 1000
    assert after_failure_ms(50, retry_after_ms=None, jitter_permille=0) == 60_000
    assert after_failure_ms(1, retry_after_ms=9_000, jitter_permille=0) == 9_000
    assert download_pause_ms(2, jitter_permille=0) > download_pause_ms(1, jitter_permille=0)


def test_a_dead_workers_task_is_taken_over_within_thirty_seconds() -> None:
    assert LEASE_MS + TAKEOVER_SCAN_MS <= 30_000


def test_a_send_must_start_well_before_the_lease_can_end() -> None:
    assert send_until_ms(1_000) < 1_000 + LEASE_MS
    assert send_until_ms(0, lease_ms=400) == 300


@pytest.mark.parametrize(("state", "event"), list(product(MediaState, media_files.EVENTS)), ids=str)
def test_only_staging_bytes_are_judged_and_only_once(
    state: MediaState, event: media_files.MediaEvent
) -> None:
    if state is MediaState.STAGING:
        assert media_files.advance(state, event) in media_files.TERMINAL
    else:
        with pytest.raises(IllegalTransition):
            media_files.advance(state, event)


def test_a_look_up_without_a_word_is_repeated_soon_at_first_and_slowly_in_the_end() -> None:
    pauses = [look_again_ms(silent_s, slow_ms=300_000) for silent_s in (0, 1, 7, 28, 99, 10_000)]
    assert pauses == [5_000, 5_000, 21_000, 84_000, 297_000, 300_000]
