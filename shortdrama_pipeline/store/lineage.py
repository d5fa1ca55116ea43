"""The graph of an episode's versions, as staleness reads it. Read by the indexes of the episode."""

import sqlalchemy as sa

from shortdrama_pipeline.rules.staleness import Node
from shortdrama_pipeline.store.edges import find_episode_edges
from shortdrama_pipeline.store.tables import selections, versions


def find_nodes(tx: sa.Connection, episode_id: str) -> list[Node]:
    """Return every version of the episode with its origins, and what it uses or chose of other episodes.

    Those others stand without origins: whether they are stale is a question of their own episode.
    `content_key` is the database's digest of content and file, without origins: jsonb has one spelling.
    """
    uses: dict[str, list[str]] = {}
    for edge in find_episode_edges(tx, episode_id):
        uses.setdefault(edge.version_id, []).append(edge.used_version_id)
    nodes = _nodes(tx, versions.c.episode_id == episode_id, uses)
    known = {node.version_id for node in nodes}
    chosen = tx.execute(
        sa.select(selections.c.version_id).where(selections.c.episode_id == episode_id)
    ).scalars()
    foreign = {*chosen, *(used for listed in uses.values() for used in listed)} - known
    if foreign:
        nodes += _nodes(tx, versions.c.version_id.in_(sorted(foreign)), {})
    return nodes


def _nodes(tx: sa.Connection, condition: sa.ColumnElement[bool], uses: dict[str, list[str]]) -> list[Node]:
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
        .where(condition)
        .order_by(versions.c.subject, versions.c.role, versions.c.number)
    )
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
