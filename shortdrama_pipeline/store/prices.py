"""Published prices: append-only, the newest of a binding is in force (D-13, D-23)."""

from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from shortdrama_pipeline.errors import Conflict
from shortdrama_pipeline.ids import new_id
from shortdrama_pipeline.rules.plans import input_hash
from shortdrama_pipeline.rules.prices import Price, price_from_json
from shortdrama_pipeline.store.bulk import json_text


@dataclass(frozen=True, slots=True)
class PriceVersion:
    """A row of `price_versions`."""

    price_version_id: str
    price: Price


_INSERT = sa.text(
    "insert into price_versions (price_version_id, binding_id, digest, body, actor)"
    " values (:price_version_id, :binding_id, :digest, cast(:body as jsonb), :actor)"
    " on conflict (binding_id, digest) do nothing"
)
_LOCK = sa.text("select pg_advisory_xact_lock(hashtextextended('price:' || :binding_id, 0))")
_IN_FORCE = sa.text(
    "select distinct on (binding_id) price_version_id, binding_id, digest, body from price_versions"
    " where binding_id = any(cast(:binding_ids as text[]))"
    " order by binding_id, created_at desc, price_version_id desc"
)


def record_price(tx: sa.Connection, price: Price, *, actor: str) -> tuple[str, bool]:
    """Publish a price; equal content to the one in force is that version. Returns (id, created).

    Raises Conflict for content that was in force before: it needs a new `dated` to be told apart.
    """
    tx.execute(_LOCK, {"binding_id": price.binding_id})
    digest = input_hash(price.to_json())
    current = tx.execute(_IN_FORCE, {"binding_ids": [price.binding_id]}).one_or_none()
    if current is not None and current.digest == digest:
        return current.price_version_id, False
    price_version_id = new_id("price")
    inserted = tx.execute(
        _INSERT,
        {
            "price_version_id": price_version_id,
            "binding_id": price.binding_id,
            "digest": digest,
            "body": json_text(price.to_json()),
            "actor": actor,
        },
    )
    if inserted.rowcount != 1:
        raise Conflict(
            f"This very price of {price.binding_id} was in force before and has been replaced since",
            hint="To bring it back, publish it with a new date in `dated`",
            binding=price.binding_id,
        )
    return price_version_id, True


def prices_in_force(tx: sa.Connection, binding_ids: Sequence[str]) -> dict[str, PriceVersion]:
    """The newest price of each binding that has one."""
    rows = tx.execute(_IN_FORCE, {"binding_ids": list(binding_ids)})
    return {row.binding_id: PriceVersion(row.price_version_id, price_from_json(row.body)) for row in rows}


def price_ids_in_force(tx: sa.Connection, binding_ids: Sequence[str]) -> dict[str, tuple[str, int]]:
    """Per binding the price version in force and its delivery deadline in seconds; a small look (T1)."""
    rows = tx.execute(_IN_FORCE, {"binding_ids": list(binding_ids)})
    return {row.binding_id: (row.price_version_id, int(str(row.body["delivery_deadline_s"]))) for row in rows}


def load_digests(tx: sa.Connection, binding_ids: Sequence[str]) -> dict[str, frozenset[str]]:
    """Per binding that ever had a price, the digests of all it had."""
    rows = tx.execute(
        sa.text(
            "select binding_id, array_agg(digest) as digests from price_versions"
            " where binding_id = any(cast(:binding_ids as text[])) group by binding_id"
        ),
        {"binding_ids": list(binding_ids)},
    )
    return {row.binding_id: frozenset(row.digests) for row in rows}
