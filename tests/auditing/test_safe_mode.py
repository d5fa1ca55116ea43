"""A database that forgot fences pays nothing until a person has looked (P-10.10, D-6, G-204)."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
import sqlalchemy as sa

from shortdrama_pipeline.errors import GrantRefused, Outside, Refusal, SafeModeOn, UsageError
from shortdrama_pipeline.ids import new_id
from shortdrama_pipeline.rules.states import MediaKind
from shortdrama_pipeline.services import safety
from shortdrama_pipeline.services.auditing import verify_all
from shortdrama_pipeline.services.confirming import confirm_quote
from shortdrama_pipeline.services.planning import plan_items
from shortdrama_pipeline.services.task_actions import prove_absent_task, show_task
from shortdrama_pipeline.store import server
from shortdrama_pipeline.store.database import Database
from shortdrama_pipeline.store.safety import may_fence
from tests.engine.conftest import PERSON, STAGES, Shop, item

SENT = 100


@contextmanager
def maintaining(pg_server: server.Server) -> Iterator[sa.Connection]:
    engine = sa.create_engine(pg_server.url("postgres"), poolclass=sa.NullPool, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        yield connection


@contextmanager
def snapshot(shop: Shop, pg_server: server.Server) -> Iterator[str]:
    """A copy of the database as it is now."""
    own = shop.studio.db.engine.url.database
    copy = new_id("copy")
    shop.studio.db.close()
    with maintaining(pg_server) as connection:
        connection.execute(sa.text(f"create database {copy} template {own} strategy file_copy"))
    yield copy
    with maintaining(pg_server) as connection:
        connection.execute(sa.text(f"drop database if exists {copy} with (force)"))


def restored(shop: Shop, pg_server: server.Server, copy: str) -> Shop:
    """The same home on the copy: what a restore leaves behind."""
    return replace(shop, studio=replace(shop.studio, db=Database(pg_server.url(copy))))


def test_p10_10_after_a_restore_nothing_of_the_window_is_sent_and_every_task_is_listed(
    shop: Shop, pg_server: server.Server
) -> None:
    shop.order(MediaKind.IMAGE)
    shop.drain()
    waiting = shop.order(*[MediaKind.IMAGE] * SENT)
    with snapshot(shop, pg_server) as copy:
        shop.drain()
        posts = len(shop.vendor.posts())
        assert posts == SENT + 1
        again = restored(shop, pg_server, copy)
        with pytest.raises(SafeModeOn) as stopped:
            again.drain()
        assert stopped.value.exit_code == 6
        assert stopped.value.facts["tasks"] == sorted(waiting)
        assert {again.task(each)["state"] for each in waiting} == {"queued"}
        (mode,) = safety.status(again.studio)
        assert mode["kind"] == "databaseRestored"
        assert mode["affected"] == SENT
        assert again.rows("select kind from alerts where kind = 'safe_mode'")

        done = safety.resume(again.studio, actor=PERSON, note="restored from yesterday's backup")
        assert done["reconciling"] == sorted(waiting)
        again.drain()
        again.make_due()
        again.drain()
        assert len(shop.vendor.posts()) == posts
        for each in waiting:
            assert again.states(each) == ("needsReconciliation", ["outcomeUnknown"], "reserved")
        shown = show_task(again.studio, waiting[0])
        assert shown["reason"]["code"] == "databaseRestored"
        assert "resolve" in json.dumps(shown["actions"])
        assert verify_all(again.studio, files=False).problems == ()
        again.studio.db.close()


def test_after_a_person_ended_it_new_work_is_bought_and_old_numbers_never_come_again(
    shop: Shop, pg_server: server.Server
) -> None:
    shop.order(MediaKind.IMAGE)
    with snapshot(shop, pg_server) as copy:
        shop.drain()
        taken = shop.rows("select max(fence_number) as n from provider_attempts")[0]["n"]
        again = restored(shop, pg_server, copy)
        safety.look(again.studio)
        safety.resume(again.studio, actor=PERSON, note="looked")
        (task_id,) = again.order(MediaKind.SPEECH)
        again.drain()
        assert again.task(task_id)["state"] == "succeeded"
        numbers = again.rows("select fence_number as n from provider_attempts where fence_number is not null")
        assert all(each["n"] > taken for each in numbers)
        again.studio.db.close()


def test_a_record_ahead_of_the_database_is_seen_whatever_database_it_is(shop: Shop) -> None:
    shop.order(MediaKind.IMAGE)
    shop.drain()
    body = json.loads(shop.studio.objects.read_record(safety.RECORD) or b"")
    ahead = body | {"upper": body["upper"] + 1}
    shop.studio.objects.write_record(safety.RECORD, json.dumps(ahead).encode())
    assert [each.kind for each in safety.look(shop.studio)] == ["databaseRestored"]


@pytest.mark.parametrize("part", [0, 1, 2], ids=["system", "database", "timeline"])
def test_another_identity_of_the_database_is_seen(shop: Shop, part: int) -> None:
    shop.order(MediaKind.IMAGE)
    shop.drain()
    body = json.loads(shop.studio.objects.read_record(safety.RECORD) or b"")
    words = body["incarnation"].split("/")
    words[part] += "1"
    body["incarnation"] = "/".join(words)
    shop.studio.objects.write_record(safety.RECORD, json.dumps(body).encode())
    assert [each.kind for each in safety.look(shop.studio)] == ["databaseRestored"]


def test_a_lost_or_unreadable_record_stops_paid_work(shop: Shop) -> None:
    shop.order(MediaKind.IMAGE)
    shop.drain()
    shop.studio.objects.write_record(safety.RECORD, b"{")
    assert [each.kind for each in safety.look(shop.studio)] == ["databaseRestored"]
    safety.resume(shop.studio, actor=PERSON, note="the file was damaged")
    assert safety.look(shop.studio) == []
    (shop.studio.settings.home / "media" / "records" / safety.RECORD).unlink()
    assert [each.kind for each in safety.look(shop.studio)] == ["recordMissing"]


def test_a_worker_that_died_between_its_first_block_and_the_record_stops_nobody(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    (task_id,) = shop.order(MediaKind.IMAGE)

    def die(_: object) -> None:
        raise Outside("gone", hint="start another worker")

    monkeypatch.setattr(safety, "_write_record", die)
    with pytest.raises(Outside):
        shop.drain()
    monkeypatch.undo()
    assert safety.look(shop.studio) == []
    shop.drain()
    assert shop.states(task_id) == ("succeeded", ["completed"], "settled")
    assert len(shop.vendor.posts()) == 1


def test_in_safe_mode_confirming_is_refused_and_what_is_under_way_goes_on(shop: Shop) -> None:
    shop.vendor.polls_until_done = 10_000
    (film,) = shop.order(MediaKind.VIDEO)
    shop.drain(seconds_max=2)
    planned = plan_items(shop.studio, STAGES[MediaKind.IMAGE], [item(MediaKind.IMAGE)], actor=PERSON)
    shop.studio.objects.write_record(safety.RECORD, b"{")
    safety.look(shop.studio)
    with pytest.raises(SafeModeOn) as refused:
        confirm_quote(shop.studio, planned.quote_id or "", idempotency_key="k", actor=PERSON)
    assert refused.value.hint
    posts = len(shop.vendor.posts())
    shop.vendor.polls_until_done = 1
    with pytest.raises(SafeModeOn):
        shop.drain()
    assert shop.states(film) == ("succeeded", ["completed"], "settled")
    assert len(shop.vendor.posts()) == posts


def test_only_a_person_with_a_note_ends_it_and_the_word_is_kept(shop: Shop) -> None:
    with pytest.raises(Refusal):
        safety.resume(shop.studio, actor=PERSON, note="nothing is wrong")
    shop.order(MediaKind.IMAGE)
    shop.drain()
    shop.studio.objects.write_record(safety.RECORD, b"{")
    safety.look(shop.studio)
    with pytest.raises(GrantRefused):
        safety.resume(shop.studio, actor="agent:director", note="let me")
    with pytest.raises(UsageError):
        safety.resume(shop.studio, actor=PERSON, note="  ")
    safety.resume(shop.studio, actor=PERSON, note="checked with the vendor")
    (row,) = shop.rows("select * from audit_log where action = 'work.resume'")
    assert (row["actor"], row["facts"]["note"]) == (PERSON, "checked with the vendor")
    assert shop.rows("select * from alerts where kind = 'safe_mode' and closed_at is null") == []


def test_a_worker_at_work_while_the_database_is_put_back_sends_nothing_more(
    shop: Shop, pg_server: server.Server
) -> None:
    fences = safety.Fences(shop.studio, "w", clock_ms=lambda: 0)
    (first,) = fences.take(1)
    with snapshot(shop, pg_server) as copy:
        again = restored(shop, pg_server, copy)
        with again.studio.db.begin() as tx:
            assert not may_fence(tx, {first.upper})
        again.studio.db.close()
    with shop.studio.db.begin() as tx:
        assert may_fence(tx, {first.upper})


def test_the_record_is_written_before_a_number_of_its_block_is_given(shop: Shop) -> None:
    fences = safety.Fences(shop.studio, "w", clock_ms=lambda: 0)
    for _ in range(3):
        given = fences.take(700)
        body = json.loads(shop.studio.objects.read_record(safety.RECORD) or b"")
        assert body["upper"] >= max(each.number for each in given)
    assert len(shop.rows("select * from fence_blocks")) == 3


# --- the books ------------------------------------------------------------------------------------------


def flip(shop: Shop, table: str, change: str) -> None:
    shop.run(f"alter table {table} disable trigger user; {change}; alter table {table} enable trigger user")


@pytest.mark.parametrize(
    ("table", "change"),
    [
        (
            "balances",
            "update balances set balance_micros = balance_micros + 1 where account = 'studio:topup'",
        ),
        ("events", "update events set facts = facts || '{\"x\": 1}' where seq = 1 and entity = 'task'"),
        ("ledger_entries", "update ledger_entries set amount_micros = 2 where business_key like 'topup%'"),
    ],
)
def test_g204_a_flipped_byte_stops_paid_work_with_an_alarm(shop: Shop, table: str, change: str) -> None:
    shop.order(MediaKind.IMAGE)
    flip(shop, table, change)
    with pytest.raises(SafeModeOn):
        shop.drain()
    assert shop.vendor.posts() == []
    (mode,) = safety.status(shop.studio)
    assert mode["kind"] == "booksBroken"
    assert shop.rows("select * from alerts where kind = 'safe_mode' and closed_at is null")


def test_what_a_person_accepted_does_not_stop_the_work_again(shop: Shop) -> None:
    shop.order(MediaKind.IMAGE)
    flip(shop, "events", "update events set facts = facts || '{\"x\": 1}' where seq = 1 and entity = 'task'")
    assert safety.check_books(shop.studio)
    safety.resume(shop.studio, actor=PERSON, note="we know who did it")
    assert safety.check_books(shop.studio) == []
    assert shop.drain().submitted == 1
    assert "G-204" in {each.invariant for each in verify_all(shop.studio).problems}


def test_below_a_checkpoint_only_checkpoints_are_read_again(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shortdrama_pipeline.store.books.EVENTS_BETWEEN", 1)
    shop.order(MediaKind.IMAGE)
    shop.drain()
    assert safety.check_books(shop.studio) == []
    shop.order(MediaKind.SPEECH)
    shop.drain()
    assert safety.check_books(shop.studio) == []
    assert shop.rows("select count(*) as n from checkpoints")[0]["n"] >= 2
    assert verify_all(shop.studio).problems == ()
    flip(shop, "ledger_entries", "update ledger_entries set actor = 'x' where business_key like 'topup%'")
    found = verify_all(shop.studio).problems
    assert {each.invariant for each in found} == {"G-204"}
    assert [each.subject for each in found] == ["checkpoint 1"]


# --- what a paid action needs ---------------------------------------------------------------------------


def test_g303_nothing_is_bought_while_its_result_could_not_be_stored(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.order(MediaKind.IMAGE)

    def full(name: str, data: bytes) -> None:
        raise Outside("No space left", hint="Free some")

    monkeypatch.setattr(type(shop.studio.objects), "write_record", lambda _self, name, data: full(name, data))
    with pytest.raises(Outside) as refused:
        shop.drain()
    assert refused.value.exit_code == 7
    assert shop.vendor.posts() == []
    monkeypatch.undo()
    assert shop.drain().settled == 1


def test_resolving_by_a_person_ends_a_forgotten_task(shop: Shop, pg_server: server.Server) -> None:
    (task_id,) = shop.order(MediaKind.IMAGE)
    with snapshot(shop, pg_server) as copy:
        shop.drain()
        again = restored(shop, pg_server, copy)
        safety.look(again.studio)
        safety.resume(again.studio, actor=PERSON, note="looked")
        prove_absent_task(again.studio, task_id, actor=PERSON, note="not on the bill")
        assert again.states(task_id) == ("failed", ["rejectedBeforeAcceptance"], "released")
        again.studio.db.close()
