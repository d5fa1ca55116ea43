"""A stage is planned behind its gates, over exact versions, and never what could be seen to be wrong."""

from dataclasses import replace

import pytest

from shortdrama_pipeline.errors import NotReady, UnknownId, UsageError
from shortdrama_pipeline.rules import shots as shot_values
from shortdrama_pipeline.rules.script import Line, LineKind
from shortdrama_pipeline.rules.shots import Shot
from shortdrama_pipeline.rules.states import Stage
from shortdrama_pipeline.services.context import Studio
from shortdrama_pipeline.services.episode_views import episode_status, show_stage
from shortdrama_pipeline.services.gates import bring_up_to, pass_gate
from shortdrama_pipeline.services.stage_planning import plan_stage
from shortdrama_pipeline.services.versioning import edit_version
from shortdrama_pipeline.stages.pilot import chosen_shots
from shortdrama_pipeline.store import selections
from shortdrama_pipeline.store.plans import load_plan
from shortdrama_pipeline.store.tables import plans, quotes
from tests.stages_.flow import (
    PERSON,
    bring_script,
    count,
    deliver,
    drive_to,
    episode_with_script,
    new_episode,
    requests_of,
    said,
    scene,
    small_script,
)

EPISODE = "2026-W32-0"


def shot_of(studio: Studio, episode_id: str, subject: str) -> tuple[str, Shot]:
    with studio.db.read() as tx:
        version = selections.load_selected(tx, episode_id, subject)
    return version.version_id, shot_values.from_json(version.content)


def test_assets_are_one_picture_each_and_say_what_they_are_made_from(priced: Studio) -> None:
    episode_id = episode_with_script(priced)
    drive_to(priced, episode_id, Stage.ASSETS)
    planned = plan_stage(priced, episode_id, Stage.ASSETS, actor=PERSON)
    assert [each.subject for each in planned.items] == [
        "character:c1",
        "character:c2",
        "place:p1",
        "place:p2",
        "prop:o1",
    ]
    with priced.db.read() as tx:
        body = load_plan(tx, planned.plan_id)
        setting = selections.load_selected(tx, episode_id, "character:c1")
    assert body.items[0]["uses"] == [
        {
            "version_id": setting.version_id,
            "digest": setting.digest,
            "sha256": None,
            "purpose": "setting",
        }
    ]


def test_a_film_uses_its_shot_its_frame_and_exactly_what_is_seen(priced: Studio) -> None:
    episode_id = episode_with_script(priced)
    drive_to(priced, episode_id, Stage.SHOTS)
    view = bring_up_to(priced, episode_id, Stage.SHOTS)
    for request in requests_of(priced, episode_id, Stage.SHOTS):
        shot = next(each for each in view.shots if f"shot:{each.id}" == request.subject)
        purposes = sorted(use.purpose for use in request.uses)
        assert purposes == sorted(
            ["shot", "frame", "place_reference"]
            + ["character_reference"] * len(shot.characters)
            + ["prop_reference"] * len(shot.props)
        )
        assert request.params["duration_frames"] == shot.duration_frames


def test_the_pilot_and_the_batch_never_buy_the_same_shot(priced: Studio) -> None:
    episode_id = episode_with_script(priced)
    drive_to(priced, episode_id, Stage.PILOT)
    pilots = requests_of(priced, episode_id, Stage.PILOT)
    view = bring_up_to(priced, episode_id, Stage.PILOT)
    assert [each.subject for each in pilots] == [f"shot:{each.id}" for each in chosen_shots(view.shots)]
    assert len(pilots) == 2
    deliver(priced.db, pilots)
    pass_gate(priced, episode_id, "pilot", actor=PERSON)
    others = requests_of(priced, episode_id, Stage.SHOTS)
    assert not {each.subject for each in pilots} & {each.subject for each in others}
    assert len(pilots) + len(others) == len(view.shots)


def test_the_pilot_is_a_face_that_talks_and_the_widest_shot(priced: Studio) -> None:
    episode_id = episode_with_script(priced)
    drive_to(priced, episode_id, Stage.PILOT)
    face, wide = chosen_shots(bring_up_to(priced, episode_id, Stage.PILOT).shots)
    assert (face.size, bool(face.lines), bool(face.characters)) == ("close", True, True)
    assert wide.size == "wide"
    assert chosen_shots([face]) == (face,)
    assert chosen_shots([]) == ()


def test_every_line_is_asked_for_in_the_voice_of_its_speaker(priced: Studio) -> None:
    episode_id = episode_with_script(priced)
    drive_to(priced, episode_id, Stage.AUDIO)
    asked = {each.subject: each.params for each in requests_of(priced, episode_id, Stage.AUDIO)}
    voices = {params["speaker"]: params["voice"] for params in asked.values()}
    assert len(set(voices.values())) == len(voices) == 3
    assert voices["narrator"] == "narrator"
    assert {params["text"] for params in asked.values()} >= {"你终于来了！", "那封信，改变了一切。"}


def test_nothing_is_quoted_where_nothing_is_missing(filmed: Studio) -> None:
    for stage in ("outline", "script", "assets", "storyboard", "pilot", "shots", "audio", "timeline"):
        with pytest.raises(NotReady, match=f"Nothing of {stage} is missing"):
            plan_stage(filmed, EPISODE, stage, actor=PERSON)


def test_named_items_are_made_again_with_another_seed(filmed: Studio) -> None:
    planned = plan_stage(filmed, EPISODE, "assets", items=["character:c1", "prop:o1#reference"], actor=PERSON)
    assert [each.subject for each in planned.items] == ["character:c1", "prop:o1"]
    seeds: set[object] = set()
    for _ in range(3):
        (request,) = requests_of(filmed, EPISODE, Stage.ASSETS, items=["character:c1"])
        seeds.add(request.params["seed"])
        deliver(filmed.db, [request])
    assert len(seeds) == 3


def test_an_item_that_is_not_there_is_an_unknown_id(filmed: Studio) -> None:
    with pytest.raises(UnknownId, match="no item shot:s9-01"):
        plan_stage(filmed, EPISODE, "shots", items=["shot:s9-01"], actor=PERSON)
    with pytest.raises(UsageError, match="--only"):
        plan_stage(filmed, EPISODE, "shots", only="cheap", actor=PERSON)
    with pytest.raises(UnknownId, match="2026-W33-7"):
        plan_stage(filmed, "2026-W33-7", "shots", actor=PERSON)


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"duration_frames": 0}, "duration"),
        ({"duration_frames": -1}, "duration"),
        ({"duration_frames": 9999}, "duration"),
    ],
)
def test_a_shot_of_no_or_endless_length_is_refused_before_a_quote(
    filmed: Studio, changes: dict[str, object], code: str
) -> None:
    version_id, shot = shot_of(filmed, EPISODE, "shot:s1-02")
    edit_version(filmed, version_id, shot_values.to_json(shot) | changes, actor=PERSON)
    pass_gate(filmed, EPISODE, "storyboard", actor=PERSON)
    before = (count(filmed.db, plans), count(filmed.db, quotes))
    with pytest.raises(NotReady) as refused:
        plan_stage(filmed, EPISODE, "pilot", items=["shot:s1-02"], actor=PERSON)
    assert {reason["code"] for reason in refused.value.facts["reasons"]} == {code}  # type: ignore[union-attr,index,call-overload]
    assert (count(filmed.db, plans), count(filmed.db, quotes)) == before


def test_each_of_reference_capability_voice_and_price_can_be_what_is_missing(priced: Studio) -> None:
    episode_id = episode_with_script(priced)
    drive_to(priced, episode_id, Stage.STORYBOARD)
    deliver(priced.db, requests_of(priced, episode_id, Stage.STORYBOARD)[1:])  # the first frame is not there

    def readiness(studio: Studio, stage: Stage) -> set[tuple[object, str]]:
        items = show_stage(studio, episode_id, stage)["items"]
        assert isinstance(items, list)
        return {(each["readiness"], reason["code"]) for each in items for reason in each["reasons"]}

    assert readiness(priced, Stage.SHOTS) == {("notReady", "reference")} or readiness(
        priced, Stage.PILOT
    ) == {("notReady", "reference")}
    deaf = replace(priced, bindings={k: v for k, v in priced.bindings.items() if v.kind != "speech"})
    assert readiness(deaf, Stage.AUDIO) == {("notReady", "capability")}
    voiceless = replace(
        priced,
        bindings={k: replace(v, labels={"voices": "nobody"}) for k, v in priced.bindings.items()},
    )
    assert readiness(voiceless, Stage.AUDIO) == {("notReady", "voice")}
    unpriced = replace(
        priced, bindings={f"new-{k}": replace(v, id=f"new-{k}") for k, v in priced.bindings.items()}
    )
    assert ("notReady", "price") in readiness(unpriced, Stage.AUDIO)
    counts = episode_status(unpriced, episode_id)["generation_readiness"]
    assert counts["notReady"] > 0  # type: ignore[index]


def test_a_letter_without_a_glyph_is_refused_before_a_quote(priced: Studio) -> None:
    script = small_script(scenes=(scene(1, said("c1", "你好\U0001fae8\ue000")),))
    episode_id = episode_with_script(priced, script=script)
    drive_to(priced, episode_id, Stage.ASSETS)
    with pytest.raises(NotReady, match=r"U\+E000"):
        plan_stage(priced, episode_id, Stage.ASSETS, actor=PERSON)
    assert count(priced.db, quotes) == 0


@pytest.mark.parametrize("speaker", ["", "c9"])
def test_a_line_without_a_known_speaker_stops_the_storyboard(priced: Studio, speaker: str) -> None:
    script = small_script()
    first = script.scenes[0]
    lines = (*first.lines, Line(LineKind.DIALOGUE, "谁在说话？", speaker, "", 9))
    episode_id = new_episode(priced.db)
    bring_script(priced.db, episode_id, replace(script, scenes=(replace(first, lines=lines),)))
    drive_to(priced, episode_id, Stage.STORYBOARD)
    with pytest.raises(NotReady, match="line 9"):
        plan_stage(priced, episode_id, Stage.STORYBOARD, actor=PERSON)


def test_an_episode_without_script_or_brief_says_what_it_needs(priced: Studio) -> None:
    episode_id = new_episode(priced.db)
    with pytest.raises(NotReady, match="no brief") as refused:
        plan_stage(priced, episode_id, "outline", actor=PERSON)
    assert "episode import" in refused.value.hint
