"""When a channel is given a rest (G-302). It stops new submissions only, and never turns to another channel.

Closed, everything may be sent. After so many failures in a row it opens: nothing is sent, what is under
way is asked about as before. After a pause one item that is authorised anyway may try; its answer closes
the breaker, its failure opens it for longer.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

from shortdrama_pipeline.rules.attempts import Proof

FAILURES_MAX = 5
PAUSE_S = 30
PAUSE_S_MAX = 600
TRIAL_S = 60  # a trial nobody heard of again does not block the next one for ever


class Verdict(StrEnum):
    """What a paid create says about its channel."""

    ANSWERED = "answered"
    FAILED = "failed"
    NEITHER = "neither"


@dataclass(frozen=True, slots=True)
class Standing:
    """A breaker as it is found. `due`: it is open, and its pause is over."""

    open: bool
    due: bool = False


def weigh(*, accepted: bool, proof: Proof | None) -> Verdict:
    """Silence, a 5xx and a line that never opened are failures; a refused content is an answer.

    `proof` is None where nothing is proven. A full channel or a key to be mended has its own pause.
    """
    if accepted:
        return Verdict.ANSWERED
    match proof:
        case None | Proof.NEVER_SENT:
            return Verdict.FAILED
        case Proof.FINAL:
            return Verdict.ANSWERED
        case Proof.CAPACITY | Proof.MENDABLE | Proof.ABSENCE:
            return Verdict.NEITHER
        case _:
            assert_never(proof)


def admits(standing: Standing, wanted: int) -> int:
    """How many of `wanted` sends may start."""
    if not standing.open:
        return wanted
    return min(1, wanted) if standing.due else 0


def pause_s(failures: int, *, failures_max: int = FAILURES_MAX) -> int | None:
    """How long the channel rests after this failure; None while it stays closed."""
    if failures < failures_max:
        return None
    return min(PAUSE_S << min(failures - failures_max, 10), PAUSE_S_MAX)
