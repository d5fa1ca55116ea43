"""The fault set of §14, as far as it lies in the engine: each case with Task, Attempt, money and POSTs."""

import json
import threading
from pathlib import Path

import pytest

from shortdrama_pipeline.errors import Outside
from shortdrama_pipeline.ids import new_id
from shortdrama_pipeline.rules.states import MediaKind
from shortdrama_pipeline.services.confirming import confirm_quote
from shortdrama_pipeline.services.draining import drain
from shortdrama_pipeline.services.planning import plan_items
from shortdrama_pipeline.services.recovering import recover
from shortdrama_pipeline.services.shifts import Pace
from shortdrama_pipeline.services.task_actions import prove_absent_task, query_task, show_task, transfer_task
from tests.engine.conftest import EPISODE, PERSON, QUICK, STAGES, Shop, item
from tests.engine.crashing import crash_after_claim, crash_after_fence
from tests.fake_vendor import Fault, Job, Json, Seen, error

IMAGE, VIDEO, SPEECH = MediaKind.IMAGE, MediaKind.VIDEO, MediaKind.SPEECH
DONE = ("succeeded", ["completed"], "settled")
SILENT = ("needsReconciliation", ["outcomeUnknown"], "reserved")


def no_lookup(shop: Shop) -> None:
    shop.with_contract(lookup_by_client_id=False)


def assert_recovery_is_done(shop: Shop) -> None:
    """V-15: a second full pass changes nothing."""
    recover(shop.studio, pace=QUICK)
    before, posts = shop.snapshot(), len(shop.vendor.posts())
    recover(shop.studio, pace=QUICK)
    assert shop.snapshot() == before
    assert len(shop.vendor.posts()) == posts


# --- F01 ----------------------------------------------------------------------------------------------


def test_f01a_a_claim_without_a_fence_is_queued_again_and_sent_once(shop: Shop) -> None:
    (task_id,) = shop.order(IMAGE)
    crash_after_claim(shop, task_id)
    shop.drain()
    assert shop.states(task_id) == DONE
    assert shop.history("task", task_id)[:4] == ["queued", "running", "queued", "running"]
    assert len(shop.vendor.posts()) == 1


def test_f01b_a_fence_without_an_answer_is_never_sent_by_us_again(shop: Shop) -> None:
    no_lookup(shop)
    (task_id,) = shop.order(IMAGE)
    crash_after_fence(shop, [task_id])
    for _ in range(3):
        shop.drain()
        shop.make_due()
    assert shop.states(task_id) == SILENT
    assert shop.vendor.seen == []
    shown = show_task(shop.studio, task_id)
    assert shown["reason"]["code"] == "outcomeUnknown"
    assert shown["reason"]["last_proven_fact"] == "submitStarted"
    assert "resolve" in shown["actions"]
    assert shown["actions_that_may_cost"] == []
    assert_recovery_is_done(shop)


def test_f01b_a_verified_look_up_proves_absence_and_frees_the_money(shop: Shop) -> None:
    (task_id,) = shop.order(IMAGE)
    crash_after_fence(shop, [task_id])
    shop.drain()
    assert shop.states(task_id) == ("failed", ["rejectedBeforeAcceptance"], "released")
    assert shop.task(task_id)["reason"]["code"] == "notAccepted"
    assert shop.vendor.posts() == []
    assert_recovery_is_done(shop)


def test_f01b_an_operator_may_state_absence_with_evidence(shop: Shop) -> None:
    no_lookup(shop)
    (task_id,) = shop.order(IMAGE)
    crash_after_fence(shop, [task_id])
    shop.drain()
    prove_absent_task(shop.studio, task_id, actor=PERSON, note="console, 3 May, no such job")
    assert shop.states(task_id) == ("failed", ["rejectedBeforeAcceptance"], "released")
    (decision,) = shop.rows("select * from audit_log where action = 'task.absent'")
    assert decision["actor"] == PERSON


# --- F02 ----------------------------------------------------------------------------------------------

WIRE = [
    Fault(then="drop"),
    Fault(then="cut"),
    Fault(status=500, answer="oops"),
    Fault(status=429, answer=""),
    Fault(status=503, answer="<html>busy</html>"),
]


@pytest.mark.parametrize("accepts", [True, False])
def test_f02_silence_keeps_the_money_and_asks_nobody_to_make_it_again(shop: Shop, accepts: bool) -> None:
    no_lookup(shop)
    faults = [Fault(accepts, each.status, each.answer, (), 0, each.then) for each in WIRE]
    shop.vendor.script("images", *faults)
    ids = shop.order(*[IMAGE] * len(faults))
    shop.drain()
    shop.make_due()
    shop.drain()
    assert [shop.states(each) for each in ids] == [SILENT] * len(ids)
    assert len(shop.vendor.posts()) == len(ids)
    assert_recovery_is_done(shop)


@pytest.mark.parametrize("kind", [IMAGE, VIDEO])
def test_f02_a_verified_look_up_adopts_what_was_accepted(shop: Shop, kind: MediaKind) -> None:
    shop.vendor.script("images" if kind is IMAGE else "videos", Fault(accepts=True, then="drop"))
    (task_id,) = shop.order(kind)
    shop.drain()
    assert shop.states(task_id) == DONE
    assert "needsReconciliation" in shop.history("task", task_id)
    assert len(shop.vendor.posts()) == 1
    assert shop.balances()["wallet:studio:reserved CNY"] == 0


def test_a_stalled_vendor_is_left_at_its_timeout_with_one_post(shop: Shop) -> None:
    shop.with_contract(lookup_by_client_id=False)
    shop.vendor.script("images", Fault(accepts=True, then="stall"))
    (task_id,) = shop.order(IMAGE)
    shop.shorten_create_timeout()
    shop.drain()
    assert shop.states(task_id) == SILENT
    assert len(shop.vendor.posts()) == 1


# --- F03 ----------------------------------------------------------------------------------------------

BREAK_T4 = """
create function no_disk() returns trigger language plpgsql as $$ begin
  if new.state = 'accepted' then raise exception 'no space left on device'; end if; return new;
end $$;
create trigger no_disk before update on provider_attempts for each row execute function no_disk();
"""


@pytest.mark.parametrize("kind", [IMAGE, VIDEO])
def test_f03_a_failed_t4_leaves_a_receipt_that_recovery_reads_back(shop: Shop, kind: MediaKind) -> None:
    no_lookup(shop)
    shop.run(BREAK_T4)
    (task_id,) = shop.order(kind)
    shop.drain(seconds_max=3)
    assert shop.states(task_id) == SILENT
    receipts = shop.studio.settings.home / "receipts"
    (receipt,) = receipts.glob("*.json")
    assert receipt.stat().st_mode & 0o777 == 0o600
    assert "rehearsal-key-of-tests" not in receipt.read_text()
    assert "base64" not in receipt.read_text()
    assert shop.rows("select kind from alerts where kind = 'acceptance_not_recorded'")
    shop.run("drop trigger no_disk on provider_attempts")
    shop.make_due()
    shop.expire_leases()
    shop.drain()
    assert shop.states(task_id) == DONE
    assert len(shop.vendor.posts()) == 1
    assert list(receipts.glob("*.json")) == []
    assert len(list((receipts / "taken").glob("*.json"))) == 1
    assert_recovery_is_done(shop)


# --- F04, F05, F06 ------------------------------------------------------------------------------------


def test_f04_lost_queries_change_nothing_but_the_time(shop: Shop) -> None:
    shop.vendor.query_faults += [Fault(then="drop"), Fault(status=502, answer="<html>"), Fault(then="cut")]
    (task_id,) = shop.order(VIDEO)
    shop.drain()
    assert shop.states(task_id) == DONE
    assert len(shop.vendor.posts()) == 1
    assert "failed" not in shop.history("task", task_id)


def test_f04_after_the_limit_a_person_is_told_and_a_late_result_is_still_delivered(shop: Shop) -> None:
    shop.vendor.query_faults += [Fault(then="drop")] * 60
    (task_id,) = shop.order(VIDEO)
    pace = Pace(
        lease_ms=3000,
        heartbeat_ms=400,
        scan_ms=150,
        slow_query_s=3600,
        query_failures_max=4,
        resend_permille=5,
    )
    shop.drain(pace=pace)
    assert shop.states(task_id) == ("needsReconciliation", ["accepted"], "reserved")
    assert shop.task(task_id)["reason"]["code"] == "queryUnanswered"
    shop.vendor.query_faults.clear()
    shop.make_due()
    shop.drain()
    assert shop.states(task_id) == DONE
    assert len(shop.vendor.posts()) == 1


def test_p7_5_a_passed_limit_proves_nothing(shop: Shop) -> None:
    shop.vendor.polls_until_done = 10_000
    (task_id,) = shop.order(VIDEO)
    shop.drain(pace=Pace(lease_ms=3000, heartbeat_ms=400, scan_ms=150, slow_query_s=3600, wait_limit_s=0))
    assert shop.states(task_id) == ("needsReconciliation", ["accepted"], "reserved")
    assert shop.task(task_id)["reason"]["code"] == "overdue"
    shop.vendor.polls_until_done = 1
    query_task(shop.studio, task_id, actor=PERSON)
    shop.drain()
    assert shop.states(task_id) == DONE
    assert len(shop.vendor.posts()) == 1


def test_f05_an_unknown_status_is_an_alarm_and_no_end(shop: Shop) -> None:
    shop.vendor.on_query = lambda _job: {"status": "sublimated"}
    (task_id,) = shop.order(VIDEO)
    shop.drain()
    assert shop.states(task_id) == ("needsReconciliation", ["accepted"], "reserved")
    assert shop.task(task_id)["reason"]["code"] == "unrecognisedStatus"
    assert shop.rows("select 1 from alerts where kind = 'unrecognised_status'")
    shop.vendor.on_query = None
    query_task(shop.studio, task_id, actor=PERSON)
    assert shop.states(task_id) == DONE
    assert len(shop.vendor.posts()) == 1


def test_p7_3_failed_and_expired_are_told_apart(shop: Shop) -> None:
    answers: dict[int, Json] = {
        0: {"status": "failed", "error": {"code": "engine_fault", "message": "m"}, "charged_micros": 70_000},
        1: {"status": "expired"},
    }

    def by_seed(job: Job) -> Json | None:
        return answers.get(job.body["params"]["seed"])

    shop.vendor.on_query = by_seed
    failed, expired, good = shop.order(VIDEO, VIDEO, VIDEO)
    shop.drain()
    assert shop.states(failed) == ("failed", ["completed"], "released")
    assert shop.task(failed)["reason"]["code"] == "generationFailed"
    assert shop.states(expired) == ("needsReconciliation", ["accepted"], "reserved")
    assert shop.task(expired)["reason"]["code"] == "resultExpired"
    assert shop.states(good) == DONE
    assert shop.balances()["vendor:rehearsal-video XRH"] == 170_000  # a failed job may have cost money (D-15)


# --- F07, F08, F09 ------------------------------------------------------------------------------------


def test_f07_a_broken_transfer_is_repeated_under_the_same_result(shop: Shop) -> None:
    shop.vendor.file_faults += [Fault(then="cut"), Fault(then="drop"), Fault(status=503, answer="busy")]
    (task_id,) = shop.order(VIDEO)
    shop.drain()
    assert shop.states(task_id) == DONE
    assert len(shop.vendor.posts()) == 1


def test_f07_a_dead_link_is_replaced_by_asking_the_same_job(shop: Shop) -> None:
    shop.vendor.file_faults += [Fault(status=403, answer="expired")]
    (task_id,) = shop.order(VIDEO)
    shop.drain()
    assert shop.states(task_id) == DONE
    assert len(shop.vendor.posts()) == 1


@pytest.mark.parametrize(
    "body", ["<html>limit reached</html>" * 20, b"\x00\x00\x00\x18ftypmp42 and then nothing"]
)
def test_f07_bytes_that_are_no_film_never_become_ready(shop: Shop, body: str | bytes) -> None:
    shop.vendor.file_faults += [Fault(answer=body)]
    (task_id,) = shop.order(VIDEO)
    shop.drain()
    assert shop.states(task_id) == ("needsReconciliation", ["accepted"], "reserved")
    (file,) = shop.rows("select * from media_files")
    assert file["state"] == "quarantined"
    assert file["reason"]["code"] == "mediaInvalid"
    transfer_task(shop.studio, task_id, actor=PERSON)
    assert shop.states(task_id) == DONE
    assert len(shop.vendor.posts()) == 1


BREAK_REGISTRATION = """
create function no_row() returns trigger language plpgsql as $$ begin raise exception 'lost'; end $$;
create trigger no_row before insert on versions for each row execute function no_row();
"""


@pytest.mark.parametrize("kind", [IMAGE, VIDEO])
def test_f08_a_stored_object_is_registered_later_by_its_hash(shop: Shop, kind: MediaKind) -> None:
    shop.run(BREAK_REGISTRATION)
    (task_id,) = shop.order(kind)
    shop.drain()
    assert shop.states(task_id) == ("needsReconciliation", ["completed"], "reserved")
    assert shop.task(task_id)["reason"]["code"] == "registrationFailed"
    (file,) = shop.rows("select * from media_files")
    assert file["state"] == "staging"
    shop.run("drop trigger no_row on versions")
    shop.make_due()
    shop.drain()
    assert shop.states(task_id) == DONE
    assert len(shop.rows("select * from versions where attempt_id is not null")) == 1
    assert len(shop.vendor.posts()) == 1
    assert_recovery_is_done(shop)


BREAK_LEDGER = """
create function no_ledger() returns trigger language plpgsql as $$ begin
  if new.business_key like 'settle:%' then raise exception 'ledger is away'; end if; return new;
end $$;
create trigger no_ledger before insert on ledger_entries for each row execute function no_ledger();
"""


def test_f09_a_failed_settlement_keeps_the_product_and_charges_once_later(shop: Shop) -> None:
    (task_id,) = shop.order(IMAGE)
    shop.run(BREAK_LEDGER)
    shop.drain()
    assert shop.states(task_id) == ("succeeded", ["completed"], "settlementPending")
    assert shop.rows("select 1 from selections where role = 'frame'")
    shop.run("drop trigger no_ledger on ledger_entries")
    for _ in range(2):
        recover(shop.studio, pace=QUICK)
    assert shop.states(task_id) == DONE
    assert len(shop.rows("select 1 from ledger_entries where business_key like 'settle:%'")) == 1
    assert len(shop.vendor.posts()) == 1


# --- F11, F13, F15, F16 -------------------------------------------------------------------------------


def test_f11_two_workers_share_the_work_without_a_second_post(shop: Shop) -> None:
    """No answer comes before both have sent, so that neither can have done everything alone."""
    ids = shop.order(*[IMAGE] * 24, *[VIDEO] * 12)
    both = threading.Event()

    def wait_for_both(_seen: Seen) -> None:
        for _ in range(1_000):
            if both.is_set() or len(shop.rows("select distinct worker from provider_attempts")) == 2:
                break
            both.wait(0.05)
        both.set()

    def work(worker: str) -> None:
        drain(shop.studio, worker=worker, pace=QUICK, seconds_max=60, limit=4)

    shop.vendor.on_post.append(wait_for_both)
    threads = [threading.Thread(target=work, args=(each,)) for each in ("a", "b")]
    for each in threads:
        each.start()
    for each in threads:
        each.join(timeout=120)
    assert [shop.states(each) for each in ids] == [DONE] * len(ids)
    assert len(shop.vendor.posts()) == len(ids)
    owners = shop.rows("select distinct worker from provider_attempts order by 1")
    assert [each["worker"] for each in owners] == ["a", "b"]


def test_f13_a_missing_key_holds_the_task_and_sends_nothing(shop: Shop, home: Path) -> None:
    key = home / "rehearsal" / "key"
    secret = key.read_text()
    key.unlink()
    (task_id,) = shop.order(IMAGE)
    report = shop.drain()
    assert report.idle
    assert shop.states(task_id) == ("queued", [], "reserved")
    assert shop.task(task_id)["hold_reason"]["code"] == "credentialMissing"
    assert shop.vendor.seen == []
    key.write_text(secret)
    shop.make_due()
    shop.drain()
    assert shop.states(task_id) == DONE


def test_f13_a_held_task_ends_released_when_its_grant_ends(shop: Shop, home: Path) -> None:
    (home / "rehearsal" / "key").unlink()
    (task_id,) = shop.order(IMAGE)
    shop.drain()
    shop.run("update grants set expires_at = clock_timestamp()")
    shop.make_due()
    shop.drain()
    assert shop.states(task_id) == ("failed", [], "released")
    assert shop.task(task_id)["reason"]["code"] == "grantExpired"
    assert shop.history("task", task_id) == ["queued", "running", "failed"]
    assert shop.vendor.seen == []


def test_f13_a_key_revoked_while_waiting_is_no_failure_and_no_other_key_is_used(
    shop: Shop, home: Path
) -> None:
    shop.vendor.polls_until_done = 3
    key = home / "rehearsal" / "key"
    secret = key.read_text()

    def revoke(job: Job) -> Json | None:
        if job.queries == 1:
            key.write_text("another account's key")
        return None

    shop.vendor.on_query = revoke
    (task_id,) = shop.order(VIDEO)
    shop.drain()
    assert shop.states(task_id) == ("needsReconciliation", ["accepted"], "reserved")
    assert shop.task(task_id)["reason"]["code"] == "accessLost"
    assert {each.headers["authorization"] for each in shop.vendor.seen} == {f"Bearer {secret}"}
    key.write_text(secret)
    query_task(shop.studio, task_id, actor=PERSON)
    shop.drain()
    assert shop.states(task_id) == DONE


def test_f15_two_confirms_of_one_quote_send_once(shop: Shop) -> None:
    planned = plan_items(shop.studio, STAGES[IMAGE], [item(IMAGE)], actor=PERSON)
    assert planned.quote_id is not None
    first, second = (
        confirm_quote(shop.studio, planned.quote_id, idempotency_key=new_id("key"), actor=PERSON)
        for _ in "ab"
    )
    assert first.task_ids == second.task_ids
    shop.drain()
    assert len(shop.vendor.posts()) == 1
    assert len(shop.rows("select 1 from tasks where episode_id = :e", e=EPISODE)) == 1


def test_f16_each_item_of_a_batch_ends_by_itself(shop: Shop) -> None:
    no_lookup(shop)
    shop.vendor.script("images", error(422, "content_refused"), Fault(accepts=True, then="drop"))
    ids = shop.order(*[IMAGE] * 4)
    shop.drain()
    found = sorted(shop.states(each) for each in ids)
    assert found == sorted([DONE, DONE, SILENT, ("failed", ["rejectedBeforeAcceptance"], "released")])
    shop.make_due()
    shop.drain()
    assert len(shop.vendor.posts()) == 4


# --- P-5.1, P-5.5, TT-6 -------------------------------------------------------------------------------


def test_p5_1_the_fence_is_committed_before_the_request_arrives(shop: Shop) -> None:
    seen: list[tuple[str, str]] = []

    def look(request: Seen) -> None:
        (row,) = shop.rows(
            "select a.state, a.request_digest, t.state as task from provider_attempts a"
            " join tasks t using (task_id)"
            " where attempt_id = :id",
            id=request.body["client_id"],
        )
        seen.append((row["task"], row["state"]))
        assert row["request_digest"].startswith("sha256:")

    shop.vendor.on_post.append(look)
    shop.order(IMAGE, IMAGE, VIDEO)
    shop.drain()
    assert seen == [("running", "submitStarted")] * 3


ANSWERS: list[Fault] = [
    *(Fault(status=each, answer="") for each in (301, 302, 307, 400, 401, 403, 404, 408, 409, 429)),
    *(Fault(status=each, answer=json.dumps({"error": {"code": "odd"}})) for each in (500, 502, 503, 504)),
    Fault(status=307, answer="", headers=(("location", "/v1/images"),)),
    Fault(answer="<html>welcome</html>"),
    Fault(answer=""),
    Fault(answer="{}"),
    Fault(answer='{"request_id": '),
    Fault(status=500, answer=json.dumps({"error": {"code": "invalid_params"}})),
]


@pytest.mark.parametrize("accepts", [True, False])
def test_p5_5_no_status_code_proves_anything(shop: Shop, accepts: bool) -> None:
    no_lookup(shop)
    shop.vendor.script(
        "images", *(Fault(accepts, each.status, each.answer, each.headers) for each in ANSWERS)
    )
    ids = shop.order(*[IMAGE] * len(ANSWERS))
    shop.drain()
    assert [shop.states(each) for each in ids] == [SILENT] * len(ids)
    assert len(shop.vendor.posts()) == len(ids)


def test_tt6_a_contract_code_decides_what_follows(shop: Shop) -> None:
    shop.vendor.script("images", error(400, "invalid_params"))
    (refused,) = shop.order(IMAGE)
    shop.drain()
    assert shop.states(refused) == ("failed", ["rejectedBeforeAcceptance"], "released")
    assert shop.task(refused)["reason"]["code"] == "refused"
    shop.vendor.script("speech", error(429, "rate_limited"), error(429, "rate_limited"))
    (full,) = shop.order(SPEECH)
    shop.drain()
    assert shop.states(full) == ("succeeded", ["rejectedBeforeAcceptance"] * 2 + ["completed"], "settled")
    shop.vendor.script("videos", error(402, "insufficient_balance"))
    (poor,) = shop.order(VIDEO)
    assert shop.drain().idle
    assert shop.states(poor) == ("queued", ["rejectedBeforeAcceptance"], "reserved")
    assert shop.task(poor)["hold_reason"]["code"] == "mendable"
    assert len(shop.vendor.posts("videos")) == 1


def test_tt6_capacity_ends_when_the_plans_allowance_is_used_up(shop: Shop) -> None:
    shop.vendor.script("images", *[error(429, "rate_limited")] * 9)
    (task_id,) = shop.order(IMAGE)
    shop.drain()
    assert shop.states(task_id) == ("failed", ["rejectedBeforeAcceptance"] * 4, "released")


def test_tt6_a_closed_port_is_proof_and_ends_after_three_attempts(shop: Shop) -> None:
    shop.with_binding(IMAGE, base_url="http://127.0.0.1:9")
    (task_id,) = shop.order(IMAGE)
    shop.drain()
    assert shop.states(task_id) == ("failed", ["rejectedBeforeAcceptance"] * 3, "released")
    (first, *_) = shop.rows("select evidence from provider_attempts order by number")
    assert first["evidence"]["proof"] == "neverSent"
    assert shop.history("task", task_id) == ["queued", "running", "failed"]


def test_a_database_that_is_away_stops_the_drain_with_a_hint(shop: Shop) -> None:
    shop.order(IMAGE)
    shop.studio.db.engine.dispose()
    broken = shop.studio.db
    url = broken.engine.url.set(database="nowhere")
    with pytest.raises(Outside) as caught:
        type(broken)(url.render_as_string(hide_password=False)).begin().__enter__()
    assert caught.value.hint
