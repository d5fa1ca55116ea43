"""Which new key of a channel belongs to the same account as an old one, by a person's word (F13)."""

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from shortdrama_pipeline.store.tables import credential_successions


def record_succession(
    tx: sa.Connection, binding_id: str, *, fingerprint: str, successor: str, evidence: str, actor: str
) -> bool:
    """Say it once; the first word stands. False when it was said before."""
    statement = (
        insert(credential_successions)
        .values(
            binding_id=binding_id,
            fingerprint=fingerprint,
            successor=successor,
            evidence=evidence,
            actor=actor,
        )
        .on_conflict_do_nothing()
        .returning(credential_successions.c.binding_id)
    )
    return tx.execute(statement).scalar() is not None


def is_successor(tx: sa.Connection, binding_id: str, *, fingerprint: str, successor: str) -> bool:
    found = tx.execute(
        sa.select(credential_successions.c.binding_id).where(
            credential_successions.c.binding_id == binding_id,
            credential_successions.c.fingerprint == fingerprint,
            credential_successions.c.successor == successor,
        )
    )
    return found.scalar() is not None
