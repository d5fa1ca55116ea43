"""Story planning (P-2.1): a brief becomes a StoryOutlineVersion. An imported script brings its own."""

from shortdrama_pipeline.errors import NotReady
from shortdrama_pipeline.rules.plans import ItemRequest
from shortdrama_pipeline.rules.states import MediaKind, Stage
from shortdrama_pipeline.stages.view import Key, View
from shortdrama_pipeline.stages.work import StageWork, seed

SUBJECT = "outline"


def _owed(view: View) -> list[Key]:  # noqa: ARG001 the same for every episode
    return [(SUBJECT, "content")]


def _requests(view: View) -> list[ItemRequest]:
    if not view.brief and view.version(SUBJECT) is not None:
        return []  # imported, and no brief to make another from
    if not view.brief:
        raise NotReady(
            f"Episode {view.episode_id} has no brief to plan a story from",
            hint="Import a script (`episode import ID FILE`), or allocate it in a series that has a brief",
            episode_id=view.episode_id,
        )
    return [
        ItemRequest(
            episode_id=view.episode_id,
            subject=SUBJECT,
            role="content",
            kind=MediaKind.TEXT,
            params={
                "task": "outline",
                "language": view.language,
                "brief": dict(view.brief),
                "seed": seed(view, SUBJECT, "content"),
            },
        )
    ]


WORK = StageWork(Stage.OUTLINE, owed=_owed, requests=_requests)
