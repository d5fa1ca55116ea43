"""Rows of `outbox`: one per confirm, delivered at least once under a stable id (T2)."""

from collections.abc import Sequence

import sqlalchemy as sa


def mark_sent(tx: sa.Connection, outbox_id: str) -> bool:
    """Count a delivery; the first one stamps `sent_at`. False for an unknown id."""
    statement = sa.text(
        "update outbox set deliveries = deliveries + 1, sent_at = coalesce(sent_at, clock_timestamp())"
        " where outbox_id = :outbox_id"
    )
    return bool(tx.execute(statement, {"outbox_id": outbox_id}).rowcount)


def mark_claimed(tx: sa.Connection, task_ids: Sequence[str]) -> None:
    """Mark the rows of claimed Tasks as delivered, in the transaction of the claim (T2 with T3)."""
    tx.execute(
        sa.text(
            "update outbox o set deliveries = deliveries + 1, sent_at = clock_timestamp() from ("
            " select distinct execution_id from tasks where task_id = any(cast(:task_ids as text[]))) c"
            " where o.execution_id = c.execution_id and o.sent_at is null"
        ),
        {"task_ids": list(task_ids)},
    )
