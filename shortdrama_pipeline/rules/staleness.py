"""What is no longer made from the present choices, and by which path (P-11.5, P-11.6). Pure.

A version is stale when something it was made from is no longer the chosen one of its subject and
role, or is itself stale. A newer choice with the same content is as good as the old one: a script
saved again without a change, or a shot planned again as it was, makes nothing stale.
A version without recorded origins whose kind has some is *unknown*, not stale.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shortdrama_pipeline.rules.states import VersionKind

Key = tuple[str, str]  # (subject, role)

# Kinds that may be roots: they come from a brief, an import or a person, not from another version.
ROOTS = frozenset({VersionKind.STORY_OUTLINE, VersionKind.SCRIPT, VersionKind.PROJECT_BIBLE})


@dataclass(frozen=True, slots=True)
class Node:
    """A version as staleness sees it. `content_key` is equal for equal content and file."""

    version_id: str
    kind: str
    subject: str
    role: str
    content_key: str
    uses: tuple[str, ...] = ()

    @property
    def key(self) -> Key:
        return (self.subject, self.role)


@dataclass(frozen=True, slots=True)
class Step:
    """One link of a reason: `version_id` of a subject was used; `chosen_id` is the choice now, if any."""

    subject: str
    role: str
    version_id: str
    chosen_id: str | None

    def to_json(self) -> dict[str, str | None]:
        return {
            "subject": self.subject,
            "role": self.role,
            "version_id": self.version_id,
            "selected": self.chosen_id,
        }


@dataclass(frozen=True, slots=True)
class Freshness:
    """`path` is empty for a current version; else it leads from the version to the change."""

    path: tuple[Step, ...] = ()
    known: bool = True

    @property
    def stale(self) -> bool:
        return bool(self.path)


CURRENT = Freshness()


def judge(nodes: Sequence[Node], chosen: Mapping[Key, str]) -> dict[str, Freshness]:
    """Return the freshness of every version. Origins outside `nodes` are left out of the question."""
    by_id = {node.version_id: node for node in nodes}
    settled: dict[str, Freshness] = {}
    for node in nodes:
        _settle(node, by_id, chosen, settled)
    return settled


def _settle(
    root: Node, by_id: Mapping[str, Node], chosen: Mapping[Key, str], settled: dict[str, Freshness]
) -> None:
    """Walk the origins depth first without recursion: a long series of films is a deep graph."""
    stack = [root]
    entered: set[str] = set()  # versions only use older ones; should a ring ever appear, it ends here
    while stack:
        node = stack[-1]
        if node.version_id in settled:
            stack.pop()
            continue
        waiting = [
            standing
            for used in node.uses
            if (standing := _standing(used, by_id, chosen)) is not None and standing.version_id not in settled
        ]
        if waiting and node.version_id not in entered:
            entered.add(node.version_id)
            stack += waiting
            continue
        settled[node.version_id] = _judge_one(node, by_id, chosen, settled)
        stack.pop()


def _standing(used: str, by_id: Mapping[str, Node], chosen: Mapping[Key, str]) -> Node | None:
    """Return the node whose own freshness counts for an origin: the choice if it is as good, else none."""
    node = by_id.get(used)
    if node is None:
        return None
    choice = by_id.get(chosen.get(node.key, ""))
    if choice is None or choice.content_key != node.content_key:
        return None
    return choice


def _judge_one(
    node: Node, by_id: Mapping[str, Node], chosen: Mapping[Key, str], settled: Mapping[str, Freshness]
) -> Freshness:
    if not node.uses:
        return CURRENT if node.kind in ROOTS else Freshness(known=False)
    shortest: tuple[Step, ...] = ()
    for used in node.uses:
        origin = by_id.get(used)
        if origin is None:
            continue
        step = Step(origin.subject, origin.role, used, chosen.get(origin.key))
        standing = _standing(used, by_id, chosen)
        if standing is None:
            path: tuple[Step, ...] = (step,)
        elif (deeper := settled.get(standing.version_id, CURRENT)).stale:
            path = (step, *deeper.path)
        else:
            continue
        if not shortest or len(path) < len(shortest):
            shortest = path
    return Freshness(shortest)
