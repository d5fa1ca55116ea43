"""The graph of an episode's versions, as staleness reads it. One read, by the episode's index."""

import sqlalchemy as sa

from shortdrama_pipeline.rules.staleness import Node
from shortdrama_pipeline.store.edges import find_episode_edges
from shortdrama_pipeline.store.tables import versions


def find_nodes(tx: sa.Connection, episode_id: str) -> list[Node]:
    """Return every version of the episode with its origins.

    `content_key` is the database's digest of content and file, without origins: jsonb has one spelling.
    """
    content_key = sa.func.md5(versions.c.content.cast(sa.Text)).concat(
        sa.func.coalesce(versions.c.sha256, "")
    )
    rows = tx.execute(
        sa.select(
            versions.c.version_id,
            versions.c.kind,
            versions.c.subject,
            versions.c.role,
            content_key.label("content_key"),
        )
        .where(versions.c.episode_id == episode_id)
        .order_by(versions.c.subject, versions.c.role, versions.c.number)
    ).all()
    uses: dict[str, list[str]] = {}
    for edge in find_episode_edges(tx, episode_id):
        uses.setdefault(edge.version_id, []).append(edge.used_version_id)
    return [
        Node(
            row.version_id,
            row.kind,
            row.subject,
            row.role,
            row.content_key,
            tuple(sorted(uses.get(row.version_id, ()))),
        )
        for row in rows
    ]
