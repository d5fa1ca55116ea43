"""Versions for people: list, look, compare, choose, edit; and what is stale with what a redo costs."""

from collections.abc import Mapping, Sequence

import sqlalchemy as sa

from shortdrama_pipeline.errors import NeedsPerson, NotReady, Refusal, ShortdramaError
from shortdrama_pipeline.rules import bible
from shortdrama_pipeline.rules import script as scripts
from shortdrama_pipeline.rules.actors import parse_actor
from shortdrama_pipeline.rules.money import Money
from shortdrama_pipeline.rules.plans import ItemRequest
from shortdrama_pipeline.rules.prices import user_price
from shortdrama_pipeline.rules.staleness import CURRENT, Freshness
from shortdrama_pipeline.rules.states import MediaState, VersionKind
from shortdrama_pipeline.services.channels import channels_of
from shortdrama_pipeline.services.context import Studio
from shortdrama_pipeline.services.gates import confirmation_of, load_words
from shortdrama_pipeline.services.planning import choose_binding
from shortdrama_pipeline.stages import contents, making, wanting
from shortdrama_pipeline.stages.catalogue import CATALOGUE
from shortdrama_pipeline.stages.view import View, load_view
from shortdrama_pipeline.stages.work import StageWork
from shortdrama_pipeline.store import alerts, audit, decisions, edges, media, selections, versions
from shortdrama_pipeline.store.decisions import Decision
from shortdrama_pipeline.store.prices import PriceVersion, prices_in_force
from shortdrama_pipeline.store.versions import Version

EDITABLE = frozenset({VersionKind.SCRIPT, VersionKind.STORY_OUTLINE, VersionKind.SHOT, VersionKind.ASSET})


def list_versions(
    studio: Studio, episode_id: str, *, subject: str | None = None, role: str | None = None
) -> list[dict[str, object]]:
    """Return the rows of `version list`, oldest first within each subject and role."""
    with studio.db.read() as tx:
        view = load_view(tx, episode_id, channels=())
        words = load_words(tx, episode_id).on_versions
        found = versions.find_versions(tx, episode_id, subject=subject, role=role)
    chosen = {version.version_id for version in view.chosen.values()}
    return [_row(each, chosen, words, view.freshness.get(each.version_id, CURRENT)) for each in found]


def show_version(studio: Studio, version_id: str) -> dict[str, object]:
    """Return one version whole: content, origins, provenance, every word on it, and who uses it."""
    with studio.db.read() as tx:
        version = versions.load_version(tx, version_id)
        view = load_view(tx, version.episode_id, channels=())
        words = load_words(tx, version.episode_id).on_versions
        said = decisions.find_decisions(tx, version_id)
        uses = edges.find_uses(tx, version_id)
        users = edges.find_users(tx, version_id)
    chosen = {each.version_id for each in view.chosen.values()}
    return {
        **_row(version, chosen, words, view.freshness.get(version_id, CURRENT)),
        "episode_id": version.episode_id,
        "content": version.content,
        "parent_id": version.parent_id,
        "attempt_id": version.attempt_id,
        "provenance": version.provenance,
        "actor": version.actor,
        "uses": [{"version_id": each.used_version_id, "purpose": each.purpose} for each in uses],
        "used_by": [{"version_id": each.version_id, "purpose": each.purpose} for each in users],
        "decisions": [
            {
                "verdict": each.verdict,
                "digest": each.digest,
                "rights": each.rights,
                "note": each.note,
                "actor": each.actor,
                "at": each.created_at,
            }
            for each in said
        ],
    }


def diff_versions(studio: Studio, version_id: str, other_id: str) -> dict[str, object]:
    """Return what differs between two versions, by the path of each value: {"path", "from", "to"}."""
    with studio.db.read() as tx:
        left, right = versions.load_version(tx, version_id), versions.load_version(tx, other_id)
        uses = [
            {(each.used_version_id, each.purpose) for each in edges.find_uses(tx, version.version_id)}
            for version in (left, right)
        ]
    changes = [
        {"path": path, "from": before, "to": after}
        for path, before, after in _differences("", left.content, right.content)
    ]
    return {
        "from": version_id,
        "to": other_id,
        "same_file": left.sha256 == right.sha256,
        "changes": changes,
        "uses_removed": [{"version_id": v, "purpose": p} for v, p in sorted(uses[0] - uses[1])],
        "uses_added": [{"version_id": v, "purpose": p} for v, p in sorted(uses[1] - uses[0])],
    }


def select_version(studio: Studio, version_id: str, *, actor: str) -> dict[str, object]:
    """Make a version the choice of its subject. Costs nothing, orders nothing; shows what it makes stale.

    Refused for a rejected version and for a file that is not `ready` (TT-4). Is also the way out of an
    episode that cannot be read: afterwards it must be readable, before it need not.
    """
    parse_actor(actor)
    with studio.db.begin() as tx:
        version = versions.load_version(tx, version_id)
        words = load_words(tx, version.episode_id).on_versions
        if confirmation_of(version, words) == decisions.REJECTED:
            raise Refusal(
                f"Version {version_id} was rejected",
                hint="Confirm it again first, or choose another one",
                version_id=version_id,
            )
        _require_ready_file(tx, version)
        before = _find_view(tx, version.episode_id)
        selections.select_version(tx, version, actor=actor)
        audit.record_decision(tx, "version.select", version_id, actor=actor, facts={"digest": version.digest})
        after = load_view(tx, version.episode_id, channels=())
        if before is None:
            alerts.close_alerts(tx, [version.episode_id], by=actor)
    fresh_stale = [
        each
        for each in after.chosen.values()
        if after.stale(each) and (before is None or not before.stale(each))
    ]
    return {
        "version_id": version_id,
        "subject": version.subject,
        "role": version.role,
        "selected": True,
        "made_stale": [f"{each.subject}#{each.role}" for each in fresh_stale],
    }


def edit_version(
    studio: Studio, version_id: str, content: Mapping[str, object], *, actor: str
) -> dict[str, object]:
    """Record a person's change as a new draft version and choose it; the old one stays as it is (P-11.4)."""
    parse_actor(actor)
    with studio.db.begin() as tx:
        version = versions.load_version(tx, version_id)
        if version.sha256 is not None or version.kind not in EDITABLE:
            raise Refusal(
                f"A {version.kind} with a file is not edited",
                hint="Order another one: `shortdrama stage plan EPISODE STAGE --items ITEM`",
                version_id=version_id,
            )
        contents.check_content(version.kind, version.subject, version.role, content)
        uses = [(each.used_version_id, each.purpose) for each in edges.find_uses(tx, version_id)]
        draft = making.edit_draft(version, content, uses=uses, actor=actor)
        made = versions.load_version(tx, versions.record_versions(tx, [draft])[0])
        selections.select_version(tx, made, actor=actor)
        audit.record_decision(tx, "version.edit", made.version_id, actor=actor, facts={"parent": version_id})
    return {"version_id": made.version_id, "parent_id": version_id, "digest": made.digest, "state": "draft"}


def merge_characters(
    studio: Studio, episode_id: str, keep: str, *, drop: str, actor: str
) -> dict[str, object]:
    """Make one character of two in a new draft of the script (P-2.3); the script's gate asks again."""
    with studio.db.read() as tx:
        version = selections.load_selected(tx, episode_id, "script")
    merged = bible.merge_characters(scripts.from_json(version.content), keep, drop=drop)
    return edit_version(studio, version.version_id, scripts.to_json(merged), actor=actor)


def stale_versions(studio: Studio, episode_id: str) -> dict[str, object]:
    """Return what is stale by which path, what has no known origins, and what a redo would cost.

    Only looks: nothing is planned, quoted or ordered (P-11.6).
    """
    with studio.db.read() as tx:
        view = load_view(tx, episode_id, channels=channels_of(studio))
        prices = prices_in_force(tx, sorted(studio.bindings))
    rows: list[dict[str, object]] = []
    total = Money(0, studio.settings.studio.currency)
    for work in CATALOGUE.values():
        now = wanting.progress(view, work)
        requests = {(each.subject, each.role): each for each in _requests(work, view)}
        for key in now.stale:
            if any(row["subject"] == key[0] and row["role"] == key[1] for row in rows):
                continue  # the pilot's shots are owed by two stages
            cost = _redo_cost(studio, requests.get(key), prices)
            rows.append(_stale_row(view.chosen[key], view.freshness, str(work.stage), cost))
            total = total if cost is None else total + cost
    unknown = [
        {"version_id": version.version_id, "subject": version.subject, "role": version.role}
        for version in view.chosen.values()
        if not view.freshness.get(version.version_id, CURRENT).known
    ]
    return {"episode_id": episode_id, "stale": rows, "unknown": unknown, "redo_total": total.to_json()}


def _requests(work: StageWork, view: View) -> list[ItemRequest]:
    try:
        return work.requests(view)
    except NotReady:
        return []


def _redo_cost(
    studio: Studio, request: ItemRequest | None, prices: Mapping[str, PriceVersion]
) -> Money | None:
    if request is None:
        return None
    try:
        published = prices.get(choose_binding(studio, request).id)
        return None if published is None else user_price(published.price, request.params)
    except ShortdramaError:
        return None  # cannot be redone as things are: `stage plan` says why


def _stale_row(
    version: Version, freshness: Mapping[str, Freshness], stage: str, cost: Money | None
) -> dict[str, object]:
    return {
        "version_id": version.version_id,
        "subject": version.subject,
        "role": version.role,
        "stage": stage,
        "path": [step.to_json() for step in freshness[version.version_id].path],
        "redo_cost": None if cost is None else cost.to_json(),
    }


def _row(
    version: Version, chosen: set[str], words: Mapping[str, Decision], freshness: Freshness
) -> dict[str, object]:
    return {
        "version_id": version.version_id,
        "kind": version.kind,
        "subject": version.subject,
        "role": version.role,
        "number": version.number,
        "digest": version.digest,
        "sha256": version.sha256,
        "state": confirmation_of(version, dict(words)),
        "selected": version.version_id in chosen,
        "stale": {"path": [step.to_json() for step in freshness.path]} if freshness.stale else None,
        "origins_known": freshness.known,
        "created_at": version.created_at,
    }


def _find_view(tx: sa.Connection, episode_id: str) -> View | None:
    """Return the episode, or None where what is chosen now cannot be read."""
    try:
        return load_view(tx, episode_id, channels=())
    except NeedsPerson:
        return None


def _require_ready_file(tx: sa.Connection, version: Version) -> None:
    if version.sha256 is None:
        return
    state = media.load_states(tx, [version.sha256])[version.sha256]
    if state != MediaState.READY:
        raise Refusal(
            f"The file of {version.version_id} is {state}, not ready",
            hint="See `shortdrama task list` for what is open to its Task, or choose another version",
            version_id=version.version_id,
            state=state,
        )


def _differences(path: str, left: object, right: object) -> list[tuple[str, object, object]]:
    """Walk two JSON values; lists by place. Equal parts are left out."""
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        names = dict.fromkeys([*left, *right])
        return [
            change
            for name in names
            for change in _differences(f"{path}/{name}", left.get(name), right.get(name))
        ]
    if _listed(left) and _listed(right):
        assert isinstance(left, Sequence)
        assert isinstance(right, Sequence)
        return [
            change
            for n in range(max(len(left), len(right)))
            for change in _differences(
                f"{path}/{n}", left[n] if n < len(left) else None, right[n] if n < len(right) else None
            )
        ]
    return [] if left == right else [(path, left, right)]


def _listed(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)
