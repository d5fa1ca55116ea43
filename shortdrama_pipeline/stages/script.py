"""Script (P-2.2): the confirmed outline becomes a ScriptVersion. An imported script is one already."""

from shortdrama_pipeline.errors import NotReady
from shortdrama_pipeline.rules.plans import ItemRequest
from shortdrama_pipeline.rules.states import MediaKind, Stage
from shortdrama_pipeline.stages.view import Key, View
from shortdrama_pipeline.stages.work import StageWork, seed, use

SUBJECT = "script"


def _owed(view: View) -> list[Key]:  # noqa: ARG001 the same for every episode
    return [(SUBJECT, "content")]


def _requests(view: View) -> list[ItemRequest]:
    outline = view.version("outline")
    if outline is None:
        raise NotReady(
            f"Episode {view.episode_id} has no outline to write a script from",
            hint=f"Plan one: `shortdrama stage plan {view.episode_id} outline`",
            episode_id=view.episode_id,
        )
    return [
        ItemRequest(
            episode_id=view.episode_id,
            subject=SUBJECT,
            role="content",
            kind=MediaKind.TEXT,
            params={
                "task": "script",
                "language": str(outline.content.get("language") or view.language),
                "brief": dict(view.brief),
                "outline": outline.content,
                "seed": seed(view, SUBJECT, "content"),
            },
            uses=(use(outline, "outline"),),
        )
    ]


WORK = StageWork(Stage.SCRIPT, owed=_owed, requests=_requests)
