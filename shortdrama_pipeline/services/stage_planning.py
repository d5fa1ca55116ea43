"""From a stage to a PlanSnapshot and a Quote: gates first, then what it lacks, then readiness (P-12.2)."""

from collections.abc import Sequence

from shortdrama_pipeline.errors import NotReady
from shortdrama_pipeline.media.fonts import require_glyphs
from shortdrama_pipeline.rules.plans import ItemRequest
from shortdrama_pipeline.rules.readiness import refuse
from shortdrama_pipeline.rules.states import Stage
from shortdrama_pipeline.services.context import Studio
from shortdrama_pipeline.services.gates import bring_up_to
from shortdrama_pipeline.services.planning import Planned, plan_items
from shortdrama_pipeline.stages import wanting
from shortdrama_pipeline.stages.catalogue import CATALOGUE
from shortdrama_pipeline.stages.view import View


def plan_stage(
    studio: Studio,
    episode_id: str,
    stage: Stage | str,
    *,
    only: str = "missing",
    items: Sequence[str] | None = None,
    actor: str,
) -> Planned:
    """Freeze what the stage would buy now, and quote it. Costs nothing; open to agents (P-2.10).

    Raises GateClosed before an earlier gate is passed, NotReady for what cannot be made or where
    nothing is to be bought, UnknownId for an item that is not there.
    """
    requests = checked_requests(studio, episode_id, stage, only=only, items=items)
    return plan_items(studio, Stage(stage), requests, actor=actor)


def requests_for(
    studio: Studio, episode_id: str, stage: Stage | str, items: Sequence[str] | None = None
) -> list[ItemRequest]:
    """Return what a stage would ask for now: the named items, or all it misses (P-3.4)."""
    return checked_requests(studio, episode_id, stage, only="missing", items=items)


def checked_requests(
    studio: Studio,
    episode_id: str,
    stage: Stage | str,
    *,
    only: str = "missing",
    items: Sequence[str] | None = None,
) -> list[ItemRequest]:
    """Return the wanted items of a stage, every one of them ready to be quoted."""
    stage = Stage(stage)
    view = bring_up_to(studio, episode_id, stage)
    requests = wanting.wanted(view, CATALOGUE[stage], only=only, items=items)
    if not requests:
        raise NotReady(
            f"Nothing of {stage} is {only}",
            hint=f"See where it stands: `shortdrama stage show {episode_id} {stage}`",
            episode_id=episode_id,
            stage=str(stage),
            only=only,
        )
    check_ready(view, requests)
    return requests


def check_ready(view: View, requests: Sequence[ItemRequest]) -> None:
    """Refuse before a Quote what could be seen to be wrong (P-9.1, P-12.2). Raises NotReady."""
    refuse([reason for each in requests for reason in wanting.readiness(view, each).reasons])
    if view.script is not None:
        for place, text in wanting.shown_texts(view.script):
            require_glyphs(text, place=place)
