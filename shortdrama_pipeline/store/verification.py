"""The invariants of Part IV as read-only SQL: each query returns what breaks it, and nothing else.

A check is a name, what is wrong with a row it returns, and a query of two columns: the id and a detail.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from shortdrama_pipeline.rules.money import Money
from shortdrama_pipeline.rules.statements import Booked
from shortdrama_pipeline.store import tables

PROBLEMS_PER_CHECK_MAX = 20
_COUNTED = (
    tables.ledger_entries,
    tables.balances,
    tables.reservations,
    tables.executions,
    tables.tasks,
    tables.provider_attempts,
    tables.events,
    tables.grants,
    tables.plans,
    tables.versions,
)


@dataclass(frozen=True, slots=True)
class Check:
    """`invariant` names the row of requirements.md."""

    name: str
    invariant: str
    wrong: str
    query: str


@dataclass(frozen=True, slots=True)
class Problem:
    """One broken fact."""

    check: str
    subject_id: str
    message: str

    def to_json(self) -> dict[str, object]:
        return {"check": self.check, "subject_id": self.subject_id, "message": self.message}


LEDGER = (
    Check(
        "ledger_replay", "V-4", "the balance is not the sum of its entries",
        "select account || ' ' || currency, 'stored ' || coalesce(b.balance_micros, 0) || ', replayed '"
        " || coalesce(micros, 0) from balances b full join (select account, currency, sum(delta) as micros"
        " from (select credit_account as account, currency, amount_micros as delta from ledger_entries"
        " union all select debit_account, currency, -amount_micros from ledger_entries) moved"
        " group by account, currency) replayed using (account, currency)"
        " where coalesce(b.balance_micros, 0) <> coalesce(micros, 0)",
    ),
    Check(
        "ledger_zero_sum", "V-4", "the balances of a currency do not sum to zero",
        "select currency, sum(balance_micros)::text from balances group by currency"
        " having sum(balance_micros) <> 0",
    ),
    Check(
        "wallet_not_negative", "V-5", "a wallet is below zero",
        "select account || ' ' || currency, balance_micros::text from balances"
        " where account like 'wallet:%' and balance_micros < 0",
    ),
    Check(
        "open_reservations", "V-5", "open reservations do not add up to the reserved balance",
        "select currency, 'open ' || coalesce(open, 0) || ', reserved ' || coalesce(balance_micros, 0) from"
        " (select currency, sum(amount_micros) as open from reservations"
        " where state in ('reserved', 'settlementPending') group by currency) r"
        " full join (select currency, balance_micros from balances"
        " where account = 'wallet:studio:reserved') b using (currency)"
        " where coalesce(open, 0) <> coalesce(balance_micros, 0)",
    ),
    Check(
        "reservation_entries", "V-6", "the entries of a reservation do not say what its state says",
        "select r.reservation_id, r.state || ', held ' || coalesce(h, 0) || ', settled ' || coalesce(s, 0)"
        " || ', given back ' || coalesce(b, 0) from reservations r left join lateral (select"
        " sum(amount_micros) filter (where business_key = 'hold:' || r.task_id) as h,"
        " sum(amount_micros) filter (where business_key = 'settle:' || r.task_id) as s,"
        " sum(amount_micros) filter (where business_key = 'release:' || r.task_id) as b"
        " from ledger_entries where task_id = r.task_id) e on true"
        " where coalesce(h, 0) <> r.amount_micros or coalesce(s, 0) <> r.settled_micros"
        " or coalesce(b, 0) <> case when r.state = 'released' then r.amount_micros"
        " when r.state = 'settled' then r.amount_micros - r.settled_micros else 0 end",
    ),
    Check(
        "settled_without_deliverable", "V-7", "money was taken without a registered deliverable",
        "select r.reservation_id, r.task_id from reservations r where r.state in ('settled',"
        " 'settlementPending') and not exists (select 1 from provider_attempts a"
        " join versions v using (attempt_id) where a.task_id = r.task_id)",
    ),
    Check(
        "provider_spend", "V-16", "what a vendor charged is not what was booked",
        "select a.attempt_id, 'charged ' || a.provider_cost_micros || ', booked ' || coalesce(booked, 0)"
        " from provider_attempts a join tasks t using (task_id) join reservations r using (task_id)"
        " left join lateral (select sum(amount_micros) as booked from ledger_entries where business_key in"
        " ('spend:' || a.attempt_id, 'overrun:' || a.attempt_id)) e on true"
        " where t.state in ('succeeded', 'failed') and r.state in ('settled', 'released')"
        " and a.provider_cost_micros <> coalesce(booked, 0)",
    ),
)  # fmt: skip

FACTS = (
    Check(
        "confirmed_together", "V-3", "Execution, Tasks, Reservations and Outbox do not stand together",
        "select e.execution_id, 'items ' || jsonb_array_length(p.body->'items') || ', tasks ' || t.tasks"
        " || ', reservations ' || t.reservations || ', outbox ' || o.outboxes || ', Quote ' || q.state"
        " from executions e join quotes q using (quote_id) join plans p using (plan_id)"
        " cross join lateral (select count(*) as tasks, count(r.task_id) as reservations from tasks t"
        " left join reservations r using (task_id) where t.execution_id = e.execution_id) t"
        " cross join lateral (select count(*) as outboxes from outbox o"
        " where o.execution_id = e.execution_id) o"
        " where t.tasks <> jsonb_array_length(p.body->'items') or t.reservations <> t.tasks"
        " or o.outboxes <> 1 or q.state <> 'confirmed'",
    ),
    Check(
        "quote_without_execution", "V-3", "a Quote says confirmed without an Execution",
        "select quote_id, plan_id from quotes q where state = 'confirmed'"
        " and not exists (select 1 from executions e where e.quote_id = q.quote_id)",
    ),
    Check(
        "batch_ceiling", "V-5", "reservations exceed the ceiling that was approved",
        "select e.execution_id, 'reserved ' || r.micros || ', ceiling ' || (p.body->>'ceiling_micros')"
        " from executions e join quotes q using (quote_id) join plans p using (plan_id)"
        " cross join lateral (select coalesce(sum(amount_micros), 0) as micros from tasks t"
        " join reservations r using (task_id) where t.execution_id = e.execution_id) r"
        " where r.micros > (p.body->>'ceiling_micros')::bigint",
    ),
    Check(
        "fence_without_grant", "V-2", "a request was sent outside a live Grant of the same input hash",
        "select a.attempt_id, t.grant_id from provider_attempts a join tasks t using (task_id)"
        " join grants g on g.grant_id = t.grant_id where a.submit_started_at is not null"
        " and (g.input_hash is distinct from t.input_hash or g.expires_at <= a.submit_started_at"
        " or g.revoked_at <= a.submit_started_at or g.created_at > a.submit_started_at)",
    ),
    Check(
        "budget_used", "P-3.7", "a budget's used sum is not that of the Grants minted under it",
        "select b.grant_id, 'used ' || b.used_micros || ', minted ' || coalesce(sum(c.used_micros), 0)"
        " from grants b left join grants c on c.scope->>'budget_grant_id' = b.grant_id"
        " where b.kind = 'budget' group by b.grant_id"
        " having b.used_micros <> coalesce(sum(c.used_micros), 0) or b.uses <> count(c.grant_id)",
    ),
    Check(
        "open_task_has_next_step", "V-10", "an open task has no next action time",
        "select task_id, state from tasks where state not in ('succeeded', 'failed', 'cancelled')"
        " and next_action_at is null",
    ),
    Check(
        "money_follows_task", "P-1.11", "a task has ended and its money is still frozen",
        "select t.task_id, t.state || ', ' || r.state from tasks t join reservations r using (task_id)"
        " where t.state in ('failed', 'cancelled') and r.state <> 'released'",
    ),
    Check(
        "finished_is_kept", "V-11", "a vendor finished a job and nobody works on its result",
        "select j.attempt_id, t.state from provider_jobs j join provider_attempts a using (attempt_id)"
        " join tasks t using (task_id) where j.provider_finished_at is not null"
        " and t.state in ('queued', 'running', 'cancelled')",
    ),
    Check(
        "lease_tokens_grow", "V-12", "a lease token is older than one written before",
        "select entity_id, 'event ' || seq from (select entity_id, seq,"
        " (facts->>'lease_token')::bigint as token,"
        " max((facts->>'lease_token')::bigint) over (partition by entity_id order by seq rows"
        " between unbounded preceding and 1 preceding) as highest from events where entity = 'task') e"
        " where token < highest",
    ),
    Check(
        "sequences_without_holes", "V-13", "the sequences of a week are not 0 to n-1",
        "select kind || ' ' || week_id, 'highest ' || max(sequence) || ' of ' || count(*) from episodes"
        " group by kind, week_id having max(sequence) <> count(*) - 1",
    ),
)  # fmt: skip


def find_problems(tx: sa.Connection, check: Check) -> list[Problem]:
    """Run one check; at most PROBLEMS_PER_CHECK_MAX problems are listed."""
    rows = tx.execute(sa.text(f"{check.query} limit {PROBLEMS_PER_CHECK_MAX}"))
    return [Problem(check.name, str(row[0]), f"{check.wrong}: {row[1]} ({check.invariant})") for row in rows]


def count_facts(tx: sa.Connection) -> dict[str, int]:
    """How many rows the checks look over."""
    return {
        table.name: tx.execute(sa.select(sa.func.count()).select_from(table)).scalar_one()
        for table in _COUNTED
    }


def each_plan(tx: sa.Connection) -> Iterator[tuple[str, Mapping[str, object], str]]:
    """Every PlanSnapshot with the hash it was stored under."""
    for row in tx.execute(sa.text("select plan_id, body, input_hash from plans order by plan_id")):
        yield row.plan_id, row.body, row.input_hash


def each_price(tx: sa.Connection) -> Iterator[tuple[str, Mapping[str, object], str]]:
    """Every published price with its digest."""
    for row in tx.execute(sa.text("select price_version_id, body, digest from price_versions")):
        yield row.price_version_id, row.body, row.digest


def each_file(tx: sa.Connection) -> Iterator[tuple[str, int, str]]:
    """Every stored file with its size and state."""
    for row in tx.execute(sa.text("select sha256, bytes, state from media_files order by sha256")):
        yield row.sha256, row.bytes, row.state


def find_booked(tx: sa.Connection, binding_ids: Sequence[str]) -> list[Booked]:
    """What was booked for every attempt that a vendor of these bindings gave an id, zero included."""
    rows = tx.execute(
        sa.text(
            "select a.attempt_id, a.external_id, coalesce(sum(l.amount_micros), 0)::bigint as micros,"
            " coalesce(max(l.currency), a.provider_currency) as currency from provider_attempts a"
            " join tasks t using (task_id) left join ledger_entries l"
            " on l.business_key in ('spend:' || a.attempt_id, 'overrun:' || a.attempt_id)"
            " where a.external_id is not null and t.binding_id = any(cast(:bindings as text[]))"
            " group by a.attempt_id order by a.attempt_id"
        ),
        {"bindings": list(binding_ids)},
    )
    return [Booked(row.external_id, row.attempt_id, Money(row.micros, row.currency)) for row in rows]
