"""The twenty fault patterns found in twelve tools of the field: each is impossible here, row by row.

Where another test shows exactly the same thing it is named (and must exist); everything else is tried here.
"""

import ast
import json
from dataclasses import replace
from pathlib import Path

import pytest

from shortdrama_pipeline.errors import Refusal
from shortdrama_pipeline.providers.registry import ADAPTERS
from shortdrama_pipeline.rules import leases
from shortdrama_pipeline.rules.states import MediaKind
from shortdrama_pipeline.services.recovering import recover
from shortdrama_pipeline.services.task_actions import cancel_task, regenerate_task, show_task, transfer_task
from tests.engine.conftest import PERSON, QUICK, Shop
from tests.fake_vendor import FakeVendor, Fault, Json, error, film
from tests.faults.catalogue import FAULTS, Mode
from tests.faults.scene import Scene
from tests.faults.shown import shown_by

IMAGE, VIDEO = MediaKind.IMAGE, MediaKind.VIDEO
DONE = ("succeeded", ["completed"], "settled")
TESTS = Path(__file__).parent.parent


@pytest.fixture
def shop(scene: Scene) -> Shop:
    """The scene's shop, worked on inside this process."""
    return scene.shop


def accepted(shop: Shop, count: int = 1) -> list[str]:
    """Films the vendor works on and does not finish."""
    shop.vendor.polls_until_done = 10**6
    ids = shop.order(*[VIDEO] * count)
    shop.drain(seconds_max=1)
    assert [shop.states(each) for each in ids] == [("waitingProvider", ["accepted"], "reserved")] * count
    shop.expire_leases()
    return ids


def test_row_01_a_create_is_never_repeated_blindly() -> None:
    shown_by(
        "engine.test_faults:p5_5_no_status_code_proves_anything",
        "engine.test_faults:f02_silence_keeps_the_money_and_asks_nobody_to_make_it_again",
        "engine.test_faults:tt6_a_contract_code_decides_what_follows",
    )


def test_row_02_a_retry_of_the_engine_finds_the_attempt_and_sends_nothing() -> None:
    shown_by(
        "dagster_.test_stage_runs:running_everything_again_orders_nothing_more",
        "dagster_.test_stage_runs:run_retries_switched_on_by_hand_order_nothing_more",
        "dagster_.test_stage_runs:a_retry_policy_switched_on_by_hand_orders_nothing_more",
        "dagster_.test_graph:no_layer_of_dagster_retries_or_starts_by_itself",
    )


@pytest.mark.parametrize("then", ["drop", "cut"])
def test_row_03_no_library_repeats_a_post(shop: Shop, then: str) -> None:
    """The vendor reads the whole body and lets the line go; the real client, counted at the vendor."""
    shop.with_contract(lookup_by_client_id=False)
    shop.vendor.script("videos", *[Fault(accepts=True, then=then)] * 5)
    (task_id,) = shop.order(VIDEO)
    shop.drain()
    shop.make_due()
    shop.drain()
    assert shop.states(task_id) == ("needsReconciliation", ["outcomeUnknown"], "reserved")
    assert len(shop.vendor.posts()) == 1


def test_row_04_an_id_is_written_once_and_never_cleared() -> None:
    shown_by("engine.test_guards:frozen_facts_stay_as_they_are")


def test_row_05_a_kill_between_answer_and_row_is_found_out_or_a_persons_decision() -> None:
    cut = {(fault.name, str(each.point)) for fault in FAULTS for each in fault.cuts}
    assert {("F02", "post.answered"), ("F03", "post.answered"), ("F03", "receipt.written")} <= cut
    shown_by("faults.test_matrix:a_fault_cut_anywhere_ends_as_its_row_says")


def test_row_06_a_restart_goes_on_with_what_runs() -> None:
    assert any(Mode.RESTART in fault.modes and fault.name == "F04" for fault in FAULTS)
    shown_by("faults.test_matrix:a_fault_cut_anywhere_ends_as_its_row_says")


@pytest.mark.parametrize("status", [400, 404, 408, 409, 429, 500, 502, 503, 504])
def test_row_07_a_failed_query_never_decides_about_the_job(shop: Shop, status: int) -> None:
    shop.vendor.query_faults += [Fault(status=status, answer=json.dumps({"error": {"code": "odd"}}))] * 3
    (task_id,) = shop.order(VIDEO)
    shop.drain()
    assert shop.states(task_id) == DONE
    assert {"failed", "needsReconciliation"} & set(shop.history("task", task_id)) == set()
    assert len(shop.vendor.posts()) == 1


def test_row_08_a_passed_time_limit_is_no_failure_and_a_late_result_arrives() -> None:
    shown_by(
        "engine.test_faults:p7_5_a_passed_limit_proves_nothing",
        "engine.test_faults:f04_after_the_limit_a_person_is_told_and_a_late_result_is_still_delivered",
    )


def test_row_09_a_failed_download_is_repeated_under_the_same_result() -> None:
    shown_by(
        "engine.test_faults:f07_a_broken_transfer_is_repeated_under_the_same_result",
        "engine.test_faults:f07_a_dead_link_is_replaced_by_asking_the_same_job",
    )


def test_row_10_nothing_is_complete_without_its_bytes(shop: Shop) -> None:
    """An empty file is the whole answer; then the same result is transferred again."""
    shop.vendor.file_faults += [Fault(answer=b"")]
    (task_id,) = shop.order(VIDEO)
    shop.drain()
    if shop.states(task_id) != DONE:
        assert shop.states(task_id) == ("needsReconciliation", ["accepted"], "reserved")
        assert shop.rows("select 1 from media_files where state = 'ready'") == []
        transfer_task(shop.studio, task_id, actor=PERSON)
    assert shop.states(task_id) == DONE
    (version,) = shop.rows("select sha256 from versions where attempt_id is not null")
    (file,) = shop.rows("select * from media_files where sha256 = :sha256", sha256=version["sha256"])
    assert (file["state"], file["bytes"] > 0, bool(file["probe"])) == ("ready", True, True)
    assert shop.studio.objects.path(version["sha256"]).stat().st_size == file["bytes"]
    assert len(shop.vendor.posts()) == 1


def test_row_11_one_failing_candidate_buys_no_other_again(shop: Shop) -> None:
    shop.vendor.script("images", error(400, "invalid_params"))
    ids = shop.order(*[IMAGE] * 3)
    shop.drain()
    shop.drain()
    assert sorted(shop.states(each)[0] for each in ids) == ["failed", "succeeded", "succeeded"]
    assert len({seen.body["client_id"] for seen in shop.vendor.posts()}) == len(shop.vendor.posts()) == 3


def test_row_12_a_refusal_is_followed_by_no_other_prompt_model_or_channel(shop: Shop) -> None:
    shop.vendor.script("images", error(422, "content_refused"))
    (task_id,) = shop.order(IMAGE)
    for _ in range(3):
        shop.drain()
        shop.make_due()
    assert shop.states(task_id) == ("failed", ["rejectedBeforeAcceptance"], "released")
    assert len(shop.vendor.posts()) == 1
    planned = regenerate_task(shop.studio, task_id, actor=PERSON)
    shop.drain()
    assert planned.quote_id is not None
    assert len(shop.vendor.posts()) == 1


def test_row_13_what_a_failed_job_cost_stays_in_the_book() -> None:
    shown_by(
        "engine.test_faults:p7_3_failed_and_expired_are_told_apart",
        "engine.test_statements:what_the_vendor_charged_for_a_lost_answer_is_shown_with_its_task",
    )


def test_row_14_a_changed_configuration_never_sends_a_query_elsewhere(shop: Shop) -> None:
    ids = accepted(shop, 2)
    with FakeVendor().serving() as other:
        name = "rehearsal-video"
        elsewhere = replace(shop.studio.bindings[name], base_url=other.base_url, model="another")
        shop.studio = replace(shop.studio, bindings={**shop.studio.bindings, name: elsewhere})
        shop.vendor.polls_until_done = 1
        shop.drain()
        assert other.seen == []
    assert [shop.states(each) for each in ids] == [DONE] * 2


def test_rows_15_and_16_results_are_joined_by_id_and_never_by_order_or_age(shop: Shop) -> None:
    """Three jobs, the middle one fails, and the vendor answers from the last to the first."""
    ids = accepted(shop, 3)
    vendor = shop.vendor
    by_seed = {job.body["params"]["seed"]: job for job in vendor.jobs.values()}
    failed: Json = {"id": by_seed[1].external_id, "status": "failed", "error": {"code": "engine_fault"}}
    failed |= {"result": None, "charged_micros": 0, "currency": "XRH"}
    answers = [vendor.finished(by_seed[2]), failed, vendor.finished(by_seed[0])]
    vendor.query_faults.append(Fault(answer=json.dumps({"videos": answers})))
    recover(shop.studio, pace=QUICK)
    found = {shop.task(each)["request"]["params"]["seed"]: each for each in ids}
    assert [shop.states(found[seed])[0] for seed in (0, 1, 2)] == ["succeeded", "failed", "succeeded"]
    for seed in (0, 2):
        (version,) = shop.rows(
            "select v.sha256, v.subject from versions v join provider_attempts a using (attempt_id)"
            " where a.task_id = :id",
            id=found[seed],
        )
        assert version["subject"] == f"shot:s{seed}"
        assert shop.studio.objects.read(version["sha256"]) == film(seed or 1)


def test_row_17_whoever_waits_waits_longer_than_what_it_waits_for() -> None:
    assert leases.HEARTBEAT_MS * 3 < leases.LEASE_MS
    assert leases.SEND_MARGIN_MS >= leases.CONNECT_MS_MAX
    assert leases.LEASE_MS + leases.TAKEOVER_SCAN_MS < 30_000
    for adapter in ADAPTERS.values():
        contract = adapter.contract
        assert contract.create_timeout_s < contract.result_url_s <= contract.retention_s
        assert contract.poll_after_ms <= contract.poll_max_ms < contract.result_url_s * 1000


def test_row_18_a_refused_cancel_changes_nothing_and_the_result_is_collected(shop: Shop) -> None:
    (task_id,) = accepted(shop)
    with pytest.raises(Refusal, match="cost cannot be saved"):
        cancel_task(shop.studio, task_id, actor=PERSON)
    shop.vendor.polls_until_done = 1
    shop.drain()
    assert shop.states(task_id) == DONE
    assert {seen.method for seen in shop.vendor.seen} == {"POST", "GET"}


def test_row_19_no_test_replaces_what_might_hold_the_bug() -> None:
    """No mock anywhere; the faults are tried on real processes, a real database and a vendor on a socket."""
    importing = [
        str(file.relative_to(TESTS))
        for file in TESTS.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Import | ast.ImportFrom)
        and any("mock" in name for name in (getattr(node, "module", "") or "", *(n.name for n in node.names)))
    ]
    assert importing == []
    shown_by("faults.test_matrix:a_fault_cut_anywhere_ends_as_its_row_says")


def test_row_20_a_payload_names_its_credential_and_never_holds_it(shop: Shop) -> None:
    (task_id,) = shop.order(VIDEO)
    shop.drain()
    secret = (shop.studio.settings.home / "rehearsal" / "key").read_text()
    shown = json.dumps(show_task(shop.studio, task_id), default=str)
    assert secret not in shown
    assert "file:" in json.dumps(shop.rows("select channel from provider_attempts"))
    assert secret not in json.dumps(shop.rows("select request from tasks"))
    shown_by("engine.test_task_actions:v14_no_key_and_no_media_stand_in_rows_logs_or_receipts")
