"""Series: a project with its brief, under which episodes are allocated."""

from collections.abc import Mapping

from shortdrama_pipeline.errors import UsageError
from shortdrama_pipeline.rules.actors import parse_actor
from shortdrama_pipeline.services.context import Studio
from shortdrama_pipeline.store import audit, episodes, selections
from shortdrama_pipeline.store import series as rows

TITLE_CHARACTERS_MAX = 200
LENGTH_S_MAX = 30 * 60


def create_series(
    studio: Studio, title: str, brief: Mapping[str, object], *, actor: str
) -> dict[str, object]:
    """Create a series. `brief` may hold premise, genre, style, language, length_s, seed and more."""
    parse_actor(actor)
    if not title.strip() or len(title) > TITLE_CHARACTERS_MAX:
        raise UsageError(
            "A series needs a title", hint=f"Give --title with 1 to {TITLE_CHARACTERS_MAX} characters"
        )
    length = brief.get("length_s")
    if length is not None and not (isinstance(length, int) and 0 < length <= LENGTH_S_MAX):
        raise UsageError(
            f"An episode cannot last {length} seconds", hint=f"Give --length from 1 to {LENGTH_S_MAX}"
        )
    with studio.db.begin() as tx:
        series_id = rows.record_series(tx, title=title.strip(), brief=dict(brief), actor=actor)
        audit.record_decision(tx, "series.create", series_id, actor=actor)
    return {"series_id": series_id, "title": title.strip(), "brief": dict(brief)}


def list_series(studio: Studio) -> list[dict[str, object]]:
    with studio.db.read() as tx:
        found = rows.find_all_series(tx)
        all_episodes = episodes.load_all(tx)
    return [
        {
            "series_id": each.series_id,
            "title": each.title,
            "episodes": sum(1 for episode in all_episodes if episode.series_id == each.series_id),
            "created_at": each.created_at,
        }
        for each in found
    ]


def show_series(studio: Studio, series_id: str) -> dict[str, object]:
    """Return a series with its episodes, bindings and schedules; the wallet is the studio's."""
    with studio.db.read() as tx:
        found = rows.load_series(tx, series_id)
        mine = [each for each in episodes.load_all(tx) if each.series_id == series_id]
        bibles = {each.episode_id: selections.find_selected(tx, each.episode_id, "bible") for each in mine}
    return {
        "series_id": found.series_id,
        "title": found.title,
        "brief": found.brief,
        "actor": found.actor,
        "created_at": found.created_at,
        "wallet": "studio",
        "episodes": [{"episode_id": each.episode_id, "state": each.state} for each in mine],
        "bibles": [
            {"episode_id": episode_id, "version_id": version.version_id, "digest": version.digest}
            for episode_id, version in bibles.items()
            if version is not None
        ],
        "bindings": [
            {"binding": each.id, "kind": each.kind, "model": each.model} for each in studio.bindings.values()
        ],
        "schedules": [
            {"id": each.id, "cron": each.cron}
            for each in studio.settings.schedule
            if each.series in (None, series_id)
        ],
    }


def list_episodes(studio: Studio, *, series_id: str | None = None) -> list[dict[str, object]]:
    """Return the episodes in publishing order."""
    with studio.db.read() as tx:
        found = episodes.load_all(tx)
    return [
        {
            "episode_id": each.episode_id,
            "week_id": each.week_id,
            "sequence": each.sequence,
            "allocation_key": each.allocation_key,
            "series_id": each.series_id,
            "state": each.state,
            "scheduled_for": each.scheduled_for,
        }
        for each in found
        if series_id is None or each.series_id == series_id
    ]
