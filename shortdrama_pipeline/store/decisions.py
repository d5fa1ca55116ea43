"""A person's word on one version's digest (P-1.2). Append-only; the newest word counts."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import distinct_on

from shortdrama_pipeline.ids import new_id
from shortdrama_pipeline.store.tables import decisions, versions
from shortdrama_pipeline.store.versions import Version

CONFIRMED = "confirmed"
REJECTED = "rejected"


@dataclass(frozen=True, slots=True)
class Decision:
    """`verdict` is confirmed or rejected, about exactly the version with this `digest`."""

    decision_id: str
    version_id: str
    digest: str
    verdict: str
    rights: bool
    note: str
    actor: str
    created_at: datetime


def record_decisions(
    tx: sa.Connection,
    judged: Sequence[Version],
    *,
    verdict: str,
    actor: str,
    rights: bool = False,
    note: str = "",
) -> list[str]:
    """Write one word about each version, in one statement; return the decision ids."""
    rows: list[dict[str, object]] = [
        {
            "decision_id": new_id("dec"),
            "version_id": version.version_id,
            "digest": version.digest,
            "verdict": verdict,
            "rights": rights,
            "note": note,
            "actor": actor,
        }
        for version in judged
    ]
    if rows:
        tx.execute(sa.insert(decisions), rows)
    return [str(row["decision_id"]) for row in rows]


def find_decisions(tx: sa.Connection, version_id: str) -> list[Decision]:
    """Return every word on a version, oldest first."""
    rows = tx.execute(
        sa.select(decisions)
        .where(decisions.c.version_id == version_id)
        .order_by(decisions.c.created_at, decisions.c.decision_id)
    )
    return [_read(row) for row in rows]


def find_newest_decisions(tx: sa.Connection, episode_id: str) -> dict[str, Decision]:
    """Return the word that counts for each judged version of the episode, by version id."""
    rows = tx.execute(
        sa.select(decisions)
        .join(versions, versions.c.version_id == decisions.c.version_id)
        .where(versions.c.episode_id == episode_id)
        .ext(distinct_on(decisions.c.version_id))
        .order_by(decisions.c.version_id, decisions.c.created_at.desc(), decisions.c.decision_id.desc())
    )
    return {row.version_id: _read(row) for row in rows}


def _read(row: sa.Row[tuple[object, ...]]) -> Decision:
    fields = row._mapping  # noqa: SLF001 the documented way to read by column
    return Decision(**{name: fields[name] for name in Decision.__dataclass_fields__})
