"""A result becomes one version of the right kind, and the choice only where it may (V-8, D-10)."""

import json

import pytest

from shortdrama_pipeline.errors import MediaInvalid
from shortdrama_pipeline.rules import script as scripts
from shortdrama_pipeline.rules.states import Stage
from shortdrama_pipeline.services.context import Studio
from shortdrama_pipeline.services.gates import reject_version
from shortdrama_pipeline.services.series import create_series
from shortdrama_pipeline.stages.text_results import read_outline, read_script
from shortdrama_pipeline.store import edges, selections, versions
from tests.stages_.flow import (
    PERSON,
    deliver,
    drive_to,
    episode_with_script,
    new_episode,
    requests_of,
    small_script,
)

OUTLINE = {
    "title": "信",
    "logline": "一封信",
    "language": "zh-CN",
    "synopsis": "…",
    "beats": ["相遇"],
    "characters": [{"id": "c1", "name": "林晚", "description": ""}],
}


def test_a_picture_becomes_an_asset_version_with_the_items_origins(studio: Studio) -> None:
    episode_id = episode_with_script(studio)
    drive_to(studio, episode_id, Stage.ASSETS)
    requests = requests_of(studio, episode_id, Stage.ASSETS)
    made = deliver(studio.db, requests)
    with studio.db.read() as tx:
        version = versions.load_version(tx, made["character:c1#reference"])
        origins = edges.find_uses(tx, version.version_id)
        chosen = selections.find_selected(tx, episode_id, "character:c1", "reference")
        setting = selections.load_selected(tx, episode_id, "character:c1")
    assert version.kind == "AssetVersion"
    assert chosen == version
    assert [(each.used_version_id, each.purpose) for each in origins] == [(setting.version_id, "setting")]
    assert version.provenance["binding_id"] == "rehearsal-image"
    assert version.content["media"] == {"media_type": "image/png", "width": 1024, "height": 1024}


def test_the_same_result_twice_is_one_version(studio: Studio) -> None:
    episode_id = episode_with_script(studio)
    drive_to(studio, episode_id, Stage.ASSETS)
    request = requests_of(studio, episode_id, Stage.ASSETS)[:1]
    assert deliver(studio.db, request, attempt_id="att_1") == deliver(studio.db, request, attempt_id="att_1")


def test_a_second_candidate_is_kept_beside_the_choice(studio: Studio) -> None:
    episode_id = episode_with_script(studio)
    drive_to(studio, episode_id, Stage.ASSETS)
    request = requests_of(studio, episode_id, Stage.ASSETS)[:1]
    first, second = deliver(studio.db, request), deliver(studio.db, request)
    subject, role = request[0].subject, request[0].role
    assert first != second
    with studio.db.read() as tx:
        assert selections.load_selected(tx, episode_id, subject, role).version_id in first.values()


@pytest.mark.parametrize("state", ["failed", "cancelled"])
def test_a_late_result_after_the_end_is_kept_and_never_chosen(studio: Studio, state: str) -> None:
    episode_id = episode_with_script(studio)
    drive_to(studio, episode_id, Stage.ASSETS)
    request = requests_of(studio, episode_id, Stage.ASSETS)[:1]
    (version_id,) = deliver(studio.db, request, state=state).values()
    with studio.db.read() as tx:
        assert versions.load_version(tx, version_id).sha256
        assert selections.find_selected(tx, episode_id, request[0].subject, request[0].role) is None


def test_a_result_registered_again_does_not_bring_back_a_rejected_choice(studio: Studio) -> None:
    episode_id = episode_with_script(studio)
    drive_to(studio, episode_id, Stage.ASSETS)
    request = requests_of(studio, episode_id, Stage.ASSETS)[:1]
    (version_id,) = deliver(studio.db, request, attempt_id="att_1").values()
    reject_version(studio, version_id, actor=PERSON, note="不像")
    deliver(studio.db, request, attempt_id="att_1")
    with studio.db.read() as tx:
        assert selections.find_selected(tx, episode_id, request[0].subject, request[0].role) is None


def test_texts_from_a_brief_become_outline_and_script(studio: Studio) -> None:
    made = create_series(studio, "信", {"premise": "一封迟到的信", "language": "zh-CN"}, actor=PERSON)
    episode_id = new_episode(studio.db, series_id=str(made["series_id"]))
    (request,) = requests_of(studio, episode_id, Stage.OUTLINE)
    assert request.params["brief"] == {"premise": "一封迟到的信", "language": "zh-CN"}
    outline = deliver(studio.db, [request], text=json.dumps(OUTLINE))["outline#content"]
    from shortdrama_pipeline.services.gates import pass_gate

    pass_gate(studio, episode_id, "outline", actor=PERSON, rights=True)
    (request,) = requests_of(studio, episode_id, Stage.SCRIPT)
    assert [use.version_id for use in request.uses] == [outline]
    script = deliver(studio.db, [request], text=json.dumps(scripts.to_json(small_script())))["script#content"]
    with studio.db.read() as tx:
        assert versions.load_version(tx, outline).kind == "StoryOutlineVersion"
        assert versions.load_version(tx, script).kind == "ScriptVersion"
        content = selections.load_selected(tx, episode_id, "script").content
    assert scripts.from_json(content) == small_script()


def changed_script(**changes: object) -> str:
    content = json.loads(json.dumps(scripts.to_json(small_script())))
    return json.dumps(content | changes)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("<html>busy</html>", "Invalid JSON"),
        ("{}", "language"),
        (changed_script(scenes=[]), "scenes"),
        (changed_script(characters=[]), "not among the characters"),
        (
            changed_script(
                characters=[
                    {"id": "c1", "name": "a", "description": ""},
                    {"id": "c1", "name": "b", "description": ""},
                ]
            ),
            "share one id",
        ),
        (
            changed_script(
                scenes=[
                    {"id": "s1", "lines": [{"kind": "action", "text": "走"}]},
                ]
            ),
            "nobody says anything",
        ),
        (
            changed_script(
                scenes=[{"id": "s1", "lines": [{"kind": "narration", "text": "走", "speaker": "c1"}]}]
            ),
            "has a speaker",
        ),
    ],
)
def test_a_text_that_is_no_script_is_refused_with_the_place(text: str, why: str) -> None:
    with pytest.raises(MediaInvalid, match=why):
        read_script(text)


def test_an_outline_with_two_characters_of_one_id_is_refused() -> None:
    twice = OUTLINE | {"characters": [*OUTLINE["characters"], *OUTLINE["characters"]]}
    with pytest.raises(MediaInvalid, match="share one id"):
        read_outline(json.dumps(twice))
