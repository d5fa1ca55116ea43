"""Leases and fences under contention, pauses and death (P-6.7 to P-6.10, P-10.2, F11)."""

import asyncio
import threading
import time

import sqlalchemy as sa

from shortdrama_pipeline.rules.states import MediaKind
from shortdrama_pipeline.services.draining import Engine, drain
from shortdrama_pipeline.services.polling import Poller
from shortdrama_pipeline.services.shifts import Pace, Shift, monotonic_ms
from shortdrama_pipeline.services.submitting import Ready, carry, fence_and_check, prepare
from shortdrama_pipeline.store import tasks
from tests.engine.conftest import QUICK, Shop
from tests.fake_vendor import Seen


async def fenced(shop: Shop, *, then_lose: bool, slow_ms: int = 0) -> int:
    """Fence one task as a worker of its own; perhaps lose the lease before the send. Returns the sends."""
    shift = Shift(shop.studio, worker="paused", pace=QUICK, limit=1)
    try:
        with shop.studio.db.read() as tx:
            due = tasks.find_due(tx, dict.fromkeys(shop.studio.bindings, 1))
        ready = [each for each in (prepare(shift, one) for one in due) if isinstance(each, Ready)]
        sendable = await fence_and_check(shift, ready)
        if then_lose:
            shop.expire_leases()
            await asyncio.to_thread(shop.drain)
        for each, work, until_ms in sendable:
            until = until_ms if not slow_ms else monotonic_ms() - slow_ms
            await carry(shift, each, work, until, poller=Poller(shift), sent=lambda: None)
        return len(sendable)
    finally:
        await shift.close()


def test_p6_9_a_worker_that_wakes_up_after_its_lease_sends_nothing(shop: Shop) -> None:
    """Its local deadline has passed, so not one request byte leaves."""
    (task_id,) = shop.order(MediaKind.IMAGE)
    asyncio.run(fenced(shop, then_lose=True, slow_ms=1))
    assert shop.vendor.posts() == []
    assert shop.states(task_id)[0] in {"failed", "needsReconciliation"}


def test_p6_9_a_lease_lost_between_fence_and_check_sends_nothing(shop: Shop) -> None:
    shop.order(MediaKind.IMAGE)
    shop.run(
        "create function lose() returns trigger language plpgsql as $$ begin update tasks set expires_at ="
        " clock_timestamp() - interval '1 second' where task_id = new.task_id; return null; end $$;"
        "create trigger lose after update on provider_attempts for each row execute function lose()"
    )
    assert asyncio.run(fenced(shop, then_lose=False)) == 0
    assert shop.vendor.posts() == []


def test_p6_10_a_late_answer_of_a_lost_lease_is_kept_by_receipt_and_adopted(shop: Shop) -> None:
    """The request was on its way when the lease went: what was paid for is not lost (F03)."""
    shop.with_contract(lookup_by_client_id=False)
    (task_id,) = shop.order(MediaKind.IMAGE)
    took_over = threading.Event()

    def take_over(_seen: Seen) -> None:
        if not took_over.is_set():
            took_over.set()
            shop.expire_leases()
            shop.drain(seconds_max=2)

    shop.vendor.on_post.append(take_over)
    shop.drain()
    assert shop.rows("select 1 from alerts where kind = 'acceptance_not_recorded'")
    shop.expire_leases()
    shop.drain()
    assert shop.states(task_id) == ("succeeded", ["completed"], "settled")
    assert len(shop.vendor.posts()) == 1


def test_a_lease_is_renewed_by_its_token_only_and_never_after_expiry(shop: Shop) -> None:
    (task_id,) = shop.order(MediaKind.IMAGE)
    with shop.studio.db.begin() as tx:
        token = tasks.claim(tx, [task_id], worker="a", lease_ms=60_000)[task_id]
        assert tasks.heartbeat(tx, {task_id: token}, worker="a", lease_ms=60_000) == {task_id}
        assert tasks.heartbeat(tx, {task_id: token + 1}, worker="a", lease_ms=60_000) == set()
        assert tasks.heartbeat(tx, {task_id: token}, worker="b", lease_ms=60_000) == set()
        assert tasks.take_over(tx, worker="b", lease_ms=60_000, most=9) == []
    shop.expire_leases()
    with shop.studio.db.begin() as tx:
        assert tasks.heartbeat(tx, {task_id: token}, worker="a", lease_ms=60_000) == set()
        (taken,) = tasks.take_over(tx, worker="b", lease_ms=60_000, most=9)
        assert taken.lease_token == token + 1


def test_long_waits_are_polled_under_renewed_leases_and_handed_back_when_stopped(shop: Shop) -> None:
    shop.vendor.polls_until_done = 10_000
    shop.order(*[MediaKind.VIDEO] * 5)
    short = Pace(lease_ms=600, heartbeat_ms=150, scan_ms=100, slow_query_s=3600)
    shop.drain(pace=short, seconds_max=2)
    rows = shop.rows("select lease_token, expires_at <= clock_timestamp() as free, state from tasks")
    assert {each["state"] for each in rows} == {"waitingProvider"}
    assert {each["lease_token"] for each in rows} == {1}
    assert all(each["free"] for each in rows)
    shop.vendor.polls_until_done = 1
    shop.drain()
    assert len(shop.vendor.posts()) == 5
    assert len(shop.rows("select 1 from tasks where state = 'succeeded'")) == 5


def test_unchanged_polls_write_nothing(shop: Shop) -> None:
    shop.vendor.polls_until_done = 10_000
    shop.order(*[MediaKind.VIDEO] * 4)
    shop.drain(seconds_max=2)
    quiet = Pace(heartbeat_ms=600_000, scan_ms=600_000)
    found: list[dict[str, object]] = []

    def start(engine: Engine) -> None:
        def look() -> None:
            found.append({"tasks": shop.rows("select xmin from tasks"), "gets": len(shop.vendor.gets())})

        threading.Timer(0.7, look).start()
        threading.Timer(1.6, look).start()

    drain(shop.studio, worker="w", pace=quiet, until_idle=False, seconds_max=3, on_start=start)
    assert found[0]["tasks"] == found[1]["tasks"]
    assert int(str(found[1]["gets"])) - int(str(found[0]["gets"])) > 3


def test_limits_of_a_channel_hold_across_workers(shop: Shop) -> None:
    shop.with_binding(MediaKind.VIDEO, in_flight_max=3)
    shop.vendor.polls_until_done = 2
    high: list[int] = []

    def look(_seen: Seen) -> None:
        rows = shop.rows("select count(*) as n from tasks where state in ('running', 'waitingProvider')")
        high.append(rows[0]["n"])

    shop.vendor.on_post.append(look)
    ids = shop.order(*[MediaKind.VIDEO] * 10)
    threads = [threading.Thread(target=shop.drain) for _ in range(2)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(timeout=60)
    assert max(high) <= 3
    assert {shop.states(each)[0] for each in ids} == {"succeeded"}


def test_requests_per_minute_hold_for_all_workers_together(shop: Shop) -> None:
    shop.with_binding(MediaKind.IMAGE, requests_per_minute=60)
    shop.order(*[MediaKind.IMAGE] * 30)
    shop.drain(seconds_max=2)
    assert 6 <= len(shop.vendor.posts()) <= 6 + 4  # a tenth at once, then under one a second


def test_hot_queries_use_their_indexes_on_many_rows(shop: Shop) -> None:
    (task_id,) = shop.order(MediaKind.IMAGE)
    with shop.studio.db.begin() as tx:
        for table in ("tasks", "reservations", "provider_attempts", "provider_jobs"):
            tx.execute(sa.text(f"alter table {table} disable trigger user"))
        tx.execute(sa.text(_GROW), {"id": task_id})
        tx.execute(sa.text("analyze tasks"))
        tx.execute(sa.text("analyze reservations"))
        plans = {
            name: "\n".join(tx.execute(sa.text("explain " + query)).scalars()) for name, query in _HOT.items()
        }
    for name, index in _INDEX.items():
        assert index in plans[name], plans[name]
        assert "Seq Scan on " + ("reservations" if name == "settle" else "tasks") not in plans[name], plans[
            name
        ]


_GROW = """
with grown as (
  insert into tasks (task_id, execution_id, grant_id, item_id, episode_id, stage, subject, role, kind,
    binding_id, request, input_hash, state, next_action_at, reason)
  select 'task_' || n, execution_id, grant_id, item_id || n, episode_id, stage, subject, role, kind,
    binding_id, '{}', input_hash, case when n % 100 = 0 then 'queued' when n % 100 = 1 then 'waitingProvider'
    else 'succeeded' end, clock_timestamp(), '{}' from tasks, generate_series(1, 100000) n
   where task_id = :id returning task_id, state)
insert into reservations (reservation_id, task_id, amount_micros, currency, state, settled_micros)
select 'res_' || task_id, task_id, 1, 'CNY', case when state = 'waitingProvider' then 'settlementPending'
  else 'settled' end, 0 from grown
"""
_HOT = {
    "claim": "select * from tasks d where d.state = 'queued' and d.binding_id = 'rehearsal-image'"
    " and d.next_action_at <= clock_timestamp() order by d.next_action_at limit 64",
    "poll": "select t.task_id from tasks t where t.state in ('running', 'waitingProvider', 'ingesting',"
    " 'needsReconciliation') and t.next_action_at <= clock_timestamp() and (t.expires_at is null"
    " or t.expires_at <= clock_timestamp()) order by t.next_action_at limit 256",
    "in flight": "select count(*) from tasks t where t.binding_id = 'rehearsal-image'"
    " and t.state in ('running', 'waitingProvider')",
    "settle": "select * from reservations r where r.state = 'settlementPending'"
    " order by r.created_at limit 256",
}
_INDEX = {
    "claim": "ix_tasks_due_queued",
    "poll": "ix_tasks_due_open",
    "in flight": "ix_tasks_in_flight",
    "settle": "ix_reservations_pending",
}


def test_a_drain_ends_in_time_while_many_jobs_are_asked_without_pause(shop: Shop) -> None:
    """A cancellation that comes with an event must not be lost, or the poller asks for ever."""
    shop.with_contract(poll_after_ms=1, poll_max_ms=1, batch_query_max=1)
    shop.vendor.polls_until_done = 10**9
    shop.order(*[MediaKind.VIDEO] * 12)
    for _ in range(3):
        began = time.monotonic()
        shop.drain(seconds_max=1)
        assert time.monotonic() - began < 15


def test_a_lost_workers_many_jobs_are_all_taken_in_one_scan(shop: Shop) -> None:
    shop.vendor.polls_until_done = 10**9
    shop.order(*[MediaKind.VIDEO] * 7)
    shop.drain(seconds_max=2)
    with shop.studio.db.begin() as tx:
        first = tasks.take_over(tx, worker="b", lease_ms=60_000, most=4)
        second = tasks.take_over(tx, worker="b", lease_ms=60_000, most=4)
        third = tasks.take_over(tx, worker="b", lease_ms=60_000, most=4)
    assert (len(first), len(second), len(third)) == (4, 3, 0)
