"""Records what a stage makes by rule, and keeps the choices in step with it. Free, and safe to repeat."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import sqlalchemy as sa

from shortdrama_pipeline.rules.readiness import Channel
from shortdrama_pipeline.rules.states import Stage
from shortdrama_pipeline.rules.versions import digest_of
from shortdrama_pipeline.stages.catalogue import CATALOGUE
from shortdrama_pipeline.stages.view import View, load_view
from shortdrama_pipeline.stages.work import RULE
from shortdrama_pipeline.store.selections import drop_selections, select_versions
from shortdrama_pipeline.store.versions import Draft, Version, find_by_digests, find_by_ids, record_versions

ROUNDS_MAX = 3  # settings, then pictures' bible: what is made may make more possible
EDITED = "edit"


def make_free(tx: sa.Connection, view: View, stage: Stage, *, channels: Sequence[Channel]) -> View:
    """Bring the free products of `stage` up to date; return the view as it is then.

    A person's edit stays as long as what it was an edit of stays the same (P-11.4).
    """
    work = CATALOGUE[stage]
    for _ in range(ROUNDS_MAX):
        gone = work.gone(view)
        drop_selections(tx, view.episode_id, gone)
        due = [draft for each in work.free(view) if (draft := _due(view, each)) is not None]
        if due:
            select_versions(tx, _recorded(tx, view.episode_id, due), actor=RULE)
        if not due and not gone:
            break
        view = load_view(tx, view.episode_id, channels=channels)
    return view


def _recorded(tx: sa.Connection, episode_id: str, drafts: Sequence[Draft]) -> list[Version]:
    """Return a version for each draft; one of old that is the very same comes back, its gate with it."""
    known = find_by_digests(tx, episode_id, [draft.digest for draft in drafts])
    fresh = [draft for draft in drafts if draft.digest not in known]
    ids = record_versions(tx, fresh)
    return [*known.values(), *find_by_ids(tx, ids).values()]


def edit_draft(
    version: Version, content: Mapping[str, object], *, uses: Sequence[tuple[str, str]], actor: str
) -> Draft:
    """Return a person's change of a version as a new one, remembering what the rule had made of it."""
    derived = version.provenance.get("derived") if _edited(version) else digest_of(version.content)
    return Draft(
        kind=version.kind,
        episode_id=version.episode_id,
        subject=version.subject,
        role=version.role,
        content=content,
        actor=actor,
        sha256=version.sha256,
        uses=uses,
        parent_id=version.version_id,
        provenance={"source": EDITED, "derived": derived},
    )


def _due(view: View, draft: Draft) -> Draft | None:
    """Return what is to be recorded for a derived product, or None where the choice is right already."""
    chosen = view.version(draft.subject, draft.role)
    if chosen is None:
        return draft
    if not _edited(chosen):
        return None if chosen.digest == draft.digest else draft
    if chosen.provenance.get("derived") != digest_of(draft.content):
        return draft  # what was edited is no longer there: the rule speaks again, the edit stays a version
    carried = replace(
        draft,
        content=chosen.content,
        sha256=chosen.sha256,
        parent_id=chosen.version_id,
        provenance=chosen.provenance,
        actor=chosen.actor,
    )
    return None if chosen.digest == carried.digest else carried


def _edited(version: Version) -> bool:
    return version.provenance.get("source") == EDITED
