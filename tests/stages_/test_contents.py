"""What a person may write into a version: what could not be read back is refused with its place."""

import copy
import json
from collections.abc import Iterator
from dataclasses import asdict

import pytest

from shortdrama_pipeline.errors import NotReady
from shortdrama_pipeline.rules import outline
from shortdrama_pipeline.rules import script as scripts
from shortdrama_pipeline.rules import shots as shot_values
from shortdrama_pipeline.rules.bible import Entry
from shortdrama_pipeline.rules.script import Character, Script
from shortdrama_pipeline.rules.storyboard import plan_shots
from shortdrama_pipeline.services.context import Studio
from shortdrama_pipeline.services.episode_views import episode_status
from shortdrama_pipeline.services.versioning import edit_version, list_versions
from shortdrama_pipeline.stages import text_results
from shortdrama_pipeline.stages.contents import check_content
from tests.stages_.flow import PERSON, done, episode_with_script, said, scene, told

SCRIPT = Script(
    "天台上的信",
    "zh-CN",
    "一封信",
    (Character("c1", "林晚", "女，25岁"), Character("c2", "顾沉", "")),
    (scene(1, done("林晚拿着信。"), said("c1", "你终于来了。"), told("风很大。"), props=("信",)),),
)
SHOT = next(each for each in plan_shots(SCRIPT) if each.lines)
CONTENTS: dict[str, tuple[str, str, str, object]] = {
    "script": ("ScriptVersion", "script", "content", scripts.to_json(SCRIPT)),
    "outline": ("StoryOutlineVersion", "outline", "content", outline.outline_of(SCRIPT)),
    "shot": ("ShotVersion", f"shot:{SHOT.id}", "content", shot_values.to_json(SHOT)),
    "line": (
        "ShotVersion",
        "line:s1-l1",
        "content",
        {"line_id": "s1-l1", "kind": "dialogue", "speaker": "c1", "text": "好。", "manner": ""},
    ),
    "setting": ("AssetVersion", "place:p1", "content", asdict(Entry("place", "p1", "天台", "夜"))),
    "voice": ("AssetVersion", "character:c1", "voice", {"voice": "female-1", "language": "zh-CN"}),
}
OPTIONAL = {("outline", each) for each in ("logline", "synopsis", "beats", "characters")}
STRANGE: tuple[object, ...] = (None, True, -1, 1.5, "", "x\x00y", "\ud800", [], {}, [1], {"a": 1})


def content_of(name: str) -> tuple[str, str, str, dict[str, object]]:
    kind, subject, role, content = CONTENTS[name]
    read: dict[str, object] = json.loads(json.dumps(content))
    return kind, subject, role, read


def places(value: object) -> Iterator[tuple[str | int, ...]]:
    """Yield the way to every value inside a JSON value."""
    found = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, each in found:
        yield (name,)
        yield from ((name, *rest) for rest in places(each))


def changed(
    content: dict[str, object], way: tuple[str | int, ...], *, put: object = ...
) -> dict[str, object]:
    """Return a copy with one value replaced, or taken away."""
    made = copy.deepcopy(content)
    at: object = made
    for step in way[:-1]:
        at = at[step]  # type: ignore[index]
    if put is ...:
        del at[way[-1]]  # type: ignore[attr-defined]
    else:
        at[way[-1]] = put  # type: ignore[index]
    return made


@pytest.mark.parametrize("name", CONTENTS)
def test_what_the_product_makes_itself_may_be_written(name: str) -> None:
    check_content(*content_of(name))


@pytest.mark.parametrize("name", CONTENTS)
def test_no_field_may_be_missing_or_unknown(name: str) -> None:
    kind, subject, role, content = content_of(name)
    for way in places(content):
        if isinstance(way[-1], str):
            if (name, *way) not in OPTIONAL:
                with pytest.raises(NotReady):
                    check_content(kind, subject, role, changed(content, way))
            with pytest.raises(NotReady):
                check_content(kind, subject, role, changed(content, (*way[:-1], "unheard of"), put="x"))


@pytest.mark.parametrize("name", ["script", "shot"])
def test_whatever_is_let_through_can_be_read_back(name: str) -> None:
    kind, subject, role, content = content_of(name)
    for way in places(content):
        for put in STRANGE:
            tried = changed(content, way, put=put)
            try:
                check_content(kind, subject, role, tried)
            except NotReady as refused:
                assert "place" in refused.facts  # noqa: PT017 - a refusal is one of the two right answers
                continue
            if name == "script":
                made = scripts.from_json(copy.deepcopy(tried))
                assert json.loads(json.dumps(scripts.to_json(made))) == tried
            else:
                shot = shot_values.from_json(copy.deepcopy(tried))
                assert json.loads(json.dumps(shot_values.to_json(shot))) == tried


@pytest.mark.parametrize(
    ("name", "way", "put", "place"),
    [
        ("script", ("scenes",), [{"id": "s1"}], "scenes.0.heading"),
        ("script", ("scenes", 0, "lines", 1, "kind"), "whispered", "scenes.0.lines.1.kind"),
        ("script", ("scenes", 0, "lines", 1, "speaker"), "c9", "scenes.0.lines.1.speaker"),
        ("script", ("scenes", 0, "lines", 1, "source_line"), "3", "scenes.0.lines.1.source_line"),
        ("script", ("scenes",), [], "scenes"),
        ("script", ("characters", 1, "id"), "c1", "characters.1.id"),
        ("script", ("language",), "", "language"),
        ("outline", ("beats",), "one", "beats"),
        ("shot", ("size",), "enormous", "size"),
        ("shot", ("move",), "spin", "move"),
        ("shot", ("transition_in",), "wipe", "transition_in"),
        ("shot", ("duration_frames",), "24", "duration_frames"),
        ("shot", ("id",), "s9-01", "id"),
        ("line", ("kind",), "action", "kind"),
        ("line", ("text",), " ", "text"),
        ("setting", ("slug",), "p2", "slug"),
        ("setting", ("name",), "", "name"),
        ("voice", ("voice",), None, "voice"),
    ],
)
def test_a_refusal_names_the_place(name: str, way: tuple[str | int, ...], put: object, place: str) -> None:
    kind, subject, role, content = content_of(name)
    with pytest.raises(NotReady) as refused:
        check_content(kind, subject, role, changed(content, way, put=put))
    assert refused.value.facts["place"] == place


def test_a_script_by_a_model_may_be_edited() -> None:
    kind, subject, role, content = content_of("script")
    check_content(kind, subject, role, text_results.read_script(json.dumps(content)))


def test_a_refused_edit_leaves_the_episode_as_it_was(studio: Studio) -> None:
    episode_id = episode_with_script(studio)
    (script,) = list_versions(studio, episode_id, subject="script", role="content")
    broken = scripts.to_json(SCRIPT) | {"scenes": [{"id": "s1"}]}
    with pytest.raises(NotReady, match=r"scenes\.0\.heading"):
        edit_version(studio, str(script["version_id"]), broken, actor=PERSON)
    assert episode_status(studio, episode_id)["stage_run"] == "script"
