"""Edit (P-2.8): the chosen films and voices are laid end to end, by rule, as a TimelineVersion."""

from collections.abc import Mapping

from shortdrama_pipeline.rules import cut, timeline
from shortdrama_pipeline.rules.cut import Speech, Take
from shortdrama_pipeline.rules.states import Stage, VersionKind
from shortdrama_pipeline.stages import storyboard
from shortdrama_pipeline.stages.view import Key, View
from shortdrama_pipeline.stages.work import RULE, StageWork
from shortdrama_pipeline.store.versions import Draft, Version

KEY: Key = ("timeline", "content")


def _owed(view: View) -> list[Key]:  # noqa: ARG001 the same for every episode
    return [KEY]


def _free(view: View) -> list[Draft]:
    """Nothing until every shot and line has its file; then one timeline of exactly these."""
    shots = {shot.id: view.version(f"shot:{shot.id}", "video") for shot in view.shots}
    lines = {
        line.line_id: view.version(f"line:{line.line_id}", "speech")
        for shot in view.shots
        for line in shot.lines
    }
    if not shots or not all(shots.values()) or not all(lines.values()):
        return []
    films = {shot_id: version for shot_id, version in shots.items() if version is not None}
    voices = {line_id: version for line_id, version in lines.items() if version is not None}
    made = cut.assemble(
        view.shots,
        {shot_id: _take(version) for shot_id, version in films.items()},
        {line_id: _speech(version) for line_id, version in voices.items()},
        title=view.script.title if view.script is not None and view.script.title else view.title,
        language=view.language,
        width=storyboard.WIDTH,
        height=storyboard.HEIGHT,
    )
    uses = [(version.version_id, "video") for version in films.values()]
    uses += [(version.version_id, "speech") for version in voices.values()]
    cuts = [view.version(f"shot:{shot.id}") for shot in view.shots]
    uses += [(version.version_id, "shot") for version in cuts if version is not None]
    content = timeline.to_json(made)
    return [Draft(VersionKind.TIMELINE, view.episode_id, *KEY, content=content, actor=RULE, uses=uses)]


def _take(version: Version) -> Take:
    media = _media(version)
    rate = media.get("frame_rate")
    assert version.sha256 is not None
    assert isinstance(rate, list)
    return Take(
        version_id=version.version_id,
        sha256=version.sha256,
        frames=int(str(media["frames"])),
        frame_rate=(int(rate[0]), int(rate[1])),
        has_audio=bool(media.get("has_audio")),
    )


def _speech(version: Version) -> Speech:
    assert version.sha256 is not None
    return Speech(version.version_id, version.sha256, int(str(_media(version)["duration_ms"])))


def _media(version: Version) -> Mapping[str, object]:
    """What the server measured when the file was registered (P-12.7)."""
    media = version.content["media"]
    assert isinstance(media, dict)
    return media


WORK = StageWork(Stage.TIMELINE, owed=_owed, free=_free)
