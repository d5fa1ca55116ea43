"""Rows of `callbacks`: each verified event of a channel once (P-7.6)."""

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from shortdrama_pipeline.store.tables import callbacks


def record_first(tx: sa.Connection, channel_id: str, event_id: str, external_id: str) -> bool:
    """Record a verified event; False when it had been."""
    statement = (
        insert(callbacks)
        .values(channel_id=channel_id, event_id=event_id, external_id=external_id, verified=True)
        .on_conflict_do_nothing()
        .returning(callbacks.c.event_id)
    )
    return tx.execute(statement).scalar() is not None
