"""Sixty-nine public bug reports of other systems: each names the tests that keep its kind out of here.

The names must exist; a report that loses its last test fails. `W` names the whole matrix of real kills.
"""

import pytest

from tests.faults.shown import shown_by

W = "faults.test_matrix:a_fault_cut_anywhere_ends_as_its_row_says"
SILENCE = "engine.test_faults:f02_silence_keeps_the_money_and_asks_nobody_to_make_it_again"
STATUS = "engine.test_faults:p5_5_no_status_code_proves_anything"
FIELD = "faults.test_field:"
CLICKS = "faults.test_rows:f15_however_often_it_is_clicked_it_is_bought_once"
FLOATS = "test_tidy:no_float_comes_near_money_or_film_time"
SCHEDULES = "dagster_.test_scheduled_runs:"

REPORTS: dict[int, tuple[str, tuple[str, ...]]] = {
    # --- duplicate submission, automatic retry of paid POSTs
    1: ("video create repeated, two bills", (SILENCE, STATUS)),
    2: ("create re-sent up to three times", (f"{FIELD}row_03_no_library_repeats_a_post", SILENCE)),
    3: ("three paid calls for one click", (STATUS, f"{FIELD}row_03_no_library_repeats_a_post")),
    4: ("posted twice, 409 read as nothing happened", (STATUS,
        "engine.test_faults:a_stalled_vendor_is_left_at_its_timeout_with_one_post")),
    5: ("credits lost after a lost connection", (SILENCE,
        "engine.test_faults:f02_a_verified_look_up_adopts_what_was_accepted")),
    6: ("a retry above the tool charges twice", (CLICKS,
        "money.test_confirm:the_same_key_again_answers_the_original")),
    7: ("a fresh key for every retry", (CLICKS,
        "money.test_confirm:another_key_on_the_same_quote_answers_the_original")),
    8: ("a create that cannot be repeated safely", (
        "engine.test_faults:f02_a_verified_look_up_adopts_what_was_accepted",
        "providers.contract_suite:ContractSuite.the_contract_is_written_and_names_its_source")),
    9: ("another provider billed while the first works", (SILENCE,
        f"{FIELD}row_14_a_changed_configuration_never_sends_a_query_elsewhere")),
    10: ("the advice to try again buys again", (
        "engine.test_task_actions:p13_4_query_and_transfer_never_post_and_regenerate_yields_a_quote",)),
    11: ("a paid call aborted by a short timeout", (
        "engine.test_faults:a_stalled_vendor_is_left_at_its_timeout_with_one_post",)),
    # --- lost ids, restarts, configuration
    12: ("an id that was not stored", (
        "engine.test_faults:f03_a_failed_t4_leaves_a_receipt_that_recovery_reads_back", W)),
    13: ("a restart runs everything again", (W, "engine.test_happy_path:a_second_drain_finds_nothing_to_do")),
    14: ("an old id asked about at a new provider", (
        f"{FIELD}row_14_a_changed_configuration_never_sends_a_query_elsewhere",)),
    15: ("an internal id where the provider's is needed", (
        f"{FIELD}row_07_a_failed_query_never_decides_about_the_job",
        "engine.test_guards:frozen_facts_stay_as_they_are")),
    16: ("an accepted job without a recognised id", (STATUS,
        "providers.contract_suite:ContractSuite.acceptance_is_an_explicit_id_or_a_whole_result")),
    17: ("a restored cluster resumes its jobs", (
        "auditing.test_safe_mode:p10_10_after_a_restore_nothing_of_the_window_is_sent_and_every_task_is_listed",)),
    18: ("a restored queue charges again", (W,
        "auditing.test_safe_mode:p10_10_after_a_restore_nothing_of_the_window_is_sent_and_every_task_is_listed")),
    # --- polling and unknown status
    19: ("63 polls said succeeded", ("engine.test_faults:f05_an_unknown_status_is_an_alarm_and_no_end", W)),
    20: ("an unlisted word ends the wait", (
        "engine.test_faults:f05_an_unknown_status_is_an_alarm_and_no_end",)),
    21: ("expired is neither done nor failed", (
        "engine.test_faults:p7_3_failed_and_expired_are_told_apart",)),
    22: ("declared failed before its result came", (
        "engine.test_faults:p7_5_a_passed_limit_proves_nothing",)),
    23: ("the client deletes the job at its own limit", (
        "engine.test_faults:p7_5_a_passed_limit_proves_nothing",
        f"{FIELD}row_18_a_refused_cancel_changes_nothing_and_the_result_is_collected")),
    24: ("one poll blip marks it failed", (f"{FIELD}row_07_a_failed_query_never_decides_about_the_job",
        "engine.test_faults:f04_lost_queries_change_nothing_but_the_time")),
    25: ("a refusal in a later status spins for ever", (
        "engine.test_faults:p7_3_failed_and_expired_are_told_apart",)),
    26: ("one job in two workers", (
        "faults.test_rows:f11_two_workers_at_the_same_work_never_send_one_item_twice",)),
    27: ("a long task started again every hour", (
        "engine.test_leases:long_waits_are_polled_under_renewed_leases_and_handed_back_when_stopped",)),
    # --- money
    28: ("refunded while the render finishes", (
        "engine.test_faults:p7_5_a_passed_limit_proves_nothing",
        "rules_.test_attempts:silence_never_releases_money")),
    29: ("a settled charge refunded by a later error", (
        "rules_.test_reservations:settled_and_released_are_final",
        "engine.test_faults:f09_a_failed_settlement_keeps_the_product_and_charges_once_later")),
    30: ("a double refund", ("engine.test_compensating:a_refund_is_a_new_entry_the_platform_pays_once",)),
    31: ("paid, and nothing queued", (
        "money.test_confirm_crashes:a_crash_at_any_statement_leaves_nothing_and_the_same_key_then_succeeds",)),
    32: ("1.7199999999999989", (FLOATS,)),
    33: ("a balanced sum shown unbalanced", (FLOATS,
        "rules_.test_ledger:any_course_of_holds_settlements_and_releases_keeps_sums_and_balances")),
    34: ("cents vanish on a split", (
        "rules_.test_ledger:any_course_of_holds_settlements_and_releases_keeps_sums_and_balances",)),
    35: ("a float in a cost header", (FLOATS, "money.test_pricing:a_price_file_is_read_exactly")),
    36: ("one failed step makes everything again", (
        "engine.test_faults:f16_each_item_of_a_batch_ends_by_itself",
        "faults.test_rows:f16_each_item_of_a_batch_ends_by_itself_wherever_it_is_cut")),
    # --- callbacks
    37: ("three deliveries at one instant", ("racing.test_races:of_64_callbacks_of_one_event_one_wakes",
        "engine.test_callbacks:f06_many_callbacks_beside_the_polls_end_once")),
    38: ("credits granted again by a redelivery", (
        "engine.test_callbacks:f06_many_callbacks_beside_the_polls_end_once", W)),
    39: ("an end moved back by a late message", (
        "engine.test_callbacks:p7_9_a_late_message_never_moves_an_end",)),
    40: ("unsigned callbacks trusted", (
        "engine.test_callbacks:p7_7_an_unsigned_message_wakes_and_never_decides",)),
    41: ("a verify function nobody calls", (
        "engine.test_callbacks:the_endpoint_verifies_and_bounds_what_it_reads",)),
    # --- schedules, ids, weeks
    42: ("a daily job twice in a second", (
        f"{SCHEDULES}overlapping_evaluations_of_one_tick_give_one_episode",)),
    43: ("two runs, one with an old definition", (
        f"{SCHEDULES}the_same_schedule_twice_in_force_is_written_down_once",)),
    44: ("a duplicate before busy is visible", (
        "racing.test_races:of_64_allocations_one_makes_the_episode",)),
    45: ("one scheduled job started every minute", (
        f"{SCHEDULES}a_tick_evaluated_again_gives_the_same_episode_and_key",)),
    46: ("two runs with one run key", (
        f"{SCHEDULES}a_tick_evaluated_again_gives_the_same_episode_and_key",)),
    47: ("a day skipped when the hour changes", (
        "rules_.test_schedules:days_with_a_repeated_or_missing_hour_give_one_key_per_run",)),
    48: ("a run missing or doubled in a changed hour", (
        "rules_.test_schedules:a_daily_run_in_a_repeated_hour_has_one_key_whichever_pass_fires",
        "rules_.test_schedules:a_run_moved_out_of_a_missing_hour_keeps_its_slot")),
    49: ("a calendar year beside an ISO week", ("rules_.test_weeks:a_day_lies_in_its_iso_week",
        "allocation.test_allocating:every_week_vector_gives_its_id")),
    50: ("the same number twice", (
        "allocation.test_racing:concurrent_allocation_is_serialised_by_the_lock",
        "allocation.test_racing:a_pause_between_read_and_write_blocks_the_others")),
    51: ("two hold the lock", ("allocation.test_racing:64_processes_with_one_key_get_one_id",)),
    # --- leases
    52: ("a stalled worker takes its lease back", (
        "engine.test_leases:a_lease_is_renewed_by_its_token_only_and_never_after_expiry", W)),
    53: ("a lease that is never reclaimed", (W,
        "faults.test_takeover:g104_a_killed_workers_last_but_one_item_goes_on_within_30_s")),
    # --- media
    54: ("a page stored as a film", ("engine.test_faults:f07_bytes_that_are_no_film_never_become_ready",)),
    55: ("an empty file saved", (f"{FIELD}row_10_nothing_is_complete_without_its_bytes",
        "media.test_object_store:too_many_bytes_or_none_leave_nothing")),
    56: ("probed before it was whole", ("media.test_probe:a_film_cut_off_anywhere_is_refused",
        "engine.test_faults:f07_a_broken_transfer_is_repeated_under_the_same_result")),
    57: ("another format than assumed", ("media.test_probe:a_picture_is_known_by_its_bytes",)),
    58: ("a silent film because of a silent first clip", (
        "media.test_render:takes_of_every_kind_join_without_drift",)),
    59: ("gaps from mixed sample rates", ("media.test_render:takes_of_every_kind_join_without_drift",
        "media.test_render:lines_are_heard_at_their_exact_sample")),
    60: ("lips drift over sixty clips", ("media.test_render:boundaries_sum_exactly_at_every_rate",)),
    61: ("a frame rate of 360000/12001", ("media.test_render:boundaries_sum_exactly_at_every_rate",
        "rules_.test_quality:a_film_is_good_within_one_picture_and_one_loudness_unit")),
    62: ("subtitles as boxes", (
        "media.test_subtitles:chinese_is_drawn_in_our_font_and_lines_stand_at_three_quarters",
        "stages_.test_planning:a_letter_without_a_glyph_is_refused_before_a_quote")),
    63: ("subtitle text cut at a brace", (
        "media.test_subtitles:characters_that_command_libass_are_drawn_as_they_are",)),
    64: ("a film gone with the provider's link", (
        f"{FIELD}row_10_nothing_is_complete_without_its_bytes",)),
    65: ("300 MB in memory before the limit", ("media.test_object_store:the_cap_holds_while_streaming",
        "engine.test_egress:size_breaks_and_dead_links_are_told_apart")),
    # --- security
    66: ("internal hosts fetched by the server", (
        "engine.test_egress:every_other_place_is_refused_before_any_connection",
        "engine.test_egress:a_redirect_is_checked_like_the_first_link")),
    67: ("cloud metadata outside the usual lists", (
        "engine.test_egress:special_addresses_are_refused_however_they_are_written",)),
    68: ("a key in a logged address", (
        "engine.test_task_actions:v14_no_key_and_no_media_stand_in_rows_logs_or_receipts",
        "providers.contract_suite:ContractSuite.a_create_call_carries_our_identity_and_no_credential")),
    69: ("a key shown in a saved error", (
        f"{FIELD}row_20_a_payload_names_its_credential_and_never_holds_it",
        "engine.test_task_actions:p13_1_the_list_shows_no_vendor_word_and_the_detail_no_secret")),
}  # fmt: skip


def test_every_report_is_answered() -> None:
    assert list(REPORTS) == list(range(1, 70))


@pytest.mark.parametrize("number", REPORTS, ids=lambda number: f"{number} {REPORTS[number][0]}")
def test_a_report_of_others_cannot_happen_here(number: int) -> None:
    _symptom, names = REPORTS[number]
    assert names
    shown_by(*names)
