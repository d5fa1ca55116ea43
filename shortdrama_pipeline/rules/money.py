"""Money: an integer of micro-units and a currency. No float comes near it (law 5)."""

from dataclasses import dataclass

from shortdrama_pipeline.errors import Refusal

MICROS_PER_UNIT = 1_000_000
AMOUNT_MICROS_MAX = 10**15  # a billion units: anything above is a typing error, and bigint stays far away


@dataclass(frozen=True, slots=True, order=True)
class Money:
    """`micros` may be zero or negative only in differences; prices and holds are never negative."""

    micros: int
    currency: str

    def __add__(self, other: "Money") -> "Money":
        self._same(other)
        return Money(self.micros + other.micros, self.currency)

    def __sub__(self, other: "Money") -> "Money":
        self._same(other)
        return Money(self.micros - other.micros, self.currency)

    def to_json(self) -> dict[str, int | str]:
        return {"micros": self.micros, "currency": self.currency}

    def __str__(self) -> str:
        sign = "-" if self.micros < 0 else ""
        units, rest = divmod(abs(self.micros), MICROS_PER_UNIT)
        decimals = f"{rest:06d}".rstrip("0").ljust(2, "0")
        return f"{sign}{units}.{decimals} {self.currency}"

    def _same(self, other: "Money") -> None:
        if self.currency != other.currency:
            raise Refusal(
                f"Cannot combine {self.currency} with {other.currency}",
                hint="Nothing is converted silently (D-23): book each currency by itself",
            )
