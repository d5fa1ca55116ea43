"""One look at an episode, whole: what the stages decide from. Loaded once, then only values."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import sqlalchemy as sa

from shortdrama_pipeline.errors import NeedsPerson
from shortdrama_pipeline.rules import script as scripts
from shortdrama_pipeline.rules import shots as shot_values
from shortdrama_pipeline.rules.readiness import Channel
from shortdrama_pipeline.rules.script import Script
from shortdrama_pipeline.rules.shots import Shot
from shortdrama_pipeline.rules.staleness import CURRENT, Freshness, Node, judge
from shortdrama_pipeline.rules.states import MediaKind
from shortdrama_pipeline.store import episodes, lineage, orders, selections, series
from shortdrama_pipeline.store.orders import Order
from shortdrama_pipeline.store.versions import Version

Key = tuple[str, str]  # (subject, role)
Read = TypeVar("Read")

FALLBACK_LANGUAGE = "zh-CN"


@dataclass(frozen=True, slots=True)
class View:
    """`chosen` is the current choice by key, `numbers` how many versions of a key exist.

    `brief` is the series' brief, empty without one. `shots` are the chosen ShotVersions in order.
    """

    episode_id: str
    series_id: str | None
    title: str
    brief: Mapping[str, object]
    chosen: Mapping[Key, Version]
    numbers: Mapping[Key, int]
    freshness: Mapping[str, Freshness]
    orders: Mapping[Key, Order]
    channels: tuple[Channel, ...]
    priced: frozenset[str]
    script: Script | None
    shots: tuple[Shot, ...]

    @property
    def language(self) -> str:
        if self.script is not None:
            return self.script.language
        return str(self.brief.get("language") or FALLBACK_LANGUAGE)

    @property
    def style(self) -> str:
        return str(self.brief.get("style") or "")

    def version(self, subject: str, role: str = "content") -> Version | None:
        return self.chosen.get((subject, role))

    def channel(self, kind: MediaKind) -> Channel | None:
        """Return the binding that would be asked for `kind`: the first configured."""
        return next((channel for channel in self.channels if channel.kind is kind), None)

    def stale(self, version: Version) -> bool:
        return self.freshness.get(version.version_id, CURRENT).stale


def load_view(tx: sa.Connection, episode_id: str, *, channels: Sequence[Channel]) -> View:
    """Read everything the stages ask about; UnknownId for an unknown episode (A-17).

    NeedsPerson, with its `version_id`, where what is chosen cannot be read.
    """
    episode = episodes.require_episode(tx, episode_id)
    brief: Mapping[str, object] = {}
    title = ""
    if episode.series_id is not None:
        of_series = series.load_series(tx, episode.series_id)
        brief, title = of_series.brief, of_series.title
    chosen = selections.find_all_selected(tx, episode_id)
    nodes = lineage.find_nodes(tx, episode_id)
    script_version = chosen.get(("script", "content"))
    return View(
        episode_id=episode_id,
        series_id=episode.series_id,
        title=title,
        brief=brief,
        chosen=chosen,
        numbers=_numbers(nodes),
        freshness=judge(nodes, {key: version.version_id for key, version in chosen.items()}),
        orders=orders.find_newest_orders(tx, episode_id),
        channels=tuple(channels),
        priced=orders.find_priced_bindings(tx),
        script=None if script_version is None else _read(script_version, scripts.from_json),
        shots=_shots(chosen),
    )


def _numbers(nodes: Sequence[Node]) -> dict[Key, int]:
    numbers: dict[Key, int] = {}
    for node in nodes:
        numbers[node.key] = numbers.get(node.key, 0) + 1
    return numbers


def _shots(chosen: Mapping[Key, Version]) -> tuple[Shot, ...]:
    found = [
        _read(version, shot_values.from_json)
        for (subject, role), version in chosen.items()
        if role == "content" and subject.startswith("shot:")
    ]
    return tuple(sorted(found, key=lambda shot: shot.order))


def _read(version: Version, reader: Callable[[dict[str, object]], Read]) -> Read:
    try:
        return reader(version.content)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise NeedsPerson(
            f"The content of {version.version_id} ({version.subject}) cannot be read: {error!r}",
            hint=f"Choose another: `shortdrama version list {version.episode_id}`, then `version select`",
            episode_id=version.episode_id,
            version_id=version.version_id,
        ) from error
