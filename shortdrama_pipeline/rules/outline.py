"""The outline a finished script already contains: what an import proposes for the story's gate (D-25)."""

from dataclasses import asdict

from shortdrama_pipeline.rules.script import INSTRUCTIONS, LineKind, Scene, Script

BEAT_CHARACTERS_MAX = 200
SYNOPSIS_CHARACTERS_MAX = 2_000


def outline_of(script: Script) -> dict[str, object]:
    """Return the content of a StoryOutlineVersion: one beat for each scene, its opening in its own words."""
    beats = [_beat(scene) for scene in script.scenes]
    return {
        "title": script.title,
        "logline": script.logline,
        "language": script.language,
        "synopsis": "\n".join(beats)[:SYNOPSIS_CHARACTERS_MAX],
        "beats": beats,
        "characters": [asdict(each) for each in script.characters],
    }


def _beat(scene: Scene) -> str:
    """Return the heading and what is first done or said."""
    told = next(
        (
            each.text
            for each in scene.lines
            if each.kind is LineKind.ACTION and each.manner not in INSTRUCTIONS
        ),
        None,
    ) or next((each.text for each in scene.lines if each.kind is not LineKind.ACTION), "")
    return ": ".join(each for each in (scene.heading, told) if each)[:BEAT_CHARACTERS_MAX]
