"""When a Quote may be confirmed, and what stands against it (P-3.2 to P-3.4)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

QUOTE_VALID_S = 86_400


class QuoteState(StrEnum):
    """`superseded`: a new Quote stands in its place."""

    OPEN = "open"
    CONFIRMED = "confirmed"
    SUPERSEDED = "superseded"


@dataclass(frozen=True, slots=True)
class QuotedItem:
    """What a confirm must look at again; the rest of the item is frozen and cannot change."""

    item_id: str
    episode_id: str
    subject: str
    role: str
    kind: str
    binding_id: str
    product_model: str
    price_version_id: str
    price_micros: int
    used: tuple[tuple[str, str], ...]  # (version id, digest)


@dataclass(frozen=True, slots=True)
class Route:
    """A binding as configured now: the kind it makes and its product model."""

    kind: str
    product_model: str


@dataclass(frozen=True, slots=True)
class Present:
    """The world at the moment of the click, seen inside the confirming transaction.

    `chosen` maps a used version to the version now selected in its place (absent: nothing selected).
    `ordered` holds the items that another confirmation put to work since the Quote was made.
    """

    now: datetime
    routes: Mapping[str, Route]
    prices: Mapping[str, str]  # binding id -> price version in force
    chosen: Mapping[str, str]
    ordered: frozenset[str]


@dataclass(frozen=True, slots=True)
class Reason:
    """One thing that stands against a Quote: a word for programs, a sentence for people."""

    code: str  # expired, superseded, route, price, input, ordered
    sentence: str
    item_id: str | None = None


def objections(items: Sequence[QuotedItem], *, expires_at: datetime, present: Present) -> list[Reason]:
    """Return why these items can no longer be confirmed as quoted; an empty list means they can.

    A channel is named once, however many items it concerns; an item that changed, by itself.
    """
    found: dict[Reason, None] = {}
    if present.now >= expires_at:
        found[Reason("expired", f"the Quote expired at {expires_at:%Y-%m-%d %H:%M:%S} UTC")] = None
    for item in items:
        found.update(dict.fromkeys(_item_objections(item, present)))
    return list(found)


def _item_objections(item: QuotedItem, present: Present) -> list[Reason]:
    found: list[Reason] = []
    route = present.routes.get(item.binding_id)
    if route is None:
        found.append(Reason("route", f"the binding {item.binding_id} is no longer configured"))
    elif route != Route(item.kind, item.product_model):
        found.append(Reason("route", f"the binding {item.binding_id} now makes {route.product_model}"))
    if present.prices.get(item.binding_id) != item.price_version_id:
        found.append(Reason("price", f"the price of {item.binding_id} has changed"))
    if any(present.chosen.get(version_id, version_id) != version_id for version_id, _ in item.used):
        sentence = f"something {item.item_id} is made from has a newer choice"
        found.append(Reason("input", sentence, item.item_id))
    if item.item_id in present.ordered:
        sentence = f"{item.item_id} has been ordered by another confirmation"
        found.append(Reason("ordered", sentence, item.item_id))
    return found
