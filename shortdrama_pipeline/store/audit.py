"""Who decided what, written in the transaction of the decision; append-only (D-22)."""

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from shortdrama_pipeline.errors import Fact
from shortdrama_pipeline.store import bulk
from shortdrama_pipeline.store.tables import audit_log


def record_decision(
    tx: sa.Connection, action: str, subject_id: str, *, actor: str, facts: Mapping[str, Fact] | None = None
) -> None:
    """Write one decision; `action` is `noun.verb`, such as `quote.confirm`."""
    record_decisions(
        tx, [{"action": action, "subject_id": subject_id, "facts": dict(facts or {}), "actor": actor}]
    )


def record_decisions(tx: sa.Connection, rows: Sequence[Mapping[str, object]]) -> None:
    """Write many: rows of action, subject_id, facts, actor."""
    bulk.insert_rows(tx, audit_log, rows)


def list_decisions(
    tx: sa.Connection, *, limit: int, subject_id: str | None = None
) -> list[Mapping[str, object]]:
    """The newest first."""
    query = sa.select(audit_log).order_by(audit_log.c.audit_id.desc()).limit(limit)
    if subject_id is not None:
        query = query.where(audit_log.c.subject_id == subject_id)
    return [dict(row) for row in tx.execute(query).mappings()]


def load_facts(tx: sa.Connection, action: str, subject_id: str) -> list[dict[str, Any]]:
    """Return the facts of every such decision on a subject, oldest first."""
    query = (
        sa.select(audit_log.c.facts)
        .where(audit_log.c.action == action, audit_log.c.subject_id == subject_id)
        .order_by(audit_log.c.audit_id)
    )
    return list(tx.execute(query).scalars())
