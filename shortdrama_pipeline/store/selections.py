"""Which version of (episode, subject, role) is the current choice: the only mutable fact about versions."""

from collections.abc import Mapping, Sequence

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from shortdrama_pipeline.errors import NotReady
from shortdrama_pipeline.store.tables import selections, versions
from shortdrama_pipeline.store.versions import Version, read_version

Key = tuple[str, str]  # (subject, role)


def select_version(tx: sa.Connection, version: Version, *, actor: str) -> None:
    """Make `version` the current choice of its subject and role."""
    select_versions(tx, [version], actor=actor)


def select_versions(tx: sa.Connection, chosen: Sequence[Version], *, actor: str) -> None:
    """Make each the current choice, in one statement; at most one per subject and role."""
    if not chosen:
        return
    statement = insert(selections).values(
        [
            {
                "episode_id": v.episode_id,
                "subject": v.subject,
                "role": v.role,
                "version_id": v.version_id,
                "actor": actor,
            }
            for v in chosen
        ]
    )
    tx.execute(
        statement.on_conflict_do_update(
            index_elements=[selections.c.episode_id, selections.c.subject, selections.c.role],
            set_={
                "version_id": statement.excluded.version_id,
                "actor": statement.excluded.actor,
                "at": sa.func.clock_timestamp(),
            },
            where=selections.c.version_id != statement.excluded.version_id,
        )
    )


def select_where_none(tx: sa.Connection, candidates: Sequence[Version]) -> set[str]:
    """Choose each only where nothing is chosen yet; return the ids that are now the choice."""
    if not candidates:
        return set()
    rows = [
        {
            "episode_id": v.episode_id,
            "subject": v.subject,
            "role": v.role,
            "version_id": v.version_id,
            "actor": v.actor,
        }
        for v in candidates
    ]
    taken = tx.execute(
        insert(selections).values(rows).on_conflict_do_nothing().returning(selections.c.version_id)
    )
    return set(taken.scalars())


def replace_selection(tx: sa.Connection, version: Version, *, seen: str, actor: str) -> bool:
    """Choose `version` only if `seen` is still the choice (an ordered redo); tell whether it moved."""
    moved = tx.execute(
        sa.update(selections)
        .where(
            selections.c.episode_id == version.episode_id,
            selections.c.subject == version.subject,
            selections.c.role == version.role,
            selections.c.version_id == seen,
        )
        .values(version_id=version.version_id, actor=actor, at=sa.func.clock_timestamp())
    )
    return moved.rowcount == 1


def drop_selections(tx: sa.Connection, episode_id: str, keys: Sequence[Key]) -> None:
    """Leave these subjects without a choice (rejected, or no longer part of the episode)."""
    if keys:
        tx.execute(
            sa.delete(selections).where(
                selections.c.episode_id == episode_id,
                sa.tuple_(selections.c.subject, selections.c.role).in_(list(keys)),
            )
        )


def find_selected(tx: sa.Connection, episode_id: str, subject: str, role: str = "content") -> Version | None:
    """Return the chosen version, or None."""
    row = tx.execute(
        _chosen(episode_id).where(selections.c.subject == subject, selections.c.role == role)
    ).one_or_none()
    return None if row is None else read_version(row)


def load_selected(tx: sa.Connection, episode_id: str, subject: str, role: str = "content") -> Version:
    """Return the chosen version; NotReady names what is missing."""
    found = find_selected(tx, episode_id, subject, role)
    if found is None:
        raise NotReady(
            f"Episode {episode_id} has no chosen {subject} ({role})",
            hint=f"Make it, or choose one: `shortdrama version list {episode_id}`, then `version select`",
            episode_id=episode_id,
            subject=subject,
            role=role,
        )
    return found


def find_all_selected(tx: sa.Connection, episode_id: str) -> dict[Key, Version]:
    """Return every choice of the episode, by (subject, role)."""
    rows: Mapping[Key, Version] = {
        (row.subject, row.role): read_version(row) for row in tx.execute(_chosen(episode_id))
    }
    return dict(rows)


def _chosen(episode_id: str) -> sa.Select[tuple[object, ...]]:
    return (
        sa.select(versions)
        .join(selections, selections.c.version_id == versions.c.version_id)
        .where(selections.c.episode_id == episode_id)
        .order_by(versions.c.subject, versions.c.role)
    )
