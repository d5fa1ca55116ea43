"""Immutable versions of anything: recorded once, never changed (P-11.4).

`record_version` is the one door. It is idempotent twice over: the same paid result (attempt, slot)
is one version for ever (V-8), and free content equal to the newest version is that version.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import distinct_on

from shortdrama_pipeline.errors import UnknownId
from shortdrama_pipeline.ids import new_id
from shortdrama_pipeline.rules.versions import version_digest
from shortdrama_pipeline.store.edges import Edge, record_edges
from shortdrama_pipeline.store.tables import versions

Json = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Version:
    """One row of `versions`. `digest` covers content, file and origins."""

    version_id: str
    kind: str
    episode_id: str
    subject: str
    role: str
    number: int
    digest: str
    content: dict[str, object]
    sha256: str | None
    parent_id: str | None
    attempt_id: str | None
    slot: int | None
    provenance: dict[str, object]
    actor: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Draft:
    """What is to become a version. `uses` are (version id, purpose)."""

    kind: str
    episode_id: str
    subject: str
    role: str
    content: Json
    actor: str
    sha256: str | None = None
    uses: Sequence[tuple[str, str]] = ()
    parent_id: str | None = None
    attempt_id: str | None = None
    slot: int | None = None
    provenance: Json = field(default_factory=dict)

    @property
    def digest(self) -> str:
        return version_digest(
            kind=self.kind,
            subject=self.subject,
            role=self.role,
            content=self.content,
            sha256=self.sha256,
            uses=self.uses,
        )


def record_version(  # noqa: PLR0913 a version has this many facts, each by its name
    tx: sa.Connection,
    *,
    kind: str,
    episode_id: str,
    subject: str,
    role: str,
    content: Json,
    actor: str,
    sha256: str | None = None,
    uses: Sequence[tuple[str, str]] = (),
    parent_id: str | None = None,
    attempt_id: str | None = None,
    slot: int | None = None,
    provenance: Json | None = None,
) -> str:
    """Record one version and its edges; return its id, or that of the equal one already there.

    `sha256` must be a row of media_files. A paid result names `attempt_id` and `slot`.
    """
    draft = Draft(
        kind=kind,
        episode_id=episode_id,
        subject=subject,
        role=role,
        content=content,
        actor=actor,
        sha256=sha256,
        uses=uses,
        parent_id=parent_id,
        attempt_id=attempt_id,
        slot=slot,
        provenance=provenance or {},
    )
    return record_versions(tx, [draft])[0]


def record_versions(tx: sa.Connection, drafts: Sequence[Draft]) -> list[str]:
    """Record many at once, in four statements whatever their number; ids in the order of `drafts`.

    Numbers are handed out under one lock per episode, held to the end of the transaction.
    """
    if not drafts:
        return []
    _lock_episodes(tx, {draft.episode_id for draft in drafts})
    by_result = find_results(tx, [draft.attempt_id for draft in drafts if draft.attempt_id])
    newest = _find_newest(tx, drafts)
    ids: list[str] = []
    rows: list[dict[str, object]] = []
    new_edges: list[Edge] = []
    for draft in drafts:
        key = (draft.episode_id, draft.subject, draft.role)
        number, digest, version_id = newest.get(key, (0, "", ""))
        result = (draft.attempt_id or "", draft.slot or 0)
        known = by_result.get(result) if draft.attempt_id else version_id if digest == draft.digest else None
        if known is not None:
            ids.append(known)
            continue
        version_id = new_id("ver")
        newest[key] = (number + 1, draft.digest, version_id)
        if draft.attempt_id:
            by_result[result] = version_id
        rows.append(_row(draft, version_id, number + 1))
        new_edges += [Edge(version_id, used, purpose) for used, purpose in sorted(set(draft.uses))]
        ids.append(version_id)
    if rows:
        tx.execute(sa.insert(versions), rows)
        record_edges(tx, new_edges)
    return ids


def load_version(tx: sa.Connection, version_id: str) -> Version:
    """Return the version; UnknownId if there is none."""
    found = find_version(tx, version_id)
    if found is None:
        raise UnknownId(
            f"No version {version_id}",
            hint="List them with `shortdrama version list EPISODE`",
            version_id=version_id,
        )
    return found


def find_version(tx: sa.Connection, version_id: str) -> Version | None:
    row = tx.execute(sa.select(versions).where(versions.c.version_id == version_id)).one_or_none()
    return None if row is None else read_version(row)


def find_versions(
    tx: sa.Connection, episode_id: str, *, subject: str | None = None, role: str | None = None
) -> list[Version]:
    """Return the episode's versions, oldest first within each subject and role."""
    query = sa.select(versions).where(versions.c.episode_id == episode_id)
    if subject is not None:
        query = query.where(versions.c.subject == subject)
    if role is not None:
        query = query.where(versions.c.role == role)
    rows = tx.execute(query.order_by(versions.c.subject, versions.c.role, versions.c.number))
    return [read_version(row) for row in rows]


def find_by_ids(tx: sa.Connection, version_ids: Sequence[str]) -> dict[str, Version]:
    if not version_ids:
        return {}
    rows = tx.execute(sa.select(versions).where(versions.c.version_id.in_(list(version_ids))))
    return {row.version_id: read_version(row) for row in rows}


def find_by_digests(tx: sa.Connection, episode_id: str, digests: Sequence[str]) -> dict[str, Version]:
    """Return the episode's newest version of each digest; a digest says subject and role too."""
    if not digests:
        return {}
    rows = tx.execute(
        sa.select(versions)
        .where(versions.c.episode_id == episode_id, versions.c.digest.in_(sorted(set(digests))))
        .order_by(versions.c.number)
    )
    return {row.digest: read_version(row) for row in rows}


def find_results(tx: sa.Connection, attempt_ids: Sequence[str]) -> dict[tuple[str, int], str]:
    """Return the versions that paid results already became, by (attempt, output slot)."""
    if not attempt_ids:
        return {}
    rows = tx.execute(
        sa.select(versions.c.attempt_id, versions.c.slot, versions.c.version_id).where(
            versions.c.attempt_id.in_(sorted(set(attempt_ids)))
        )
    )
    return {(row.attempt_id, row.slot): row.version_id for row in rows}


def read_version(row: sa.Row[tuple[object, ...]]) -> Version:
    """Turn a row of `versions` (or of a join that holds all its columns) into a value."""
    fields = row._mapping  # noqa: SLF001 the documented way to read by column
    return Version(**{name: fields[versions.c[name]] for name in Version.__dataclass_fields__})


def _lock_episodes(tx: sa.Connection, episode_ids: set[str]) -> None:
    for episode_id in sorted(episode_ids):
        tx.execute(
            sa.text("select pg_advisory_xact_lock(hashtextextended(:key, 0))"),
            {"key": f"versions:{episode_id}"},
        )


def _find_newest(
    tx: sa.Connection, drafts: Sequence[Draft]
) -> dict[tuple[str, str, str], tuple[int, str, str]]:
    keys = {(draft.episode_id, draft.subject, draft.role) for draft in drafts}
    columns = (versions.c.episode_id, versions.c.subject, versions.c.role)
    rows = tx.execute(
        sa.select(*columns, versions.c.number, versions.c.digest, versions.c.version_id)
        .where(sa.tuple_(*columns).in_(sorted(keys)))
        .ext(distinct_on(*columns))
        .order_by(*columns, versions.c.number.desc())
    )
    return {(r.episode_id, r.subject, r.role): (r.number, r.digest, r.version_id) for r in rows}


def _row(draft: Draft, version_id: str, number: int) -> dict[str, object]:
    return {
        "version_id": version_id,
        "kind": draft.kind,
        "episode_id": draft.episode_id,
        "subject": draft.subject,
        "role": draft.role,
        "number": number,
        "digest": draft.digest,
        "content": dict(draft.content),
        "sha256": draft.sha256,
        "parent_id": draft.parent_id,
        "attempt_id": draft.attempt_id,
        "slot": draft.slot,
        "provenance": dict(draft.provenance),
        "actor": draft.actor,
    }
