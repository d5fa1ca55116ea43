"""Who, where and what; voices that stay; two characters made one (P-2.3)."""

import pytest

from shortdrama_pipeline.errors import NotReady
from shortdrama_pipeline.rules import bible
from shortdrama_pipeline.rules.bible import NARRATOR
from shortdrama_pipeline.rules.script import Character
from tests.stages_.flow import said, scene, small_script, told

VOICES = ("female-1", "male-1", "narrator")


def test_places_and_props_are_numbered_as_they_appear_and_named_once() -> None:
    script = small_script(
        scenes=(
            scene(1, said("c1", "一"), place="天台", props=("信", "伞")),
            scene(2, said("c1", "二"), place=" 天台 ", props=("信",)),
            scene(3, said("c2", "三"), place="车站"),
            scene(4, said("c2", "四"), place=""),
        )
    )
    assert [(each.subject, each.name) for each in bible.entries(script)] == [
        ("character:c1", "林晚"),
        ("character:c2", "顾沉"),
        ("place:p1", "天台"),
        ("place:p2", "车站"),
        ("prop:o1", "信"),
        ("prop:o2", "伞"),
    ]
    assert bible.subjects_by_name(script)["prop", "伞"] == "prop:o2"


def test_everyone_heard_gets_a_voice_of_the_registry() -> None:
    script = small_script()
    assert bible.speakers(script) == ("c1", "c2", NARRATOR)
    voices = bible.assign_voices(script, VOICES)
    assert voices == {"c1": "female-1", "c2": "male-1", NARRATOR: "narrator"}
    assert bible.assign_voices(script, VOICES) == voices


def test_people_keep_their_voices_when_a_narrator_is_added() -> None:
    silent = small_script(scenes=(scene(1, said("c1", "一"), said("c2", "二")),))
    with_narrator = small_script(scenes=(*silent.scenes, scene(2, told("三"))))
    before, after = bible.assign_voices(silent, VOICES), bible.assign_voices(with_narrator, VOICES)
    assert after == before | {NARRATOR: "narrator"}


def test_more_people_than_voices_share_them_in_turn() -> None:
    assert bible.assign_voices(small_script(), ("only",)) == {"c1": "only", "c2": "only", NARRATOR: "only"}
    assert bible.assign_voices(small_script(), ()) == {}


def test_a_voice_fits_what_is_said_of_its_speaker_and_stays_with_them() -> None:
    registry = ("female-1", "male-1", "female-2", "male-2", "old-man-1", "narrator")
    people = (
        Character("c1", "顾沉", "黑衣男子"),
        Character("c2", "老秦", "店主"),
        Character("c3", "Mei", "a young woman"),
        Character("c4", "阿宁", ""),
    )
    lines = [said(each.id, "一") for each in people]
    script = small_script(characters=people, scenes=(scene(1, *lines),))
    voices = bible.assign_voices(script, registry)
    assert voices == {"c1": "male-1", "c2": "old-man-1", "c3": "female-1", "c4": "female-2"}
    fewer = small_script(characters=people[1:], scenes=(scene(1, *lines[1:]),))
    kept = bible.assign_voices(fewer, registry, kept=voices)
    assert kept == {who: voice for who, voice in voices.items() if who != "c1"}
    assert bible.assign_voices(fewer, ("other-1",), kept=voices) == dict.fromkeys(kept, "other-1")


def test_merging_leaves_one_character_with_every_line() -> None:
    merged = bible.merge_characters(small_script(), "c2", drop="c1")
    assert [each.id for each in merged.characters] == ["c2"]
    assert bible.speakers(merged) == ("c2", NARRATOR)


@pytest.mark.parametrize(("keep", "drop"), [("c1", "c1"), ("c1", "c9"), ("c9", "c1")])
def test_only_two_different_known_characters_can_be_merged(keep: str, drop: str) -> None:
    with pytest.raises(NotReady, match="Cannot merge"):
        bible.merge_characters(small_script(), keep, drop=drop)


def test_the_bible_lists_pictures_and_voices() -> None:
    script = small_script()
    pictures = {each.subject: f"ver_{each.slug}" for each in bible.entries(script)}
    content = bible.bible_content(script, pictures, bible.assign_voices(script, VOICES))
    assert content["characters"][0] == {  # type: ignore[index]
        "id": "c1",
        "name": "林晚",
        "description": "年轻女子，白衬衫",
        "reference_version_id": "ver_c1",
        "voice": "female-1",
    }
    assert content["places"][0] == {"name": "天台", "reference_version_id": "ver_p1", "slug": "p1"}  # type: ignore[index]
    assert content["narrator_voice"] == "narrator"
