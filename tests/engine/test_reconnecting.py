"""F02: a request that went unanswered is found on the vendor's list, or by a person; never sent again."""

import threading

import pytest

from shortdrama_pipeline.errors import Conflict, GrantRefused, Refusal, ShortdramaError, UsageError
from shortdrama_pipeline.rules.matching import BY_FACTS, MatchingFact
from shortdrama_pipeline.rules.states import MediaKind
from shortdrama_pipeline.services.recovering import recover
from shortdrama_pipeline.services.task_actions import adopt_task, prove_absent_task, query_task, show_task
from tests.engine.conftest import PERSON, QUICK, Shop
from tests.engine.crashing import crash_after_fence
from tests.engine.test_faults import DONE, SILENT, assert_recovery_is_done
from tests.fake_vendor import Fault

IMAGE, VIDEO = MediaKind.IMAGE, MediaKind.VIDEO
WITHOUT_REFERENCE = {"id", "model", "seed", "received_at", "status"}
LOST = Fault(accepts=True, then="drop")


def listing(shop: Shop, **changes: object) -> None:
    shop.with_contract(lookup_by_client_id=False, lists_jobs=True, **changes)


def look_again(shop: Shop) -> None:
    shop.make_due()
    recover(shop.studio, pace=QUICK)


def test_our_reference_on_the_list_is_adopted_by_itself(shop: Shop) -> None:
    listing(shop)
    shop.vendor.script("videos", LOST, LOST)
    ids = shop.order(VIDEO, VIDEO)
    shop.drain()
    assert [shop.states(each) for each in ids] == [DONE, DONE]
    assert len(shop.vendor.posts()) == 2
    (first, *_) = shop.rows("select facts->'evidence' as evidence from events where to_state = 'accepted'")
    assert first["evidence"]["fact"] == "listed"
    assert_recovery_is_done(shop)


def test_model_time_and_seed_are_enough_where_the_contract_verified_them(shop: Shop) -> None:
    listing(shop, list_verified=BY_FACTS)
    shop.vendor.list_fields = WITHOUT_REFERENCE
    shop.vendor.script("videos", LOST)
    (task_id,) = shop.order(VIDEO)
    shop.drain()
    assert shop.states(task_id) == DONE
    assert len(shop.vendor.posts()) == 1


def test_unverified_facts_make_candidates_that_a_person_adopts_with_evidence(shop: Shop) -> None:
    listing(shop, list_verified=frozenset({MatchingFact.MODEL}))
    shop.vendor.list_fields = WITHOUT_REFERENCE
    shop.vendor.script("videos", LOST)
    (task_id,) = shop.order(VIDEO)
    shop.drain()
    assert shop.states(task_id) == SILENT
    shown = show_task(shop.studio, task_id)
    (candidate,) = shown["reason"]["candidates"]
    assert candidate["external_id"] == "rv_1"
    assert candidate["seed"] == 0
    assert shop.rows("select 1 from alerts where kind = 'candidates_need_person'")
    assert_recovery_is_done(shop)
    adopted = adopt_task(shop.studio, task_id, external_id="rv_1", note="console, line 3", actor=PERSON)
    assert (adopted["action"], adopted["may_cost"]) == ("resolve", False)
    shop.drain()
    assert shop.states(task_id) == DONE
    assert len(shop.vendor.posts()) == 1
    (decision,) = shop.rows("select * from audit_log where action = 'task.adopt'")
    assert decision["actor"] == PERSON
    assert decision["created_at"] is not None
    assert decision["facts"] == {"evidence": "console, line 3", "external_id": "rv_1"}
    accepted = shop.rows("select facts from events where entity = 'attempt' and to_state = 'accepted'")
    assert accepted[0]["facts"]["evidence"]["by"] == PERSON


def test_two_jobs_that_fit_are_never_told_apart_by_a_guess(shop: Shop) -> None:
    """Two requests of one seed, lost at the same time: one list, two candidates for each."""
    listing(shop)
    shop.vendor.list_fields = WITHOUT_REFERENCE - {"seed"}
    shop.vendor.script("videos", LOST, LOST)
    first, second = shop.order(VIDEO, VIDEO)
    shop.drain()
    look_again(shop)
    assert [shop.states(each) for each in (first, second)] == [SILENT] * 2
    names = {each["external_id"] for each in show_task(shop.studio, first)["reason"]["candidates"]}
    assert names == {"rv_1", "rv_2"}
    adopt_task(shop.studio, first, external_id="rv_1", note="its prompt", actor=PERSON)
    with pytest.raises(Conflict, match="another request"):
        adopt_task(shop.studio, second, external_id="rv_1", note="its prompt", actor=PERSON)
    adopt_task(shop.studio, second, external_id="rv_2", note="its prompt", actor=PERSON)
    shop.drain()
    assert [shop.states(each) for each in (first, second)] == [DONE] * 2
    assert len(shop.vendor.posts()) == 2


def test_a_list_that_holds_nothing_proves_nothing(shop: Shop) -> None:
    listing(shop)
    (task_id,) = shop.order(VIDEO)
    crash_after_fence(shop, [task_id])
    shop.drain()
    look_again(shop)
    assert shop.states(task_id) == SILENT
    assert shop.task(task_id)["reason"]["look_up"] == "notListed"
    assert shop.vendor.posts() == []


def test_a_list_in_pages_is_read_to_its_end(shop: Shop) -> None:
    listing(shop)
    shop.vendor.list_page = 1
    shop.vendor.script("videos", Fault(), LOST)
    ids = shop.order(VIDEO, VIDEO)
    shop.drain()
    assert [shop.states(each) for each in ids] == [DONE] * 2


@pytest.mark.parametrize("fault", [Fault(status=500, answer="oops"), Fault(then="drop"), Fault(answer="{}")])
def test_a_list_that_cannot_be_read_changes_nothing(shop: Shop, fault: Fault) -> None:
    listing(shop)
    (task_id,) = shop.order(VIDEO)
    crash_after_fence(shop, [task_id])
    shop.vendor.query_faults += [fault] * 3  # a dropped GET may be asked once more
    recover(shop.studio, pace=QUICK)
    assert shop.states(task_id) == SILENT
    assert shop.task(task_id)["reason"]["look_up"] == "unanswered"


def test_what_is_answered_at_once_has_no_job_and_is_not_asked_for_on_a_list(shop: Shop) -> None:
    listing(shop)
    shop.vendor.script("images", LOST)
    (task_id,) = shop.order(IMAGE)
    shop.drain()
    assert shop.states(task_id) == SILENT
    assert shop.vendor.gets("/v1/jobs") == []
    with pytest.raises(Refusal, match="no job"):
        adopt_task(shop.studio, task_id, external_id="rq_1", note="console", actor=PERSON)
    prove_absent_task(shop.studio, task_id, note="console: nothing that day", actor=PERSON)
    assert shop.states(task_id) == ("failed", ["rejectedBeforeAcceptance"], "released")


def test_absence_is_a_persons_word_with_who_when_and_why(shop: Shop) -> None:
    listing(shop)
    (task_id,) = shop.order(VIDEO)
    crash_after_fence(shop, [task_id])
    shop.drain()
    prove_absent_task(shop.studio, task_id, note="asked their support, ticket 8", actor=PERSON)
    assert shop.states(task_id) == ("failed", ["rejectedBeforeAcceptance"], "released")
    assert shop.task(task_id)["reason"]["code"] == "notAccepted"
    (attempt,) = shop.rows("select evidence from provider_attempts")
    assert attempt["evidence"]["proof"] == "absence"
    assert attempt["evidence"]["by"] == PERSON
    (decision,) = shop.rows("select * from audit_log where action = 'task.absent'")
    assert decision["facts"]["evidence"] == "asked their support, ticket 8"
    assert shop.vendor.posts() == []
    assert_recovery_is_done(shop)


def test_no_agent_and_no_word_without_evidence_resolves_anything(shop: Shop) -> None:
    shop.with_contract(lookup_by_client_id=False)
    (task_id,) = shop.order(VIDEO)
    crash_after_fence(shop, [task_id])
    shop.drain()
    for actor in ("agent:helper", "schedule:weekly"):
        with pytest.raises(GrantRefused):
            adopt_task(shop.studio, task_id, external_id="rv_1", note="n", actor=actor)
        with pytest.raises(GrantRefused):
            prove_absent_task(shop.studio, task_id, note="n", actor=actor)
    with pytest.raises(Refusal, match="evidence"):
        prove_absent_task(shop.studio, task_id, note="  ", actor=PERSON)
    with pytest.raises(UsageError):
        adopt_task(shop.studio, task_id, external_id=" ", note="n", actor=PERSON)
    assert shop.states(task_id) == SILENT
    assert shop.rows("select 1 from audit_log where action like 'task.%'") == []


def test_of_adoption_and_absence_at_once_exactly_one_is_written(shop: Shop) -> None:
    shop.with_contract(lookup_by_client_id=False)
    shop.vendor.script("videos", LOST)
    (task_id,) = shop.order(VIDEO)
    shop.drain()
    refused: list[str] = []

    def act(action: str) -> None:
        try:
            if action == "adopt":
                adopt_task(shop.studio, task_id, external_id="rv_1", note="n", actor=PERSON)
            else:
                prove_absent_task(shop.studio, task_id, note="n", actor=PERSON)
        except ShortdramaError:
            refused.append(action)

    crowd = [threading.Thread(target=act, args=(each,)) for each in ("adopt", "absent") * 2]
    for each in crowd:
        each.start()
    for each in crowd:
        each.join()
    assert len(refused) == 3
    assert len(shop.rows("select 1 from audit_log where action in ('task.adopt', 'task.absent')")) == 1


def test_a_failed_write_of_the_word_writes_neither_word_nor_action(shop: Shop) -> None:
    shop.with_contract(lookup_by_client_id=False)
    (task_id,) = shop.order(VIDEO)
    crash_after_fence(shop, [task_id])
    shop.drain()
    shop.run(
        "create function no_word() returns trigger language plpgsql as $$ begin"
        " raise exception 'disk full'; end $$;"
        "create trigger no_word before insert on audit_log for each row execute function no_word()"
    )
    with pytest.raises(Exception, match="disk full"):
        prove_absent_task(shop.studio, task_id, note="n", actor=PERSON)
    assert shop.states(task_id) == SILENT
    shop.run("drop trigger no_word on audit_log")
    shop.expire_leases()
    prove_absent_task(shop.studio, task_id, note="n", actor=PERSON)
    assert shop.states(task_id)[2] == "released"


def test_query_shows_the_candidates_it_found(shop: Shop) -> None:
    listing(shop, list_verified=frozenset())
    shop.vendor.list_fields = WITHOUT_REFERENCE
    shop.vendor.script("videos", LOST)
    (task_id,) = shop.order(VIDEO)
    shop.drain()
    told = query_task(shop.studio, task_id, actor=PERSON)
    assert (told["action"], told["may_cost"]) == ("query", False)
    assert [each["external_id"] for each in told["reason"]["candidates"]] == ["rv_1"]
    assert len(shop.vendor.posts()) == 1
