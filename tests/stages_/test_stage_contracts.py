"""P-2.1 to P-2.9, rows (a) to (d), over all nine stages; and what a person's word is bound to."""

from itertools import pairwise

import pytest
import sqlalchemy as sa

from shortdrama_pipeline.errors import GateClosed, GrantRefused, Refusal
from shortdrama_pipeline.rules import script as scripts
from shortdrama_pipeline.rules.stages import PRODUCTS, RIGHTS
from shortdrama_pipeline.rules.states import Stage
from shortdrama_pipeline.services.context import Studio
from shortdrama_pipeline.services.episode_views import episode_status
from shortdrama_pipeline.services.gates import (
    bring_up_to,
    confirm_version,
    find_pilot_of_same_look,
    gate_state,
    pass_gate,
    reject_version,
)
from shortdrama_pipeline.services.stage_planning import plan_stage
from shortdrama_pipeline.services.stage_runs import advance_stage, order_stage
from shortdrama_pipeline.services.versioning import edit_version, list_versions, select_version, show_version
from shortdrama_pipeline.stages.view import load_view
from shortdrama_pipeline.store import gates, selections
from shortdrama_pipeline.store.selections import find_all_selected, find_selected, load_selected
from shortdrama_pipeline.store.tables import plans, quotes, tasks
from shortdrama_pipeline.store.versions import Version
from tests.stages_.flow import (
    AGENT,
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


def chosen(studio: Studio, episode_id: str, subject: str, role: str = "content") -> Version:
    with studio.db.read() as tx:
        return load_selected(tx, episode_id, subject, role)


def test_a_no_stage_starts_before_the_gates_before_it(priced: Studio) -> None:
    episode_id = episode_with_script(priced)
    for stage in list(Stage)[1:]:
        for start in (
            lambda stage=stage: plan_stage(priced, episode_id, stage, actor=PERSON),
            lambda stage=stage: advance_stage(priced, episode_id, stage, actor=PERSON),
            lambda stage=stage: order_stage(priced, episode_id, stage, actor=PERSON),
            lambda stage=stage: pass_gate(priced, episode_id, stage, actor=PERSON, rights=True),
        ):
            with pytest.raises(GateClosed) as refused:
                start()
            assert refused.value.facts["gate"] == "outline"
            assert refused.value.exit_code == 4
    assert count(priced.db, plans) == count(priced.db, quotes) == count(priced.db, tasks) == 0


def test_a_each_stage_is_shut_by_the_gate_just_before_it(priced: Studio) -> None:
    episode_id = episode_with_script(priced)
    stages = list(Stage)
    for stage, following in pairwise(stages):
        deliver(priced.db, requests_of(priced, episode_id, stage))
        with pytest.raises(GateClosed) as refused:
            plan_stage(priced, episode_id, following, actor=PERSON)
        assert refused.value.facts == {"stage": str(following), "gate": str(stage)}
        pass_gate(priced, episode_id, stage, actor=PERSON, rights=True)
    assert count(priced.db, tasks) == 0


def test_b_a_product_keeps_the_inputs_it_was_made_from_when_they_change(filmed: Studio) -> None:
    studio, episode_id = filmed, EPISODE
    products = [
        chosen(studio, episode_id, *key)
        for key in [
            ("script", "content"),
            ("bible", "content"),
            ("shot:s1-01", "content"),
            ("shot:s1-01", "frame"),
            ("shot:s1-01", "video"),
            ("line:s1-l1", "speech"),
            ("timeline", "content"),
        ]
    ]
    before = [show_version(studio, each.version_id)["uses"] for each in products]
    assert all(before)
    script = small_script()
    edited = scripts.to_json(small_script(scenes=(*script.scenes[:1], scene(2, said("c1", "换了一句。")))))
    edit_version(
        studio,
        chosen(studio, episode_id, "outline").version_id,
        {"title": "别的", "language": "zh-CN", "logline": ""},
        actor=PERSON,
    )
    edit_version(studio, chosen(studio, episode_id, "script").version_id, edited, actor=PERSON)
    assert [show_version(studio, each.version_id)["uses"] for each in products] == before


def test_c_every_stage_yields_its_product_with_type_and_id(filmed: Studio) -> None:
    studio, episode_id = filmed, EPISODE
    kinds = {str(row["kind"]) for row in list_versions(studio, episode_id)}
    for stage in list(Stage)[:-1]:
        assert {str(kind) for kind in PRODUCTS[stage]} <= kinds
        report = advance_stage(studio, episode_id, stage, actor=PERSON)
        with studio.db.read() as tx:
            known = {version.version_id for version in find_all_selected(tx, episode_id).values()}
            assert report.digest == gate_state(tx, episode_id, stage).standing.digest
        assert set(report.versions) <= known
        assert (report.done, report.of) == (len(report.versions), len(report.versions))


def test_d_a_gate_keeps_who_passed_it_when_over_what_and_with_which_rights(filmed: Studio) -> None:
    studio, episode_id = filmed, EPISODE
    with studio.db.read() as tx:
        passed = gates.find_gates(tx, episode_id)
    assert [each.stage for each in passed] == [str(stage) for stage in list(Stage)[:-1]]
    for each in passed:
        assert each.actor == PERSON
        assert each.created_at.tzinfo is not None
        assert all(cover["version_id"] and cover["digest"] for cover in each.covers)


@pytest.mark.parametrize("stage", sorted(RIGHTS))
def test_the_gates_of_story_and_voices_want_the_rights(studio: Studio, stage: Stage) -> None:
    episode_id = episode_with_script(studio)
    drive_to(studio, episode_id, stage)
    deliver(studio.db, requests_of(studio, episode_id, stage))
    with pytest.raises(GateClosed, match="rights"):
        pass_gate(studio, episode_id, stage, actor=PERSON)
    assert pass_gate(studio, episode_id, stage, actor=PERSON, rights=True).passed


@pytest.mark.parametrize("actor", [AGENT, "schedule:weekly"])
def test_only_a_person_confirms_rejects_or_passes_a_gate(studio: Studio, actor: str) -> None:
    episode_id = episode_with_script(studio)
    outline = chosen(studio, episode_id, "outline")
    with pytest.raises(GrantRefused):
        pass_gate(studio, episode_id, Stage.OUTLINE, actor=actor, rights=True)
    with pytest.raises(GrantRefused):
        confirm_version(studio, outline.version_id, actor=actor, rights=True)
    with pytest.raises(GrantRefused):
        reject_version(studio, outline.version_id, actor=actor, note="nein")
    assert episode_status(studio, episode_id)["content_confirmation"] == {"draft": 2, "confirmed": 0}


def test_an_agent_may_plan_and_gets_a_quote_and_nothing_else(priced: Studio) -> None:
    episode_id = episode_with_script(priced)
    drive_to(priced, episode_id, Stage.ASSETS)
    planned = plan_stage(priced, episode_id, Stage.ASSETS, actor=AGENT)
    assert planned.total.micros > 0
    assert count(priced.db, quotes) == 1
    assert count(priced.db, tasks) == 0


def test_a_gate_passed_twice_is_one_decision(studio: Studio) -> None:
    episode_id = episode_with_script(studio)
    first = pass_gate(studio, episode_id, "outline", actor=PERSON, rights=True)
    assert pass_gate(studio, episode_id, "outline", actor="person:other", rights=True) == first


def test_another_choice_opens_the_gate_again_and_the_old_choice_closes_it(studio: Studio) -> None:
    episode_id = episode_with_script(studio)
    drive_to(studio, episode_id, Stage.STORYBOARD)
    (item,) = [
        each
        for each in requests_of(studio, episode_id, Stage.ASSETS, items=["character:c1"])
        if each.role == "reference"
    ]
    old = chosen(studio, episode_id, "character:c1", "reference")
    (new,) = deliver(studio.db, [item]).values()
    select_version(studio, new, actor=PERSON)
    with studio.db.read() as tx:
        assert gate_state(tx, episode_id, Stage.ASSETS).passed is None
    with pytest.raises(GateClosed, match="the gate of assets"):
        bring_up_to(studio, episode_id, Stage.STORYBOARD)
    select_version(studio, old.version_id, actor=PERSON)
    bring_up_to(studio, episode_id, Stage.STORYBOARD)  # the bible of the old picture is chosen again with it


def test_a_word_is_bound_to_what_the_person_saw(studio: Studio) -> None:
    episode_id = episode_with_script(studio)
    with studio.db.read() as tx:
        seen = gate_state(tx, episode_id, Stage.OUTLINE).standing.digest
    content = chosen(studio, episode_id, "outline").content
    edit_version(
        studio, chosen(studio, episode_id, "outline").version_id, content | {"title": "新"}, actor=AGENT
    )
    with pytest.raises(GateClosed, match="changed since"):
        pass_gate(studio, episode_id, Stage.OUTLINE, actor=PERSON, rights=True, seen_digest=seen)


def test_the_last_confirmed_version_passes_the_gate(studio: Studio) -> None:
    episode_id = episode_with_script(studio)
    drive_to(studio, episode_id, Stage.ASSETS)
    deliver(studio.db, requests_of(studio, episode_id, Stage.ASSETS))
    bring_up_to(studio, episode_id, Stage.ASSETS)
    with studio.db.read() as tx:
        covers = gate_state(tx, episode_id, Stage.ASSETS).standing.covers
    said_now = [confirm_version(studio, cover.version_id, actor=PERSON)["gate"] for cover in covers]
    assert said_now == [None] * (len(covers) - 1) + ["assets"]
    with studio.db.read() as tx:
        assert gate_state(tx, episode_id, Stage.ASSETS).passed


def test_a_single_confirm_without_the_rights_does_not_pass_the_story(studio: Studio) -> None:
    episode_id = episode_with_script(studio)
    outline = chosen(studio, episode_id, "outline").version_id
    assert confirm_version(studio, outline, actor=PERSON)["gate"] is None
    assert confirm_version(studio, outline, actor=PERSON, rights=True)["gate"] == "outline"


def test_the_rights_of_one_line_do_not_clear_the_sound_of_all(studio: Studio) -> None:
    episode_id = episode_with_script(studio)
    drive_to(studio, episode_id, Stage.AUDIO)
    deliver(studio.db, requests_of(studio, episode_id, Stage.AUDIO))
    with studio.db.read() as tx:
        lines = [each.version_id for each in gate_state(tx, episode_id, Stage.AUDIO).standing.covers]
    assert len(lines) > 2
    for n, line in enumerate(lines):
        assert confirm_version(studio, line, actor=PERSON, rights=n == 0)["gate"] is None
    for line in lines[1:-1]:
        assert confirm_version(studio, line, actor=PERSON, rights=True)["gate"] is None
    assert confirm_version(studio, lines[-1], actor=PERSON, rights=True)["gate"] == "audio"


def test_an_edit_after_a_confirmation_is_a_draft_and_the_old_version_stays_confirmed(studio: Studio) -> None:
    episode_id = episode_with_script(studio)
    pass_gate(studio, episode_id, "outline", actor=PERSON, rights=True)
    old = chosen(studio, episode_id, "outline")
    edit_version(studio, old.version_id, old.content | {"title": "新"}, actor=PERSON)
    states = {row["number"]: row["state"] for row in list_versions(studio, episode_id, subject="outline")}
    assert states == {1: "confirmed", 2: "draft"}
    with studio.db.read() as tx:
        assert gate_state(tx, episode_id, Stage.OUTLINE).passed is None


def test_a_rejected_choice_is_wanted_again_and_cannot_be_chosen(studio: Studio) -> None:
    episode_id = episode_with_script(studio)
    drive_to(studio, episode_id, Stage.STORYBOARD)
    picture = chosen(studio, episode_id, "character:c1", "reference")
    with pytest.raises(Refusal, match="reason"):
        reject_version(studio, picture.version_id, actor=PERSON, note=" ")
    assert reject_version(studio, picture.version_id, actor=PERSON, note="脸不对")["was_selected"]
    assert [each.subject for each in requests_of(studio, episode_id, Stage.ASSETS)] == ["character:c1"]
    with pytest.raises(Refusal, match="rejected"):
        select_version(studio, picture.version_id, actor=PERSON)
    with pytest.raises(GateClosed, match="missing"):
        pass_gate(studio, episode_id, Stage.ASSETS, actor=PERSON)


def test_a_confirmed_shot_is_no_video_and_no_task(studio: Studio) -> None:
    episode_id = episode_with_script(studio)
    drive_to(studio, episode_id, Stage.PILOT)
    with studio.db.read() as tx:
        assert find_selected(tx, episode_id, "shot:s1-01", "video") is None
    assert count(studio.db, tasks) == 0


def test_a_film_without_a_word_still_asks_for_the_rights_of_its_sound(studio: Studio) -> None:
    script = small_script()
    silent = tuple(
        type(each)(
            each.id,
            each.heading,
            each.place,
            each.time_of_day,
            each.props,
            tuple(line for line in each.lines if line.kind == "action"),
        )
        for each in script.scenes
    )
    episode_id = episode_with_script(studio, script=small_script(scenes=silent))
    drive_to(studio, episode_id, Stage.AUDIO)
    assert requests_of(studio, episode_id, Stage.AUDIO) == []
    with pytest.raises(GateClosed, match="rights"):
        pass_gate(studio, episode_id, Stage.AUDIO, actor=PERSON)


def test_the_pilot_of_another_episode_speaks_for_the_same_bible_and_binding(studio: Studio) -> None:
    first = episode_with_script(studio)
    drive_to(studio, first, Stage.SHOTS)
    second = new_episode(studio.db, number=1)
    bring_script(studio.db, second, small_script())
    with studio.db.begin() as tx:  # the next episode takes over the look: the very same pictures
        for (subject, role), version in find_all_selected(tx, first).items():
            if role == "reference":
                tx.execute(
                    sa.text(
                        "insert into selections (episode_id, subject, role, version_id, actor)"
                        " values (:episode, :subject, :role, :version, 'person:lin')"
                    ),
                    {"episode": second, "subject": subject, "role": role, "version": version.version_id},
                )
    drive_to(studio, second, Stage.PILOT)
    view = bring_up_to(studio, second, Stage.SHOTS)
    with studio.db.read() as tx:
        passed = find_pilot_of_same_look(tx, view)
        assert passed is not None
        assert passed.episode_id == first
        selections.drop_selections(tx, second, [("bible", "content")])
        assert find_pilot_of_same_look(tx, load_view(tx, second, channels=view.channels)) is None
