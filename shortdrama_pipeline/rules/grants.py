"""A Grant: who allowed how much of what, until when (P-2.12, P-3.7, D-19).

Confirming a Quote mints one of kind `operation` or `batch`, bound to one input hash. A `budget`
confirms Quotes without a person while all of its five limits hold: capability, amount, number of
uses, time and model range. A child minted under a budget names it in its scope.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from shortdrama_pipeline.errors import GrantRefused
from shortdrama_pipeline.rules.money import Money
from shortdrama_pipeline.rules.quotes import QuotedItem

GRANT_VALID_S = 7 * 86_400  # D-19
GRANT_VALID_S_MAX = 366 * 86_400
USES_MAX = 1_000_000


class GrantKind(StrEnum):
    """D-19."""

    OPERATION = "operation"
    BATCH = "batch"
    BUDGET = "budget"


@dataclass(frozen=True, slots=True)
class Scope:
    """What a Grant covers. An empty tuple in a budget means "any"; `items` is empty in a budget."""

    stages: tuple[str, ...] = ()
    episodes: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    bindings: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    items: tuple[str, ...] = ()
    budget_grant_id: str | None = None

    def to_json(self) -> dict[str, object]:
        body: dict[str, object] = {
            "stages": list(self.stages),
            "episodes": list(self.episodes),
            "kinds": list(self.kinds),
            "bindings": list(self.bindings),
            "models": list(self.models),
            "items": list(self.items),
        }
        return body if self.budget_grant_id is None else body | {"budget_grant_id": self.budget_grant_id}


@dataclass(frozen=True, slots=True)
class Grant:
    """A row of `grants`."""

    grant_id: str
    kind: GrantKind
    quote_id: str | None
    input_hash: str | None
    limit: Money
    used_micros: int
    uses: int
    uses_max: int | None
    scope: Scope
    expires_at: datetime
    revoked_at: datetime | None
    actor: str

    @property
    def left(self) -> Money:
        return Money(self.limit.micros - self.used_micros, self.limit.currency)


def scope_of(stage: str, items: Sequence[QuotedItem], *, budget_grant_id: str | None = None) -> Scope:
    """The exact scope a confirmed Quote mints: these items and nothing beside them (P-3.6)."""
    return Scope(
        stages=(stage,),
        episodes=_sorted(each.episode_id for each in items),
        kinds=_sorted(each.kind for each in items),
        bindings=_sorted(each.binding_id for each in items),
        models=_sorted(each.product_model for each in items),
        items=_sorted(each.item_id for each in items),
        budget_grant_id=budget_grant_id,
    )


def check_budget(grant: Grant, *, wanted: Scope, total: Money, now: datetime) -> None:
    """Raise GrantRefused unless this budget covers a Quote of that scope and sum (P-3.7)."""
    if grant.kind is not GrantKind.BUDGET:
        _refuse(grant, "kind", "covers one Quote only", "Name a budget Grant")
    if grant.revoked_at is not None:
        _refuse(grant, "revoked", "was revoked", "Issue a new budget or confirm by hand")
    if now >= grant.expires_at:
        _refuse(grant, "validity", "has expired", "Issue a new budget or confirm by hand")
    if grant.limit.currency != total.currency:
        _refuse(grant, "currency", f"is in {grant.limit.currency}", "Issue one in the studio's currency")
    limits = (
        ("stage", grant.scope.stages, wanted.stages),
        ("episode", grant.scope.episodes, wanted.episodes),
        ("capability", grant.scope.kinds, wanted.kinds),
        ("binding", grant.scope.bindings, wanted.bindings),
        ("model", grant.scope.models, wanted.models),
    )
    for word, allowed, asked in limits:
        outside = [each for each in asked if allowed and each not in allowed]
        if outside:
            _refuse(grant, word, f"does not cover {word} {', '.join(outside)}", "Confirm by hand")
    if grant.uses_max is not None and grant.uses >= grant.uses_max:
        _refuse(grant, "uses", f"is used up after {grant.uses} uses", "Issue a new budget or confirm by hand")
    if total.micros > grant.left.micros:
        _refuse(grant, "amount", f"has {grant.left} left and the Quote is {total}", "Confirm by hand")


def _sorted(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(words)))


def _refuse(grant: Grant, limit: str, why: str, hint: str) -> None:
    raise GrantRefused(f"The Grant {grant.grant_id} {why}", hint=hint, grant_id=grant.grant_id, limit=limit)
