"""Quotes: open until confirmed or superseded, each once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa

from shortdrama_pipeline.errors import StaleState, UnknownId
from shortdrama_pipeline.ids import new_id
from shortdrama_pipeline.rules.money import Money
from shortdrama_pipeline.rules.quotes import QuotedItem, QuoteState


@dataclass(frozen=True, slots=True)
class Quote:
    """A row of `quotes` with what a confirm needs of its plan; params stay in the database."""

    quote_id: str
    plan_id: str
    input_hash: str
    total: Money
    expires_at: datetime
    state: QuoteState
    superseded_by: str | None
    actor: str
    created_at: datetime
    kind: str
    stage: str
    ceiling_micros: int
    items: tuple[QuotedItem, ...]
    now: datetime  # the database clock at the look


_COLUMNS = (
    "select q.quote_id, q.plan_id, q.input_hash, q.total_micros, q.currency, q.expires_at, q.state,"
    " q.superseded_by, q.actor, q.created_at, p.kind, p.stage,"
    " (p.body->>'ceiling_micros')::bigint as ceiling_micros,"
    " (select jsonb_agg(jsonb_build_array(i->'item_id', i->'episode_id', i->'subject', i->'role', i->'kind',"
    " i->'binding_id', i->'product_model', i->'price_version_id', i->'price_micros', i->'uses'))"
    " from jsonb_array_elements(p.body->'items') i) as items, clock_timestamp() as now"
    " from quotes q join plans p using (plan_id)"
)
_LOCK = sa.text(
    f"{_COLUMNS} where q.quote_id = any(cast(:quote_ids as text[])) order by q.quote_id for update of q"
)
_LOAD = sa.text(f"{_COLUMNS} where q.quote_id = any(cast(:quote_ids as text[]))")


def record_quote(
    tx: sa.Connection, plan_id: str, *, input_hash: str, total: Money, valid_s: int, actor: str
) -> tuple[str, datetime]:
    """Open a Quote on a plan. Returns (id, expires_at), by the database clock."""
    quote_id = new_id("quote")
    expires_at: datetime = tx.execute(
        sa.text(
            "insert into quotes"
            " (quote_id, plan_id, input_hash, total_micros, currency, expires_at, state, actor) values"
            " (:quote_id, :plan_id, :input_hash, :total, :currency,"
            " clock_timestamp() + make_interval(secs => :valid_s), 'open', :actor) returning expires_at"
        ),
        {
            "quote_id": quote_id,
            "plan_id": plan_id,
            "input_hash": input_hash,
            "total": total.micros,
            "currency": total.currency,
            "valid_s": valid_s,
            "actor": actor,
        },
    ).scalar_one()
    return quote_id, expires_at


def lock_quotes(tx: sa.Connection, quote_ids: Sequence[str]) -> dict[str, Quote]:
    """Lock the Quotes of these ids, in id order, and return those that exist."""
    rows = tx.execute(_LOCK, {"quote_ids": sorted(set(quote_ids))})
    return {row["quote_id"]: _quote(row) for row in rows.mappings()}


def load_quote(tx: sa.Connection, quote_id: str) -> Quote:
    """Raises UnknownId."""
    row = tx.execute(_LOAD, {"quote_ids": [quote_id]}).mappings().one_or_none()
    if row is None:
        raise unknown_quote(quote_id)
    return _quote(row)


def unknown_quote(quote_id: str) -> UnknownId:
    """The error for an id nothing stands under."""
    return UnknownId(
        f"There is no Quote {quote_id}", hint="Plan the stage: shortdrama stage plan", quote_id=quote_id
    )


def record_confirmed(tx: sa.Connection, quote_ids: Sequence[str]) -> None:
    """Close locked Quotes as confirmed; one that expired while its locks were awaited undoes all (P-3.3)."""
    moved = tx.execute(
        sa.text(
            "update quotes set state = 'confirmed' where quote_id = any(cast(:quote_ids as text[]))"
            " and state = 'open' and expires_at > clock_timestamp()"
        ),
        {"quote_ids": list(quote_ids)},
    )
    if moved.rowcount != len(quote_ids):
        raise StaleState("A Quote expired at the last moment", hint="Confirm again for a new Quote")


def record_superseded(tx: sa.Connection, quote_id: str, *, by: str) -> bool:
    """Close an open Quote in favour of another; False if it was closed meanwhile."""
    moved = tx.execute(
        sa.text(
            "update quotes set state = 'superseded', superseded_by = :by"
            " where quote_id = :quote_id and state = 'open'"
        ),
        {"quote_id": quote_id, "by": by},
    )
    return moved.rowcount == 1


def find_chosen(tx: sa.Connection, version_ids: Sequence[str]) -> dict[str, str]:
    """For each version the one now selected in its place, where something is selected."""
    rows = tx.execute(
        sa.text(
            "select v.version_id, s.version_id as chosen from versions v"
            " join selections s using (episode_id, subject, role)"
            " where v.version_id = any(cast(:version_ids as text[]))"
        ),
        {"version_ids": list(version_ids)},
    )
    return {row.version_id: row.chosen for row in rows}


def find_ordered(tx: sa.Connection, quotes: Sequence[Quote]) -> dict[str, frozenset[str]]:
    """Per Quote the items that are at work, or were ordered after the Quote was made and not lost.

    What stands in the way of buying the same output twice by two Quotes (F15).
    """
    rows = tx.execute(
        sa.text(
            "select item_id, stage, state <> 'succeeded' as at_work, created_at from tasks t"
            " where episode_id = any(cast(:episode_ids as text[])) and stage = any(cast(:stages as text[]))"
            " and item_id = any(cast(:item_ids as text[])) and state not in ('failed', 'cancelled')"
            " and not (state = 'needsReconciliation' and exists (select 1 from reservations r"
            " where r.task_id = t.task_id and r.state = 'released'))"  # given back past its deadline (P-8.5)
        ),
        {
            "episode_ids": sorted({item.episode_id for quote in quotes for item in quote.items}),
            "stages": sorted({quote.stage for quote in quotes}),
            "item_ids": [item.item_id for quote in quotes for item in quote.items],
        },
    ).all()
    return {
        quote.quote_id: frozenset(
            row.item_id
            for row in rows
            if row.stage == quote.stage and (row.at_work or row.created_at > quote.created_at)
        ).intersection(item.item_id for item in quote.items)
        for quote in quotes
    }


def _quote(row: Mapping[str, object] | sa.RowMapping) -> Quote:
    fields = dict(row)
    items = fields.pop("items")
    assert isinstance(items, list)
    total = Money(int(str(fields.pop("total_micros"))), str(fields.pop("currency")))
    fields["state"] = QuoteState(str(fields["state"]))
    return Quote(**fields, total=total, items=tuple(_item(each) for each in items))


def _item(row: list[object]) -> QuotedItem:
    *words, price_micros, uses = row
    assert isinstance(uses, list)
    item_id, episode_id, subject, role, kind, binding_id, product_model, price_version_id = map(str, words)
    return QuotedItem(
        item_id=item_id,
        episode_id=episode_id,
        subject=subject,
        role=role,
        kind=kind,
        binding_id=binding_id,
        product_model=product_model,
        price_version_id=price_version_id,
        price_micros=int(str(price_micros)),
        used=tuple((str(each["version_id"]), str(each["digest"])) for each in uses),
    )
