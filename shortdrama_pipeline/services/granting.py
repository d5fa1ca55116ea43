"""Budgets: issued and revoked by a person, used up by confirms (P-3.7, P-3.8, D-19)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from shortdrama_pipeline.errors import UsageError
from shortdrama_pipeline.rules.actors import require_person
from shortdrama_pipeline.rules.grants import GRANT_VALID_S, GRANT_VALID_S_MAX, USES_MAX, Grant, Scope
from shortdrama_pipeline.rules.money import AMOUNT_MICROS_MAX, Money
from shortdrama_pipeline.rules.states import MediaKind, Stage
from shortdrama_pipeline.services.context import Studio
from shortdrama_pipeline.store import audit, episodes, grants

GRANTS_SHOWN_MAX = 1_000


@dataclass(frozen=True, slots=True)
class Revoked:
    """What a revocation did: these Grants are dead, and so many of their tasks are in these states."""

    grant_id: str
    revoked_at: datetime
    revoked: tuple[str, ...]
    tasks: dict[str, int]

    def to_json(self) -> dict[str, object]:
        return {
            "grant_id": self.grant_id,
            "revoked_at": self.revoked_at,
            "revoked": list(self.revoked),
            "tasks": self.tasks,
        }


def issue_budget(
    studio: Studio,
    limit: Money,
    *,
    actor: str,
    scope: Scope | None = None,
    uses_max: int | None = None,
    valid_s: int = GRANT_VALID_S,
) -> Grant:
    """Let Quotes inside these limits be confirmed without a person. Raises UsageError, UnknownId.

    An empty list in the scope means "any"; amount, time and, if given, uses are always limits.
    """
    require_person(actor, "issue a Grant")
    scope = scope or Scope()
    _check_limits(studio, limit, uses_max=uses_max, valid_s=valid_s)
    _check_scope(studio, scope)
    with studio.db.begin() as tx:
        for episode_id in scope.episodes:
            episodes.require_episode(tx, episode_id)
        grant_id = grants.record_budget(
            tx, limit=limit, uses_max=uses_max, scope=scope, valid_s=valid_s, actor=actor
        )
        audit.record_decision(
            tx, "grant.issue", grant_id, actor=actor, facts={"limit": dict(limit.to_json())}
        )
        return grants.load_grant(tx, grant_id)


def revoke_grant(studio: Studio, grant_id: str, *, actor: str) -> Revoked:
    """Stop every paid action under a Grant that has not started; what was accepted goes on (P-3.8).

    A repeat changes nothing and answers the first time. Grants minted under a budget die with it.
    """
    require_person(actor, "revoke a Grant")
    with studio.db.begin() as tx:
        grants.load_grant(tx, grant_id)
        revoked_at, revoked = grants.revoke(tx, grant_id)
        covered = [grant_id, *grants.list_children(tx, grant_id)]
        if revoked:
            audit.record_decision(tx, "grant.revoke", grant_id, actor=actor, facts={"revoked": [*revoked]})
        tasks = grants.count_tasks_by_state(tx, covered)
    return Revoked(grant_id, revoked_at, tuple(revoked), tasks)


def show_grant(studio: Studio, grant_id: str) -> Grant:
    """Raises UnknownId."""
    with studio.db.read() as tx:
        return grants.load_grant(tx, grant_id)


def list_grants(studio: Studio, *, limit: int = 100) -> Sequence[Grant]:
    """The newest first."""
    with studio.db.read() as tx:
        return grants.list_grants(tx, limit=min(limit, GRANTS_SHOWN_MAX))


def _check_limits(studio: Studio, limit: Money, *, uses_max: int | None, valid_s: int) -> None:
    currency = studio.settings.studio.currency
    if limit.currency != currency or not 0 < limit.micros <= AMOUNT_MICROS_MAX:
        raise UsageError(f"{limit} is no limit for a Grant", hint=f"Give a positive amount in {currency}")
    if uses_max is not None and not 0 < uses_max <= USES_MAX:
        raise UsageError(f"{uses_max} is no number of uses", hint=f"Give --uses from 1 to {USES_MAX}")
    if not 0 < valid_s <= GRANT_VALID_S_MAX:
        raise UsageError("That validity is out of range", hint="Give --days from 1 to 366")


def _check_scope(studio: Studio, scope: Scope) -> None:
    known = (
        ("stage", scope.stages, {str(each) for each in Stage}),
        ("kind", scope.kinds, {str(each) for each in MediaKind}),
        ("binding", scope.bindings, set(studio.bindings)),
        ("model", scope.models, {each.model for each in studio.bindings.values()}),
    )
    for word, given, possible in known:
        unknown = sorted(set(given) - possible)
        if unknown:
            raise UsageError(
                f"There is no {word} {unknown[0]}", hint=f"Choose from: {', '.join(sorted(possible))}"
            )
