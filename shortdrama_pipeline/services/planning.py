"""From what a stage asks for to a PlanSnapshot and a Quote: free, and open to agents (P-2.10, P-3.1).

Everything that could stop an item is found here, before a Quote: no channel, no price, a price in
another currency, a version that is not what it was (P-9.1, P-12.2).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa

from shortdrama_pipeline.errors import NotReady, UnknownId
from shortdrama_pipeline.providers.ports import Binding
from shortdrama_pipeline.rules import plans as rules
from shortdrama_pipeline.rules.actors import parse_actor
from shortdrama_pipeline.rules.money import Money
from shortdrama_pipeline.rules.plans import ItemRequest, PricedItem
from shortdrama_pipeline.rules.prices import user_price, vendor_cost_max
from shortdrama_pipeline.rules.quotes import QUOTE_VALID_S
from shortdrama_pipeline.rules.states import MediaKind, Stage
from shortdrama_pipeline.services.context import Studio
from shortdrama_pipeline.store import audit
from shortdrama_pipeline.store.episodes import find_known
from shortdrama_pipeline.store.plans import find_changed_versions, record_plan
from shortdrama_pipeline.store.prices import PriceVersion, prices_in_force
from shortdrama_pipeline.store.quotes import record_quote


@dataclass(frozen=True, slots=True)
class PlannedItem:
    """One line of a Quote."""

    item_id: str
    subject: str
    price: Money
    binding: str


@dataclass(frozen=True, slots=True)
class Planned:
    """A PlanSnapshot with its open Quote."""

    plan_id: str
    input_hash: str
    quote_id: str
    total: Money
    ceiling: Money
    expires_at: datetime
    items: tuple[PlannedItem, ...]


def plan_items(
    studio: Studio,
    stage: Stage,
    requests: Sequence[ItemRequest],
    *,
    kind: str = "operation",
    actor: str,
    ceiling_micros: int | None = None,
    quote_valid_s: int = QUOTE_VALID_S,
) -> Planned:
    """Choose channels, price the items, freeze them and open a Quote. Costs nothing, reserves nothing.

    Raises UnknownId for an episode that does not exist, NotReady for whatever else stops an item.
    """
    parse_actor(actor)
    bindings = {each.item_id: choose_binding(studio, each) for each in requests}
    with studio.db.begin() as tx:
        _check_episodes(tx, requests)
        _check_uses(tx, requests)
        prices = prices_in_force(tx, sorted({each.id for each in bindings.values()}))
        priced = [
            _priced(each, bindings[each.item_id], prices, studio.settings.studio.currency)
            for each in requests
        ]
        body = rules.plan_body(
            stage,
            priced,
            kind=kind,
            currency=studio.settings.studio.currency,
            ceiling_micros=ceiling_micros,
        )
        total = Money(sum(each.price.micros for each in priced), studio.settings.studio.currency)
        input_hash = rules.input_hash(body)
        plan_id = record_plan(tx, body, input_hash=input_hash, actor=actor)
        quote_id, expires_at = record_quote(
            tx, plan_id, input_hash=input_hash, total=total, valid_s=quote_valid_s, actor=actor
        )
        audit.record_decision(
            tx,
            "quote.open",
            quote_id,
            actor=actor,
            facts={"plan_id": plan_id, "total": dict(total.to_json())},
        )
    return Planned(
        plan_id=plan_id,
        input_hash=input_hash,
        quote_id=quote_id,
        total=total,
        ceiling=Money(int(str(body["ceiling_micros"])), total.currency),
        expires_at=expires_at,
        items=tuple(
            PlannedItem(each.request.item_id, each.request.subject, each.price, each.binding_id)
            for each in sorted(priced, key=lambda each: each.request.item_id)
        ),
    )


def choose_binding(studio: Studio, request: ItemRequest) -> Binding:
    """The pinned binding, else the first configured one of the kind. Never a second choice (P-9.8)."""
    pinned = request.constraints.get("binding_id")
    able = [
        each
        for each in studio.bindings.values()
        if each.kind == request.kind and (pinned is None or each.id == pinned)
    ]
    if not able:
        raise NotReady(
            f"No binding makes {request.kind}"
            if pinned is None
            else f"No binding {pinned} makes {request.kind}",
            hint="Configure a [[binding]] of this kind; see: shortdrama provider list",
            item_id=request.item_id,
            kind=str(request.kind),
        )
    if able[0].protocol not in studio.adapters:
        raise NotReady(
            f"The binding {able[0].id} speaks {able[0].protocol}, which this release does not",
            hint="See: shortdrama provider list",
            binding=able[0].id,
        )
    return able[0]


def _priced(
    request: ItemRequest, binding: Binding, prices: Mapping[str, PriceVersion], currency: str
) -> PricedItem:
    version = prices.get(binding.id)
    if version is None:
        raise NotReady(
            f"The binding {binding.id} has no published price",
            hint="Publish one: shortdrama provider prices publish FILE",
            item_id=request.item_id,
            binding=binding.id,
        )
    if version.price.kind != MediaKind(request.kind) or version.price.user.currency != currency:
        raise NotReady(
            f"The price of {binding.id} is for {version.price.kind} in {version.price.user.currency},"
            f" wanted is {request.kind} in {currency}",
            hint="Publish a price in the studio's currency: shortdrama provider prices publish FILE",
            binding=binding.id,
        )
    return PricedItem(
        request=request,
        binding_id=binding.id,
        product_model=binding.model,
        candidates=(binding.id,),
        price_version_id=version.price_version_id,
        price=user_price(version.price, request.params),
        cost_max=vendor_cost_max(version.price, request.params),
    )


def _check_episodes(tx: sa.Connection, requests: Sequence[ItemRequest]) -> None:
    wanted = {each.episode_id for each in requests}
    missing = sorted(wanted - find_known(tx, wanted))
    if missing:
        raise UnknownId(
            f"There is no episode {missing[0]}",
            hint="Allocate it first: shortdrama episode allocate",
            episode_id=missing[0],
        )


def _check_uses(tx: sa.Connection, requests: Sequence[ItemRequest]) -> None:
    used = {use.version_id: use.digest for each in requests for use in each.uses}
    changed = find_changed_versions(tx, used) if used else []
    if changed:
        raise NotReady(
            f"The version {changed[0]} is not what the plan was made from",
            hint="Plan the stage again",
            version_ids=[*changed],
        )
