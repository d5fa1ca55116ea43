"""What a version was made from, and for what (P-11.5). Written once, with the version."""

from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from shortdrama_pipeline.store.tables import edges, versions


@dataclass(frozen=True, slots=True)
class Edge:
    """`version_id` was made from `used_version_id`, as `purpose` says."""

    version_id: str
    used_version_id: str
    purpose: str


def record_edges(tx: sa.Connection, new_edges: Sequence[Edge]) -> None:
    """Add the edges of new versions in one statement."""
    if new_edges:
        tx.execute(
            sa.insert(edges),
            [
                {"version_id": e.version_id, "used_version_id": e.used_version_id, "purpose": e.purpose}
                for e in new_edges
            ],
        )


def find_uses(tx: sa.Connection, version_id: str) -> list[Edge]:
    """Return what `version_id` was made from, by purpose and id."""
    rows = tx.execute(
        sa.select(edges)
        .where(edges.c.version_id == version_id)
        .order_by(edges.c.purpose, edges.c.used_version_id)
    )
    return [Edge(row.version_id, row.used_version_id, row.purpose) for row in rows]


def find_users(tx: sa.Connection, version_id: str) -> list[Edge]:
    """Return what was made from `version_id`."""
    rows = tx.execute(
        sa.select(edges)
        .where(edges.c.used_version_id == version_id)
        .order_by(edges.c.version_id, edges.c.purpose)
    )
    return [Edge(row.version_id, row.used_version_id, row.purpose) for row in rows]


def find_episode_edges(tx: sa.Connection, episode_id: str) -> list[Edge]:
    """Return every edge whose maker belongs to the episode."""
    rows = tx.execute(
        sa.select(edges)
        .join(versions, versions.c.version_id == edges.c.version_id)
        .where(versions.c.episode_id == episode_id)
    )
    return [Edge(row.version_id, row.used_version_id, row.purpose) for row in rows]
