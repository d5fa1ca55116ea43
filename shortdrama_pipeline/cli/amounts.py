"""Money as people type it on the command line: `100`, `49.90`, `49.90 CNY`. Exact, never a float."""

from decimal import Decimal

from shortdrama_pipeline.errors import UsageError
from shortdrama_pipeline.rules.money import MICROS_PER_UNIT, Money


def read_amount(text: str, *, currency: str) -> Money:
    """Read an amount in `currency`; raises UsageError for another currency or a part of a micro-unit."""
    number, _, named = text.strip().partition(" ")
    if named and named.strip() != currency:
        raise UsageError(
            f"'{text}' is not in {currency}", hint=f"Nothing is converted: give the amount in {currency}"
        )
    try:
        micros = Decimal(number) * MICROS_PER_UNIT
        whole = int(micros)
    except (ArithmeticError, ValueError) as error:
        raise UsageError(f"'{text}' is no amount", hint="Write it like 100 or 49.90") from error
    if whole != micros:
        raise UsageError(f"'{text}' is finer than a millionth", hint="Give at most six decimals")
    return Money(whole, currency)
