"""The wallet: filled once per key, never below zero, its book never changed."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
import sqlalchemy as sa

from shortdrama_pipeline.errors import Conflict, GrantRefused, InsufficientFunds, UsageError
from shortdrama_pipeline.rules.ledger import AVAILABLE, REVENUE, Entry
from shortdrama_pipeline.rules.ledger import top_up as top_up_entry
from shortdrama_pipeline.rules.money import Money
from shortdrama_pipeline.services.auditing import verify_all, verify_ledger
from shortdrama_pipeline.services.confirming import confirm_quote
from shortdrama_pipeline.services.wallets import list_entries, show_wallet, top_up
from shortdrama_pipeline.store import ledger
from tests.money.conftest import IMAGE_MICROS, PERSON, Rich, image

CNY = Money(1_000_000, "CNY")


def test_a_top_up_counts_once_per_key(rich: Rich) -> None:
    wallets = [top_up(rich.studio, CNY, key="again", actor=PERSON) for _ in range(2)]
    assert [each.available.micros for each in wallets] == [101_000_000, 101_000_000]
    with pytest.raises(Conflict):
        top_up(rich.studio, Money(2, "CNY"), key="again", actor=PERSON)


def test_parallel_top_ups_under_one_key_count_once(rich: Rich) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: top_up(rich.studio, CNY, key="one", actor=PERSON), range(8)))
    assert show_wallet(rich.studio).available.micros == 101_000_000


def test_what_is_no_top_up_is_refused(rich: Rich) -> None:
    for amount, key in ((Money(1, "USD"), "k"), (Money(0, "CNY"), "k"), (CNY, " ")):
        with pytest.raises(UsageError):
            top_up(rich.studio, amount, key=key, actor=PERSON)
    with pytest.raises(GrantRefused):
        top_up(rich.studio, CNY, key="k", actor="agent:director")


def test_racing_confirms_never_take_the_wallet_below_zero(rich: Rich) -> None:
    rich.run(
        "update balances set balance_micros = :left where account = :a", left=7 * IMAGE_MICROS, a=AVAILABLE
    )
    quotes = [rich.plan([image(each)]).quote_id for each in range(16)]
    barrier = Barrier(16)

    def click(quote_id: str) -> bool:
        barrier.wait()
        try:
            return confirm_quote(rich.studio, quote_id, idempotency_key=quote_id, actor=PERSON).created
        except InsufficientFunds:
            return False

    with ThreadPoolExecutor(16) as pool:
        assert sum(pool.map(click, quotes)) == 7
    assert show_wallet(rich.studio).available.micros == 0


def test_the_database_itself_refuses_a_wallet_below_zero(rich: Rich) -> None:
    with pytest.raises(InsufficientFunds), rich.db.begin() as tx:
        ledger.post(tx, [Entry("x", AVAILABLE, REVENUE, Money(10**12, "CNY"))], actor=PERSON)
    assert rich.count("ledger_entries") == 1


def test_a_business_key_with_other_content_is_a_conflict_and_with_equal_content_nothing(rich: Rich) -> None:
    entry = Entry("x", AVAILABLE, REVENUE, Money(1, "CNY"))
    with rich.db.begin() as tx:
        assert ledger.post(tx, [entry], actor=PERSON) == 1
        assert ledger.post(tx, [entry, top_up_entry("y", CNY)], actor=PERSON) == 1
    for other in (
        Entry("x", AVAILABLE, REVENUE, Money(2, "CNY")),
        Entry("x", REVENUE, AVAILABLE, Money(1, "CNY")),
    ):
        with pytest.raises(Conflict), rich.db.begin() as tx:
            ledger.post(tx, [other], actor=PERSON)
    assert verify_ledger(rich.studio).ok


def test_opposite_transfers_in_parallel_neither_deadlock_nor_lose_a_micro(rich: Rich) -> None:
    accounts = ["spend:b", "vendor:a", "studio:x", "platform:y"]

    def move(number: int) -> None:
        debit, credit = accounts[number % 4], accounts[(number + 1 + number % 3) % 4]
        pair = [
            Entry(f"{number}-a", debit, credit, Money(number + 1, "XRH")),
            Entry(f"{number}-b", credit, accounts[(number + 2) % 4], Money(3, "XRH"))
            if credit != accounts[(number + 2) % 4]
            else Entry(f"{number}-b", debit, credit, Money(3, "XRH")),
        ]
        with rich.db.begin() as tx:
            ledger.post(tx, pair, actor=PERSON)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(move, range(80)))
    assert verify_ledger(rich.studio).ok


APPEND_ONLY = {
    "ledger_entries": "actor = 'person:thief'",
    "price_versions": "body = '{}'",
    "audit_log": "actor = 'person:thief'",
    "plans": "body = '{}'",
    "executions": "answer = '{}'",
    "events": "to_state = 'settled'",
}


def test_the_database_refuses_to_change_or_remove_what_was_written(rich: Rich) -> None:
    confirm_quote(rich.studio, rich.plan().quote_id, idempotency_key="k", actor=PERSON)
    for table, change in APPEND_ONLY.items():
        for statement in (
            f"update {table} set {change}",
            f"delete from {table}",
            f"truncate {table} cascade",
        ):
            with pytest.raises(sa.exc.IntegrityError, match="append-only"):
                rich.run(statement)


@pytest.mark.parametrize(
    "change",
    [
        "grants set limit_micros = limit_micros + 1",
        "grants set expires_at = expires_at + interval '1 second'",
        "grants set used_micros = used_micros - 1",
        "grants set scope = '{}'",
        "grants set input_hash = 'sha256:0'",
        "quotes set total_micros = 0",
        "quotes set state = 'open'",
        "quotes set expires_at = expires_at + interval '1 second'",
        "reservations set amount_micros = amount_micros + 1",
    ],
)
def test_the_database_refuses_to_enlarge_what_was_authorised(rich: Rich, change: str) -> None:
    confirm_quote(rich.studio, rich.plan([image(1)]).quote_id, idempotency_key="k", actor=PERSON)
    with pytest.raises(sa.exc.IntegrityError):
        rich.run(f"update {change}")


def test_the_ledger_names_every_step(rich: Rich) -> None:
    confirm_quote(rich.studio, rich.plan([image(1)]).quote_id, idempotency_key="k", actor=PERSON)
    keys = [str(each["business_key"]).split(":")[0] for each in list_entries(rich.studio)]
    assert keys == ["hold", "topup"]


def test_a_free_quote_is_confirmed_the_same_way(rich: Rich) -> None:
    rich.run(
        "insert into price_versions (price_version_id, binding_id, digest, body, actor)"
        " select 'price_free', binding_id, 'd', jsonb_set(body, '{user,micros_per_unit}', '\"0\"'), actor"
        " from price_versions where binding_id = 'rehearsal-image'"
    )
    planned = rich.plan([image(1)])
    assert planned.total.micros == 0
    assert confirm_quote(rich.studio, planned.quote_id, idempotency_key="k", actor=PERSON).created
    assert rich.t1_rows() == {"executions": 1, "tasks": 1, "reservations": 1, "outbox": 1, "grants": 1}
    assert [each.invariant for each in verify_all(rich.studio).problems] == ["D-23"]  # the forged one


FLIPS = {
    "V-4": (
        "balances",
        "update balances set balance_micros = balance_micros + 1 where account like 'studio%'",
    ),
    "V-6": (
        "ledger_entries",
        "update ledger_entries set amount_micros = 1 where business_key like 'hold%'",
    ),
    "V-5": ("reservations", "update reservations set amount_micros = 1"),
    "G-204": ("events", "update events set facts = facts || '{\"x\": 1}' where seq = 1"),
    "P-3.1": ("plans", "update plans set body = jsonb_set(body, '{ceiling_micros}', '999999')"),
    "D-23": ("price_versions", "update price_versions set digest = 'x'"),
    "V-3": ("outbox", "delete from outbox"),
}


@pytest.mark.parametrize(
    ("invariant", "table", "flip"), [(invariant, *flip) for invariant, flip in FLIPS.items()], ids=FLIPS
)
def test_the_verifier_finds_what_was_flipped_behind_its_back(
    rich: Rich, invariant: str, table: str, flip: str
) -> None:
    confirm_quote(rich.studio, rich.plan().quote_id, idempotency_key="k", actor=PERSON)
    assert verify_all(rich.studio).ok
    rich.run(f"alter table {table} disable trigger user; {flip}; alter table {table} enable trigger user")
    assert invariant in {each.invariant for each in verify_all(rich.studio).problems}
