"""P-13.4 in every state there is: what is open does what its name says, the rest is refused with a way."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from shortdrama_pipeline.cli import app, output, session
from shortdrama_pipeline.errors import Refusal
from shortdrama_pipeline.rules.states import MediaKind
from shortdrama_pipeline.rules.task_actions import TaskAction
from shortdrama_pipeline.services.recovering import recover
from shortdrama_pipeline.services.task_actions import list_tasks, query_task, show_task
from shortdrama_pipeline.store import tasks
from tests.engine.conftest import PERSON, QUICK, Shop
from tests.engine.crashing import crash_after_claim
from tests.engine.test_faults import BREAK_LEDGER, BREAK_REGISTRATION
from tests.fake_vendor import Fault, Job, Json, error

IMAGE, VIDEO = MediaKind.IMAGE, MediaKind.VIDEO
Scene = Callable[[Shop], str]


def queued(shop: Shop) -> str:
    return shop.order(IMAGE)[0]


def held(shop: Shop) -> str:
    shop.vendor.script("images", error(402, "insufficient_balance"))
    (task_id,) = shop.order(IMAGE)
    shop.drain()
    return task_id


def running(shop: Shop) -> str:
    (task_id,) = shop.order(IMAGE)
    crash_after_claim(shop, task_id)
    shop.run("update tasks set expires_at = clock_timestamp() + interval '1 hour'")
    return task_id


def waiting(shop: Shop) -> str:
    shop.vendor.polls_until_done = 10_000
    (task_id,) = shop.order(VIDEO)
    shop.drain(seconds_max=1)
    return task_id


def silent(shop: Shop) -> str:
    shop.with_contract(lookup_by_client_id=False)
    shop.vendor.script("videos", Fault(accepts=True, then="drop"))
    (task_id,) = shop.order(VIDEO)
    shop.drain()
    return task_id


def unusable(shop: Shop) -> str:
    shop.vendor.file_faults += [Fault(answer="<html>" * 90)]
    (task_id,) = shop.order(VIDEO)
    shop.drain()
    return task_id


def unregistered(shop: Shop) -> str:
    shop.run(BREAK_REGISTRATION)
    (task_id,) = shop.order(VIDEO)
    shop.drain()
    shop.run("drop trigger no_row on versions")
    return task_id


def delivered(shop: Shop) -> str:
    (task_id,) = shop.order(IMAGE)
    shop.drain()
    return task_id


def uncharged(shop: Shop) -> str:
    (task_id,) = shop.order(IMAGE)
    shop.run(BREAK_LEDGER)
    shop.drain()
    shop.run("drop trigger no_ledger on ledger_entries")
    return task_id


def refused(shop: Shop) -> str:
    shop.vendor.script("images", error(422, "content_refused"))
    (task_id,) = shop.order(IMAGE)
    shop.drain()
    return task_id


def cancelled(shop: Shop) -> str:
    (task_id,) = shop.order(IMAGE)
    with shop.studio.db.begin() as tx:
        tasks.cancel(tx, [task_id], actor=PERSON)
    shop.run("update reservations set state = 'released', resolved_at = now()")
    return task_id


def late(shop: Shop) -> str:
    task_id = waiting(shop)
    shop.run("update tasks set deadline_at = clock_timestamp()")
    recover(shop.studio, pace=QUICK)
    return task_id


SCENES: list[tuple[Scene, tuple[str, str], set[str]]] = [
    (queued, ("queued", "reserved"), {"cancel"}),
    (held, ("queued", "reserved"), {"cancel", "release-hold"}),
    (running, ("running", "reserved"), set()),
    (waiting, ("waitingProvider", "reserved"), {"query"}),
    (silent, ("needsReconciliation", "reserved"), {"query", "resolve"}),
    (unusable, ("needsReconciliation", "reserved"), {"query", "transfer"}),
    (unregistered, ("needsReconciliation", "reserved"), {"transfer"}),
    (delivered, ("succeeded", "settled"), {"compensate", "regenerate"}),
    (uncharged, ("succeeded", "settlementPending"), {"regenerate"}),
    (refused, ("failed", "released"), {"regenerate"}),
    (cancelled, ("cancelled", "released"), {"regenerate"}),
    (late, ("failed", "released"), {"query", "regenerate"}),
]
COMMANDS: dict[str, tuple[str, ...]] = {
    "cancel": ("cancel",),
    "query": ("query",),
    "transfer": ("transfer",),
    "regenerate": ("regenerate",),
    "compensate": ("compensate", "--note", "n"),
    "release-hold": ("release-hold",),
    "resolve": ("absent", "--note", "n"),
}
LEDGER_ONLY = {"ledger_entries", "balances"}


class Shell:
    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *words: str) -> tuple[int, Any]:
        self._capsys.readouterr()
        code = app.run([*words, "--json", "--actor", PERSON])
        return code, json.loads(self._capsys.readouterr().out)


@pytest.fixture
def shell(shop: Shop, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shell:
    monkeypatch.setattr(output, "options", output.Options())
    monkeypatch.setattr(session, "open_studio", lambda: shop.studio)
    return Shell(capsys)


@pytest.mark.parametrize(("scene", "stands", "open_now"), SCENES, ids=[each[0].__name__ for each in SCENES])
def test_what_is_not_open_is_refused_with_a_way_and_changes_nothing(
    shop: Shop, shell: Shell, scene: Scene, stands: tuple[str, str], open_now: set[str]
) -> None:
    task_id = scene(shop)
    assert shop.states(task_id)[::2] == stands
    assert set(show_task(shop.studio, task_id)["actions"]) == open_now
    before, posts = shop.snapshot(), len(shop.vendor.posts())
    for action in set(TaskAction) - open_now:
        verb, *more = COMMANDS[action]
        code, told = shell("task", verb, task_id, *more)
        assert code == 4, (action, told)
        hint = told["error"]["hint"]
        assert "task show" in hint or any(f"task {each} " in hint for each in open_now) or "adopt" in hint, (
            hint
        )
    assert shop.snapshot() == before
    assert len(shop.vendor.posts()) == posts


@pytest.mark.parametrize(("scene", "stands", "open_now"), SCENES, ids=[each[0].__name__ for each in SCENES])
def test_what_is_open_does_what_its_name_says_and_says_what_it_may_cost(
    shop: Shop, shell: Shell, scene: Scene, stands: tuple[str, str], open_now: set[str]
) -> None:
    task_id = scene(shop)
    posts, executions = len(shop.vendor.posts()), len(shop.rows("select 1 from executions"))
    for action in sorted(open_now, key=lambda each: each == "regenerate"):
        seen, before = len(shop.vendor.seen), shop.snapshot()
        verb, *more = COMMANDS[action]
        code, told = shell("task", verb, task_id, *more)
        if code == 4:  # the action before it closed it
            assert action not in show_task(shop.studio, task_id)["actions"]
            continue
        assert code == 0, (action, told)
        assert told["may_cost"] is (action == "regenerate")
        if action == "regenerate":
            assert told["quote_id"]
        if action == "compensate":
            now = shop.snapshot()
            assert {name for name in now if now[name] != before[name]} == LEDGER_ONLY
            assert len(shop.vendor.seen) == seen
        if action in {"compensate", "cancel", "release-hold", "resolve", "regenerate"}:
            assert len(shop.vendor.seen) == seen
    assert len(shop.vendor.posts()) == posts
    assert len(shop.rows("select 1 from executions")) == executions


def test_who_asked_and_when_stands_in_the_audit_log(shop: Shop) -> None:
    task_id = waiting(shop)
    query_task(shop.studio, task_id, actor=PERSON)
    (row,) = shop.rows("select * from audit_log where action = 'task.query'")
    assert (row["actor"], row["subject_id"]) == (PERSON, task_id)


# --- F13 ------------------------------------------------------------------------------------------------


def lose_access(shop: Shop, home: Path, key: str) -> str:
    task_id = waiting(shop)
    (home / "rehearsal" / "key").write_text(key)
    shop.vendor.polls_until_done = 1
    recover(shop.studio, pace=QUICK)
    return task_id


def test_f13_another_key_is_never_used_without_a_persons_word_for_the_same_account(
    shop: Shop, home: Path
) -> None:
    task_id = lose_access(shop, home, "a new key of the same account")
    seen = len(shop.vendor.seen)
    with pytest.raises(Refusal, match="not the one this job was sent with") as caught:
        query_task(shop.studio, task_id, actor=PERSON)
    assert "--same-account" in caught.value.hint
    assert len(shop.vendor.seen) == seen
    query_task(shop.studio, task_id, actor=PERSON, same_account="rotated on 3 May, ticket 12")
    shop.drain()
    assert shop.states(task_id) == ("succeeded", ["completed"], "settled")
    (row,) = shop.rows("select * from credential_successions")
    assert (row["actor"], row["evidence"]) == (PERSON, "rotated on 3 May, ticket 12")
    (word,) = shop.rows("select * from audit_log where action = 'credential.same-account'")
    assert word["actor"] == PERSON
    assert len(shop.vendor.posts()) == 1
    texts = json.dumps([*shop.rows("select * from credential_successions"), word], default=str)
    assert "a new key" not in texts


def test_f13_a_word_for_one_key_is_no_word_for_the_next(shop: Shop, home: Path) -> None:
    shop.vendor.polls_until_done = 10_000
    task_id = lose_access(shop, home, "second key")
    shop.vendor.polls_until_done = 10_000
    query_task(shop.studio, task_id, actor=PERSON, same_account="rotated")
    (home / "rehearsal" / "key").write_text("third key")
    seen = [each for each in shop.vendor.seen if "third" in each.headers.get("authorization", "")]
    recover(shop.studio, pace=QUICK)
    with pytest.raises(Refusal):
        query_task(shop.studio, task_id, actor=PERSON)
    assert seen == []
    assert not [each for each in shop.vendor.seen if "third" in each.headers.get("authorization", "")]


# --- D-7, P-13.1, P-13.3 ----------------------------------------------------------------------------------


def test_d7_a_bill_above_the_reservation_is_the_platforms_with_an_alarm(shop: Shop) -> None:
    def dear(job: Job) -> Json | None:
        return shop.vendor.finished(job) | {"charged_micros": 900_000_000}

    shop.vendor.on_query = dear
    (task_id,) = shop.order(VIDEO)
    (allowed,) = shop.rows("select (request->>'cost_micros_max')::bigint as micros from tasks")
    (price,) = shop.rows("select amount_micros from reservations")
    shop.drain()
    assert shop.states(task_id) == ("succeeded", ["completed"], "settled")
    balances = shop.balances()
    assert balances["studio:revenue CNY"] == price["amount_micros"]
    assert balances["vendor:rehearsal-video XRH"] == 900_000_000
    assert balances["spend:rehearsal-video XRH"] == -allowed["micros"]
    assert balances["platform:compensation XRH"] == allowed["micros"] - 900_000_000
    assert shop.rows("select 1 from alerts where kind = 'billed_above_ceiling'")


VENDOR_WORDS = re.compile(
    r"vendor text|rv_\d|rq_\d|content_refused|insufficient_balance|sublimated|127\.0\.0"
)
TROUBLES: list[Scene] = [held, waiting, silent, unusable, unregistered, uncharged, refused, late]


def stuck(shop: Shop) -> str:
    shop.vendor.on_query = lambda _job: {"status": "sublimated"}
    (task_id,) = shop.order(VIDEO)
    shop.drain()
    return task_id


@pytest.mark.parametrize("scene", [*TROUBLES, stuck], ids=lambda scene: scene.__name__)
def test_p13_1_the_users_view_of_every_trouble_has_no_vendor_word_and_no_vendor_id(
    shop: Shop, scene: Scene
) -> None:
    task_id = scene(shop)
    (listed,) = [each for each in list_tasks(shop.studio) if each["task_id"] == task_id]
    assert not VENDOR_WORDS.search(json.dumps(listed, default=str))
    assert {"stage", "subject", "started_at", "text", "money", "actions"} <= set(listed)
    assert listed["text"]


@pytest.mark.parametrize("scene", [*TROUBLES, stuck], ids=lambda scene: scene.__name__)
def test_p13_3_the_administrators_view_has_all_six_and_no_secret(shop: Shop, scene: Scene) -> None:
    task_id = scene(shop)
    shown = show_task(shop.studio, task_id)
    if scene not in {waiting, uncharged}:
        assert (shown["reason"] or shown["hold_reason"])["code"]
    assert shown["attempts"]
    assert "external_id" in shown["attempts"][0]
    assert shown["attempts"][0]["channel"]["contract_version"]
    assert {"lease_token", "owner", "expires_at", "heartbeat"} <= set(shown)
    assert isinstance(shown["actions"], list)
    text = json.dumps(shown, default=str)
    assert "rehearsal-key-of-tests" not in text
    assert "vendor text" not in text
