"""PlanSnapshot: what would be bought, in one canonical form with one hash (P-3.1).

A stage makes `ItemRequest`s. Planning adds binding and price and freezes all of it as a body whose
RFC 8785 bytes are hashed. Equal inputs hash equal whatever their key order, number format or Unicode
composition; any changed field hashes otherwise. `null` is a value: absent and null differ.
"""

import hashlib
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from numbers import Real
from typing import Any, TypeAlias

import rfc8785

from shortdrama_pipeline.errors import NotReady
from shortdrama_pipeline.rules.money import AMOUNT_MICROS_MAX, Money
from shortdrama_pipeline.rules.states import MediaKind, Stage

Canonical: TypeAlias = str | int | bool | list["Canonical"] | dict[str, "Canonical"] | None

SCHEMA = 1
RESEND_AFTER_PROVEN_REJECTION = 3  # TT-6: shown on the Quote, so approved with it
OUTPUTS_PER_ITEM = 1
ITEMS_PER_PLAN_MAX = 5_000
USES_PER_ITEM_MAX = 256
ITEM_BYTES_MAX = 256 * 1024
DEPTH_MAX = 16
INTEGER_MAX = 2**53 - 1  # what every JSON reader keeps exactly (RFC 8785)
PLAN_KINDS = ("operation", "batch")


@dataclass(frozen=True, slots=True, order=True)
class Use:
    """One exact version an item is made from, and for what."""

    purpose: str
    version_id: str
    digest: str
    sha256: str | None = None

    def to_json(self) -> dict[str, Canonical]:
        return {
            "version_id": self.version_id,
            "digest": self.digest,
            "sha256": self.sha256,
            "purpose": self.purpose,
        }


@dataclass(frozen=True, slots=True)
class ItemRequest:
    """What a stage asks for: one output of one subject and role.

    `params` are vendor-neutral and hold no fractions. `constraints` bind the choice of channel:
    `{"binding_id": ...}` pins one binding; other keys are the stage's own and are kept.
    """

    episode_id: str
    subject: str
    role: str
    kind: MediaKind
    params: Mapping[str, object]
    uses: tuple[Use, ...] = ()
    constraints: Mapping[str, object] = field(default_factory=dict)

    @property
    def item_id(self) -> str:
        """Stable over retries and reordering (P-11.1)."""
        return f"{self.episode_id}/{self.subject}#{self.role}"


def item_request(item: Mapping[str, Any]) -> ItemRequest:
    """Ask for the same as a frozen item of an earlier PlanSnapshot; price and channel are found anew."""
    uses = tuple(
        Use(each["purpose"], each["version_id"], each["digest"], each.get("sha256")) for each in item["uses"]
    )
    return ItemRequest(
        episode_id=item["episode_id"],
        subject=item["subject"],
        role=item["role"],
        kind=MediaKind(item["kind"]),
        params=dict(item["params"]),
        uses=uses,
        constraints=dict(item.get("constraints") or {}),
    )


@dataclass(frozen=True, slots=True)
class PricedItem:
    """An ItemRequest with its channel and price. Money is the user's; cost is the vendor's, at most."""

    request: ItemRequest
    binding_id: str
    product_model: str
    candidates: tuple[str, ...]
    price_version_id: str
    price: Money
    cost_max: Money


def plan_body(
    stage: Stage, items: Sequence[PricedItem], *, kind: str, currency: str, ceiling_micros: int | None = None
) -> dict[str, Canonical]:
    """Freeze priced items as a PlanSnapshot body. `ceiling_micros` defaults to their sum.

    Raises NotReady for no items, twice the same item, too many, a mixed currency, a value that has no
    canonical form, or a sum above the ceiling (P-3.1, P-9.1, P-11.1).
    """
    _refuse_unless(kind in PLAN_KINDS, f"'{kind}' is no kind of plan", "Plan an operation or a batch")
    _refuse_unless(len(items) > 0, "There is nothing to plan", "Every item of this stage is already there")
    _refuse_unless(
        len(items) <= ITEMS_PER_PLAN_MAX,
        f"{len(items)} items are more than one plan may hold ({ITEMS_PER_PLAN_MAX})",
        "Plan fewer episodes at a time",
    )
    bodies = sorted((_item_body(each, currency) for each in items), key=lambda item: str(item["item_id"]))
    ids = [str(each["item_id"]) for each in bodies]
    doubled = sorted({each for each, following in pairwise(ids) if each == following})
    _refuse_unless(not doubled, f"The plan asks twice for {', '.join(doubled[:3])}", "Ask for each item once")
    total = sum(each.price.micros for each in items)
    ceiling = total if ceiling_micros is None else ceiling_micros
    _refuse_unless(
        total <= ceiling <= AMOUNT_MICROS_MAX,
        f"The items cost {Money(total, currency)}, above the ceiling of {Money(ceiling, currency)}",
        "Raise the ceiling or plan fewer items",
    )
    return {
        "schema": SCHEMA,
        "kind": kind,
        "stage": str(stage),
        "currency": currency,
        "resend_after_proven_rejection": RESEND_AFTER_PROVEN_REJECTION,
        "ceiling_micros": ceiling,
        "items": list(bodies),
    }


def canonical_bytes(body: Mapping[str, object]) -> bytes:
    """Return the RFC 8785 bytes of the normalised value."""
    return rfc8785.dumps(normalise(body))


def input_hash(body: Mapping[str, object]) -> str:
    """Return `sha256:` and the hex digest of the canonical bytes."""
    return "sha256:" + hashlib.sha256(canonical_bytes(body)).hexdigest()


def normalise(value: object, *, at: str = "$") -> Canonical:
    """Bring a JSON-like value into its one form; raises NotReady naming the place for any other value.

    Strings become NFC, tuples lists, whole numbers of any type integers; a fraction, NaN, an infinity,
    an integer beyond 2**53 - 1, a lone surrogate and every other type are refused.
    """
    _refuse_unless(at.count("/") <= DEPTH_MAX, f"{at} is nested too deeply", "Flatten the parameters")
    match value:
        case None | bool():
            return value
        case str():
            return _text(value, at)
        case Real() | Decimal():
            return _integer(value, at)
        case Mapping():
            return _object(value, at)
        case list() | tuple():
            return [normalise(each, at=f"{at}/{index}") for index, each in enumerate(value)]
        case _:
            raise NotReady(
                f"{at} holds a {type(value).__name__}, which a plan cannot freeze",
                hint="Parameters are text, whole numbers, booleans, lists and objects",
                at=at,
            )


def _item_body(item: PricedItem, currency: str) -> dict[str, Canonical]:
    request = item.request
    at = request.item_id
    _refuse_unless(
        item.price.currency == currency,
        f"{at} is priced in {item.price.currency}, the plan in {currency}",
        "Publish the price in the studio's currency; nothing is converted silently",
    )
    _refuse_unless(
        0 <= item.price.micros <= AMOUNT_MICROS_MAX and 0 <= item.cost_max.micros <= AMOUNT_MICROS_MAX,
        f"{at} has an impossible price",
        "Check the published price",
    )
    _refuse_unless(
        len(request.uses) <= USES_PER_ITEM_MAX, f"{at} uses too many versions", "Use fewer references"
    )
    body: dict[str, Canonical] = {
        "item_id": _text(at, "item_id"),
        "episode_id": _text(request.episode_id, f"{at}/episode_id"),
        "subject": _text(request.subject, f"{at}/subject"),
        "role": _text(request.role, f"{at}/role"),
        "kind": str(MediaKind(request.kind)),
        "binding_id": item.binding_id,
        "product_model": item.product_model,
        "candidates": [*sorted(item.candidates)],
        "price_version_id": item.price_version_id,
        "price_micros": item.price.micros,
        "cost_micros_max": item.cost_max.micros,
        "cost_currency": item.cost_max.currency,
        "outputs": OUTPUTS_PER_ITEM,
        "params": _object(request.params, f"{at}/params"),
        "uses": [each.to_json() for each in sorted(set(request.uses), key=_by_purpose)],
        "constraints": _object(request.constraints, f"{at}/constraints"),
    }
    size = len(rfc8785.dumps(body))
    _refuse_unless(
        size <= ITEM_BYTES_MAX,
        f"{at} asks with {size} bytes of parameters, above {ITEM_BYTES_MAX}",
        "Name media by their sha256 and shorten the text",
    )
    return body


def _by_purpose(use: Use) -> tuple[str, str]:
    return (use.purpose, use.version_id)


def _text(value: str, at: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise NotReady(f"{at} is not valid Unicode", hint="Remove the broken character", at=at) from error
    return unicodedata.normalize("NFC", str(value))


def _integer(value: Real | Decimal, at: str) -> int:
    try:
        exact = Fraction(str(value))
    except ValueError as error:
        raise NotReady(f"{at} is not a number ({value})", hint="Give a whole number", at=at) from error
    if exact.denominator != 1:
        raise NotReady(
            f"{at} is a fraction ({value}), which has no canonical form",
            hint="Give whole frames, milliseconds, pixels or micro-units",
            at=at,
        )
    if abs(exact.numerator) > INTEGER_MAX:
        raise NotReady(f"{at} is too large a number", hint=f"Stay within {INTEGER_MAX}", at=at)
    return exact.numerator


def _object(value: Mapping[str, object] | Mapping[object, object], at: str) -> dict[str, Canonical]:
    result: dict[str, Canonical] = {}
    for key, member in value.items():
        if not isinstance(key, str):
            raise NotReady(f"{at} has a key that is not text", hint="Name every parameter", at=at)
        name = _text(key, at)
        if name in result:
            raise NotReady(f"{at} names '{name}' twice", hint="Name every parameter once", at=at)
        result[name] = normalise(member, at=f"{at}/{name}")
    return result


def _refuse_unless(holds: bool, message: str, hint: str) -> None:  # noqa: FBT001
    if not holds:
        raise NotReady(message, hint=hint)
