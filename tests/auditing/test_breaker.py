"""A channel that fails is given a rest: nothing is sent there, all else goes on (G-302)."""

import pytest

from shortdrama_pipeline.rules.attempts import Proof
from shortdrama_pipeline.rules.breaker import PAUSE_S, PAUSE_S_MAX, Standing, Verdict, admits, pause_s, weigh
from shortdrama_pipeline.rules.states import MediaKind
from shortdrama_pipeline.services.work_status import work_status
from tests.engine.conftest import Shop
from tests.fake_vendor import Fault, error

DOWN = Fault(accepts=False, status=503, answer="<html>unavailable</html>")


@pytest.fixture
def failing(shop: Shop) -> Shop:
    """One send at a time, to a vendor that answers 503 and can be asked for nothing."""
    shop.with_contract(lookup_by_client_id=False)
    shop.with_binding(MediaKind.IMAGE, in_flight_max=1)
    return shop


def over(shop: Shop) -> None:
    """Let the rest be over, and every held Task be due."""
    shop.run("update breakers set try_at = clock_timestamp() where opened_at is not null")
    shop.run("update tasks set next_action_at = clock_timestamp() where state = 'queued'")


def test_five_failures_stop_the_channel_and_its_tasks_stay_queued_with_the_reason(failing: Shop) -> None:
    failing.vendor.script("images", *[DOWN] * 20)
    ids = failing.order(*[MediaKind.IMAGE] * 9)
    (film,) = failing.order(MediaKind.VIDEO)
    report = failing.drain()
    assert len(failing.vendor.posts("images")) == 5
    assert report.idle
    states = [failing.task(each) for each in ids]
    assert sorted(each["state"] for each in states) == ["needsReconciliation"] * 5 + ["queued"] * 4
    assert {each["hold_reason"]["code"] for each in states if each["state"] == "queued"} == {"breakerOpen"}
    assert failing.states(film) == ("succeeded", ["completed"], "settled")
    assert [each["channel"] for each in work_status(failing.studio)["resting_channels"]] == [
        "rehearsal-image"
    ]
    assert failing.rows("select * from alerts where kind = 'breaker_open' and closed_at is null")
    failing.drain()
    assert len(failing.vendor.posts("images")) == 5


def test_half_open_one_item_tries_and_its_failure_keeps_the_others_waiting(failing: Shop) -> None:
    failing.vendor.script("images", *[DOWN] * 20)
    failing.order(*[MediaKind.IMAGE] * 9)
    failing.drain()
    over(failing)
    failing.drain()
    assert len(failing.vendor.posts("images")) == 6
    (row,) = failing.rows("select failures, try_at - clock_timestamp() as rest from breakers")
    assert row["failures"] == 6
    assert row["rest"].total_seconds() > PAUSE_S


def test_half_open_an_answer_closes_it_and_the_rest_follows(failing: Shop) -> None:
    failing.vendor.script("images", *[DOWN] * 5)
    ids = failing.order(*[MediaKind.IMAGE] * 9)
    failing.drain()
    for _ in range(4):  # on a slow machine not all were held when the rest ended
        over(failing)
        failing.drain()
    assert sorted(failing.task(each)["state"] for each in ids) == (
        ["needsReconciliation"] * 5 + ["succeeded"] * 4
    )
    assert failing.rows("select * from breakers where opened_at is not null") == []
    assert failing.rows("select * from alerts where kind = 'breaker_open' and closed_at is null") == []
    assert {each.path for each in failing.vendor.posts()} == {"/v1/images"}


def test_while_it_rests_accepted_jobs_are_asked_about_and_delivered(shop: Shop) -> None:
    shop.vendor.polls_until_done = 10_000
    shop.with_binding(MediaKind.VIDEO, in_flight_max=1)
    ids = shop.order(MediaKind.VIDEO, MediaKind.VIDEO)
    shop.drain(seconds_max=2)
    film, second = sorted(ids, key=lambda each: str(shop.task(each)["state"]), reverse=True)
    shop.run(
        "insert into breakers (channel_id, failures, opened_at, try_at) values"
        " ('rehearsal-video', 5, clock_timestamp(), clock_timestamp() + interval '1 hour')"
    )
    shop.vendor.polls_until_done = 1
    shop.drain()
    assert shop.states(film) == ("succeeded", ["completed"], "settled")
    assert shop.task(second)["state"] == "queued"
    assert len(shop.vendor.posts("videos")) == 1


def test_a_refused_content_is_an_answer_and_never_opens_it(failing: Shop) -> None:
    failing.vendor.script("images", *[error(422, "content_refused")] * 7)
    failing.order(*[MediaKind.IMAGE] * 7)
    failing.drain()
    assert len(failing.vendor.posts("images")) == 7
    assert failing.rows("select * from breakers") == []


def test_one_answer_between_failures_begins_the_count_anew(failing: Shop) -> None:
    failing.vendor.script("images", *[DOWN] * 4, Fault(), *[DOWN] * 4)
    failing.order(*[MediaKind.IMAGE] * 9)
    failing.drain()
    assert len(failing.vendor.posts("images")) == 9
    assert failing.rows("select failures, opened_at from breakers") == [{"failures": 4, "opened_at": None}]


def test_the_limit_is_the_channels_own(failing: Shop) -> None:
    failing.with_binding(MediaKind.IMAGE, failures_max=2)
    failing.vendor.script("images", *[DOWN] * 9)
    failing.order(*[MediaKind.IMAGE] * 5)
    failing.drain()
    assert len(failing.vendor.posts("images")) == 2


def test_the_rules_of_the_rest() -> None:
    assert [pause_s(each) for each in (0, 4, 5, 6, 50)] == [None, None, PAUSE_S, 2 * PAUSE_S, PAUSE_S_MAX]
    assert admits(Standing(open=False), 7) == 7
    assert admits(Standing(open=True), 7) == 0
    assert admits(Standing(open=True, due=True), 7) == 1
    assert admits(Standing(open=True, due=True), 0) == 0
    assert weigh(accepted=True, proof=None) is Verdict.ANSWERED
    assert weigh(accepted=False, proof=None) is Verdict.FAILED
    assert {proof: weigh(accepted=False, proof=proof) for proof in Proof} == {
        Proof.NEVER_SENT: Verdict.FAILED,
        Proof.FINAL: Verdict.ANSWERED,
        Proof.CAPACITY: Verdict.NEITHER,
        Proof.MENDABLE: Verdict.NEITHER,
        Proof.ABSENCE: Verdict.NEITHER,
    }
