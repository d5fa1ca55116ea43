"""Every invariant of Part IV: a planted violation is found under its own name and no other (§14)."""

from collections.abc import Callable

import sqlalchemy as sa

from shortdrama_pipeline.rules import ledger as money
from shortdrama_pipeline.rules.ledger import AVAILABLE, RESERVED, REVENUE, Entry
from shortdrama_pipeline.rules.money import Money
from shortdrama_pipeline.services.auditing import verify_all
from shortdrama_pipeline.store import ledger
from shortdrama_pipeline.store.verification import CHECKS
from tests.auditing.conftest import World
from tests.engine.conftest import EPISODE

Plant = Callable[[sa.Connection, World], None]
INVARIANTS = {f"V-{number}" for number in range(1, 17)}


def past_guards(table: str, change: str) -> Plant:
    """Write as somebody who owns the database would: the guards are off for one statement."""

    def plant(tx: sa.Connection, world: World) -> None:
        tx.execute(sa.text(f"alter table {table} disable trigger user"))
        run(change)(tx, world)
        tx.execute(sa.text(f"alter table {table} enable trigger user"))

    return plant


def run(*statements: str) -> Plant:
    """`{done}` and so on are the Tasks of the world, `{done!a}` their Attempts."""

    def plant(tx: sa.Connection, world: World) -> None:
        for statement in statements:
            for name in ("done", "film", "refused", "not_made", "unknown", "cancelled", "queued"):
                task = f"'{getattr(world, name)}'"
                attempt = f"(select attempt_id from provider_attempts where task_id = {task} and number = 1)"
                statement = statement.replace(f"{{{name}!a}}", attempt)  # noqa: PLW2901
                statement = statement.replace(f"{{{name}}}", task)  # noqa: PLW2901
            tx.execute(sa.text(statement))

    return plant


def booked(*entries: Callable[[World], Entry]) -> Plant:
    def plant(tx: sa.Connection, world: World) -> None:
        ledger.post(tx, [each(world) for each in entries], actor="person:thief")

    return plant


def both(*plants: Plant) -> Plant:
    def plant(tx: sa.Connection, world: World) -> None:
        for each in plants:
            each(tx, world)

    return plant


def settled_without_a_deliverable(tx: sa.Connection, world: World) -> None:
    row = tx.execute(
        sa.text(
            "update reservations set state = 'settled', settled_micros = amount_micros,"
            " resolved_at = clock_timestamp() where task_id = :id returning amount_micros"
        ),
        {"id": world.unknown},
    ).one()
    held = Money(row.amount_micros, "CNY")
    ledger.post(tx, money.settle(world.unknown, held=held, charged=held), actor="person:thief")


def money_given_back_before_its_end(tx: sa.Connection, world: World) -> None:
    run(
        "update tasks set state = 'failed', next_action_at = null, reason = '{\"code\": \"x\"}'"
        " where task_id = {unknown}"
    )(tx, world)


MICRO = Money(1, "CNY")
A_SECOND_SEND = run(
    "drop index uq_attempts_one_open_fence",
    "insert into provider_attempts (attempt_id, task_id, number, state, channel, request_digest, lease_token,"
    " worker, provider_cost_micros, provider_currency) select 'attempt_two', task_id, 2, 'prepared', channel,"
    " request_digest, lease_token, worker, 0, 'XRH' from provider_attempts where attempt_id = {unknown!a}",
    "update provider_attempts set state = 'submitStarted', submit_started_at = clock_timestamp()"
    " where attempt_id = 'attempt_two'",
    "update provider_attempts set state = 'outcomeUnknown' where attempt_id = 'attempt_two'",
)
AN_ID_BEFORE_THE_FENCE = run(
    "insert into provider_attempts (attempt_id, task_id, number, state, channel, request_digest, lease_token,"
    " worker, provider_cost_micros, provider_currency, external_id)"
    " values ('attempt_x', {queued}, 1, 'prepared', '{}', '', 0, 'w', 0, 'XRH', 'rq_x')"
)
A_MOVE_NO_RULE_LISTS = both(
    run(
        "alter table tasks disable trigger guard_move",
        "update tasks set state = 'failed', reason = '{\"code\": \"x\"}', version = version + 1,"
        " event_digest = shortdrama_event_digest(event_digest, 'task', task_id, version + 1, 'cancelled',"
        " 'failed', jsonb_build_object('reason', '{\"code\": \"x\"}'::jsonb, 'owner', owner, 'lease_token',"
        " lease_token, 'hold_reason', hold_reason), now()) where task_id = {cancelled}",
        "alter table tasks enable trigger guard_move",
    ),
)
SAME_TOKEN_TWICE = run(
    "update tasks set state = 'running', owner = 'w', expires_at = clock_timestamp() + interval '1 hour',"
    " heartbeat = clock_timestamp(), next_action_at = clock_timestamp() + interval '1 hour'"
    " where task_id = {queued}",
    "update tasks set state = 'queued' where task_id = {queued}",
    "update tasks set state = 'running' where task_id = {queued}",
)
A_FILE_NOBODY_JUDGED = run(
    "insert into media_files (sha256, bytes, media_type, state, probe)"
    " values ('abc', 1, 'image/png', 'staging', '{}')",
    "insert into versions (version_id, kind, episode_id, subject, role, number, digest, content, sha256,"
    f" provenance, actor) values ('ver_x', 'AssetVersion', '{EPISODE}', 'prop:o9', 'reference', 1, '',"
    " '{}', 'abc', '{}', 'person:thief')",
)
A_RESULT_REGISTERED_TWICE = run(
    "alter table versions drop constraint uq_versions_attempt_id_slot",
    "insert into versions (version_id, kind, episode_id, subject, role, number, digest, content, sha256,"
    " attempt_id, slot, provenance, actor) select 'ver_two', kind, episode_id, subject, role, number + 1,"
    " digest, content, sha256, attempt_id, slot, provenance, actor from versions"
    " where attempt_id = {done!a}",
)
THE_SAME_KEY_AGAIN = run(
    "alter table ledger_entries drop constraint uq_ledger_entries_business_key",
    "insert into ledger_entries (business_key, debit_account, credit_account, amount_micros, currency, facts,"
    " actor) select business_key, debit_account, credit_account, amount_micros, currency, facts, actor"
    " from ledger_entries where business_key like 'topup%'",
    "update balances set balance_micros = balance_micros + 1000000000"
    " where account = 'wallet:studio:available'",
    "update balances set balance_micros = balance_micros - 1000000000 where account = 'studio:topup'",
)


def an_episode(sequence: int, key: str, episode_id: str) -> str:
    return (
        "insert into episodes (episode_id, kind, week_id, sequence, allocation_key, time_zone, scheduled_for,"
        f" state, actor) values ('{episode_id}', 'episode', '2026-W32', {sequence}, '{key}', 'Asia/Shanghai',"
        " now(), 'live', 'person:thief')"
    )


VIOLATIONS: dict[str, tuple[str, Plant]] = {
    "a request other than the one fenced": (
        "V-1",
        past_guards(
            "provider_attempts",
            "update provider_attempts set request_digest = 'sha256:other' where task_id = {unknown}",
        ),
    ),
    "a second send beside an open one": ("V-1", A_SECOND_SEND),
    "an external id before the fence": ("V-1", AN_ID_BEFORE_THE_FENCE),
    "a Grant that had expired": ("V-2", run("update grants set expires_at = created_at")),
    "a Grant that was revoked": ("V-2", run("update grants set revoked_at = created_at")),
    "a Grant for another input": ("V-2", past_guards("grants", "update grants set input_hash = 'sha256:x'")),
    "a Grant without the item": (
        "V-2",
        past_guards("grants", "update grants set scope = jsonb_set(scope, '{items}', '[]')"),
    ),
    "a send on another channel": (
        "V-2",
        past_guards(
            "provider_attempts",
            "update provider_attempts set channel = jsonb_set(channel, '{binding_id}', '\"other\"')"
            " where task_id = {unknown}",
        ),
    ),
    "an Outbox row gone": ("V-3", past_guards("outbox", "delete from outbox")),
    "a Reservation gone": (
        "V-3",
        past_guards("reservations", "delete from reservations where task_id = {cancelled}"),
    ),
    "a confirmed Quote of nothing": (
        "V-3",
        run(
            "insert into quotes (quote_id, plan_id, input_hash, total_micros, currency, expires_at, state,"
            " actor) select 'quote_x', plan_id, input_hash, 0, 'CNY', now(), 'confirmed', 'person:thief'"
            " from plans limit 1"
        ),
    ),
    "a balance flipped": (
        "V-4",
        run("update balances set balance_micros = balance_micros + 1 where account = 'studio:revenue'"),
    ),
    "an entry changed": (
        "V-4",
        past_guards(
            "ledger_entries",
            "update ledger_entries set amount_micros = amount_micros + 1 where business_key like 'topup%'",
        ),
    ),
    "an entry removed": (
        "V-4",
        past_guards("ledger_entries", "delete from ledger_entries where business_key like 'topup%'"),
    ),
    "entries that may be changed": (
        "V-4",
        run("alter table ledger_entries disable trigger ledger_entries_append_only"),
    ),
    "a wallet below zero": (
        "V-5",
        both(
            run("alter table balances drop constraint ck_balances_wallet_never_negative"),
            booked(lambda _: Entry("x", AVAILABLE, REVENUE, Money(10**12, "CNY"))),
        ),
    ),
    "money frozen for nothing": ("V-5", booked(lambda _: Entry("x", AVAILABLE, RESERVED, MICRO))),
    "a batch above its ceiling": (
        "V-5",
        past_guards("plans", "update plans set body = jsonb_set(body, '{ceiling_micros}', '1')"),
    ),
    "more given back than was left": (
        "V-6",
        booked(lambda world: Entry(f"release:{world.done}", REVENUE, AVAILABLE, MICRO, world.done)),
    ),
    "money taken for nothing": ("V-7", settled_without_a_deliverable),
    "the user charged twice": (
        "V-7",
        booked(
            lambda world: Entry("x", AVAILABLE, RESERVED, MICRO, world.done),
            lambda world: Entry("y", RESERVED, REVENUE, MICRO, world.done),
        ),
    ),
    "one business key twice": ("V-7", THE_SAME_KEY_AGAIN),
    "one result, two versions": ("V-8", A_RESULT_REGISTERED_TWICE),
    "two Attempts, one result": (
        "V-8",
        past_guards(
            "provider_attempts",
            "update provider_attempts set external_id = (select external_id from provider_attempts"
            " where attempt_id = {done!a}) where attempt_id = {unknown!a}",
        ),
    ),
    "a move no rule lists": ("V-9", A_MOVE_NO_RULE_LISTS),
    "an end that changed": (
        "V-9",
        past_guards(
            "tasks", "update tasks set reason = '{\"code\": \"other\"}' where task_id = {refused}"
        ),
    ),
    "states that may move freely": ("V-9", run("alter table tasks disable trigger guard_move")),
    "a task nobody will look at": (
        "V-10",
        run(
            "alter table tasks drop constraint ck_tasks_open_has_next_action",
            "update tasks set next_action_at = null where task_id = {unknown}",
        ),
    ),
    "a task that waits for no reason": (
        "V-10",
        run("update tasks set reason = null where task_id = {unknown}"),
    ),
    "a task at work for nobody": (
        "V-10",
        run("update tasks set state = 'running', lease_token = 1 where task_id = {queued}"),
    ),
    "a task with which nothing may be done": (
        "V-10",
        run(
            "update provider_attempts set state = 'rejectedBeforeAcceptance',"
            " evidence = '{\"proof\": \"absence\"}' where task_id = {unknown}"
        ),
    ),
    "a finished job whose result is lost": (
        "V-11",
        past_guards(
            "provider_attempts",
            "update provider_attempts set result = '{\"outputs\": [{\"sha256\": \"abc\"}]}'"
            " where attempt_id = {not_made!a}",
        ),
    ),
    "a quarantined file without a record": (
        "V-11",
        run(
            "insert into media_files (sha256, bytes, media_type, state, probe)"
            " values ('abc', 1, 'image/png', 'staging', '{}')",
            "update media_files set state = 'quarantined' where sha256 = 'abc'",
        ),
    ),
    "a version on a file nobody judged": ("V-11", A_FILE_NOBODY_JUDGED),
    "an attempt ahead of its lease": (
        "V-12",
        run("update provider_attempts set lease_token = lease_token + 5 where task_id = {unknown}"),
    ),
    "a lease that fell back": (
        "V-12",
        past_guards("tasks", "update tasks set lease_token = 0 where task_id = {unknown}"),
    ),
    "one lease token won twice": ("V-12", SAME_TOKEN_TWICE),
    "a hole in a week": ("V-13", run(an_episode(5, "other", "2026-W32-5"))),
    "one key, two episodes": (
        "V-13",
        run(
            "alter table episodes drop constraint uq_episodes_kind_allocation_key",
            an_episode(1, "key", "2026-W32-1"),
        ),
    ),
    "an id that is not its week and number": ("V-13", run(an_episode(1, "other", "wrong"))),
    "media in an alert": (
        "V-14",
        run(
            "insert into alerts (alert_id, kind, entity_id, message, facts)"
            " values ('alert_x', 'x', 'x', repeat('QUJD', 500), '{}')"
        ),
    ),
    "a cost nobody booked": (
        "V-16",
        past_guards(
            "provider_attempts",
            "update provider_attempts set provider_cost_micros = provider_cost_micros + 1"
            " where attempt_id = {done!a}",
        ),
    ),
    "a charge of nobody": (
        "V-16",
        booked(lambda _: Entry("spend:ghost", "spend:x", "vendor:x", Money(1, "XRH"))),
    ),
    "an ended task with its money frozen": ("P-1.11", money_given_back_before_its_end),
    "a budget used by nobody": (
        "P-3.7",
        run(
            "insert into grants (grant_id, kind, limit_micros, used_micros, currency, uses, scope,"
            " expires_at, actor) values ('grant_x', 'budget', 10, 5, 'CNY', 1, '{}', now(), 'person:thief')"
        ),
    ),
    "a byte of the history flipped": (
        "G-204",
        past_guards(
            "events",
            "update events set facts = facts || '{\"x\": 1}' where entity_id = {unknown} and seq = 1",
        ),
    ),
    "the last event removed": (
        "G-204",
        past_guards(
            "events",
            "delete from events e where entity_id = {unknown} and seq = (select max(seq) from events"
            " where entity_id = {unknown})",
        ),
    ),
    "a digest flipped": (
        "G-204",
        past_guards("tasks", "update tasks set event_digest = 'x' where task_id = {unknown}"),
    ),
}  # fmt: skip


def named(tx: sa.Connection, *, at_rest: bool = False) -> set[str]:
    return {each.invariant for check in CHECKS.values() for each in check.find(tx, at_rest=at_rest)}


def test_each_planted_violation_is_found_under_its_own_name(world: World) -> None:
    found = {}
    for name, (_, plant) in VIOLATIONS.items():
        with world.shop.studio.db.engine.connect() as tx:
            plant(tx, world)
            found[name] = named(tx)
            tx.rollback()
    assert found == {name: {invariant} for name, (invariant, _) in VIOLATIONS.items()}
    assert INVARIANTS - {"V-15"} <= {invariant for invariant, _ in VIOLATIONS.values()}


def test_a_studio_in_which_everything_has_happened_breaks_nothing(world: World) -> None:
    verified = verify_all(world.shop.studio, at_rest=True)
    assert verified.problems == ()
    assert set(CHECKS) >= INVARIANTS


def test_what_is_due_at_rest_is_named_and_a_live_database_is_given_time(world: World) -> None:
    world.shop.make_due()
    with world.shop.studio.db.read() as tx:
        assert named(tx, at_rest=True) == {"V-15"}
        assert named(tx) == set()


def test_a_check_asked_about_some_tasks_leaves_the_others_alone(world: World) -> None:
    with world.shop.studio.db.engine.connect() as tx:
        run("update tasks set reason = null where task_id = {unknown}")(tx, world)
        assert [each.subject for each in CHECKS["V-10"].find(tx, [world.unknown])] == [world.unknown]
        assert CHECKS["V-10"].find(tx, [world.done, world.queued]) == []
        for check in CHECKS.values():
            check.find(tx, [world.done])
        tx.rollback()


def test_a_problem_says_which_row_and_what_to_do(world: World) -> None:
    with world.shop.studio.db.engine.connect() as tx:
        run("update tasks set reason = null where task_id = {unknown}")(tx, world)
        (problem,) = CHECKS["V-10"].find(tx)
        tx.rollback()
    assert problem.to_json().keys() == {"invariant", "subject", "what", "hint"}
    assert problem.subject == world.unknown
    assert "needsReconciliation" in problem.what
    assert problem.hint
