"""What a person sees of an episode: the seven domains, and where each stage stands (P-1.1 to P-1.8)."""

from collections import Counter
from dataclasses import dataclass

import sqlalchemy as sa

from shortdrama_pipeline.errors import NotReady
from shortdrama_pipeline.rules.money import Money
from shortdrama_pipeline.rules.plans import ItemRequest
from shortdrama_pipeline.rules.stages import ORDER, RUN_WORDS
from shortdrama_pipeline.rules.states import ContentConfirmation, GenerationReadiness, Stage, StageRun
from shortdrama_pipeline.services.channels import channels_of
from shortdrama_pipeline.services.context import Studio
from shortdrama_pipeline.services.gates import GateState, confirmation_of, load_words, state_of
from shortdrama_pipeline.stages import wanting
from shortdrama_pipeline.stages.catalogue import CATALOGUE
from shortdrama_pipeline.stages.view import View, load_view
from shortdrama_pipeline.stages.wanting import Progress
from shortdrama_pipeline.store import episodes, orders

BLOCKED, READY, QUOTED, WORKING = "blocked", "ready", "quoted", "working"
ATTENTION, GATE, DONE, STALE = "attention", "gate", "done", "stale"


@dataclass(frozen=True, slots=True)
class StageView:
    """One stage's place. `waits_for` names what moves it: a gate, a quote, tasks, an order; None: done."""

    stage: Stage
    state: str
    waits_for: str | None
    spent: Money
    progress: Progress
    gate: GateState

    def to_json(self) -> dict[str, object]:
        now = self.progress
        return {
            "stage": str(self.stage),
            "state": self.state,
            "waits_for": self.waits_for,
            "spent": self.spent.to_json(),
            "done": now.done,
            "of": now.of,
            "failed": [f"{subject}#{role}" for subject, role in now.failed],
            "attention": [f"{subject}#{role}" for subject, role in now.attention],
            "stale": [f"{subject}#{role}" for subject, role in now.stale],
            "passed_by": None if self.gate.passed is None else self.gate.passed.actor,
        }


def episode_status(studio: Studio, episode_id: str) -> dict[str, object]:
    """Return the document of `episode show`; UnknownId for an unknown episode."""
    with studio.db.read() as tx:
        view = load_view(tx, episode_id, channels=channels_of(studio))
        stages = view_stages(tx, studio, view)
        words = load_words(tx, episode_id)
        counts = orders.count_states(tx, episode_id)
        media = orders.count_media(tx, episode_id)
        episode = episodes.require_episode(tx, episode_id)
    said = Counter(confirmation_of(version, words.on_versions) for version in view.chosen.values())
    return {
        "episode_id": episode_id,
        "series_id": view.series_id,
        "week_id": episode.week_id,
        "sequence": episode.sequence,
        "allocation_key": episode.allocation_key,
        "title": view.script.title if view.script is not None else view.title,
        "stage_run": str(stage_run(stages)),
        "content_confirmation": {str(word): said.get(word, 0) for word in ContentConfirmation},
        "generation_readiness": count_readiness(view),
        "task": counts["task"],
        "remote_submission": counts["remote_submission"],
        "money": counts["money"],
        "asset": media,
        "stages": [each.to_json() for each in stages],
    }


def show_stage(studio: Studio, episode_id: str, stage: Stage) -> dict[str, object]:
    """Return the document of `stage show`: the stage, its gate, and each item with its readiness."""
    with studio.db.read() as tx:
        view = load_view(tx, episode_id, channels=channels_of(studio))
        place = next(each for each in view_stages(tx, studio, view) if each.stage is stage)
    try:
        requests = CATALOGUE[stage].requests(view)
        not_ready = None
    except NotReady as error:
        requests, not_ready = [], error.message
    return {
        "episode_id": episode_id,
        **place.to_json(),
        "gate": place.gate.to_json(),
        "not_ready": not_ready,
        "items": [_item_row(view, each) for each in requests],
    }


def _item_row(view: View, request: ItemRequest) -> dict[str, object]:
    chosen = view.version(request.subject, request.role)
    order = view.orders.get((request.subject, request.role))
    ready = wanting.readiness(view, request)
    return {
        "item_id": request.item_id,
        "subject": request.subject,
        "kind": str(request.kind),
        "readiness": str(ready.state),
        "reasons": [reason.to_json() for reason in ready.reasons],
        "version_id": None if chosen is None else chosen.version_id,
        "task_id": None if order is None else order.task_id,
        "task_state": None if order is None else order.state,
    }


def view_stages(tx: sa.Connection, studio: Studio, view: View) -> list[StageView]:
    """Return every stage of an episode in order."""
    words = load_words(tx, view.episode_id)
    spent = orders.sum_spent(tx, view.episode_id)
    open_quotes = orders.find_open_quotes(tx, view.episode_id, now=orders.clock(tx))
    nothing = Money(0, studio.settings.studio.currency)
    seen: list[StageView] = []
    shut: Stage | None = None
    for stage in ORDER:
        gate = state_of(tx, view, stage, words=words)
        progress = wanting.progress(view, CATALOGUE[stage])
        state, waits_for = _place(view, gate, progress, shut=shut, quote_id=open_quotes.get(stage))
        seen.append(StageView(stage, state, waits_for, spent.get(stage, nothing), progress, gate))
        if shut is None and gate.passed is None:
            shut = stage
    return seen


def stage_run(stages: list[StageView]) -> StageRun:
    """Return how far the whole episode is: the word of the first stage that is not through (P-1.4)."""
    current = next((each.stage for each in stages if each.gate.passed is None), ORDER[-1])
    return RUN_WORDS[current]


def count_readiness(view: View) -> dict[str, int]:
    """Return how many paid items of the whole episode could be made as things are (P-1.3)."""
    found: Counter[str] = Counter({str(word): 0 for word in GenerationReadiness})
    for work in CATALOGUE.values():
        try:
            requests = work.requests(view)
        except NotReady:
            found[GenerationReadiness.NOT_READY] += 1
            continue
        found.update(str(wanting.readiness(view, each).state) for each in requests)
    return dict(found)


def _place(
    view: View, gate: GateState, progress: Progress, *, shut: Stage | None, quote_id: str | None
) -> tuple[str, str | None]:
    """Return (state, what it waits for); the first that applies."""
    troubled = [view.orders[key].task_id for key in (*progress.attention, *progress.failed)]
    working = len(progress.working)
    if troubled:
        return ATTENTION, f"task:{troubled[0]}"
    if working:
        return WORKING, f"{working} tasks"
    if shut is not None:
        return BLOCKED, f"gate:{shut}"
    if not progress.complete:
        if quote_id is not None:
            return QUOTED, f"quote:{quote_id}"
        return READY, f"order:{len(progress.missing)} of {progress.of}"
    if progress.stale:
        return STALE, f"person:{len(progress.stale)} stale"
    return (DONE, None) if gate.passed is not None else (GATE, f"gate:{gate.stage}")
