"""PlanSnapshots: inserted once, never changed (P-3.1)."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa

from shortdrama_pipeline.errors import UnknownId
from shortdrama_pipeline.ids import new_id
from shortdrama_pipeline.rules.plans import Canonical
from shortdrama_pipeline.store.bulk import json_text


@dataclass(frozen=True, slots=True)
class Plan:
    """A row of `plans`."""

    plan_id: str
    kind: str
    stage: str
    body: Mapping[str, object]
    input_hash: str
    actor: str
    created_at: datetime

    @property
    def items(self) -> list[Mapping[str, object]]:
        items = self.body["items"]
        assert isinstance(items, list)
        return items


def record_plan(tx: sa.Connection, body: Mapping[str, Canonical], *, input_hash: str, actor: str) -> str:
    """Store a body made by `rules.plans.plan_body` and return the plan's id."""
    plan_id = new_id("plan")
    tx.execute(
        sa.text(
            "insert into plans (plan_id, kind, stage, body, input_hash, actor)"
            " values (:plan_id, :kind, :stage, cast(:body as jsonb), :input_hash, :actor)"
        ),
        {
            "plan_id": plan_id,
            "kind": body["kind"],
            "stage": body["stage"],
            "body": json_text(body),
            "input_hash": input_hash,
            "actor": actor,
        },
    )
    return plan_id


def load_plan(tx: sa.Connection, plan_id: str) -> Plan:
    """Raises UnknownId."""
    row = tx.execute(
        sa.text(
            "select plan_id, kind, stage, body, input_hash, actor, created_at from plans"
            " where plan_id = :plan_id"
        ),
        {"plan_id": plan_id},
    ).one_or_none()
    if row is None:
        raise UnknownId(f"There is no plan {plan_id}", hint="Look at the Quote again", plan_id=plan_id)
    return Plan(*row)


def find_changed_versions(tx: sa.Connection, used: Mapping[str, str]) -> list[str]:
    """Of version ids with digests, those that do not exist or hold another digest."""
    rows = tx.execute(
        sa.text("select version_id, digest from versions where version_id = any(cast(:ids as text[]))"),
        {"ids": list(used)},
    )
    stored = {row.version_id: row.digest for row in rows}
    return sorted(version_id for version_id, digest in used.items() if stored.get(version_id) != digest)
