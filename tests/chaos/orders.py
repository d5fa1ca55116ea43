"""What is bought under fire: many small orders of all four kinds, each confirmed once, whatever breaks.

An item carries its fate at the vendor in its own parameters, drawn from the seed: so the same items lose
their answers in every run of a seed, whoever sends them and in whatever order.
"""

import random
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeVar

from shortdrama_pipeline.errors import Outside, StaleState
from shortdrama_pipeline.rehearsal.book import Json
from shortdrama_pipeline.rules.money import Money
from shortdrama_pipeline.rules.plans import ItemRequest
from shortdrama_pipeline.rules.states import MediaKind, Stage
from shortdrama_pipeline.services.allocating import allocate
from shortdrama_pipeline.services.confirming import confirm_quote
from shortdrama_pipeline.services.context import Studio
from shortdrama_pipeline.services.planning import plan_items
from shortdrama_pipeline.services.wallets import top_up

PERSON = "person:chaos"
AT = datetime(2026, 8, 3, 1, 0, tzinfo=UTC)
EPISODES = 8
ITEMS_PER_ORDER = 20
DROPPED_PERMILLE = 50
BROKEN_PERMILLE = 10
SIDE = 64
FRAMES_PER_FILM = 12
FRAMES = 2
TRIES_MAX = 600
R = TypeVar("R")

FAULTS: list[Json] = [
    {"fault": "drop_after_accept", "match": "fate-dropped", "times": None},
    {"fault": "error_after_accept", "match": "fate-broken", "times": None},
]


@dataclass(frozen=True, slots=True)
class Order:
    """One Quote to come: its items, and the key that makes its confirmation one."""

    number: int
    requests: tuple[ItemRequest, ...]

    @property
    def key(self) -> str:
        return f"chaos-order-{self.number}"


def furnish(studio: Studio) -> list[str]:
    """Fill the wallet and allocate the episodes; return their ids."""
    top_up(studio, Money(10**12, "CNY"), key="chaos", actor=PERSON)
    return [
        allocate(studio, key=f"chaos-{number}", at=AT, actor=PERSON).episode_id for number in range(EPISODES)
    ]


def draw_orders(episode_ids: list[str], *, items: int, chance: random.Random) -> list[Order]:
    """Return `items` items in orders of at most 20, with their fates."""
    orders: list[Order] = []
    left = items
    while left > 0:
        wanted = _requests(episode_ids, number=len(orders), chance=chance)[:left]
        orders.append(Order(len(orders), tuple(wanted)))
        left -= len(wanted)
    return orders


def place(studio: Studio, order: Order, *, chance: random.Random, stop: threading.Event) -> None:
    """Plan and confirm one order as an impatient person does, across whatever breaks meanwhile."""
    planned = again(
        lambda: plan_items(studio, Stage.OUTLINE, order.requests, actor=PERSON), chance=chance, stop=stop
    )

    def confirm() -> str:
        return confirm_quote(studio, planned.quote_id, idempotency_key=order.key, actor=PERSON).execution_id

    first = again(confirm, chance=chance, stop=stop)
    if chance.random() < 0.2:  # a second click
        assert again(confirm, chance=chance, stop=stop) == first


def again(act: Callable[[], R], *, chance: random.Random, stop: threading.Event) -> R:
    """Repeat until the database takes it; gives up only with the last error."""
    for _ in range(TRIES_MAX):
        try:
            return act()
        except (Outside, StaleState):  # the database was taken away: the next try finds it
            if stop.wait(0.1 + chance.random() * 0.3):
                break
    return act()


def _requests(episode_ids: list[str], *, number: int, chance: random.Random) -> list[ItemRequest]:
    """Twenty items of all four kinds, no two of all orders alike; lines are what costs a vendor least."""
    home = episode_ids[number % len(episode_ids)]
    told = ("outline", "script") if number < len(episode_ids) else ()
    texts = [_request(home, each, "content", MediaKind.TEXT, _text(each, number), chance) for each in told]
    films = [_request(home, f"shot:x{number}", "video", MediaKind.VIDEO, _film(number), chance)]
    frames = [
        _request(home, f"shot:x{number}-{each}", "frame", MediaKind.IMAGE, _picture(each), chance)
        for each in range(FRAMES)
    ]
    lines = [
        _request(home, f"line:x{number}-{each}", "speech", MediaKind.SPEECH, _speech(each), chance)
        for each in range(ITEMS_PER_ORDER - FRAMES - len(films) - len(texts))
    ]
    return [*texts, *films, *frames, *lines]


def _request(
    episode_id: str, subject: str, role: str, kind: MediaKind, params: Json, chance: random.Random
) -> ItemRequest:
    drawn = chance.randrange(1000)
    fate = "dropped" if drawn < DROPPED_PERMILLE else ""
    if DROPPED_PERMILLE <= drawn < DROPPED_PERMILLE + BROKEN_PERMILLE:
        fate = "broken"
    return ItemRequest(
        episode_id=episode_id, subject=subject, role=role, kind=kind,
        params={**params, "note": f"fate-{fate or 'none'}"},
    )  # fmt: skip


def _text(task: str, seed: int) -> Json:
    return {"task": task, "language": "zh-CN", "brief": {"genre": "悬疑"}, "outline": {}, "seed": seed}


def _speech(seed: int) -> Json:
    return {
        "text": "好" * (1 + seed % 3), "voice": "female-1", "language": "zh-CN", "kind": "dialogue",
        "manner": "", "sample_rate": 16_000,
    }  # fmt: skip


def _picture(seed: int) -> Json:
    return {
        "prompt": f"{seed}", "subject_kind": "prop", "title": "信", "caption": "", "width": SIDE,
        "height": SIDE, "seed": seed, "style": "", "language": "zh-CN", "references": [],
    }  # fmt: skip


def _film(seed: int) -> Json:
    return {
        "prompt": f"{seed}", "width": SIDE, "height": SIDE, "frame_rate": [24, 1],
        "duration_frames": FRAMES_PER_FILM,
        "references": [], "shot": {"id": "x", "size": "medium", "move": "still"}, "seed": seed,
        "language": "zh-CN",
    }  # fmt: skip
