"""Price lists: read from TOML at this door, published append-only, stated in two currencies (D-23)."""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from importlib.resources import files
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from shortdrama_pipeline.errors import NotReady, Outside, UsageError
from shortdrama_pipeline.providers.ports import Binding
from shortdrama_pipeline.rules.actors import require_person
from shortdrama_pipeline.rules.plans import input_hash
from shortdrama_pipeline.rules.prices import Price, PriceUnit, Rate, check_price
from shortdrama_pipeline.rules.states import MediaKind
from shortdrama_pipeline.services.context import Studio
from shortdrama_pipeline.store import audit, prices

PRICE_FILE_BYTES_MAX = 1_000_000
AT_OPENING = "rule:opening"  # nobody decided: what ships or stands in the configuration is put in force


def _exact(value: object) -> object:
    """TOML numbers arrive as int or Decimal (`parse_float`); text is taken as it is written."""
    return str(value) if isinstance(value, int | Decimal) and not isinstance(value, bool) else value


_Decimal = Annotated[Decimal, BeforeValidator(_exact)]
_Currency = Annotated[str, Field(pattern=r"^[A-Z]{3}$")]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _RateFile(_Part):
    currency: _Currency
    unit: PriceUnit
    micros_per_unit: _Decimal
    micros_base: int = 0
    units_min: _Decimal = Decimal(0)
    units_step: _Decimal = Decimal(0)

    def rate(self) -> Rate:
        return Rate(
            currency=self.currency,
            unit=self.unit,
            micros_per_unit=self.micros_per_unit,
            micros_base=self.micros_base,
            units_min=self.units_min,
            units_step=self.units_step,
        )


class _PriceEntry(_Part):
    binding: str = Field(min_length=1)
    kind: MediaKind
    user: _RateFile
    vendor: _RateFile
    delivery_deadline_s: int
    source: str = Field(min_length=1)
    dated: str = Field(pattern=r"^\d{4}-\d{2}-\d{2}$")


class _PriceFile(_Part):
    price: tuple[_PriceEntry, ...] = Field(min_length=1)


@dataclass(frozen=True, slots=True)
class Published:
    """One price of a file; `created` is false when it was in force already."""

    price_version_id: str
    binding: str
    created: bool

    def to_json(self) -> dict[str, object]:
        return {
            "price_version_id": self.price_version_id,
            "binding": self.binding,
            "created": self.created,
        }


def read_price_file(text: str, *, name: str) -> list[Price]:
    """Parse `[[price]]` tables. Raises UsageError naming the file and the place."""
    try:
        parsed = _PriceFile.model_validate(tomllib.loads(text, parse_float=Decimal))
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{name} is not TOML: {error}", hint="Mend the line it names") from error
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(each) for each in first["loc"])
        raise UsageError(
            f"{name}: {place}: {first['msg']}", hint="See docs/prices.md", place=place
        ) from error
    return [
        check_price(
            Price(
                binding_id=each.binding,
                kind=each.kind,
                user=each.user.rate(),
                vendor=each.vendor.rate(),
                delivery_deadline_s=each.delivery_deadline_s,
                source=each.source,
                dated=each.dated,
            )
        )
        for each in parsed.price
    ]


def publish_file(studio: Studio, file: Path, *, actor: str) -> list[Published]:
    """Publish every price of a file, all or none; equal content is the version in force."""
    require_person(actor, "publish prices")
    return _publish(studio, read_price_file(_read(file), name=str(file)), actor=actor)


def ensure_published(studio: Studio) -> list[Published]:
    """Publish what the configuration says: a `[[binding]] price` file, or else the list that ships.

    Called at each opening; when nothing is new it is one SELECT. A file counts when its content was never
    in force: an edit takes effect at the next opening, a list published by hand since stays in force.
    """
    with studio.db.read() as tx:
        known = prices.load_digests(tx, list(studio.bindings))
    configured = [
        price
        for each in studio.settings.binding
        if each.price
        for price in [_configured_price(each.id, Path(each.price))]
        if input_hash(price.to_json()) not in known.get(each.id, ())
    ]
    named = {each.id for each in studio.settings.binding if each.price}
    unpriced = [each for each in studio.bindings.values() if each.id not in known and each.id not in named]
    wanted = [*configured, *_shipped(studio, unpriced)]
    return _publish(studio, wanted, actor=AT_OPENING) if wanted else []


def _configured_price(binding_id: str, file: Path) -> Price:
    for each in read_price_file(_read(file), name=str(file)):
        if each.binding_id == binding_id:
            return each
    raise UsageError(
        f"{file} has no price for {binding_id}",
        hint=f"Add a [[price]] with binding = '{binding_id}'; see docs/prices.md",
        binding=binding_id,
    )


def _shipped(studio: Studio, bindings: Sequence[Binding]) -> list[Price]:
    """Return the prices of the bindings whose protocol ships with a list; the others wait for one."""
    currency = studio.settings.studio.currency
    lists = {
        protocol: shipped_prices(protocol, currency) for protocol in {each.protocol for each in bindings}
    }
    return [
        replace(price, binding_id=each.id)
        for each in bindings
        for price in lists[each.protocol]
        if price.kind == each.kind
    ]


def shipped_prices(protocol: str, currency: str) -> list[Price]:
    """Return the list that ships with a protocol (`prices/<protocol>.toml`), or nothing where none does.

    Its user side is stated in `currency`: the same numbers, nothing converted (D-23).
    """
    shipped = {each.name: each for each in files("shortdrama_pipeline.prices").iterdir()}
    file = shipped.get(f"{protocol}.toml")
    if file is None:
        return []
    return read_price_file(file.read_text(encoding="utf-8").replace("STUDIO", currency), name=file.name)


def _publish(studio: Studio, wanted: Sequence[Price], *, actor: str) -> list[Published]:
    currency = studio.settings.studio.currency
    for each in wanted:
        _check_fits(studio, each, currency)
    with studio.db.begin() as tx:
        published = []
        for each in sorted(wanted, key=lambda price: price.binding_id):
            price_version_id, created = prices.record_price(tx, each, actor=actor)
            published.append(Published(price_version_id, each.binding_id, created))
            if created:
                audit.record_decision(
                    tx, "price.publish", price_version_id, actor=actor, facts={"binding": each.binding_id}
                )
    return published


def _check_fits(studio: Studio, price: Price, currency: str) -> None:
    binding = studio.bindings.get(price.binding_id)
    if binding is None or binding.kind != price.kind:
        raise NotReady(
            f"There is no binding {price.binding_id} of kind {price.kind}",
            hint="Configure the [[binding]] first; see: shortdrama provider list",
            binding=price.binding_id,
        )
    if price.user.currency != currency:
        raise NotReady(
            f"The user's price of {price.binding_id} is in {price.user.currency}, not in {currency}",
            hint="State user.currency in the studio's currency; nothing is converted silently",
            binding=price.binding_id,
        )


def _read(file: Path) -> str:
    try:
        if file.stat().st_size > PRICE_FILE_BYTES_MAX:
            raise UsageError(f"{file} is too large for a price list", hint="Name the right file")
        return file.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise UsageError(f"There is no file {file}", hint="Name a TOML price list") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{file} is not UTF-8 text", hint="Name a TOML price list") from error
    except OSError as error:
        raise Outside(f"{file} cannot be read: {error.strerror}", hint="Check the file's rights") from error
