"""Who decides: `person:NAME`, `agent:NAME` or `schedule:ID` (D-22)."""

from dataclasses import dataclass
from enum import StrEnum

from shortdrama_pipeline.errors import GrantRefused, UsageError

ACTOR_CHARACTERS_MAX = 200


class ActorKind(StrEnum):
    """An agent plans and proposes; a schedule spends only under a budget; a person decides."""

    PERSON = "person"
    AGENT = "agent"
    SCHEDULE = "schedule"


@dataclass(frozen=True, slots=True)
class Actor:
    """A parsed actor; `str()` gives back the stored form."""

    kind: ActorKind
    name: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}"


def parse_actor(text: str) -> Actor:
    """Read the stored form. Raises UsageError for anything else, an empty name included."""
    kind, colon, name = text.partition(":")
    if not colon or kind not in set(ActorKind) or not name.strip() or len(text) > ACTOR_CHARACTERS_MAX:
        raise UsageError(
            f"'{text[:ACTOR_CHARACTERS_MAX]}' names no actor",
            hint="Write --actor person:NAME, agent:NAME or schedule:ID",
        )
    return Actor(ActorKind(kind), name)


def require_person(actor: str, action: str) -> Actor:
    """Refuse everyone but a person: agents and schedules never approve, revoke or move money (D-22)."""
    parsed = parse_actor(actor)
    if parsed.kind is not ActorKind.PERSON:
        raise GrantRefused(
            f"{parsed} may not {action}",
            hint="An agent may plan and propose; ask a person to decide (--actor person:NAME)",
            actor=str(parsed),
            action=action,
        )
    return parsed


def require_confirmer(actor: str, *, under_budget: bool) -> Actor:
    """A person may confirm; a schedule only under a budget Grant (D-11); an agent never (P-2.10)."""
    parsed = parse_actor(actor)
    if parsed.kind is ActorKind.SCHEDULE and under_budget:
        return parsed
    if parsed.kind is ActorKind.SCHEDULE:
        raise GrantRefused(
            f"{parsed} may not confirm a Quote without a budget Grant",
            hint="Name a live budget Grant in the schedule, or let a person confirm",
            actor=str(parsed),
            action="confirm a Quote",
        )
    return require_person(actor, "confirm a Quote")
