"""How long a worker may believe that a Task is its own.

Expiry is judged by the database clock alone. What stands here are the lengths, and the local
deadline after which a worker must not start a paid request even if nobody has told it anything.
"""

LEASE_MS = 20_000
HEARTBEAT_MS = 5_000
TAKEOVER_SCAN_MS = 4_000  # LEASE + SCAN stays below the 30 s of G-104
SEND_MARGIN_MS = 5_000  # a send must start this long before the lease ends, on the worker's own clock
CONNECT_MS_MAX = 5_000


def send_until_ms(asked_at_ms: int, *, lease_ms: int = LEASE_MS) -> int:
    """Monotonic deadline for a send, counted from before the claim was asked for (P-6.9)."""
    return asked_at_ms + lease_ms - min(SEND_MARGIN_MS, lease_ms // 4)
