"""Which durable id a logical run owns (Part I). Decides on what is already held; asks nothing else.

A growing suffix is naming, not idempotency (A-24): the key decides, and where the key is
ambiguous the program stops. It never guesses.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from shortdrama_pipeline.errors import Conflict, UsageError

EPISODE = "episode"
KEY_CHARACTERS_MAX = 200
_KIND = re.compile(r"[a-z][a-z0-9-]{0,31}")


@dataclass(frozen=True, slots=True)
class Held:
    """What holds an allocation key: the identity of a row, live or completed (A-07)."""

    episode_id: str
    kind: str
    week_id: str
    sequence: int
    time_zone: str


@dataclass(frozen=True, slots=True)
class Reuse:
    """The run already owns this id (A-11)."""

    row: Held


@dataclass(frozen=True, slots=True)
class Take:
    """The run gets the next number of its week (A-13); `row` is what to write."""

    row: Held


def decide(
    matches: Sequence[Held], *, key: str, kind: str, week_id: str, time_zone: str, highest: int | None
) -> Reuse | Take:
    """Decide on the rows that hold `key` and the `highest` sequence of the week, None if empty.

    Raises Conflict where the key belongs to several rows, another week or another kind (A-12).
    """
    if len(matches) > 1:
        ids = [each.episode_id for each in matches]
        raise Conflict(
            f"The allocation key {key!r} is held by several rows: {', '.join(ids)}",
            hint="Somebody wrote one of them by hand: decide which one this run owns and repair the other",
            allocation_key=key,
            episode_ids=list(ids),
        )
    for held in matches:
        if held.kind != kind:
            raise Conflict(
                f"The allocation key {key!r} belongs to {held.episode_id}, a {held.kind}, not to a {kind}",
                hint="Give each kind of work keys of its own",
                allocation_key=key,
                episode_id=held.episode_id,
            )
        if held.week_id != week_id:
            raise Conflict(
                f"The allocation key {key!r} belongs to {held.episode_id} in {held.week_id}"
                f" ({held.time_zone}); it cannot move to {week_id} ({time_zone})",
                hint="Repeat the call with the original time, or give a new run a key of its own",
                allocation_key=key,
                episode_id=held.episode_id,
                week_id=week_id,
                held_week_id=held.week_id,
                time_zone=time_zone,
                held_time_zone=held.time_zone,
            )
        return Reuse(held)
    sequence = 0 if highest is None else highest + 1
    episode_id = f"{id_prefix(kind, week_id)}{sequence}"
    return Take(Held(episode_id, kind=kind, week_id=week_id, sequence=sequence, time_zone=time_zone))


def id_prefix(kind: str, week_id: str) -> str:
    """Return what stands before the number: 2026-W32- for an episode, <kind>-2026-W32- otherwise (A-26)."""
    return f"{week_id}-" if kind == EPISODE else f"{kind}-{week_id}-"


def checked_key(key: str) -> str:
    """Return `key` as given; an empty or unprintable one identifies nothing and is refused (A-09)."""
    if not key.strip() or not key.isprintable() or len(key) > KEY_CHARACTERS_MAX:
        raise UsageError(
            "An allocation key is needed: one printable line that names this run",
            hint=f"Use the run's stable identity, such as scheduled-run:weekly:2026-08-07, "
            f"at most {KEY_CHARACTERS_MAX} characters",
        )
    return key


def checked_kind(kind: str) -> str:
    """Return `kind`, a word fit to stand in an id."""
    if not _KIND.fullmatch(kind):
        raise UsageError(
            f"{kind!r} cannot name a kind of work",
            hint="Use lower-case letters, digits and hyphens, a letter first, at most 32 characters",
        )
    return kind
