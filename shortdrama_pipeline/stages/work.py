"""The one shape of a stage: what its gate covers, what it makes by rule, what it would have to buy.

A stage is four pure functions of a `View`. None of them touches the database or a vendor: services
record what `free` returns, planning prices what `requests` returns.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

from shortdrama_pipeline.rules.plans import ItemRequest, Use
from shortdrama_pipeline.rules.states import Stage
from shortdrama_pipeline.stages.view import Key, View
from shortdrama_pipeline.store.versions import Draft, Version

RULE = "rule:storyboard-1"  # the actor of what is made by rule; the number changes with the rules
SEED_MAX = 2**31


def nothing_free(view: View) -> list[Draft]:  # noqa: ARG001 one of the four functions
    return []


def nothing_gone(view: View) -> list[Key]:  # noqa: ARG001
    return []


def nothing_to_buy(view: View) -> list[ItemRequest]:  # noqa: ARG001
    return []


@dataclass(frozen=True, slots=True)
class StageWork:
    """`owed`: the (subject, role) its gate covers. `free`: versions made by rule, as they should be now.

    `gone`: choices that are no longer part of the episode. `requests`: every paid item of the stage,
    whether it is there already or not. `free` and `requests` raise NotReady for what cannot be made.
    """

    stage: Stage
    owed: Callable[[View], list[Key]]
    free: Callable[[View], list[Draft]] = nothing_free
    gone: Callable[[View], list[Key]] = nothing_gone
    requests: Callable[[View], list[ItemRequest]] = nothing_to_buy


def use(version: Version, purpose: str) -> Use:
    """Return the frozen mention of a version in an item (P-3.1)."""
    return Use(purpose=purpose, version_id=version.version_id, digest=version.digest, sha256=version.sha256)


def seed(view: View, subject: str, role: str) -> int:
    """Return a seed that is the same for the same request, and another for every further candidate."""
    number = view.numbers.get((subject, role), 0)
    text = f"{view.brief.get('seed', 0)}/{view.episode_id}/{subject}#{role}/{number}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4]) % SEED_MAX
