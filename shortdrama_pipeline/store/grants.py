"""Grants: minted, used up, revoked. Live means `revoked_at is null and expires_at > clock_timestamp()`."""

from collections.abc import Mapping, Sequence
from datetime import datetime

import sqlalchemy as sa

from shortdrama_pipeline.errors import StaleState, UnknownId
from shortdrama_pipeline.ids import new_id
from shortdrama_pipeline.rules.grants import Grant, GrantKind, Scope
from shortdrama_pipeline.rules.money import Money
from shortdrama_pipeline.store.bulk import json_text

_SELECT = (
    "select grant_id, kind, quote_id, input_hash, limit_micros, used_micros, currency, uses, uses_max, scope,"
    " expires_at, revoked_at, actor from grants"
)


def record_budget(
    tx: sa.Connection, *, limit: Money, uses_max: int | None, scope: Scope, valid_s: int, actor: str
) -> str:
    """Issue a budget Grant valid from now for `valid_s` seconds of the database clock."""
    grant_id = new_id("grant")
    tx.execute(
        sa.text(
            "insert into grants (grant_id, kind, limit_micros, used_micros, currency, uses_max, scope,"
            " expires_at, actor) values (:grant_id, 'budget', :limit, 0, :currency, :uses_max,"
            " cast(:scope as jsonb), clock_timestamp() + make_interval(secs => :valid_s), :actor)"
        ),
        {
            "grant_id": grant_id,
            "limit": limit.micros,
            "currency": limit.currency,
            "uses_max": uses_max,
            "scope": json_text(scope.to_json()),
            "valid_s": valid_s,
            "actor": actor,
        },
    )
    return grant_id


def load_grant(tx: sa.Connection, grant_id: str) -> Grant:
    """Raises UnknownId."""
    row = (
        tx.execute(sa.text(f"{_SELECT} where grant_id = :grant_id"), {"grant_id": grant_id})
        .mappings()
        .one_or_none()
    )
    if row is None:
        raise unknown_grant(grant_id)
    return _grant(row)


def unknown_grant(grant_id: str) -> UnknownId:
    """The error for an id nothing stands under: a forged one, for example (P-2.11)."""
    return UnknownId(f"There is no Grant {grant_id}", hint="See: shortdrama grant list", grant_id=grant_id)


def lock_grants(tx: sa.Connection, grant_ids: Sequence[str]) -> dict[str, Grant]:
    """Lock these Grants in id order and return those that exist."""
    if not grant_ids:
        return {}
    rows = tx.execute(
        sa.text(f"{_SELECT} where grant_id = any(cast(:grant_ids as text[])) order by grant_id for update"),
        {"grant_ids": sorted(set(grant_ids))},
    )
    return {row["grant_id"]: _grant(row) for row in rows.mappings()}


def list_grants(tx: sa.Connection, *, limit: int) -> list[Grant]:
    """The newest first."""
    rows = tx.execute(
        sa.text(f"{_SELECT} order by created_at desc, grant_id desc limit :limit"), {"limit": limit}
    )
    return [_grant(row) for row in rows.mappings()]


def consume(tx: sa.Connection, grant_id: str, *, micros: int, uses: int) -> None:
    """Use up a budget; the guard repeats every limit a race could break (P-3.7)."""
    moved = tx.execute(
        sa.text(
            "update grants set used_micros = used_micros + :micros, uses = uses + :uses"
            " where grant_id = :grant_id and kind = 'budget' and revoked_at is null"
            " and expires_at > clock_timestamp() and used_micros + :micros <= limit_micros"
            " and (uses_max is null or uses + :uses <= uses_max)"
        ),
        {"grant_id": grant_id, "micros": micros, "uses": uses},
    )
    if moved.rowcount != 1:
        raise StaleState(f"The Grant {grant_id} changed meanwhile", hint="Confirm again", grant_id=grant_id)


def revoke(tx: sa.Connection, grant_id: str) -> tuple[datetime, list[str]]:
    """Revoke a Grant and, after it, every Grant minted under it. Returns (when, newly revoked ids).

    The parent's row lock makes a confirm under it come wholly before, and so be found, or wholly after.
    """
    moved = tx.execute(
        sa.text(
            "update grants set revoked_at = clock_timestamp()"
            " where grant_id = :grant_id and revoked_at is null returning grant_id"
        ),
        {"grant_id": grant_id},
    )
    revoked = list(moved.scalars())
    children = tx.execute(
        sa.text(
            "update grants set revoked_at = clock_timestamp()"
            " where scope->>'budget_grant_id' = :grant_id and revoked_at is null returning grant_id"
        ),
        {"grant_id": grant_id},
    )
    revoked += sorted(children.scalars())
    at = load_grant(tx, grant_id).revoked_at
    assert at is not None
    return at, revoked


def count_tasks_by_state(tx: sa.Connection, grant_ids: Sequence[str]) -> dict[str, int]:
    """How many tasks lie under these Grants, by state: what a revocation stops and what goes on (P-3.8)."""
    rows = tx.execute(
        sa.text(
            "select state, count(*) as tasks from tasks where grant_id = any(cast(:grant_ids as text[]))"
            " group by state order by state"
        ),
        {"grant_ids": list(grant_ids)},
    )
    return {row.state: row.tasks for row in rows}


def list_children(tx: sa.Connection, grant_id: str) -> list[str]:
    """The Grants minted under a budget."""
    rows = tx.execute(
        sa.text("select grant_id from grants where scope->>'budget_grant_id' = :grant_id order by grant_id"),
        {"grant_id": grant_id},
    )
    return list(rows.scalars())


def _grant(row: Mapping[str, object] | sa.RowMapping) -> Grant:
    scope = row["scope"]
    assert isinstance(scope, Mapping)
    parent = scope.get("budget_grant_id")
    lists = {
        name: tuple(str(each) for each in scope.get(name, ()))
        for name in ("stages", "episodes", "kinds", "bindings", "models", "items")
    }
    fields = dict(row)
    limit = Money(int(str(fields.pop("limit_micros"))), str(fields.pop("currency")))
    fields["kind"] = GrantKind(str(fields["kind"]))
    fields["scope"] = Scope(**lists, budget_grant_id=None if parent is None else str(parent))
    return Grant(**fields, limit=limit)
