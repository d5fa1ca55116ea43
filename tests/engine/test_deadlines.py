"""P-8.5, D-10, F14: past the published deadline the user owes nothing, once, and a late result is free."""

import threading
from pathlib import Path

import pytest

from shortdrama_pipeline.crashpoints import InjectedFailure, Point, arm
from shortdrama_pipeline.rules.states import MediaKind
from shortdrama_pipeline.services.auditing import verify_all
from shortdrama_pipeline.services.confirming import confirm_quote
from shortdrama_pipeline.services.planning import plan_items
from shortdrama_pipeline.services.recovering import recover
from shortdrama_pipeline.services.shifts import Pace
from shortdrama_pipeline.services.task_actions import adopt_task, query_task, regenerate_task, show_task
from tests.engine.conftest import PERSON, QUICK, STAGES, Shop, item
from tests.engine.test_faults import BREAK_LEDGER
from tests.fake_vendor import COST, Fault, Job, Json

IMAGE, VIDEO = MediaKind.IMAGE, MediaKind.VIDEO
COST_XRH = COST["videos"]
RIGHT_AWAY = Pace(lease_ms=3_000, heartbeat_ms=400, scan_ms=150, slow_query_s=0, lookup_after_ms=20)


def pass_deadline(shop: Shop) -> None:
    """The published hours are over."""
    shop.run("update tasks set deadline_at = clock_timestamp() - interval '1 second'")


def waiting(shop: Shop) -> str:
    """A film the vendor works on and does not finish."""
    shop.vendor.polls_until_done = 10_000
    (task_id,) = shop.order(VIDEO)
    shop.drain(seconds_max=1)
    assert shop.states(task_id) == ("waitingProvider", ["accepted"], "reserved")
    return task_id


def free_again(shop: Shop) -> bool:
    balances = shop.balances()
    return balances["wallet:studio:reserved CNY"] == 0 and balances["wallet:studio:available CNY"] == 10**9


def assert_nothing_more_happens(shop: Shop) -> None:
    before, posts = shop.snapshot(), len(shop.vendor.posts())
    recover(shop.studio, pace=QUICK)
    assert shop.snapshot() == before
    assert len(shop.vendor.posts()) == posts


def test_p8_5_a_job_past_its_deadline_ends_and_the_price_comes_back_once(shop: Shop) -> None:
    task_id = waiting(shop)
    pass_deadline(shop)
    recover(shop.studio, pace=QUICK)
    assert shop.states(task_id) == ("failed", ["accepted"], "released")
    assert shop.task(task_id)["reason"]["code"] == "deadlinePassed"
    assert free_again(shop)
    (decision,) = shop.rows("select * from audit_log where action = 'task.deadline'")
    assert decision["actor"] == "rule:delivery-deadline"
    assert decision["facts"]["released"]["micros"] > 0
    assert shop.rows("select 1 from alerts where kind = 'deadline_passed'")
    assert_nothing_more_happens(shop)


def test_f14_a_late_result_is_kept_beside_the_choice_and_costs_the_user_nothing(shop: Shop) -> None:
    task_id = waiting(shop)
    pass_deadline(shop)
    recover(shop.studio, pace=QUICK)
    shop.vendor.polls_until_done = 1
    recover(shop.studio, pace=RIGHT_AWAY)
    shop.run("update late_results set next_action_at = clock_timestamp()")
    recover(shop.studio, pace=QUICK)
    assert shop.states(task_id) == ("failed", ["completed"], "released")
    (version,) = shop.rows("select * from versions where attempt_id is not null")
    assert version["role"] == "video"
    assert shop.rows("select 1 from selections") == []
    assert shop.rows("select state from media_files") == [{"state": "ready"}]
    assert free_again(shop)
    balances = shop.balances()
    assert balances["platform:compensation XRH"] == -COST_XRH
    assert balances["vendor:rehearsal-video XRH"] == COST_XRH
    assert "spend:rehearsal-video XRH" not in balances
    (late,) = show_task(shop.studio, task_id)["late_results"]
    assert late["outcome"] == "delivered"
    assert late["facts"]["user"] == {"money": "released", "charged": {"micros": 0, "currency": "CNY"}}
    assert late["facts"]["provider"]["account"] == "platform:compensation"
    assert late["facts"]["version_ids"] == [version["version_id"]]
    assert len(shop.vendor.posts()) == 1
    assert verify_all(shop.studio).problems == ()
    assert_nothing_more_happens(shop)


@pytest.mark.parametrize(
    ("answer", "outcome", "cost"),
    [
        ({"status": "failed", "error": {"code": "fault"}, "charged_micros": 70_000}, "failed", 70_000),
        ({"status": "expired"}, "expired", 0),
    ],
)
def test_f14_a_late_failure_is_evidence_and_the_vendors_charge_the_platforms(
    shop: Shop, answer: Json, outcome: str, cost: int
) -> None:
    task_id = waiting(shop)
    pass_deadline(shop)
    shop.vendor.on_query = lambda _job: answer
    recover(shop.studio, pace=QUICK)
    assert shop.states(task_id)[0] == "failed"
    assert shop.states(task_id)[2] == "released"
    (late,) = show_task(shop.studio, task_id)["late_results"]
    assert late["outcome"] == outcome
    assert shop.balances().get("platform:compensation XRH", 0) == -cost
    assert_nothing_more_happens(shop)


def test_f14_a_late_file_that_is_no_film_is_kept_in_quarantine(shop: Shop) -> None:
    task_id = waiting(shop)
    pass_deadline(shop)
    shop.vendor.polls_until_done = 1
    shop.vendor.file_faults += [Fault(answer="<html>limit reached</html>" * 20)]
    recover(shop.studio, pace=QUICK)
    assert shop.states(task_id) == ("failed", ["completed"], "released")
    assert shop.rows("select state from media_files") == [{"state": "quarantined"}]
    assert shop.rows("select 1 from versions where attempt_id is not null") == []


def test_p8_5_what_was_not_sent_by_the_deadline_is_never_sent(shop: Shop) -> None:
    (task_id,) = shop.order(IMAGE)
    pass_deadline(shop)
    shop.drain()
    assert shop.states(task_id) == ("failed", [], "released")
    assert shop.task(task_id)["reason"]["code"] == "deadlinePassed"
    assert shop.history("task", task_id) == ["queued", "running", "failed"]
    assert shop.vendor.seen == []
    assert free_again(shop)


def test_p8_5_a_silent_request_frees_the_money_and_is_looked_for_further(shop: Shop) -> None:
    shop.with_contract(lookup_by_client_id=False)
    shop.vendor.script("videos", Fault(accepts=True, then="drop"))
    (task_id,) = shop.order(VIDEO)
    shop.drain()
    pass_deadline(shop)
    recover(shop.studio, pace=QUICK)
    assert shop.states(task_id) == ("needsReconciliation", ["outcomeUnknown"], "released")
    assert free_again(shop)
    assert_nothing_more_happens(shop)
    assert {"query", "resolve", "regenerate"} <= set(show_task(shop.studio, task_id)["actions"])
    adopt_task(shop.studio, task_id, actor=PERSON, note="console, line 7", external_id="rv_1")
    recover(shop.studio, pace=QUICK)
    task, attempts, money = shop.states(task_id)
    assert (attempts, money) == (["completed"], "released")
    assert task in {"failed", "succeeded"}
    assert shop.rows("select 1 from selections") == []
    assert len(shop.rows("select 1 from versions where attempt_id is not null")) == 1
    assert free_again(shop)
    assert len(shop.vendor.posts()) == 1
    assert verify_all(shop.studio).problems == ()


def test_p8_5_compensated_work_may_be_ordered_anew_and_only_then_costs(shop: Shop) -> None:
    shop.with_contract(lookup_by_client_id=False)
    shop.vendor.script("images", Fault(accepts=True, then="drop"))
    (task_id,) = shop.order(IMAGE)
    shop.drain()
    pass_deadline(shop)
    recover(shop.studio, pace=QUICK)
    planned = regenerate_task(shop.studio, task_id, actor=PERSON)
    assert planned.quote_id is not None
    assert len(shop.vendor.posts()) == 1
    (again,) = confirm_quote(shop.studio, planned.quote_id, idempotency_key="again", actor=PERSON).task_ids
    shop.drain()
    assert shop.states(again) == ("succeeded", ["completed"], "settled")
    assert shop.states(task_id) == ("needsReconciliation", ["outcomeUnknown"], "released")


def test_p8_5_a_result_that_lands_after_the_deadline_is_free_and_not_chosen(shop: Shop) -> None:
    """Between the last scan and the registration: the registration itself asks the clock."""

    def late(job: Job) -> Json | None:
        pass_deadline(shop)
        return None

    shop.vendor.on_query = late
    (task_id,) = shop.order(VIDEO)
    shop.drain(pace=Pace(lease_ms=30_000, heartbeat_ms=10_000, scan_ms=60_000, slow_query_s=3600))
    recover(shop.studio, pace=QUICK)
    task, attempts, money = shop.states(task_id)
    assert (task, attempts, money) == ("succeeded", ["completed"], "released")
    assert shop.rows("select 1 from selections") == []
    assert free_again(shop)
    assert shop.balances()["platform:compensation XRH"] == -COST_XRH
    assert verify_all(shop.studio).problems == ()
    assert_nothing_more_happens(shop)


def test_p8_5_delivered_in_time_is_charged_however_late_the_ledger_answers(shop: Shop) -> None:
    (task_id,) = shop.order(IMAGE)
    shop.run(BREAK_LEDGER)
    shop.drain()
    assert shop.states(task_id) == ("succeeded", ["completed"], "settlementPending")
    shop.run("alter table tasks disable trigger guard_move")  # only a clock could move this otherwise
    pass_deadline(shop)
    shop.run("alter table tasks enable trigger guard_move")
    shop.run("drop trigger no_ledger on ledger_entries")
    recover(shop.studio, pace=QUICK)
    assert shop.states(task_id) == ("succeeded", ["completed"], "settled")


def test_f14_a_lost_vendor_is_watched_until_its_retention_ends(shop: Shop, home: Path) -> None:
    task_id = waiting(shop)
    pass_deadline(shop)
    (home / "rehearsal" / "key").write_text("another account's key")
    recover(shop.studio, pace=QUICK)
    assert shop.states(task_id) == ("failed", ["accepted"], "released")
    assert shop.rows("select outcome from late_results") == [{"outcome": None}]
    shop.run("update late_results set until = clock_timestamp(), next_action_at = clock_timestamp()")
    recover(shop.studio, pace=QUICK)
    assert shop.rows("select outcome from late_results") == [{"outcome": "lost"}]


def test_a_person_may_ask_about_a_late_job_at_once(shop: Shop) -> None:
    task_id = waiting(shop)
    pass_deadline(shop)
    recover(shop.studio, pace=QUICK)
    shop.vendor.polls_until_done = 1
    assert show_task(shop.studio, task_id)["actions"] == ["query", "regenerate"]
    query_task(shop.studio, task_id, actor=PERSON)
    assert shop.states(task_id) == ("failed", ["completed"], "released")
    assert show_task(shop.studio, task_id)["actions"] == ["regenerate"]


def test_p8_5_five_scans_at_once_release_once(shop: Shop) -> None:
    shop.vendor.polls_until_done = 10_000
    ids = shop.order(*[VIDEO] * 6)
    shop.drain(seconds_max=1)
    pass_deadline(shop)
    crowd = [threading.Thread(target=recover, args=(shop.studio,), kwargs={"pace": QUICK}) for _ in range(5)]
    for each in crowd:
        each.start()
    for each in crowd:
        each.join()
    recover(shop.studio, pace=QUICK)
    assert [shop.states(each)[::2] for each in ids] == [("failed", "released")] * 6
    assert len(shop.rows("select 1 from ledger_entries where business_key like 'release:%'")) == 6
    assert len(shop.rows("select 1 from audit_log where action = 'task.deadline'")) == 6
    assert free_again(shop)


@pytest.mark.parametrize("point", [Point.DEADLINE_BEFORE_COMMIT, Point.LATE_RESULT_BEFORE_COMMIT])
def test_a_crash_before_the_commit_leaves_nothing_behind(shop: Shop, point: Point) -> None:
    task_id = waiting(shop)
    pass_deadline(shop)
    shop.vendor.polls_until_done = 1
    fired: list[Point] = []

    def crash(reached: Point) -> None:
        if reached is point and not fired:
            fired.append(reached)
            raise InjectedFailure(str(reached))

    arm(crash)
    try:
        if point is Point.DEADLINE_BEFORE_COMMIT:
            with pytest.raises(InjectedFailure):
                recover(shop.studio, pace=QUICK)
        else:
            recover(shop.studio, pace=QUICK)
    finally:
        arm(None)
    assert fired == [point]
    assert shop.rows("select 1 from versions where attempt_id is not null") == []
    shop.run("update late_results set next_action_at = clock_timestamp()")
    recover(shop.studio, pace=QUICK)
    assert shop.states(task_id) == ("failed", ["completed"], "released")
    assert shop.balances()["platform:compensation XRH"] == -COST_XRH
    assert len(shop.rows("select 1 from ledger_entries where business_key like 'spend:%'")) == 1


def test_two_quotes_of_one_item_are_still_one_order_before_the_deadline(shop: Shop) -> None:
    shop.with_contract(lookup_by_client_id=False)
    shop.vendor.script("images", Fault(accepts=True, then="drop"))
    shop.order(IMAGE)
    shop.drain()
    planned = plan_items(shop.studio, STAGES[IMAGE], [item(IMAGE)], actor=PERSON)
    assert planned.quote_id is not None
    with pytest.raises(Exception, match="cannot be confirmed"):
        confirm_quote(shop.studio, planned.quote_id, idempotency_key="other", actor=PERSON)
