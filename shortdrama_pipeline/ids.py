"""Ids that sort by birth: a prefix, 48 bits of milliseconds, 80 random bits (a ULID)."""

import os
import time
from collections.abc import Callable

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"


def _draw() -> int:
    return (time.time_ns() // 1_000_000) << 80 | int.from_bytes(os.urandom(10))


source: Callable[[], int] = _draw  # the simulator draws from its seed


def new_id(prefix: str) -> str:
    """Return `prefix_` and 26 characters; unique without coordination, never secret."""
    number = source()
    return f"{prefix}_" + "".join(_ALPHABET[(number >> shift) & 31] for shift in range(125, -1, -5))
