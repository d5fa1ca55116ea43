"""Entries and the balances derived from them, moved in one transaction (V-4, V-5, V-7)."""

from collections.abc import Iterable, Mapping, Sequence

import sqlalchemy as sa

from shortdrama_pipeline.errors import Conflict, InsufficientFunds
from shortdrama_pipeline.rules.ledger import AVAILABLE, Entry, movements
from shortdrama_pipeline.rules.money import Money
from shortdrama_pipeline.store import bulk
from shortdrama_pipeline.store.tables import balances, ledger_entries

_COLUMNS = (
    "business_key",
    "debit_account",
    "credit_account",
    "amount_micros",
    "currency",
    "task_id",
    "facts",
    "actor",
)
_INSERT = sa.text(
    f"insert into ledger_entries ({', '.join(_COLUMNS)})"  # noqa: S608 - names of our columns
    f" select {', '.join(_COLUMNS)} from {bulk.record_set(ledger_entries, _COLUMNS)}"
    " on conflict (business_key) do nothing returning business_key"
)
_OPEN = sa.text(
    "insert into balances (account, currency, balance_micros)"
    " select account, currency, 0 from unnest(cast(:accounts as text[]), cast(:currencies as text[]))"
    " as wanted(account, currency) order by account, currency on conflict do nothing"
)
_KNOWN = sa.text(
    "select account, currency from balances"
    " join unnest(cast(:accounts as text[]), cast(:currencies as text[]))"
    " as wanted(account, currency) using (account, currency)"
)
_MOVE = sa.text(
    "with moved as (select * from unnest(cast(:accounts as text[]), cast(:currencies as text[]),"
    " cast(:deltas as bigint[])) as m(account, currency, delta)),"
    " locked as (select b.account, b.currency, m.delta from balances b join moved m using (account, currency)"
    " order by b.account, b.currency for update of b)"
    " update balances b set balance_micros = b.balance_micros + l.delta from locked l"
    " where b.account = l.account and b.currency = l.currency returning b.account, b.currency"
)
_LOCK = sa.text(
    "select account, currency, balance_micros from balances where account = :account and currency = :currency"
    " for update"
)


def post(tx: sa.Connection, entries: Sequence[Entry], *, actor: str) -> int:
    """Insert entries and move balances, one update per account. Returns how many were new.

    An entry whose business key exists with equal content is skipped, with other content a Conflict.
    Raises InsufficientFunds when a wallet would fall below zero. Set-based: two statements for any number.
    """
    wanted = {each.business_key: each for each in sorted(entries, key=lambda each: each.business_key)}
    if len(wanted) != len(entries):
        raise Conflict("One ledger key twice in one posting", hint="Report this: a program error")
    if not wanted:
        return 0
    rows = [_row(each, actor) for each in wanted.values()]
    new = set(tx.execute(_INSERT, {"rows": bulk.json_text(rows)}).scalars())
    _refuse_other_content(tx, [each for key, each in wanted.items() if key not in new])
    _move(tx, movements(wanted[key] for key in new))
    return len(new)


def lock_balance(tx: sa.Connection, account: str, currency: str) -> Money:
    """Lock an account until the transaction ends and return its balance; an unknown account holds zero."""
    row = tx.execute(_LOCK, {"account": account, "currency": currency}).one_or_none()
    if row is None:
        tx.execute(_OPEN, {"accounts": [account], "currencies": [currency]})
        row = tx.execute(_LOCK, {"account": account, "currency": currency}).one()
    return Money(row.balance_micros, currency)


def load_balances(tx: sa.Connection) -> dict[tuple[str, str], int]:
    """All derived balances by (account, currency)."""
    rows = tx.execute(sa.select(balances).order_by(balances.c.account, balances.c.currency))
    return {(row.account, row.currency): row.balance_micros for row in rows}


def load_entries(tx: sa.Connection, *, limit: int, task_id: str | None = None) -> list[Mapping[str, object]]:
    """The newest entries first."""
    query = sa.select(ledger_entries).order_by(ledger_entries.c.entry_id.desc()).limit(limit)
    if task_id is not None:
        query = query.where(ledger_entries.c.task_id == task_id)
    return [dict(row) for row in tx.execute(query).mappings()]


def _move(tx: sa.Connection, moved: Mapping[tuple[str, str], int]) -> None:
    """Open what is missing before the first balance is locked, so that all locks are taken in one order."""
    if not moved:
        return
    known = {(row.account, row.currency) for row in tx.execute(_KNOWN, _names(moved))}
    missing = [each for each in moved if each not in known]
    if missing:
        tx.execute(_OPEN, _names(missing))
    found = _apply(tx, moved)
    assert found == set(moved)


def _names(accounts: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    pairs = list(accounts)
    return {"accounts": [each for each, _ in pairs], "currencies": [each for _, each in pairs]}


def _apply(tx: sa.Connection, moved: Mapping[tuple[str, str], int]) -> set[tuple[str, str]]:
    bound = {
        "accounts": [account for account, _ in moved],
        "currencies": [currency for _, currency in moved],
        "deltas": list(moved.values()),
    }
    try:
        return {(row.account, row.currency) for row in tx.execute(_MOVE, bound)}
    except sa.exc.IntegrityError as error:
        if "wallet_never_negative" not in str(error.orig):
            raise
        raise InsufficientFunds(
            "The wallet does not hold enough", hint="Top it up: shortdrama wallet top-up", account=AVAILABLE
        ) from error


def _refuse_other_content(tx: sa.Connection, repeated: Sequence[Entry]) -> None:
    if not repeated:
        return
    stored = tx.execute(
        sa.select(ledger_entries).where(
            ledger_entries.c.business_key.in_([each.business_key for each in repeated])
        )
    )
    by_key = {row.business_key: row for row in stored}
    for each in repeated:
        row = by_key[each.business_key]
        same = (row.debit_account, row.credit_account, row.amount_micros, row.currency, row.task_id) == (
            each.debit_account,
            each.credit_account,
            each.amount.micros,
            each.amount.currency,
            each.task_id,
        )
        if not same:
            raise Conflict(
                f"The ledger already holds '{each.business_key}' with other content",
                hint="Use a new key for a new booking; look at it with: shortdrama wallet ledger",
                business_key=each.business_key,
            )


def _row(entry: Entry, actor: str) -> dict[str, object]:
    return {
        "business_key": entry.business_key,
        "debit_account": entry.debit_account,
        "credit_account": entry.credit_account,
        "amount_micros": entry.amount.micros,
        "currency": entry.amount.currency,
        "task_id": entry.task_id,
        "facts": dict(entry.facts),
        "actor": actor,
    }
