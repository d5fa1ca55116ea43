"""What happens to held money, set-based: for the engine, which calls these inside its transactions.

    request_settlement_many(tx, task_ids)                     reserved -> settlementPending
    settle_many(tx, settlements, bills=..., actor=...)        reserved | settlementPending -> settled
    release_many(tx, task_ids, reason=..., bills=..., actor=...)   reserved -> released
    book_spend_many(tx, bills, actor=...)                     vendor costs only (D-15, D-7)

Each may be repeated: what is already so is skipped and nothing is booked twice (V-6, V-7). `version`,
the history row and unlisted moves are the trigger's business (`guards.py`). A reservation that cannot
move is reported, never forced: its state stands in `Moved.refused`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import sqlalchemy as sa

from shortdrama_pipeline.errors import Fact
from shortdrama_pipeline.ids import new_id
from shortdrama_pipeline.rules import ledger as rules
from shortdrama_pipeline.rules.ledger import Bill, Entry
from shortdrama_pipeline.rules.money import Money
from shortdrama_pipeline.rules.reservations import (
    Released,
    ReservationEvent,
    Settled,
    SettlementAsked,
    legal_from,
    target,
)
from shortdrama_pipeline.rules.states import ReservationState
from shortdrama_pipeline.store import bulk, ledger


@dataclass(frozen=True, slots=True)
class Settlement:
    """Charge one delivered task: None is the whole held price, and more than that is cut to it (P-3.5)."""

    task_id: str
    charged_micros: int | None = None


@dataclass(frozen=True, slots=True)
class Moved:
    """Task ids that moved now, those already there, and those that may not move, with their state."""

    moved: tuple[str, ...] = ()
    already: tuple[str, ...] = ()
    refused: Mapping[str, str] = field(default_factory=dict)


_MOVE = """
update reservations r
   set state = :to, reason = coalesce(cast(:reason as jsonb), r.reason),
       settled_micros = case when :to = 'settled'
                             then least(coalesce(w.charged, r.amount_micros), r.amount_micros) else 0 end,
       resolved_at = case when :to in ('settled', 'released') then clock_timestamp() end
  from (select r.reservation_id, w.charged
          from unnest(cast(:task_ids as text[]), cast(:charged as bigint[])) as w(task_id, charged)
          join reservations r using (task_id)
         where r.state = any(cast(:legal_from as text[])) {delivered}
         order by r.task_id for update of r) w
 where r.reservation_id = w.reservation_id
returning r.task_id, r.amount_micros, r.settled_micros, r.currency
"""
# V-7: nothing is charged for a task without a registered deliverable.
_DELIVERED = """
  and exists (select 1 from provider_attempts a join versions v on v.attempt_id = a.attempt_id
               where a.task_id = r.task_id)
"""
_MOVE_ANY = sa.text(_MOVE.format(delivered=""))
_MOVE_DELIVERED = sa.text(_MOVE.format(delivered=_DELIVERED))
_STATES = sa.text("select task_id, state from reservations where task_id = any(cast(:task_ids as text[]))")
_ALERT = sa.text(
    "insert into alerts (alert_id, kind, entity_id, message, facts)"
    " select * from unnest(cast(:alert_id as text[]), cast(:kind as text[]), cast(:entity_id as text[]),"
    " cast(:message as text[]), cast(:facts as jsonb[]))"
    " on conflict (kind, entity_id) where closed_at is null do nothing"
)


def request_settlement_many(tx: sa.Connection, task_ids: Sequence[str]) -> Moved:
    """Say durably that a registered deliverable waits for the ledger (P-8.2, P-8.3). One statement."""
    return _outcome(tx, task_ids, _move(tx, task_ids, SettlementAsked()), SettlementAsked())


def settle_many(
    tx: sa.Connection, settlements: Sequence[Settlement], *, bills: Sequence[Bill] = (), actor: str
) -> Moved:
    """Charge delivered tasks, give the rest back, book the vendors' bills. Three statements, usually.

    A task without a registered version of one of its attempts is refused with the word of its state (V-7).
    """
    task_ids = [each.task_id for each in settlements]
    charged = [each.charged_micros for each in settlements]
    rows = _move(tx, task_ids, Settled(), charged=charged)
    entries: list[Entry] = []
    for row in rows:
        entries += rules.settle(
            row["task_id"],
            held=Money(row["amount_micros"], row["currency"]),
            charged=Money(row["settled_micros"], row["currency"]),
        )
    _book(tx, entries, bills, actor)
    return _outcome(tx, task_ids, rows, Settled())


def release_many(
    tx: sa.Connection,
    task_ids: Sequence[str],
    *,
    reason: Mapping[str, Fact],
    bills: Sequence[Bill] = (),
    actor: str,
) -> Moved:
    """Give held sums back, once facts prove nothing is due (P-1.11); vendors' bills are booked anyhow."""
    rows = _move(tx, task_ids, Released(), reason=reason)
    entries: list[Entry] = []
    for row in rows:
        entries += rules.release(row["task_id"], Money(row["amount_micros"], row["currency"]))
    _book(tx, entries, bills, actor)
    return _outcome(tx, task_ids, rows, Released())


def book_spend_many(tx: sa.Connection, bills: Sequence[Bill], *, actor: str) -> None:
    """Book vendors' charges, once per attempt; above the allowed cost they are the platform's (D-7, D-15)."""
    _book(tx, [], bills, actor)


def load_money(tx: sa.Connection, task_id: str) -> Mapping[str, str]:
    """State and currency of a task's held sum."""
    row = tx.execute(
        sa.text("select state, currency from reservations where task_id = :task_id"), {"task_id": task_id}
    ).one()
    return {"state": str(row.state), "currency": str(row.currency)}


def load_settled(tx: sa.Connection, task_id: str) -> Money:
    """What the user was charged for a task."""
    row = tx.execute(
        sa.text("select settled_micros, currency from reservations where task_id = :task_id"),
        {"task_id": task_id},
    ).one()
    return Money(row.settled_micros, row.currency)


def _move(
    tx: sa.Connection,
    task_ids: Sequence[str],
    event: ReservationEvent,
    *,
    charged: Sequence[int | None] | None = None,
    reason: Mapping[str, Fact] | None = None,
) -> Sequence[sa.RowMapping]:
    if not task_ids:
        return []
    statement = _MOVE_DELIVERED if isinstance(event, Settled | SettlementAsked) else _MOVE_ANY
    bound = {
        "task_ids": list(task_ids),
        "charged": list(charged) if charged is not None else [None] * len(task_ids),
        "to": str(target(event)),
        "legal_from": sorted(legal_from(event)),
        "reason": None if reason is None else bulk.json_text(dict(reason)),
    }
    return tx.execute(statement, bound).mappings().all()


def _outcome(
    tx: sa.Connection,
    task_ids: Sequence[str],
    rows: Sequence[sa.RowMapping],
    event: ReservationEvent,
) -> Moved:
    moved = tuple(str(row["task_id"]) for row in rows)
    rest = sorted(set(task_ids) - set(moved))
    if not rest:
        return Moved(moved)
    states = {row.task_id: str(row.state) for row in tx.execute(_STATES, {"task_ids": rest})}
    done = {str(target(event))} | (
        {str(ReservationState.SETTLED)} if isinstance(event, SettlementAsked) else set()
    )
    already = tuple(each for each in rest if states.get(each) in done)
    return Moved(moved, already, {each: states.get(each, "unknown") for each in rest if each not in already})


def _book(tx: sa.Connection, entries: list[Entry], bills: Sequence[Bill], actor: str) -> None:
    for bill in bills:
        entries += rules.spend(bill)
    ledger.post(tx, entries, actor=actor)
    above = [bill for bill in bills if rules.billed_above(bill)]
    if above:
        tx.execute(
            _ALERT,
            {
                "alert_id": [new_id("alert") for _ in above],
                "kind": ["billed_above_ceiling"] * len(above),
                "entity_id": [bill.attempt_id for bill in above],
                "message": [
                    f"{bill.binding_id} charged {bill.cost}, the plan allowed {bill.cost_max}"
                    for bill in above
                ],
                "facts": [
                    bulk.json_text({"cost": bill.cost.to_json(), "cost_max": bill.cost_max.to_json()})
                    for bill in above
                ],
            },
        )
