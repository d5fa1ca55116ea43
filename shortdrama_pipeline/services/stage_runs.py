"""One run of a stage as an orchestrator sees it: complete, or "waiting for n of m" (D-21).

Nothing here can spend: what is bought was confirmed before, what is made is made by rule.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from shortdrama_pipeline.errors import Fact, StageIncomplete
from shortdrama_pipeline.rules.gates import gate_digest, stand
from shortdrama_pipeline.rules.money import Money
from shortdrama_pipeline.rules.states import Stage
from shortdrama_pipeline.services.context import Studio
from shortdrama_pipeline.services.exporting import build_export
from shortdrama_pipeline.services.gates import bring_up_to
from shortdrama_pipeline.stages.catalogue import CATALOGUE
from shortdrama_pipeline.stages.view import View
from shortdrama_pipeline.stages.wanting import Progress, progress, wanted
from shortdrama_pipeline.store import orders
from shortdrama_pipeline.store.versions import Version

NAMES_MAX = 20  # of items, in one message


@dataclass(frozen=True, slots=True)
class StageReport:
    """A complete stage: what it has, what it cost, and the digest its gate is bound to."""

    stage: Stage
    done: int
    of: int
    spent: list[Money]
    digest: str
    thumbnail_sha256: str | None
    versions: list[str]


@dataclass(frozen=True, slots=True)
class OrderReport:
    """All of a stage's items are in the engine's hands or delivered."""

    stage: Stage
    ordered: int
    of: int


def advance_stage(studio: Studio, episode_id: str, stage: Stage | str, *, actor: str) -> StageReport:
    """Make what costs nothing; report the stage if it is complete.

    Raises GateClosed before an earlier gate is passed, StageIncomplete while something is not there.
    """
    stage = Stage(stage)
    view = bring_up_to(studio, episode_id, stage)
    if stage is Stage.EXPORT:
        build_export(studio, episode_id, actor=actor)
        view = bring_up_to(studio, episode_id, stage)
    now = progress(view, CATALOGUE[stage])
    if not now.complete:
        raise _incomplete(view, stage, now)
    with studio.db.read() as tx:
        spent = orders.sum_spent(tx, episode_id).get(stage)
    covered = [view.chosen[key] for key in CATALOGUE[stage].owed(view)]
    return StageReport(
        stage=stage,
        done=now.done,
        of=now.of,
        spent=[] if spent is None else [spent],
        digest=_digest(view, stage),
        thumbnail_sha256=_thumbnail(view, stage, covered),
        versions=[version.version_id for version in covered],
    )


def order_stage(studio: Studio, episode_id: str, stage: Stage | str, *, actor: str) -> OrderReport:  # noqa: ARG001 the shape of a run
    """Report that all of a stage is handed over: `<stage>_ordered` of D-21.

    Raises StageIncomplete while an item has neither a result nor an order.
    """
    stage = Stage(stage)
    view = bring_up_to(studio, episode_id, stage)
    now = progress(view, CATALOGUE[stage])
    # What is made by rule once the ordered results are in, such as the bible, is never ordered itself.
    unordered = [(each.subject, each.role) for each in wanted(view, CATALOGUE[stage])]
    if unordered:
        raise StageIncomplete(
            f"{len(unordered)} of {now.of} items of {stage} are not ordered",
            hint=f"Quote and confirm them: `shortdrama stage plan {episode_id} {stage}`",
            episode_id=episode_id,
            stage=str(stage),
            missing=_names(unordered),
        )
    return OrderReport(stage, now.of, now.of)


def _incomplete(view: View, stage: Stage, now: Progress) -> StageIncomplete:
    waiting = now.of - now.done
    if now.attention or now.failed:
        hint = f"Some need a person: `shortdrama task list --episode {view.episode_id}`"
    elif now.working:
        hint = "The engine is at work on them; run `shortdrama work drain` or wait for the sensor"
    else:
        hint = f"Nothing is ordered yet: `shortdrama stage plan {view.episode_id} {stage}`"
    return StageIncomplete(
        f"{stage} of {view.episode_id} is waiting for {waiting} of {now.of}",
        hint=hint,
        episode_id=view.episode_id,
        stage=str(stage),
        done=now.done,
        of=now.of,
        working=len(now.working),
        failed=_names(now.failed),
        attention=_names(now.attention),
        missing=_names(now.missing),
    )


def _digest(view: View, stage: Stage) -> str:
    chosen = {key: (version.version_id, version.digest) for key, version in view.chosen.items()}
    return gate_digest(stage, stand(stage, CATALOGUE[stage].owed(view), chosen, frozenset()).covers)


def _thumbnail(view: View, stage: Stage, covered: Sequence[Version]) -> str | None:
    """Return a picture that stands for the stage: its first own, or the first shot's frame."""
    pictures = [version for version in covered if version.role in ("reference", "frame")]
    if not pictures and stage in (Stage.PILOT, Stage.SHOTS, Stage.TIMELINE, Stage.EXPORT) and view.shots:
        frame = view.version(f"shot:{view.shots[0].id}", "frame")
        pictures = [] if frame is None else [frame]
    return pictures[0].sha256 if pictures else None


def _names(keys: Sequence[tuple[str, str]]) -> list[Fact]:
    return [f"{subject}#{role}" for subject, role in keys[:NAMES_MAX]]
