"""The cutting rule: no word lost, nobody talks over another, every shot has a length."""

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shortdrama_pipeline.errors import NotReady
from shortdrama_pipeline.rules.script import (
    ATTRIBUTION,
    INSTRUCTIONS,
    PRESENT,
    TRANSITION,
    Character,
    Line,
    LineKind,
    Scene,
    Script,
)
from shortdrama_pipeline.rules.shots import FRAME_RATE, Shot, from_json, to_json
from shortdrama_pipeline.rules.speech_rate import can_be_spoken, estimated_ms
from shortdrama_pipeline.rules.storyboard import (
    AIR_MS,
    LONG_LINE_SHOT_MS_MAX,
    SHOT_MS_MAX,
    SHOT_MS_MIN,
    frames_up,
    plan_shots,
    shots_ms,
)

LIN, GU = Character("c1", "林晚", ""), Character("c2", "顾沉", "")
SIZES = {"wide", "full", "medium", "close", "detail"}
MOVES = {"still", "push_in", "pull_out", "pan_left", "pan_right", "tilt_up", "tilt_down"}


def said(text: str, *, by: str = "c1", kind: LineKind = LineKind.DIALOGUE, manner: str = "") -> Line:
    return Line(kind, text, None if kind is LineKind.NARRATION else by, manner, 1)


def done(text: str, *, manner: str = "") -> Line:
    return Line(LineKind.ACTION, text, None, manner, 1)


def scene(*lines: Line, number: int = 1, props: tuple[str, ...] = ()) -> Scene:
    return Scene(f"s{number}", "内景 家 夜", "家", "夜", props, lines)


def script(*scenes: Scene, language: str = "zh-CN") -> Script:
    return Script("", language, "", (LIN, GU), scenes)


words = st.text(alphabet="你好吗我爱她。，！？…—「」a b{}\\😀\n", min_size=1, max_size=80)
spoken_words = words.filter(can_be_spoken)
lines_ = st.one_of(
    st.builds(said, spoken_words, by=st.sampled_from(["c1", "c2"]), kind=st.just(LineKind.DIALOGUE)),
    st.builds(
        said,
        spoken_words,
        by=st.sampled_from(["c1", "c2"]),
        kind=st.just(LineKind.INNER),
        manner=st.sampled_from(["", "V.O.", "O.S."]),
    ),
    st.builds(said, spoken_words, kind=st.just(LineKind.NARRATION)),
    st.builds(done, words, manner=st.sampled_from(["", "", "", TRANSITION, PRESENT, ATTRIBUTION])),
)


@st.composite
def scripts(draw: st.DrawFn) -> Script:
    scenes = draw(st.lists(st.lists(lines_, min_size=1, max_size=14), min_size=1, max_size=4))
    props = draw(st.sampled_from([(), ("a",), ("好",)]))
    return script(
        *(scene(done("开场"), *each, number=n, props=props) for n, each in enumerate(scenes, start=1)),
        language=draw(st.sampled_from(["zh-CN", "en-US"])),
    )


def heard(shots: tuple[Shot, ...]) -> str:
    return "".join(line.text for shot in shots for line in shot.lines)


@settings(max_examples=15, deadline=None)
@given(scripts())
def test_every_word_is_said_once_and_in_order(given_script: Script) -> None:
    wanted = [line.text for s in given_script.scenes for line in s.lines if line.kind is not LineKind.ACTION]
    shots = plan_shots(given_script)
    assert heard(shots) == "".join(wanted)
    ids = [line.line_id for shot in shots for line in shot.lines]
    assert len(ids) == len(set(ids))


@settings(max_examples=15, deadline=None)
@given(scripts())
def test_every_action_is_seen_and_in_order(given_script: Script) -> None:
    wanted = "".join(
        line.text
        for s in given_script.scenes
        for line in s.lines
        if line.kind is LineKind.ACTION and line.manner not in INSTRUCTIONS
    )
    acted = "".join(shot.action for shot in plan_shots(given_script))
    assert "".join(acted.split()) == "".join(wanted.split())


@settings(max_examples=15, deadline=None)
@given(scripts())
def test_nobody_talks_over_another_and_every_shot_leaves_air(given_script: Script) -> None:
    for shot in plan_shots(given_script):
        assert frames_up(SHOT_MS_MIN) <= shot.duration_frames <= frames_up(LONG_LINE_SHOT_MS_MAX)
        for before, after in pairwise(shot.lines):
            assert before.start_ms + before.estimated_ms < after.start_ms
        for line in shot.lines:
            assert line.estimated_ms == estimated_ms(line.text, given_script.language, line.kind)
        if shot.lines:
            end = shot.lines[-1].start_ms + shot.lines[-1].estimated_ms
            assert shot.duration_frames * 1_000 >= (end + AIR_MS) * FRAME_RATE


@settings(max_examples=15, deadline=None)
@given(scripts())
def test_shots_are_named_numbered_and_made_of_known_words(given_script: Script) -> None:
    shots = plan_shots(given_script)
    assert [shot.order for shot in shots] == list(range(1, len(shots) + 1))
    assert len({shot.id for shot in shots}) == len(shots)
    for shot in shots:
        assert shot.id.startswith(f"{shot.scene_id}-")
        assert shot.size in SIZES
        assert shot.move in MOVES
        assert set(shot.characters) <= {"c1", "c2"}
        assert from_json(to_json(shot)) == shot
    assert all(before.move != after.move for before, after in pairwise(shots))
    assert shots[-1].size == "close"
    assert plan_shots(given_script) == shots


@settings(max_examples=15, deadline=None)
@given(scripts(), st.integers(min_value=1_000, max_value=300_000))
def test_a_target_moves_only_what_is_silent(given_script: Script, target_ms: int) -> None:
    free, fitted = plan_shots(given_script), plan_shots(given_script, target_ms=target_ms)
    assert [replace(shot, duration_frames=0) for shot in free] == [
        replace(shot, duration_frames=0) for shot in fitted
    ]
    distance = abs(shots_ms(free) - target_ms)
    assert abs(shots_ms(fitted) - target_ms) <= max(distance, 1_000 // FRAME_RATE + 1)
    for before, shot in zip(free, fitted, strict=True):
        assert shot.duration_frames >= frames_up(SHOT_MS_MIN)
        assert shot.duration_frames <= max(before.duration_frames, frames_up(SHOT_MS_MAX))
        if shot.lines:
            end = shot.lines[-1].start_ms + shot.lines[-1].estimated_ms
            assert shot.duration_frames * 1_000 >= (end + AIR_MS) * FRAME_RATE


def test_a_target_within_reach_is_met_to_the_frame() -> None:
    given_script = script(
        scene(
            done("林晚站着。"),
            said("你来晚了。"),
            done("她转身离开，门在身后重重关上。"),
            said("别走。", by="c2"),
        )
    )
    assert shots_ms(plan_shots(given_script, target_ms=20_000)) == 20_000


def test_a_scene_opens_wide_and_talk_comes_closer() -> None:
    shots = plan_shots(
        script(scene(said("你来晚了，我等了你整整三年。"), said("对不起，路上出了一点事。", by="c2")))
    )
    assert [shot.size for shot in shots] == ["wide", "medium", "close"]
    assert [shot.characters for shot in shots] == [("c1",), ("c1",), ("c2",)]


def test_a_prop_that_is_acted_with_gets_one_detail() -> None:
    given_scene = scene(
        done("林晚坐着。"),
        said("看。"),
        done("她拿出戒指。"),
        said("是它？", by="c2"),
        done("戒指掉了。"),
        props=("戒指",),
    )
    details = [shot for shot in plan_shots(script(given_scene)) if shot.size == "detail"]
    assert [(shot.props, shot.action) for shot in details] == [(("戒指",), "她拿出戒指。")]


def test_a_voice_from_elsewhere_shows_the_one_who_hears_it() -> None:
    given_scene = scene(
        done("林晚拿着电话。"),
        said("喂？"),
        said("别开门。", by="c2", kind=LineKind.INNER, manner="V.O."),
        said("是你？"),
    )
    shot = next(
        each for each in plan_shots(script(given_scene)) if any(x.speaker == "c2" for x in each.lines)
    )
    assert shot.characters == ("c1",)


def test_a_thought_shows_the_one_who_thinks_it() -> None:
    shots = plan_shots(
        script(scene(done("夜。"), said("他在骗我。", kind=LineKind.INNER, manner="内心独白")))
    )
    assert (shots[-1].size, shots[-1].characters) == ("close", ("c1",))


@pytest.mark.parametrize(
    ("words_", "transition"),
    [
        ("CUT TO:", "cut"),
        ("DISSOLVE TO:", "dissolve"),
        ("叠化", "dissolve"),
        ("FADE OUT.", "fade"),
        ("淡出", "fade"),
    ],
)
def test_a_transition_at_the_end_of_a_scene_opens_the_next(words_: str, transition: str) -> None:
    one, two = scene(done("夜。"), done(words_, manner=TRANSITION)), scene(done("日。"), number=2)
    assert [each.transition_in for each in plan_shots(script(one, two))][1] == transition


def test_short_lines_of_one_speaker_share_a_shot() -> None:
    shots = plan_shots(script(scene(done("夜。"), said("走。"), said("快走。"))))
    assert [len(shot.lines) for shot in shots] == [0, 2]


def test_a_line_longer_than_a_shot_goes_on_in_the_next_under_an_id_of_its_own() -> None:
    speech = "我从来没有想过，有一天会在这里遇见你，" * 8
    shots = plan_shots(script(scene(done("夜。"), said(speech), said("好。", by="c2"))))
    parts = [line for shot in shots for line in shot.lines if line.speaker == "c1"]
    assert [line.line_id for line in parts] == ["s1-l1", *(f"s1-l1-{n}" for n in range(2, len(parts) + 1))]
    assert "".join(line.text for line in parts) == speech
    assert all(line.text.endswith("，") for line in parts)
    assert [line.line_id for shot in shots for line in shot.lines][-1] == "s1-l2"


@pytest.mark.parametrize(
    "speech", ["啊" * 3_000, "word " * 900, "x" * 5_000, "好" + "！" * 4_000, "😀" * 500 + "好" * 200]
)
def test_an_endless_line_is_cut_without_losing_a_character(speech: str) -> None:
    shots = plan_shots(script(scene(done("夜。"), said(speech))))
    assert heard(shots) == speech
    assert all(can_be_spoken(line.text) for shot in shots for line in shot.lines)


@pytest.mark.parametrize(
    ("broken", "words_"),
    [
        (script(), "no scene"),
        (script(scene()), "scene s1 is empty"),
        (
            script(scene(done("切至：", manner=TRANSITION), done("人物：林晚", manner=PRESENT))),
            "scene s1 is empty",
        ),
        (script(scene(said("你好。", by="c9"))), "spoken by nobody"),
        (script(scene(said("你好。", by=""))), "no speaker"),
        (script(scene(said("……！"))), "cannot be spoken"),
        (script(scene(said("——", kind=LineKind.NARRATION))), "cannot be spoken"),
    ],
)
def test_what_cannot_be_shot_is_refused(broken: Script, words_: str) -> None:
    with pytest.raises(NotReady, match=words_) as refused:
        plan_shots(broken)
    assert refused.value.hint


def test_all_lines_of_one_fault_are_named_together() -> None:
    nameless = [replace(said("你好。", by=""), source_line=number) for number in (3, 5, 8)]
    with pytest.raises(NotReady, match="and 2 more") as refused:
        plan_shots(script(scene(*nameless)))
    assert refused.value.facts == {"lines": 3, "source_lines": [3, 5, 8]}


def test_a_script_of_too_many_shots_is_refused() -> None:
    long = [said(f"这是第{n}句话，你要听好了。", by="c1" if n % 2 else "c2") for n in range(900)]
    with pytest.raises(NotReady, match="more than 600"):
        plan_shots(script(scene(*long)))
