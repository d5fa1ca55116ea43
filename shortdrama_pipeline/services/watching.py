"""What the sensors ask: what is new, what is due, what is complete. Reads; the marks are idempotent."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from shortdrama_pipeline.rules.stages import ORDER
from shortdrama_pipeline.rules.states import Stage
from shortdrama_pipeline.services.channels import channels_of
from shortdrama_pipeline.services.context import Studio
from shortdrama_pipeline.services.gates import gates_of
from shortdrama_pipeline.stages.view import load_view
from shortdrama_pipeline.store import episodes, outbox, watching
from shortdrama_pipeline.store.watching import AlertRow, ConfirmedBatch, Delivery, PassedGateRow

AGAIN_AFTER_S = 120  # doubled with each delivery: Dagster lost the run, or its storage (F10)
ROWS_MAX = 200  # per look; the rest comes with the next


@dataclass(frozen=True, slots=True)
class Complete:
    """A stage whose last item is in, all gates before it passed. `digest` is over its product."""

    episode_id: str
    stage: Stage
    digest: str


@dataclass(frozen=True, slots=True)
class Moved:
    """Where an episode stands after a change: what is complete, and the newest change looked at."""

    complete: tuple[Complete, ...]
    seen_until: datetime | None


def deliveries(studio: Studio) -> list[Delivery]:
    """Return what is to be handed to Dagster, again where nothing came of the last time."""
    with studio.db.read() as tx:
        return watching.find_deliveries(tx, again_after_s=AGAIN_AFTER_S, most=ROWS_MAX)


def mark_delivered(studio: Studio, outbox_ids: Iterable[str]) -> None:
    """Mark outbox rows as sent, after their runs were asked for (P-6.4)."""
    with studio.db.begin() as tx:
        for each in sorted(outbox_ids):
            outbox.mark_sent(tx, each)


def due(studio: Studio, *, within_s: int = 0) -> int:
    with studio.db.read() as tx:
        return watching.count_due(tx, within_s=within_s)


def gates_since(studio: Studio, since: datetime | None) -> list[PassedGateRow]:
    with studio.db.read() as tx:
        return watching.find_gates_since(tx, since, most=ROWS_MAX)


def gates_of_episode(studio: Studio, episode_id: str) -> list[PassedGateRow]:
    """Return the gates of one episode that stand passed now, in the order of the stages."""
    with studio.db.read() as tx:
        states = gates_of(tx, load_view(tx, episode_id, channels=channels_of(studio)))
    passed = [state.passed for state in states.values() if state.passed is not None]
    return [
        PassedGateRow(gate.gate_id, episode_id, gate.stage, gate.digest, gate.actor, gate.created_at)
        for gate in passed
    ]


def alerts_since(studio: Studio, since: datetime | None) -> list[AlertRow]:
    with studio.db.read() as tx:
        return watching.find_alerts_since(tx, since, most=ROWS_MAX)


def completed_since(studio: Studio, since: datetime | None) -> Moved:
    """Return every complete stage of the episodes that moved since, in the order of the stages."""
    with studio.db.read() as tx:
        moved = watching.find_changed_episodes(tx, since, most=ROWS_MAX)
    complete = [each for episode_id, _ in moved for each in complete_stages(studio, episode_id)]
    return Moved(tuple(complete), moved[-1][1] if moved else since)


def complete_stages(studio: Studio, episode_id: str) -> list[Complete]:
    """Return the stages of one episode that are complete, as far as the gates before them are passed."""
    found = []
    with studio.db.read() as tx:
        states = gates_of(tx, load_view(tx, episode_id, channels=channels_of(studio)))
    for stage in ORDER:
        state = states[stage]
        if state.standing.digest:
            found.append(Complete(episode_id, stage, state.standing.digest))
        if state.passed is None:
            break
    return found


def batches_to_backfill(studio: Studio) -> list[ConfirmedBatch]:
    """Return the confirmed batches not yet handed over."""
    with studio.db.read() as tx:
        return watching.find_batches_to_backfill(tx)


def mark_backfilled(studio: Studio, batch_ids: Sequence[str]) -> None:
    with studio.db.begin() as tx:
        watching.record_backfilled(tx, batch_ids)


def known_episodes(studio: Studio, episode_ids: Sequence[str]) -> list[str]:
    """Return which of these ids exist."""
    with studio.db.read() as tx:
        return [each for each in episode_ids if episodes.find(tx, each) is not None]


def database_now(studio: Studio) -> datetime:
    with studio.db.read() as tx:
        return watching.database_now(tx)
