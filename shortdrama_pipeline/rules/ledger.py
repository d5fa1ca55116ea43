"""Double entry: one row moves one amount from one account to another, under one business key (V-4, V-7).

A balance is credits minus debits of an account in one currency, so all balances of a currency sum to
zero by construction. Nothing here is ever changed; a correction is another entry.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from shortdrama_pipeline.errors import Fact
from shortdrama_pipeline.rules.money import AMOUNT_MICROS_MAX, Money

AVAILABLE = "wallet:studio:available"
RESERVED = "wallet:studio:reserved"
TOP_UP = "studio:topup"
REVENUE = "studio:revenue"
COMPENSATION = "platform:compensation"
WALLET = "studio"


@dataclass(frozen=True, slots=True)
class Entry:
    """One transfer. `business_key` makes it happen once: a repeat with other content is a Conflict."""

    business_key: str
    debit_account: str
    credit_account: str
    amount: Money
    task_id: str | None = None
    facts: Mapping[str, Fact] = field(default_factory=dict)

    def __post_init__(self) -> None:
        assert 0 < self.amount.micros <= AMOUNT_MICROS_MAX, self.business_key
        assert self.debit_account != self.credit_account, self.business_key


@dataclass(frozen=True, slots=True)
class Bill:
    """What a vendor charged for one attempt (D-15). `cost_max` is what the plan allowed it to.

    `platform_bears` books all of it on the platform account: a delivery accident of ours (P-8.5).
    """

    attempt_id: str
    task_id: str
    binding_id: str
    cost: Money
    cost_max: Money
    platform_bears: bool = False


def spend_account(binding_id: str) -> str:
    """The studio's expense with one vendor."""
    return f"spend:{binding_id}"


def vendor_account(binding_id: str) -> str:
    """What the studio owes one vendor."""
    return f"vendor:{binding_id}"


def top_up(key: str, amount: Money) -> Entry:
    """Money comes into the studio's wallet, once per key."""
    return Entry(f"topup:{key}", TOP_UP, AVAILABLE, amount)


def hold(task_id: str, amount: Money) -> list[Entry]:
    """Freeze the price of one item; nothing to freeze for a free one (D-19)."""
    return _transfer(f"hold:{task_id}", AVAILABLE, RESERVED, amount, task_id)


def settle(task_id: str, *, held: Money, charged: Money) -> list[Entry]:
    """Take what is due from the frozen sum and give the rest back. Never more than was held (P-3.5)."""
    assert 0 <= charged.micros <= held.micros, task_id
    return [
        *_transfer(f"settle:{task_id}", RESERVED, REVENUE, charged, task_id),
        *_transfer(f"release:{task_id}", RESERVED, AVAILABLE, held - charged, task_id),
    ]


def release(task_id: str, held: Money) -> list[Entry]:
    """Give the whole frozen sum back."""
    return _transfer(f"release:{task_id}", RESERVED, AVAILABLE, held, task_id)


def compensate(task_id: str, charged: Money) -> list[Entry]:
    """Give a settled sum back at the platform's cost, once per task (P-8.5, P-13.4)."""
    return _transfer(f"compensate:{task_id}", COMPENSATION, AVAILABLE, charged, task_id)


def spend(bill: Bill) -> list[Entry]:
    """Book a vendor's bill: up to the allowed cost as the studio's expense, above it the platform's (D-7)."""
    allowed = min(bill.cost, bill.cost_max) if bill.cost.currency == bill.cost_max.currency else bill.cost
    vendor = vendor_account(bill.binding_id)
    expense = COMPENSATION if bill.platform_bears else spend_account(bill.binding_id)
    return [
        *_transfer(f"spend:{bill.attempt_id}", expense, vendor, allowed, bill.task_id),
        *_transfer(f"overrun:{bill.attempt_id}", COMPENSATION, vendor, bill.cost - allowed, bill.task_id),
    ]


def billed_above(bill: Bill) -> bool:
    """Say whether a bill needs an alarm: above the allowed cost, or in another currency (D-7)."""
    return bill.cost.currency != bill.cost_max.currency or bill.cost > bill.cost_max


def movements(entries: Iterable[Entry]) -> dict[tuple[str, str], int]:
    """Sum entries to one movement per (account, currency), in account order, zero ones left out."""
    moved: defaultdict[tuple[str, str], int] = defaultdict(int)
    for each in entries:
        moved[each.debit_account, each.amount.currency] -= each.amount.micros
        moved[each.credit_account, each.amount.currency] += each.amount.micros
    return {account: moved[account] for account in sorted(moved) if moved[account] != 0}


def _transfer(key: str, debit: str, credit: str, amount: Money, task_id: str) -> list[Entry]:
    return [Entry(key, debit, credit, amount, task_id)] if amount.micros else []
