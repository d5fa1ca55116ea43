"""What an item costs the user and, at most, the studio; exact, and rounded in one place (D-13, D-23).

`Decimal` and `Fraction` live only in this file. A result is a whole micro-unit, rounded up once.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction

from shortdrama_pipeline.errors import NotReady, UsageError
from shortdrama_pipeline.rules.money import AMOUNT_MICROS_MAX, Money
from shortdrama_pipeline.rules.states import MediaKind

DEADLINE_S_MAX = 30 * 86_400


class PriceUnit(StrEnum):
    """What is counted."""

    REQUEST = "request"
    IMAGE = "image"
    CHARACTER = "character"  # code points of the text asked for, blanks around it not counted
    SECOND = "second"  # of the duration asked for, fractions included


UNITS: Mapping[MediaKind, frozenset[PriceUnit]] = {
    MediaKind.TEXT: frozenset({PriceUnit.REQUEST}),
    MediaKind.IMAGE: frozenset({PriceUnit.REQUEST, PriceUnit.IMAGE}),
    MediaKind.VIDEO: frozenset({PriceUnit.REQUEST, PriceUnit.SECOND}),
    MediaKind.SPEECH: frozenset({PriceUnit.REQUEST, PriceUnit.CHARACTER}),
    MediaKind.MUSIC: frozenset({PriceUnit.REQUEST, PriceUnit.SECOND}),
    MediaKind.LIPSYNC: frozenset({PriceUnit.REQUEST, PriceUnit.SECOND}),
}


@dataclass(frozen=True, slots=True)
class Rate:
    """One side of a price: `micros_per_unit` of `currency`.

    `micros_base` is charged once per item beside the counted units. Units are first rounded up to a
    multiple of `units_step` and to at least `units_min`, as vendors do that bill by started seconds.
    """

    currency: str
    unit: PriceUnit
    micros_per_unit: Decimal
    micros_base: int = 0
    units_min: Decimal = Decimal(0)
    units_step: Decimal = Decimal(0)

    def to_json(self) -> dict[str, str | int]:
        return {
            "currency": self.currency,
            "unit": str(self.unit),
            "micros_per_unit": plain(self.micros_per_unit),
            "micros_base": self.micros_base,
            "units_min": plain(self.units_min),
            "units_step": plain(self.units_step),
        }


@dataclass(frozen=True, slots=True)
class Price:
    """A published price of one binding. `user` is in the studio's currency, `vendor` in the vendor's.

    `source` names the document the vendor's side was read from, `dated` the day (ISO) it was read.
    """

    binding_id: str
    kind: MediaKind
    user: Rate
    vendor: Rate
    delivery_deadline_s: int
    source: str
    dated: str

    def to_json(self) -> dict[str, object]:
        return {
            "binding": self.binding_id,
            "kind": str(self.kind),
            "user": self.user.to_json(),
            "vendor": self.vendor.to_json(),
            "delivery_deadline_s": self.delivery_deadline_s,
            "source": self.source,
            "dated": self.dated,
        }


def price_from_json(body: Mapping[str, object]) -> Price:
    """Read back what `to_json` wrote."""
    return Price(
        binding_id=str(body["binding"]),
        kind=MediaKind(str(body["kind"])),
        user=_rate_from_json(body["user"]),
        vendor=_rate_from_json(body["vendor"]),
        delivery_deadline_s=int(str(body["delivery_deadline_s"])),
        source=str(body["source"]),
        dated=str(body["dated"]),
    )


def check_price(price: Price) -> Price:
    """Refuse a price that no item could be counted by, or that is out of range."""
    for side, rate in (("user", price.user), ("vendor", price.vendor)):
        if rate.unit not in UNITS[price.kind]:
            raise UsageError(
                f"A {price.kind} item cannot be priced by the {rate.unit} ({side})",
                hint=f"Use one of: {', '.join(sorted(UNITS[price.kind]))}",
                binding=price.binding_id,
            )
        numbers = (rate.micros_per_unit, rate.units_min, rate.units_step, Decimal(rate.micros_base))
        if any(not each.is_finite() or not 0 <= each <= AMOUNT_MICROS_MAX for each in numbers):
            raise UsageError(
                f"The {side} price of {price.binding_id} is out of range",
                hint="Prices are zero or more micro-units (a millionth of the currency)",
                binding=price.binding_id,
            )
    if not 0 < price.delivery_deadline_s <= DEADLINE_S_MAX:
        raise UsageError(
            f"The delivery deadline of {price.binding_id} is out of range",
            hint=f"Give delivery_deadline_s from 1 to {DEADLINE_S_MAX}",
            binding=price.binding_id,
        )
    return price


def user_price(price: Price, params: Mapping[str, object]) -> Money:
    """What the user pays for one item: fixed by the Quote, whatever the vendor bills (P-3.5)."""
    return amount(price.user, params)


def vendor_cost_max(price: Price, params: Mapping[str, object]) -> Money:
    """What the vendor may bill for one item by its price list; above it D-7 applies."""
    return amount(price.vendor, params)


def amount(rate: Rate, params: Mapping[str, object]) -> Money:
    """Count `params` by the rate. The one rounding: up, to the whole micro-unit."""
    units = max(_units(rate.unit, params), Fraction(rate.units_min))
    if rate.units_step:
        step = Fraction(rate.units_step)
        units = math.ceil(units / step) * step
    micros = rate.micros_base + math.ceil(units * Fraction(rate.micros_per_unit))
    if micros > AMOUNT_MICROS_MAX:
        raise NotReady("An item would cost more than any price may", hint="Check the published price")
    return Money(micros, rate.currency)


def plain(number: Decimal) -> str:
    """Write a decimal in its one shortest plain form: 12.50 -> 12.5, 3E2 -> 300."""
    text = format(number, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def _units(unit: PriceUnit, params: Mapping[str, object]) -> Fraction:
    match unit:
        case PriceUnit.REQUEST | PriceUnit.IMAGE:
            return Fraction(1)
        case PriceUnit.CHARACTER:
            text = params.get("text")
            if not isinstance(text, str):
                raise NotReady("There is no text to count", hint="Give the item its text")
            return Fraction(len(text.strip()))
        case PriceUnit.SECOND:
            return _seconds(params)


def _seconds(params: Mapping[str, object]) -> Fraction:
    match params:
        case {"duration_frames": int(frames), "frame_rate": [int(per), int(seconds)]} if per > 0 < seconds:
            duration = Fraction(frames * seconds, per)
        case {"duration_ms": int(milliseconds)}:
            duration = Fraction(milliseconds, 1000)
        case _:
            raise NotReady(
                "There is no duration to count", hint="Give duration_frames and frame_rate, or duration_ms"
            )
    if duration <= 0:
        raise NotReady("A duration must be positive", hint="Give the item a length")
    return duration


def _rate_from_json(body: object) -> Rate:
    assert isinstance(body, Mapping)
    return Rate(
        currency=str(body["currency"]),
        unit=PriceUnit(str(body["unit"])),
        micros_per_unit=Decimal(str(body["micros_per_unit"])),
        micros_base=int(str(body["micros_base"])),
        units_min=Decimal(str(body["units_min"])),
        units_step=Decimal(str(body["units_step"])),
    )
