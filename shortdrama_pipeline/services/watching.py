"""What the sensors ask: what is new, what is due, what is complete. Reads; the marks are idempotent."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from shortdrama_pipeline.crashpoints import Point, reach
from shortdrama_pipeline.errors import Conflict, NotReady, Outside, ShortdramaError
from shortdrama_pipeline.rules.gates import gate_digest
from shortdrama_pipeline.rules.quality import film_faults
from shortdrama_pipeline.rules.stages import ORDER, PAID
from shortdrama_pipeline.rules.states import Stage
from shortdrama_pipeline.services.channels import channels_of
from shortdrama_pipeline.services.context import Studio
from shortdrama_pipeline.services.gates import gate_state, gates_of
from shortdrama_pipeline.stages.catalogue import CATALOGUE
from shortdrama_pipeline.stages.view import View, load_view
from shortdrama_pipeline.stages.wanting import progress, wanted
from shortdrama_pipeline.store import alerts, episodes, outbox, watching
from shortdrama_pipeline.store.alerts import UNREADABLE, Alert
from shortdrama_pipeline.store.selections import find_selected
from shortdrama_pipeline.store.versions import Version
from shortdrama_pipeline.store.watching import AlertRow, ConfirmedBatch, Delivery, PassedGateRow, Place

AGAIN_AFTER_S = 120  # doubled with each delivery: Dagster lost the run, or its storage (F10)
QUEUED_FOR_S = 20  # by then the run of the outbox row should have taken a queued task up
HELD_FOR_S = 300  # between two looks at whether a hold was mended; `work drain` looks at once
ROWS_MAX = 200  # per look; the rest comes with the next
MESSAGE_MAX = 400
Seen = TypeVar("Seen")


@dataclass(frozen=True, slots=True)
class Complete:
    """A stage whose last item is in, all gates before it passed. `digest` is over its product."""

    episode_id: str
    stage: Stage
    digest: str


@dataclass(frozen=True, slots=True)
class Moved:
    """Where the episodes that moved stand: what is complete, and the last change that was looked at.

    `more` says that this look was full: younger changes wait for the next.
    """

    complete: tuple[Complete, ...]
    last: Place | None
    more: bool


@dataclass(frozen=True, slots=True)
class MeasuredFilm:
    """What a chosen export measured up to."""

    episode_id: str
    loudness_milli_lufs: int | None
    faults: tuple[str, ...]


def deliveries(studio: Studio) -> list[Delivery]:
    """Return what is to be handed to Dagster, again where nothing came of the last time."""
    with studio.db.read() as tx:
        return watching.find_deliveries(tx, again_after_s=AGAIN_AFTER_S, most=ROWS_MAX)


def mark_delivered(studio: Studio, outbox_ids: Iterable[str]) -> None:
    """Mark outbox rows as sent, after their runs were asked for (P-6.4)."""
    reach(Point.DISPATCH_PUBLISHED)
    with studio.db.begin() as tx:
        for each in sorted(outbox_ids):
            outbox.mark_sent(tx, each)
    reach(Point.DISPATCH_MARKED)


def due(studio: Studio) -> int:
    """Return how many things are due for a turn at the engine."""
    with studio.db.read() as tx:
        return watching.count_due(tx, queued_for_s=QUEUED_FOR_S, held_for_s=HELD_FOR_S)


def gates_since(studio: Studio, after: Place | None, *, seen: Sequence[str] = ()) -> list[PassedGateRow]:
    """Return the next passed gates after a place, but those seen already."""
    with studio.db.read() as tx:
        return watching.find_gates_since(tx, after, seen=seen, most=ROWS_MAX)


def to_plan(studio: Studio, rows: Sequence[PassedGateRow]) -> list[tuple[PassedGateRow, Stage]]:
    """Return, per episode, the newest of these gates and the stage after it that wants a first Quote.

    Left out: a stage made by rule, one that lacks nothing, one with an open Quote, one behind a gate.
    """
    newest = {row.episode_id: row for row in sorted(rows, key=lambda row: ORDER.index(Stage(row.stage)))}
    found = _each(studio, newest, lambda episode_id: (newest[episode_id], next_to_buy(studio, episode_id)))
    return [(row, stage) for row, stage in found if stage is not None]


def next_to_buy(studio: Studio, episode_id: str) -> Stage | None:
    """Return the stage an episode stands at, if something of it is still to be quoted."""
    with studio.db.read() as tx:
        view = load_view(tx, episode_id, channels=channels_of(studio))
        states = gates_of(tx, view)
        stage = next((each for each in ORDER if states[each].passed is None), None)
        if stage is None or stage not in PAID or watching.find_open_quote(tx, episode_id, stage):
            return None
    try:
        return stage if wanted(view, CATALOGUE[stage]) else None
    except NotReady:
        return None


def gates_of_episode(studio: Studio, episode_id: str) -> list[PassedGateRow]:
    """Return the gates of one episode that stand passed now, in the order of the stages."""
    with studio.db.read() as tx:
        states = gates_of(tx, load_view(tx, episode_id, channels=channels_of(studio)))
    passed = [state.passed for state in states.values() if state.passed is not None]
    return [
        PassedGateRow(gate.gate_id, episode_id, gate.stage, gate.digest, gate.actor, gate.created_at)
        for gate in passed
    ]


def alerts_since(studio: Studio, after: Place | None, *, seen: Sequence[str] = ()) -> list[AlertRow]:
    """Return the next open alerts after a place, but those seen already."""
    with studio.db.read() as tx:
        return watching.find_alerts_since(tx, after, seen=seen, most=ROWS_MAX)


def completed_since(studio: Studio, after: Place | None) -> Moved:
    """Return every complete stage of the next episodes that moved after a place, in their order."""
    with studio.db.read() as tx:
        moved = watching.find_changed_episodes(tx, after, most=ROWS_MAX)
    found = _each(studio, [each for _, each in moved], lambda each: complete_stages(studio, each))
    complete = tuple(stage for stages in found for stage in stages)
    return Moved(complete, moved[-1] if moved else None, more=len(moved) == ROWS_MAX)


def completed_of(studio: Studio, episode_ids: Collection[str]) -> list[Complete]:
    """Return every complete stage of these episodes, in their order."""
    found = _each(studio, sorted(episode_ids), lambda each: complete_stages(studio, each))
    return [stage for stages in found for stage in stages]


def complete_stages(studio: Studio, episode_id: str) -> list[Complete]:
    """Return the stages of one episode that are complete, as far as the gates before them are passed.

    The last one may still lack what is made by rule, such as the bible or the timeline: its run makes it.
    """
    found = []
    with studio.db.read() as tx:
        view = load_view(tx, episode_id, channels=channels_of(studio))
        states = gates_of(tx, view)
    for stage in ORDER:
        standing = states[stage].standing
        if standing.digest:
            found.append(Complete(episode_id, stage, standing.digest))
        elif _lacks_only_what_is_free(view, stage):
            found.append(Complete(episode_id, stage, f"from {gate_digest(stage, standing.covers)}"))
        if states[stage].passed is None:
            break
    return found


def _lacks_only_what_is_free(view: View, stage: Stage) -> bool:
    """Is everything that had to be bought for this stage there?"""
    work = CATALOGUE[stage]
    now = progress(view, work)
    if now.working or now.failed or now.attention or (stage in PAID and not now.done):
        return False
    try:
        return not wanted(view, work)
    except NotReady:
        return False


def batches_to_backfill(studio: Studio) -> list[ConfirmedBatch]:
    """Return the confirmed batches not yet handed over."""
    with studio.db.read() as tx:
        return watching.find_batches_to_backfill(tx)


def mark_backfilled(studio: Studio, batch_ids: Sequence[str]) -> None:
    with studio.db.begin() as tx:
        watching.record_backfilled(tx, batch_ids)


def database_now(studio: Studio) -> datetime:
    with studio.db.read() as tx:
        return watching.database_now(tx)


def waiting_at_gate(studio: Studio, stage: Stage, episode_id: str | None = None) -> list[str]:
    """Return the episodes whose `stage` is complete and waits for a person: the one named, or all."""
    wanted = [episode_id] if episode_id else _all_ids(studio)
    waits = _each(studio, wanted, lambda each: (each, _waits(studio, each, stage)))
    return [each for each, waiting in waits if waiting]


def _waits(studio: Studio, episode_id: str, stage: Stage) -> bool:
    with studio.db.read() as tx:
        if episodes.find(tx, episode_id) is None:
            return False
        state = gate_state(tx, episode_id, stage)
    return bool(state.standing.digest) and state.passed is None


def measured_films(studio: Studio, episode_id: str | None = None) -> list[MeasuredFilm]:
    """Return what the chosen exports measured: the one named, or all."""
    wanted = [episode_id] if episode_id else _all_ids(studio)
    with studio.db.read() as tx:
        found = [(each, find_selected(tx, each, "export")) for each in wanted]
    films = {each: version for each, version in found if version is not None}
    return _each(studio, films, lambda each: _measured(each, films[each]))


def _measured(episode_id: str, version: Version) -> MeasuredFilm:
    loudness = version.content["loudness_milli_lufs"]
    milli_lufs = None if loudness is None else int(str(loudness))
    difference_us = int(str(version.content["av_difference_us"]))
    faults = film_faults(loudness_milli_lufs=milli_lufs, av_difference_us=difference_us)
    return MeasuredFilm(episode_id, milli_lufs, faults)


def _all_ids(studio: Studio) -> list[str]:
    with studio.db.read() as tx:
        return episodes.load_ids(tx)


def _each(studio: Studio, episode_ids: Iterable[str], look: Callable[[str], Seen]) -> list[Seen]:
    """Look at each episode by itself: one that cannot be read becomes an alert and stops no other.

    A database that is away or busy stops all: then nothing was seen.
    """
    found = []
    for episode_id in episode_ids:
        try:
            found.append(look(episode_id))
        except (Outside, Conflict):
            raise
        except Exception as error:  # noqa: BLE001 - whatever is wrong with it, the others go on
            why = error.message if isinstance(error, ShortdramaError) else repr(error)[:MESSAGE_MAX]
            with studio.db.begin() as tx:
                alerts.record_alerts(tx, [Alert(UNREADABLE, episode_id, why)])
    return found
