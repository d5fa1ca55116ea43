"""Ids that sort by birth: a prefix, 48 bits of milliseconds, 80 random bits (a ULID)."""

import os
import time

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"


def new_id(prefix: str) -> str:
    """Return `prefix_` and 26 characters; unique without coordination, never secret."""
    number = (time.time_ns() // 1_000_000) << 80 | int.from_bytes(os.urandom(10))
    return f"{prefix}_" + "".join(_ALPHABET[(number >> shift) & 31] for shift in range(125, -1, -5))
