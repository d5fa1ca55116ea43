"""One approval over explicit episodes: planned, confirmed, continued (P-11, D-24).

Every episode is asked by its stage, behind its own gates; the pilot gate may be passed by a pilot of
the same bible and binding (D-24, decided in `services/gates.py`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from shortdrama_pipeline.errors import NotReady, Refusal
from shortdrama_pipeline.rules.batches import check_episodes, continuation
from shortdrama_pipeline.rules.plans import ItemRequest
from shortdrama_pipeline.rules.states import Stage, TaskState
from shortdrama_pipeline.services.confirming import Confirmed, confirm_quote
from shortdrama_pipeline.services.context import Studio
from shortdrama_pipeline.services.planning import Planned, plan_items
from shortdrama_pipeline.services.replanning import StageRequests, ask_stage
from shortdrama_pipeline.services.waking import wake
from shortdrama_pipeline.store import audit, batches
from shortdrama_pipeline.store.batches import Batch, BatchItem
from shortdrama_pipeline.store.episodes import require_episode


@dataclass(frozen=True, slots=True)
class BatchView:
    """A batch with its items as they stand."""

    batch: Batch
    items: tuple[BatchItem, ...]

    def to_json(self) -> dict[str, object]:
        return {
            "batch_id": self.batch.batch_id,
            "stage": self.batch.stage,
            "quote_id": self.batch.quote_id,
            "ceiling": self.batch.ceiling,
            "episodes": list(self.batch.episode_ids),
            "items": [
                {
                    "item_id": each.item_id,
                    "episode_id": each.episode_id,
                    "price": each.price,
                    "state": each.state,
                    "task_id": each.task_id,
                }
                for each in self.items
            ],
        }


@dataclass(frozen=True, slots=True)
class Continued:
    """What "continue" did: asked vendors again for free, quoted the failed anew, left the rest alone."""

    batch_id: str
    untouched: tuple[str, ...]
    queried: tuple[str, ...]
    failed: tuple[str, ...]
    new_batch_id: str | None
    new_quote_id: str | None

    def to_json(self) -> dict[str, object]:
        return {
            "batch_id": self.batch_id,
            "untouched": list(self.untouched),
            "queried": list(self.queried),
            "failed": list(self.failed),
            "new_batch_id": self.new_batch_id,
            "new_quote_id": self.new_quote_id,
        }


def plan_batch(
    studio: Studio,
    episode_ids: Sequence[str],
    stage: Stage,
    *,
    actor: str,
    ceiling_micros: int | None = None,
    stage_requests: StageRequests = ask_stage,
) -> BatchView:
    """Freeze what these episodes lack of a stage as one plan with one ceiling, and quote it.

    Raises what planning one of them raises: GateClosed, NotReady, UnknownId.
    """
    wanted = check_episodes(episode_ids, stage)
    with studio.db.read() as tx:
        for episode_id in wanted:
            require_episode(tx, episode_id)
    requests = [each for episode_id in wanted for each in _missing(studio, episode_id, stage, stage_requests)]
    planned = plan_items(studio, stage, requests, kind="batch", actor=actor, ceiling_micros=ceiling_micros)
    return show_batch(studio, _record(studio, planned, stage=stage, episode_ids=wanted, actor=actor))


def confirm_batch(studio: Studio, batch_id: str, *, idempotency_key: str, actor: str) -> Confirmed:
    """Confirm the batch's Quote: once, for exactly its items (P-3.6)."""
    with studio.db.read() as tx:
        quote_id = batches.load_batch(tx, batch_id).quote_id
    return confirm_quote(studio, quote_id, idempotency_key=idempotency_key, actor=actor)


def show_batch(studio: Studio, batch_id: str) -> BatchView:
    """Raises UnknownId."""
    with studio.db.read() as tx:
        batch = batches.load_batch(tx, batch_id)
        return BatchView(batch, tuple(batches.load_batch_items(tx, batch)))


def continue_batch(
    studio: Studio, batch_id: str, *, actor: str, stage_requests: StageRequests = ask_stage
) -> Continued:
    """Go on with what is not done (P-11.3): open questions are queried, failed items get a new Quote.

    Nothing is bought here and nothing that succeeded or is on its way is touched (P-11.2, F16).
    """
    view = show_batch(studio, batch_id)
    if any(each.task_id is None for each in view.items):
        raise Refusal(
            f"The batch {batch_id} has not been confirmed",
            hint=f"Confirm it: shortdrama batch confirm {batch_id} --idempotency-key KEY",
            quote_id=view.batch.quote_id,
        )
    states = {each.task_id: TaskState(each.state) for each in view.items if each.task_id is not None}
    todo = continuation(states)
    with studio.db.begin() as tx:
        queried = batches.hasten_queries(tx, todo.query)
        again = set(todo.quote) - batches.find_reordered(tx, todo.quote)
        audit.record_decision(tx, "batch.continue", batch_id, actor=actor, facts={"queried": [*queried]})
    if queried:
        wake(studio.db)
    failed = [each for each in view.items if each.task_id in again]
    new = _requote_failed(studio, view.batch, failed, actor=actor, stage_requests=stage_requests)
    return Continued(
        batch_id=batch_id,
        untouched=(*todo.untouched, *sorted(set(todo.quote) - again)),
        queried=tuple(queried),
        failed=tuple(str(each.task_id) for each in failed),
        new_batch_id=None if new is None else new.batch.batch_id,
        new_quote_id=None if new is None else new.batch.quote_id,
    )


def _requote_failed(
    studio: Studio,
    batch: Batch,
    failed: Sequence[BatchItem],
    *,
    actor: str,
    stage_requests: StageRequests,
) -> BatchView | None:
    by_episode: dict[str, list[str]] = {}
    for each in failed:
        by_episode.setdefault(each.episode_id, []).append(each.item_id)
    if not by_episode:
        return None
    stage = Stage(batch.stage)
    requests = [
        request
        for episode_id, item_ids in by_episode.items()
        for request in stage_requests(studio, episode_id, stage, item_ids)
    ]
    planned = plan_items(studio, stage, requests, kind="batch", actor=actor)
    return show_batch(
        studio, _record(studio, planned, stage=stage, episode_ids=tuple(by_episode), actor=actor)
    )


def _record(studio: Studio, planned: Planned, *, stage: Stage, episode_ids: Sequence[str], actor: str) -> str:
    with studio.db.begin() as tx:
        batch_id = batches.record_batch(
            tx,
            stage=stage,
            plan_id=planned.plan_id,
            quote_id=planned.quote_id,
            ceiling=planned.ceiling,
            episode_ids=episode_ids,
            actor=actor,
        )
        audit.record_decision(tx, "batch.plan", batch_id, actor=actor, facts={"quote_id": planned.quote_id})
    return batch_id


def _missing(
    studio: Studio, episode_id: str, stage: Stage, stage_requests: StageRequests
) -> list[ItemRequest]:
    """What an episode lacks; an episode that lacks nothing adds nothing."""
    try:
        return stage_requests(studio, episode_id, stage, None)
    except NotReady as error:
        if error.facts.get("only") == "missing":
            return []
        raise
