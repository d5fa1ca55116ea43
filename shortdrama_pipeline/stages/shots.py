"""Shot production (P-2.6): one video per shot. The pilot's shots are bought by the pilot stage."""

from shortdrama_pipeline.rules.plans import ItemRequest
from shortdrama_pipeline.rules.shots import FRAME_RATE, Shot
from shortdrama_pipeline.rules.states import MediaKind, Stage
from shortdrama_pipeline.stages import pilot, prompts, storyboard
from shortdrama_pipeline.stages.view import Key, View
from shortdrama_pipeline.stages.work import StageWork, seed, use


def _owed(view: View) -> list[Key]:
    return [(f"shot:{shot.id}", "video") for shot in view.shots] or [storyboard.UNPLANNED]


def _requests(view: View) -> list[ItemRequest]:
    piloted = pilot.chosen_shots(view.shots)
    return [video_request(view, shot) for shot in view.shots if shot not in piloted]


def video_request(view: View, shot: Shot) -> ItemRequest:
    """Ask for one shot's film: made from its ShotVersion, its frame and exactly what is seen in it."""
    subject = f"shot:{shot.id}"
    pictures, wanted = storyboard.references(view, shot)
    shot_version, frame = view.version(subject), view.version(subject, "frame")
    assert shot_version is not None  # view.shots are chosen versions
    return ItemRequest(
        episode_id=view.episode_id,
        subject=subject,
        role="video",
        kind=MediaKind.VIDEO,
        params={
            "prompt": prompts.video_prompt(
                shot, storyboard.names(view, shot), language=view.language, style=view.style
            ),
            "width": storyboard.WIDTH,
            "height": storyboard.HEIGHT,
            "frame_rate": [FRAME_RATE, 1],
            "duration_frames": shot.duration_frames,
            "frame": {"sha256": None if frame is None else frame.sha256},
            "references": storyboard.listed(pictures),
            "shot": storyboard.shot_note(view, shot),
            "seed": seed(view, subject, "video"),
            "language": view.language,
        },
        uses=(
            use(shot_version, "shot"),
            *(() if frame is None else (use(frame, "frame"),)),
            *(use(version, purpose) for version, purpose in pictures),
        ),
        constraints={"references": wanted},
    )


WORK = StageWork(Stage.SHOTS, owed=_owed, requests=_requests)
