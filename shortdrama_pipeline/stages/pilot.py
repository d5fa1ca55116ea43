"""Test shoot (P-2.5): two telling shots are filmed first; a person confirms the look, then the batch."""

from collections.abc import Sequence

from shortdrama_pipeline.rules.plans import ItemRequest
from shortdrama_pipeline.rules.shots import Shot
from shortdrama_pipeline.rules.states import Stage
from shortdrama_pipeline.stages import storyboard
from shortdrama_pipeline.stages.view import Key, View
from shortdrama_pipeline.stages.work import StageWork

_WIDEST_FIRST = ("wide", "full", "medium", "close", "detail")


def chosen_shots(shots: Sequence[Shot]) -> tuple[Shot, ...]:
    """Return the pilot: the first spoken close-up (a face that talks) and the widest shot (the place)."""
    if not shots:
        return ()
    spoken = [shot for shot in shots if shot.lines and shot.characters]
    face = next((shot for shot in spoken if shot.size == "close"), spoken[0] if spoken else shots[0])
    others = [shot for shot in shots if shot is not face]
    if not others:
        return (face,)
    return (face, min(others, key=lambda shot: (_WIDEST_FIRST.index(shot.size), shot.order)))


def _owed(view: View) -> list[Key]:
    """The bible is covered too: a passed pilot speaks for this look and no other (D-24)."""
    if not view.shots:
        return [storyboard.UNPLANNED]
    return [*((f"shot:{shot.id}", "video") for shot in chosen_shots(view.shots)), ("bible", "content")]


def _requests(view: View) -> list[ItemRequest]:
    from shortdrama_pipeline.stages.shots import video_request

    return [video_request(view, shot) for shot in chosen_shots(view.shots)]


WORK = StageWork(Stage.PILOT, owed=_owed, requests=_requests)
