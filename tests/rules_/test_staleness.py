"""Stale by which path, current, or unknown: pure over origins and choices (P-11.5)."""

from hypothesis import given
from hypothesis import strategies as st

from shortdrama_pipeline.rules.staleness import Freshness, Node, judge
from shortdrama_pipeline.rules.states import VersionKind


def node(
    version_id: str,
    subject: str,
    *uses: str,
    role: str = "content",
    kind: str = VersionKind.ASSET,
    content: str | None = None,
) -> Node:
    return Node(version_id, kind, subject, role, content or version_id, uses)


SCRIPT = node("script1", "script", kind=VersionKind.SCRIPT)


def choices(*nodes: Node) -> dict[tuple[str, str], str]:
    return {each.key: each.version_id for each in nodes}


def subjects(freshness: Freshness) -> list[str]:
    return [step.subject for step in freshness.path]


def test_what_is_made_from_the_present_choices_is_current() -> None:
    setting = node("c1", "character:c1", "script1")
    found = judge([SCRIPT, setting], choices(SCRIPT, setting))
    assert found == {"script1": Freshness(), "c1": Freshness()}


def test_another_choice_makes_its_users_stale_and_names_it() -> None:
    old, new = node("ref1", "character:c1", "s"), node("ref2", "character:c1", "s")
    frame = node("frame", "shot:s1-01", "ref1", role="frame")
    found = judge([old, new, frame], choices(new, frame))["frame"]
    assert [step.to_json() for step in found.path] == [
        {"subject": "character:c1", "role": "content", "version_id": "ref1", "selected": "ref2"}
    ]


def test_a_choice_taken_away_makes_its_users_stale() -> None:
    reference, frame = node("ref1", "character:c1", "s"), node("frame", "shot:s1-01", "ref1")
    found = judge([reference, frame], choices(frame))["frame"]
    assert found.path[0].chosen_id is None


def test_staleness_is_passed_on_with_its_path() -> None:
    old, new = node("ref1", "character:c1", "s"), node("ref2", "character:c1", "s")
    frame = node("frame", "shot:s1-01", "ref1", role="frame")
    video = node("video", "shot:s1-01", "frame", role="video")
    found = judge([old, new, frame, video], choices(new, frame, video))
    assert subjects(found["video"]) == ["shot:s1-01", "character:c1"]


def test_the_shortest_path_is_the_reason() -> None:
    old, new = node("ref1", "character:c1", "s"), node("ref2", "character:c1", "s")
    frame = node("frame", "shot:s1-01", "ref1", role="frame")
    video = node("video", "shot:s1-01", "frame", "ref1", role="video")
    assert subjects(judge([old, new, frame, video], choices(new, frame, video))["video"]) == ["character:c1"]


def test_a_newer_choice_with_the_same_content_makes_nothing_stale() -> None:
    first = node("s1", "script", kind=VersionKind.SCRIPT)
    second = node("s2", "script", kind=VersionKind.SCRIPT)
    old = node("shot1", "shot:s1-01", "s1", content="same")
    new = node("shot2", "shot:s1-01", "s2", content="same")
    frame = node("frame", "shot:s1-01", "shot1", role="frame")
    found = judge([first, second, old, new, frame], choices(second, new, frame))
    assert not found["frame"].stale
    assert found["shot1"].stale  # its script is another one; its successor stands for it


def test_the_same_content_does_not_hide_that_the_successor_is_stale() -> None:
    script = node("s1", "script", kind=VersionKind.SCRIPT)
    gone = node("s2", "script", kind=VersionKind.SCRIPT)
    old = node("shot1", "shot:s1-01", "s1", content="same")
    new = node("shot2", "shot:s1-01", "s2", content="same")
    frame = node("frame", "shot:s1-01", "shot1", role="frame")
    found = judge([script, gone, old, new, frame], choices(script, new, frame))
    assert subjects(found["frame"]) == ["shot:s1-01", "script"]


def test_a_version_without_recorded_origins_is_unknown_and_not_stale() -> None:
    uploaded = node("up", "shot:s1-01", role="video")
    found = judge([SCRIPT, uploaded], choices(SCRIPT, uploaded))
    assert found["up"] == Freshness(known=False)
    assert not found["up"].stale
    assert found["script1"] == Freshness()  # a script may be a root


def test_origins_elsewhere_are_left_out_of_the_question() -> None:
    frame = node("frame", "shot:s1-01", "of another episode", role="frame")
    assert judge([frame], choices(frame))["frame"] == Freshness()


def test_a_deep_line_of_origins_is_walked_without_recursion() -> None:
    line = [
        node("n0", "subject:0", "root"),
        *(node(f"n{i}", f"subject:{i}", f"n{i - 1}") for i in range(1, 1500)),
    ]
    chosen = choices(*line) | {("subject:0", "content"): "other"}
    other = node("other", "subject:0", "root")
    assert len(judge([*line, other], chosen)["n1499"].path) == 1499


@given(st.data())
def test_exactly_the_shots_that_use_a_reference_become_stale(data: st.DataObject) -> None:
    users = data.draw(st.sets(st.integers(0, 9)))
    first, second = node("ref1", "character:c1", "s"), node("ref2", "character:c1", "s")
    other = node("other", "character:c2", "s")
    frames = [
        node(f"f{i}", f"shot:s1-{i:02d}", "ref1" if i in users else "other", role="frame") for i in range(10)
    ]
    nodes = [first, second, other, *frames]
    assert not any(each.stale for each in judge(nodes, choices(first, other, *frames)).values())
    after = judge(nodes, choices(second, other, *frames))
    assert {i for i in range(10) if after[f"f{i}"].stale} == users
