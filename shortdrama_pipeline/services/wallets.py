"""The studio's wallet: money in, what is free, what is frozen, and the book behind it."""

from collections.abc import Mapping
from dataclasses import dataclass

from shortdrama_pipeline.errors import UsageError
from shortdrama_pipeline.rules import ledger as accounts
from shortdrama_pipeline.rules.actors import require_person
from shortdrama_pipeline.rules.money import AMOUNT_MICROS_MAX, Money
from shortdrama_pipeline.services.context import Studio
from shortdrama_pipeline.store import audit, ledger

ENTRIES_SHOWN_MAX = 10_000


@dataclass(frozen=True, slots=True)
class Wallet:
    """Balances in the studio's currency; `provider_spend` per vendor currency (D-15, D-23)."""

    wallet: str
    available: Money
    reserved: Money
    settled: Money
    provider_spend: tuple[Money, ...]

    def to_json(self) -> dict[str, object]:
        return {
            "wallet": self.wallet,
            "available": self.available.to_json(),
            "reserved": self.reserved.to_json(),
            "settled": self.settled.to_json(),
            "provider_spend": [each.to_json() for each in self.provider_spend],
        }


def top_up(studio: Studio, amount: Money, *, key: str, actor: str) -> Wallet:
    """Put money into the wallet, once per key; the same key with another amount is a Conflict."""
    require_person(actor, "top up the wallet")
    if not key.strip():
        raise UsageError("A top-up needs a key", hint="Give --key: the same key never counts twice")
    if amount.currency != studio.settings.studio.currency or not 0 < amount.micros <= AMOUNT_MICROS_MAX:
        raise UsageError(
            f"{amount} cannot be put into this wallet",
            hint=f"Give a positive amount in {studio.settings.studio.currency}",
        )
    with studio.db.begin() as tx:
        if ledger.post(tx, [accounts.top_up(key, amount)], actor=actor):
            audit.record_decision(
                tx, "wallet.top-up", accounts.WALLET, actor=actor, facts={"key": key, **amount.to_json()}
            )
    return show_wallet(studio)


def show_wallet(studio: Studio) -> Wallet:
    """Read the derived balances."""
    with studio.db.read() as tx:
        balances = ledger.load_balances(tx)
    currency = studio.settings.studio.currency
    return Wallet(
        wallet=accounts.WALLET,
        available=Money(balances.get((accounts.AVAILABLE, currency), 0), currency),
        reserved=Money(balances.get((accounts.RESERVED, currency), 0), currency),
        settled=Money(balances.get((accounts.REVENUE, currency), 0), currency),
        provider_spend=provider_spend(balances),
    )


def provider_spend(balances: Mapping[tuple[str, str], int]) -> tuple[Money, ...]:
    """What all vendors are owed, per currency."""
    owed: dict[str, int] = {}
    for (account, currency), micros in balances.items():
        if account.startswith("vendor:"):
            owed[currency] = owed.get(currency, 0) + micros
    return tuple(Money(owed[currency], currency) for currency in sorted(owed))


def list_entries(
    studio: Studio, *, limit: int = 100, task_id: str | None = None
) -> list[Mapping[str, object]]:
    """The newest ledger entries first."""
    with studio.db.read() as tx:
        return ledger.load_entries(tx, limit=min(limit, ENTRIES_SHOWN_MAX), task_id=task_id)
