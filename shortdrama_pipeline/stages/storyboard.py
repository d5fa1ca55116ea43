"""Storyboard (P-2.4): the script is cut into ShotVersions by rule; every shot gets its first frame.

Beside the shots stand the dialogue references, one `line:<id>/content` per spoken line, so that a
voice depends on the words alone and not on how its shot is framed. A frame is made from exactly the
characters, place and props seen in it (P-11.5).
"""

from collections.abc import Iterator

from shortdrama_pipeline.rules import bible, shots
from shortdrama_pipeline.rules.plans import ItemRequest
from shortdrama_pipeline.rules.shots import Shot, ShotLine
from shortdrama_pipeline.rules.states import MediaKind, Stage, VersionKind
from shortdrama_pipeline.rules.storyboard import plan_shots
from shortdrama_pipeline.stages import prompts
from shortdrama_pipeline.stages.view import Key, View
from shortdrama_pipeline.stages.work import RULE, StageWork, seed, use
from shortdrama_pipeline.store.versions import Draft, Version

WIDTH, HEIGHT = 1080, 1920
UNPLANNED: Key = ("shot:*", "content")  # owed while the script is not cut yet
_PURPOSES = {
    "character": "character_reference",
    "place": "place_reference",
    "prop": "prop_reference",
}


def _owed(view: View) -> list[Key]:
    if not view.shots:
        return [UNPLANNED]
    keys: list[Key] = []
    for shot in view.shots:
        keys += [(f"shot:{shot.id}", "content"), (f"shot:{shot.id}", "frame")]
        keys += [(f"line:{line.line_id}", "content") for line in shot.lines]
    return keys


def _free(view: View) -> list[Draft]:
    script_version = view.version("script")
    if view.script is None or script_version is None:
        return []
    origin = [(script_version.version_id, "script")]
    drafts: list[Draft] = []
    for shot in planned(view):
        drafts.append(_draft(view, f"shot:{shot.id}", shots.to_json(shot), origin))
        drafts += [_draft(view, f"line:{line.line_id}", _line(line), origin) for line in shot.lines]
    return drafts


def _gone(view: View) -> list[Key]:
    if view.script is None or not view.shots:
        return []
    kept = planned(view)
    known = {f"shot:{shot.id}" for shot in kept}
    known |= {f"line:{line.line_id}" for shot in kept for line in shot.lines}
    return [key for key in view.chosen if key[0].startswith(("shot:", "line:")) and key[0] not in known]


def _requests(view: View) -> list[ItemRequest]:
    return [_frame(view, shot) for shot in view.shots]


def planned(view: View) -> tuple[Shot, ...]:
    """Return the shots the chosen script makes by rule; NotReady for what cannot be shot."""
    assert view.script is not None
    length = view.brief.get("length_s")
    return plan_shots(view.script, target_ms=length * 1000 if isinstance(length, int) else None)


def seen(view: View, shot: Shot) -> Iterator[tuple[str, str]]:
    """Yield (kind, subject) of everyone and everything seen in a shot, each once."""
    if view.script is None:
        return
    subjects = bible.subjects_by_name(view.script)
    wanted = [
        *(("character", each) for each in shot.characters),
        ("place", shot.place.strip()),
        *(("prop", each.strip()) for each in shot.props),
    ]
    for key in dict.fromkeys(wanted):
        if key in subjects:
            yield key[0], subjects[key]


def references(view: View, shot: Shot) -> tuple[list[tuple[Version, str]], int]:
    """Return the chosen pictures of what is seen with their purposes, and how many there should be."""
    wanted = list(seen(view, shot))
    found = [(view.version(subject, "reference"), _PURPOSES[kind]) for kind, subject in wanted]
    return [(version, purpose) for version, purpose in found if version is not None], len(wanted)


def names(view: View, shot: Shot) -> list[str]:
    """Return the names of the characters seen."""
    known = {} if view.script is None else {each.id: each.name for each in view.script.characters}
    return [known.get(each, each) for each in shot.characters]


def listed(pictures: list[tuple[Version, str]]) -> list[dict[str, object]]:
    """Return reference pictures as parameters: the file, what it is of, and its name."""
    return [
        {
            "sha256": version.sha256,
            "role": purpose.removesuffix("_reference"),
            "title": str(version.content.get("title") or ""),
        }
        for version, purpose in pictures
    ]


def shot_note(view: View, shot: Shot) -> dict[str, object]:
    """Return the shot as a model is told it; `line` and `speaker` are those of its first spoken line."""
    first = shot.lines[0] if shot.lines else None
    known = {} if view.script is None else {each.id: each.name for each in view.script.characters}
    return {
        "id": shot.id,
        "size": shot.size,
        "move": shot.move,
        "characters": list(names(view, shot)),
        "place": shot.place,
        "time_of_day": shot.time_of_day,
        "action": shot.action,
        "line": " ".join(line.text for line in shot.lines),
        "speaker": known.get(first.speaker or "", "") if first else "",
    }


def _frame(view: View, shot: Shot) -> ItemRequest:
    subject = f"shot:{shot.id}"
    pictures, wanted = references(view, shot)
    shot_version = view.version(subject)
    assert shot_version is not None  # view.shots are chosen versions
    return ItemRequest(
        episode_id=view.episode_id,
        subject=subject,
        role="frame",
        kind=MediaKind.IMAGE,
        params={
            "prompt": prompts.frame_prompt(shot, names(view, shot), language=view.language, style=view.style),
            "subject_kind": "frame",
            "title": shot.id,
            "caption": shot.action[:200],
            "width": WIDTH,
            "height": HEIGHT,
            "seed": seed(view, subject, "frame"),
            "style": view.style,
            "references": listed(pictures),
            "shot": shot_note(view, shot),
            "language": view.language,
        },
        uses=(use(shot_version, "shot"), *(use(version, purpose) for version, purpose in pictures)),
        constraints={"references": wanted},
    )


def _line(line: ShotLine) -> dict[str, object]:
    return {
        "line_id": line.line_id,
        "kind": line.kind,
        "speaker": line.speaker,
        "text": line.text,
        "manner": line.manner,
    }


def _draft(view: View, subject: str, content: dict[str, object], origin: list[tuple[str, str]]) -> Draft:
    return Draft(
        kind=VersionKind.SHOT,
        episode_id=view.episode_id,
        subject=subject,
        role="content",
        content=content,
        actor=RULE,
        uses=origin,
    )


WORK = StageWork(Stage.STORYBOARD, owed=_owed, free=_free, gone=_gone, requests=_requests)
