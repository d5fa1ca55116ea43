"""What a Quote covers, for whoever is asked to confirm it (P-3.2)."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from shortdrama_pipeline.rules.money import Money
from shortdrama_pipeline.rules.quotes import QuoteState
from shortdrama_pipeline.services.context import Studio
from shortdrama_pipeline.store import batches, quotes
from shortdrama_pipeline.store.executions import find_executions
from shortdrama_pipeline.store.plans import load_plan


@dataclass(frozen=True, slots=True)
class QuoteView:
    """A Quote with its frozen plan. `state` is open, expired, confirmed or superseded."""

    quote_id: str
    plan_id: str
    batch_id: str | None
    execution_id: str | None
    kind: str
    stage: str
    state: str
    superseded_by: str | None
    input_hash: str
    total: Money
    ceiling: Money
    expires_at: datetime
    resend_after_proven_rejection: int
    items: tuple[Mapping[str, object], ...]
    actor: str

    def to_json(self) -> dict[str, object]:
        return {
            "quote_id": self.quote_id,
            "plan_id": self.plan_id,
            "batch_id": self.batch_id,
            "execution_id": self.execution_id,
            "kind": self.kind,
            "stage": self.stage,
            "state": self.state,
            "new_quote_id": self.superseded_by,
            "input_hash": self.input_hash,
            "total": self.total,
            "ceiling": self.ceiling,
            "expires_at": self.expires_at,
            "resend_after_proven_rejection": self.resend_after_proven_rejection,
            "items": [
                {
                    "item_id": each["item_id"],
                    "episode_id": each["episode_id"],
                    "subject": each["subject"],
                    "role": each["role"],
                    "kind": each["kind"],
                    "price": {"micros": each["price_micros"], "currency": self.total.currency},
                    "cost_max": {"micros": each["cost_micros_max"], "currency": each["cost_currency"]},
                    "binding": each["binding_id"],
                    "model": each["product_model"],
                    "uses": each["uses"],
                }
                for each in self.items
            ],
            "actor": self.actor,
        }


def show_quote(studio: Studio, quote_id: str) -> QuoteView:
    """Raises UnknownId. Shows the versions that were frozen, whatever is selected now."""
    with studio.db.read() as tx:
        quote = quotes.load_quote(tx, quote_id)
        plan = load_plan(tx, quote.plan_id)
        batch = batches.find_batch_of_quote(tx, quote_id)
        executions = find_executions(tx, keys=[], quote_ids=[quote_id])
    expired = quote.state is QuoteState.OPEN and quote.now >= quote.expires_at
    return QuoteView(
        quote_id=quote_id,
        plan_id=quote.plan_id,
        batch_id=None if batch is None else batch.batch_id,
        execution_id=executions[0].execution_id if executions else None,
        kind=quote.kind,
        stage=quote.stage,
        state="expired" if expired else str(quote.state),
        superseded_by=quote.superseded_by,
        input_hash=quote.input_hash,
        total=quote.total,
        ceiling=Money(quote.ceiling_micros, quote.total.currency),
        expires_at=quote.expires_at,
        resend_after_proven_rejection=int(str(plan.body["resend_after_proven_rejection"])),
        items=tuple(plan.items),
        actor=quote.actor,
    )
