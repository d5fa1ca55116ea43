"""The two episodes of this repository read alike in every form, and fill their minute."""

from dataclasses import replace
from pathlib import Path

import pytest

from shortdrama_pipeline.readers.reading import read_script
from shortdrama_pipeline.rules.script import LineKind, Script
from shortdrama_pipeline.rules.storyboard import plan_shots, shots_ms

EXAMPLES = Path(__file__).parents[2] / "examples"
EPISODES = ("late_ring.zh", "last_call.en")


def unplaced(script: Script) -> Script:
    """Return the script without the lines of the file it came from."""
    scenes = (
        replace(scene, lines=tuple(replace(line, source_line=0) for line in scene.lines))
        for scene in script.scenes
    )
    return replace(script, scenes=tuple(scenes))


@pytest.mark.parametrize("name", EPISODES)
def test_fountain_and_markdown_say_the_same(name: str) -> None:
    fountain = read_script(EXAMPLES / f"{name}.fountain").script
    markdown = read_script(EXAMPLES / f"{name}.md").script
    assert unplaced(fountain) == unplaced(markdown)


@pytest.mark.parametrize("name", EPISODES)
def test_an_episode_has_scenes_people_and_every_kind_of_line(name: str) -> None:
    script = read_script(EXAMPLES / f"{name}.fountain").script
    assert len(script.scenes) >= 3
    assert len(script.characters) >= 3
    assert {line.kind for scene in script.scenes for line in scene.lines} == set(LineKind)
    assert script.title
    assert script.logline


@pytest.mark.parametrize(
    ("name", "least_ms", "most_ms"), [(EPISODES[0], 60_000, 66_000), (EPISODES[1], 60_000, 90_000)]
)
def test_an_episode_lasts_as_long_as_it_should(name: str, least_ms: int, most_ms: int) -> None:
    shots = plan_shots(read_script(EXAMPLES / f"{name}.fountain").script)
    assert least_ms <= shots_ms(shots) <= most_ms


@pytest.mark.parametrize("name", EPISODES)
def test_an_episode_hooks_in_four_seconds_and_ends_on_a_face(name: str) -> None:
    shots = plan_shots(read_script(EXAMPLES / f"{name}.fountain").script)
    assert shots[0].lines
    assert shots[0].lines[0].start_ms < 4_000
    assert shots[-1].size == "close"
    assert shots[-1].characters


@pytest.mark.parametrize("name", EPISODES)
def test_no_shot_of_an_episode_is_a_flash_or_a_stare(name: str) -> None:
    shots = plan_shots(read_script(EXAMPLES / f"{name}.fountain").script)
    assert all(36 <= shot.duration_frames <= 6 * 24 for shot in shots)
