"""One bad member never takes the others along: a batch, a group of queries, a look that failed."""

import os
import signal
import threading
from collections.abc import Callable
from dataclasses import replace

import pytest

from shortdrama_pipeline.errors import Outside, StaleState
from shortdrama_pipeline.providers.ports import Binding, HttpCall, Json
from shortdrama_pipeline.rules.states import MediaKind
from shortdrama_pipeline.services.draining import Engine, drain
from shortdrama_pipeline.services.recovering import recover
from shortdrama_pipeline.store import alerts, attempts, tasks
from tests.engine.conftest import QUICK, QuickAdapter, Shop
from tests.engine.crashing import crash_after_claim
from tests.fake_vendor import Job

IMAGE, VIDEO = MediaKind.IMAGE, MediaKind.VIDEO
DONE = ("succeeded", ["completed"], "settled")
REFUSE_ONE = """
create function refuse_one() returns trigger language plpgsql as $$
begin if new.task_id = '{task_id}' then raise exception 'this one does not fit'; end if; return new; end $$;
create trigger refuse_one before insert on provider_attempts for each row execute function refuse_one()
"""


def open_alerts(shop: Shop, task_id: str) -> list[str]:
    found = shop.rows("select kind from alerts where entity_id = :id and closed_at is null", id=task_id)
    return sorted(each["kind"] for each in found)


def test_a_fence_that_cannot_be_written_holds_its_own_task_and_sends_all_others(shop: Shop) -> None:
    ids = shop.order(*[IMAGE] * 8)
    bad, good = ids[3], [each for each in ids if each != ids[3]]
    shop.run(REFUSE_ONE.format(task_id=bad))
    shop.drain(seconds_max=6)
    assert [shop.states(each) for each in good] == [DONE] * 7
    assert len(shop.vendor.posts()) == 7
    assert shop.states(bad) == ("queued", [], "reserved")
    assert shop.task(bad)["hold_reason"]["code"] == "fenceFailed"
    assert open_alerts(shop, bad) == ["engine_error"]
    shop.run("drop trigger refuse_one on provider_attempts")
    shop.make_due()
    shop.drain()
    assert shop.states(bad) == DONE
    assert open_alerts(shop, bad) == []


def test_a_fence_nobody_looked_at_again_is_not_sent_and_its_lease_is_let_go(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    (task_id,) = shop.order(IMAGE)
    engines: list[Engine] = []

    def away(*_: object) -> None:
        raise Outside("away", hint="wait")

    monkeypatch.setattr(attempts, "check_fences", away)
    with pytest.raises(Outside):
        drain(shop.studio, worker="w", pace=QUICK, seconds_max=10, on_start=engines.append)
    monkeypatch.undo()
    assert engines[0].shift.leases == {}
    assert shop.vendor.posts() == []
    shop.expire_leases()
    recover(shop.studio, pace=QUICK)
    assert shop.states(task_id)[1] == ["rejectedBeforeAcceptance"]  # the verified look-up found nothing


def test_another_attempt_under_one_lease_gets_the_whole_lease_it_is_timed_by(shop: Shop) -> None:
    (task_id,) = shop.order(IMAGE)
    crash_after_claim(shop, task_id)
    row = shop.task(task_id)
    shop.run(
        "update tasks set expires_at = clock_timestamp() + interval '1 second' where task_id = :id",
        id=task_id,
    )
    with shop.studio.db.begin() as tx:
        allowed = tasks.renew_allowed(tx, {task_id: int(row["lease_token"])}, lease_ms=60_000)
    assert allowed == {task_id}
    left = shop.rows("select extract(epoch from expires_at - clock_timestamp()) as s from tasks")
    assert float(left[0]["s"]) > 50
    with shop.studio.db.begin() as tx:
        assert tasks.renew_allowed(tx, {task_id: int(row["lease_token"]) - 1}, lease_ms=60_000) == set()


def test_a_follower_outlives_a_database_that_is_away_and_a_deadlock(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    (task_id,) = shop.order(IMAGE)
    troubles = iter([Outside("away", hint="wait"), StaleState("deadlock", hint="again")] * 2)
    looked = tasks.load_next_due_ms

    def shaky(*arguments: object) -> int | None:
        trouble = next(troubles, None)
        if trouble is not None:
            raise trouble
        return looked(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(tasks, "load_next_due_ms", shaky)
    started = threading.Event()
    engines: list[Engine] = []

    def run() -> None:
        def note(engine: Engine) -> None:
            engines.append(engine)
            started.set()

        drain(shop.studio, worker="w", pace=QUICK, follow=True, seconds_max=30, on_start=note)

    worker = threading.Thread(target=run)
    worker.start()
    assert started.wait(20)
    _until(lambda: next(troubles, None) is None and shop.states(task_id) == DONE)
    (later,) = shop.order(VIDEO)
    _until(lambda: shop.states(later) == DONE)
    engines[0].stop()
    worker.join(30)
    assert not worker.is_alive()


class OneBadQuery(QuickAdapter):
    """Stumbles over every question about `bad`."""

    bad = ""

    def build_query(self, binding: Binding, checkpoints: list[Json]) -> HttpCall:
        if any(each.get("external_id") == self.bad for each in checkpoints):
            raise KeyError("external_id")
        return super().build_query(binding, checkpoints)


def test_a_checkpoint_that_no_query_can_be_made_of_waits_for_a_person_and_its_neighbours_arrive(
    shop: Shop,
) -> None:
    ids = shop.order(*[VIDEO] * 4)
    shop.vendor.polls_until_done = 3
    adapter = OneBadQuery()
    shop.studio = replace(shop.studio, adapters={"rehearsal": adapter})

    def choose(_: object) -> None:
        if not adapter.bad and shop.vendor.jobs:
            adapter.bad = next(iter(shop.vendor.jobs.values())).external_id

    shop.vendor.on_post.append(choose)
    shop.drain()
    states = [shop.states(each)[0] for each in ids]
    assert sorted(states) == ["needsReconciliation", "succeeded", "succeeded", "succeeded"]
    bad = ids[states.index("needsReconciliation")]
    assert shop.task(bad)["reason"]["code"] == "checkpointBroken"
    assert open_alerts(shop, bad) == ["checkpoint_broken"]


def test_a_result_of_a_channel_that_is_gone_waits_for_a_person(shop: Shop) -> None:
    (task_id,) = shop.order(VIDEO)
    kept = shop.studio

    bindings = dict(kept.bindings)
    shop.studio = replace(kept, bindings=bindings)

    def remove(_: Job) -> None:
        bindings.pop("rehearsal-video", None)

    shop.vendor.on_query = remove
    shop.drain(seconds_max=10)
    assert shop.task(task_id)["state"] == "needsReconciliation"
    assert shop.task(task_id)["reason"]["code"] == "channelUnresolvable"
    shop.studio = kept
    shop.vendor.on_query = None
    shop.make_due()
    recover(shop.studio, pace=QUICK)
    assert shop.states(task_id) == DONE
    assert len(shop.vendor.posts()) == 1


def test_an_alert_that_was_answered_is_raised_again_the_next_time(shop: Shop) -> None:
    shop.with_contract(lookup_by_client_id=False)
    (task_id,) = shop.order(IMAGE)
    with shop.studio.db.begin() as tx:
        alerts.record_alerts(tx, [alerts.Alert("engine_error", task_id, "once")])
        alerts.close_alerts(tx, [task_id], by="engine")
        alerts.record_alerts(tx, [alerts.Alert("engine_error", task_id, "twice")])
    found = shop.rows("select message, closed_at is null as open from alerts order by created_at")
    assert [(each["message"], each["open"]) for each in found] == [("once", False), ("twice", True)]


def _until(is_so: Callable[[], bool]) -> None:
    pause = threading.Event()
    for _ in range(400):
        if is_so():
            return
        pause.wait(0.05)
    raise AssertionError("It did not come to pass")


def test_an_interrupt_ends_the_drain_says_so_and_gives_the_former_handler_back(shop: Shop) -> None:
    shop.vendor.polls_until_done = 10**9
    shop.order(VIDEO)
    heard: list[int] = []
    former = signal.signal(signal.SIGTERM, lambda number, _: heard.append(number))
    shop.vendor.on_query = lambda _job: os.kill(os.getpid(), signal.SIGTERM)
    try:
        report = shop.drain(seconds_max=20)
        assert report.interrupted
        assert heard == []
        os.kill(os.getpid(), signal.SIGTERM)
        assert heard == [signal.SIGTERM]
    finally:
        signal.signal(signal.SIGTERM, former)
