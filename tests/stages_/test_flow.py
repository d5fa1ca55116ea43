"""The whole line, stage after stage, on real PostgreSQL; results are registered directly."""

from shortdrama_pipeline.rules.states import Stage
from shortdrama_pipeline.services.context import Studio
from shortdrama_pipeline.services.gates import gate_state
from shortdrama_pipeline.store.selections import find_all_selected, find_selected
from tests.stages_.flow import drive_to, episode_with_script


def test_an_imported_script_goes_through_every_stage_to_a_timeline(studio: Studio) -> None:
    episode_id = episode_with_script(studio)
    drive_to(studio, episode_id, Stage.EXPORT)
    with studio.db.read() as tx:
        timeline = find_selected(tx, episode_id, "timeline")
        kinds = {version.kind for version in find_all_selected(tx, episode_id).values()}
        assert all(gate_state(tx, episode_id, stage).passed for stage in Stage if stage is not Stage.EXPORT)
    assert timeline is not None
    assert kinds == {
        "StoryOutlineVersion",
        "ScriptVersion",
        "AssetVersion",
        "ProjectBibleVersion",
        "ShotVersion",
        "AudioVersion",
        "TimelineVersion",
    }
