"""A change makes stale exactly what was made from it, orders nothing, and says what a redo costs (P-11)."""

import pytest

from shortdrama_pipeline.rules import script as scripts
from shortdrama_pipeline.rules.script import Script
from shortdrama_pipeline.rules.states import Stage
from shortdrama_pipeline.services.context import Studio
from shortdrama_pipeline.services.episode_views import episode_status
from shortdrama_pipeline.services.gates import pass_gate
from shortdrama_pipeline.services.stage_planning import plan_stage
from shortdrama_pipeline.services.versioning import (
    edit_version,
    list_versions,
    merge_characters,
    select_version,
    stale_versions,
)
from shortdrama_pipeline.store import selections, versions
from shortdrama_pipeline.store.tables import plans, quotes, tasks
from tests.stages_.flow import (
    PERSON,
    count,
    deliver,
    drive_to,
    episode_with_script,
    requests_of,
    said,
    scene,
    small_script,
)

EPISODE = "2026-W32-0"


def rows(studio: Studio, episode_id: str = EPISODE) -> list[dict[str, object]]:
    found = stale_versions(studio, episode_id)["stale"]
    assert isinstance(found, list)
    return found


def stale(studio: Studio, episode_id: str = EPISODE) -> set[str]:
    return {f"{row['subject']}#{row['role']}" for row in rows(studio, episode_id)}


def redraw(studio: Studio, episode_id: str, subject: str) -> str:
    """Order another reference picture, get it, and choose it."""
    wanted = [
        each
        for each in requests_of(studio, episode_id, Stage.ASSETS, items=[subject])
        if each.role == "reference"
    ]
    (version_id,) = deliver(studio.db, wanted).values()
    select_version(studio, version_id, actor=PERSON)
    return version_id


def ten_shots() -> Script:
    """Four scenes cut into ten or more shots, of which three show c2."""
    c1 = [said("c1", f"第{n}句话，我要慢慢地说给你听，听好了。") for n in range(6)]
    return small_script(
        scenes=(
            scene(1, *c1[:3], place="天台"),
            scene(2, *c1[3:], place="咖啡馆"),
            scene(3, said("c2", "这一次，换我来说，你不要打断我。"), place="车站"),
            scene(4, said("c2", "再见了，我真的要走了，不要等我。"), place="码头"),
        )
    )


def test_another_picture_of_a_character_makes_exactly_its_shots_stale(studio: Studio) -> None:
    episode_id = episode_with_script(studio, script=ten_shots())
    drive_to(studio, episode_id, Stage.PILOT)
    with studio.db.read() as tx:
        shots = {
            subject: version.content
            for (subject, role), version in selections.find_all_selected(tx, episode_id).items()
            if subject.startswith("shot:") and role == "content"
        }
    users = {subject for subject, content in shots.items() if "c2" in content["characters"]}  # type: ignore[operator]
    assert len(shots) >= 10
    assert 3 <= len(users) < len(shots)
    redraw(studio, episode_id, "character:c2")
    assert {name for name in stale(studio, episode_id) if name.startswith("shot:")} == {
        f"{subject}#frame" for subject in users
    }


def test_a_change_orders_nothing_and_quotes_nothing(filmed: Studio) -> None:
    before = [count(filmed.db, table) for table in (tasks, plans, quotes)]
    redraw(filmed, EPISODE, "character:c2")
    assert stale(filmed)
    assert [count(filmed.db, table) for table in (tasks, plans, quotes)] == before


def test_the_path_leads_from_the_film_to_the_picture_and_a_redo_has_its_price(filmed: Studio) -> None:
    new = redraw(filmed, EPISODE, "place:p1")
    found = stale_versions(filmed, EPISODE)
    listed = found["stale"]
    assert isinstance(listed, list)
    video = next(row for row in listed if row["role"] == "video")
    assert [(step["subject"], step["selected"]) for step in video["path"]] == [("place:p1", new)]
    cut = next(row for row in listed if row["subject"] == "timeline")
    assert [step["subject"] for step in cut["path"]][-1] == "place:p1"
    assert cut["redo_cost"] is None  # made by rule, for nothing
    paid = [row["redo_cost"]["micros"] for row in listed if row["redo_cost"] is not None]
    assert paid
    assert min(paid) > 0
    assert found["redo_total"] == {"micros": sum(paid), "currency": "CNY"}
    assert found["unknown"] == []


def test_choosing_the_old_picture_again_makes_everything_current(filmed: Studio) -> None:
    with filmed.db.read() as tx:
        old = selections.load_selected(tx, EPISODE, "character:c2", "reference")
    redraw(filmed, EPISODE, "character:c2")
    select_version(filmed, old.version_id, actor=PERSON)
    assert stale(filmed) == set()


def test_the_choice_tells_what_it_makes_stale(filmed: Studio) -> None:
    wanted = requests_of(filmed, EPISODE, Stage.ASSETS, items=["prop:o1"])
    (version_id,) = deliver(filmed.db, wanted).values()
    made = select_version(filmed, version_id, actor=PERSON)["made_stale"]
    assert isinstance(made, list)
    assert made
    assert set(made) <= stale(filmed) | {"bible#content"}


def test_an_edited_line_leaves_the_voices_of_other_lines_and_all_pictures_of_people_current(
    filmed: Studio,
) -> None:
    with filmed.db.read() as tx:
        version = selections.load_selected(tx, EPISODE, "script")
    script = scripts.from_json(version.content)
    last = script.scenes[-1]
    lines = (*last.lines[:-1], said("c2", "是我写的！"))
    changed = small_script(
        scenes=(
            *script.scenes[:-1],
            type(last)(last.id, last.heading, last.place, last.time_of_day, last.props, lines),
        )
    )
    edit_version(filmed, version.version_id, scripts.to_json(changed), actor=PERSON)
    pass_gate(filmed, EPISODE, "script", actor=PERSON)
    pass_gate(filmed, EPISODE, "assets", actor=PERSON)
    pass_gate(filmed, EPISODE, "storyboard", actor=PERSON)  # the shots are planned anew, by rule
    names = stale(filmed)
    assert not any(name.startswith(("character:", "place:", "prop:", "shot:s1-")) for name in names)
    assert [name for name in names if name.endswith("#speech")] == ["line:s2-l3#speech"]
    assert any(name.startswith("shot:s2-") for name in names)


def test_a_stale_film_is_redone_on_order_and_takes_the_place_of_the_old_one(filmed: Studio) -> None:
    redraw(filmed, EPISODE, "place:p1")
    pass_gate(filmed, EPISODE, "assets", actor=PERSON)
    frames = requests_of(filmed, EPISODE, Stage.STORYBOARD, only="stale")
    assert frames
    assert requests_of(filmed, EPISODE, Stage.STORYBOARD) == []
    with filmed.db.read() as tx:
        old = selections.load_selected(tx, EPISODE, frames[0].subject, "frame").version_id
    assert frames[0].constraints["replaces"] == old
    made = deliver(filmed.db, frames)
    with filmed.db.read() as tx:
        now = selections.load_selected(tx, EPISODE, frames[0].subject, "frame").version_id
        assert versions.load_version(tx, old).version_id == old  # still there for historic films (P-11.7)
    assert now == made[f"{frames[0].subject}#frame"] != old
    assert not any(name.endswith("#frame") for name in stale(filmed))


def test_a_redo_does_not_take_the_place_of_what_a_person_chose_meanwhile(filmed: Studio) -> None:
    redraw(filmed, EPISODE, "place:p1")
    pass_gate(filmed, EPISODE, "assets", actor=PERSON)
    (frame, *_) = requests_of(filmed, EPISODE, Stage.STORYBOARD, only="stale")
    mine = deliver(filmed.db, [frame])[f"{frame.subject}#frame"]
    late = deliver(filmed.db, [frame])[f"{frame.subject}#frame"]
    with filmed.db.read() as tx:
        assert selections.load_selected(tx, EPISODE, frame.subject, "frame").version_id == mine != late


def test_only_stale_is_quoted_and_only_what_is_stale(filmed: Studio) -> None:
    redraw(filmed, EPISODE, "character:c2")
    pass_gate(filmed, EPISODE, "assets", actor=PERSON)
    planned = plan_stage(filmed, EPISODE, "storyboard", only="stale", actor=PERSON)
    assert {item.subject + "#frame" for item in planned.items} == {
        name for name in stale(filmed) if name.endswith("#frame")
    }


def test_the_stage_shows_that_something_in_it_is_stale(filmed: Studio) -> None:
    redraw(filmed, EPISODE, "character:c2")
    pass_gate(filmed, EPISODE, "assets", actor=PERSON)
    stages = episode_status(filmed, EPISODE)["stages"]
    assert isinstance(stages, list)
    states = {each["stage"]: each["state"] for each in stages}
    assert states["assets"] == "done"
    assert states["storyboard"] == "stale"
    assert episode_status(filmed, EPISODE)["generation_readiness"]["stale"] > 0  # type: ignore[index]


def test_two_characters_become_one_in_a_new_draft(filmed: Studio) -> None:
    made = merge_characters(filmed, EPISODE, "c1", drop="c2", actor=PERSON)
    with filmed.db.read() as tx:
        merged = scripts.from_json(versions.load_version(tx, str(made["version_id"])).content)
    assert [each.id for each in merged.characters] == ["c1"]
    assert {line.speaker for each in merged.scenes for line in each.lines} == {None, "c1"}
    pass_gate(filmed, EPISODE, "script", actor=PERSON)
    requests_of(filmed, EPISODE, Stage.ASSETS)
    with filmed.db.read() as tx:
        assert selections.find_selected(tx, EPISODE, "character:c2", "reference") is None


def test_a_persons_shot_outlives_a_change_of_the_script_elsewhere(filmed: Studio) -> None:
    with filmed.db.read() as tx:
        shot = selections.load_selected(tx, EPISODE, "shot:s1-01")
        script = selections.load_selected(tx, EPISODE, "script")
    edited = edit_version(filmed, shot.version_id, shot.content | {"move": "tilt_up"}, actor=PERSON)
    requests_of(filmed, EPISODE, Stage.ASSETS)
    pass_gate(filmed, EPISODE, "storyboard", actor=PERSON)
    with filmed.db.read() as tx:
        assert selections.load_selected(tx, EPISODE, "shot:s1-01").version_id == edited["version_id"]
    edit_version(filmed, script.version_id, script.content | {"logline": "另一句"}, actor=PERSON)
    for stage in ("script", "assets", "storyboard"):
        pass_gate(filmed, EPISODE, stage, actor=PERSON)
    with filmed.db.read() as tx:
        kept = selections.load_selected(tx, EPISODE, "shot:s1-01")
    assert kept.content["move"] == "tilt_up"
    assert kept.parent_id == edited["version_id"]
    assert not {name for name in stale(filmed) if name not in _of_shot("shot:s1-01")}


def _of_shot(subject: str) -> set[str]:
    return {f"{subject}#frame", f"{subject}#video", "timeline#content"}


@pytest.mark.parametrize("role", ["frame", "video", "speech"])
def test_every_choice_of_a_finished_film_is_current_with_known_origins(filmed: Studio, role: str) -> None:
    listed = [row for row in list_versions(filmed, EPISODE, role=role) if row["selected"]]
    assert listed
    assert all(row["stale"] is None and row["origins_known"] for row in listed)
