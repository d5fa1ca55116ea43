"""The cut keeps its promises for any storyboard, and a timeline that cannot be is refused by name."""

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shortdrama_pipeline.errors import NotReady
from shortdrama_pipeline.rules import cues
from shortdrama_pipeline.rules.cut import AIR_MS, Speech, Take, assemble
from shortdrama_pipeline.rules.shots import Shot, ShotLine
from shortdrama_pipeline.rules.timeline import SPOKEN, Timeline, check, files, from_json, ms_of, to_json

SHA = "a" * 64
TEXTS = "你好吗雨夜，。！？“”《》…—abc XYZ1.5{}\\\n\t\u200d\u0301\U0001f468\U0001f1e8\x00<&>é"


def shot(number: int, *, frames: int = 72, lines: tuple[ShotLine, ...] = (), transition: str = "cut") -> Shot:
    seen = ("medium", "still", "客厅", "夜", (), (), "她转身")
    return Shot(f"s1-{number:02d}", "s1", number, *seen, lines, frames, transition)


def line(name: str, text: str = "你到底是谁？", *, start_ms: int = 300, kind: str = "dialogue") -> ShotLine:
    return ShotLine(name, kind, "c1", text, "", start_ms, 1500)


def take(number: int = 0, *, frames: int = 72, rate: tuple[int, int] = (24, 1), sound: bool = False) -> Take:
    return Take(f"ver_v{number}", SHA, frames, rate, sound)


def speech(name: str, ms: int = 1500) -> Speech:
    return Speech(f"ver_{name}", SHA, ms)


def film(shots: list[Shot], takes: dict[str, Take], speeches: dict[str, Speech]) -> Timeline:
    return assemble(shots, takes, speeches, title="雨夜", language="zh-CN")


@st.composite
def storyboards(draw: st.DrawFn) -> tuple[list[Shot], dict[str, Take], dict[str, Speech]]:
    shots, takes, speeches = [], {}, {}
    for number in range(1, draw(st.integers(1, 6)) + 1):
        lines = []
        for index in range(draw(st.integers(0, 3))):
            name = f"s1-l{number}{index}"
            lines.append(
                line(name, draw(st.text(alphabet=TEXTS, max_size=80)), start_ms=draw(st.integers(0, 5000)),
                     kind=draw(st.sampled_from(SPOKEN)))
            )  # fmt: skip
            speeches[name] = speech(name, draw(st.integers(1, 20_000)))
        transition = draw(st.sampled_from(["cut", "fade", "dissolve"]))
        shots.append(
            shot(number, frames=draw(st.integers(1, 240)), lines=tuple(lines), transition=transition)
        )
        rate = draw(st.sampled_from([(24, 1), (25, 1), (30_000, 1001), (12, 1)]))
        takes[shots[-1].id] = take(number, frames=draw(st.integers(1, 300)), rate=rate)
    return shots, takes, speeches


@given(storyboards())
def test_every_cut_is_whole_gapless_and_never_shorter_than_its_speech(
    board: tuple[list[Shot], dict[str, Take], dict[str, Speech]],
) -> None:
    shots, takes, speeches = board
    made = film(shots, takes, speeches)
    check(made, shot_ids={each.id for each in shots})
    assert len(made.video) == len(shots)
    ends = {each.shot_id: ms_of(each.start + each.frames, made.frame_rate) for each in made.video}
    sounds = {each.line_id: each for each in made.audio}
    assert len(sounds) == len(speeches)
    for each in shots:
        clip = next(clip for clip in made.video if clip.shot_id == each.id)
        assert clip.frames >= each.duration_frames
        for spoken in each.lines:
            heard = sounds[spoken.line_id]
            assert heard.duration_ms == speeches[spoken.line_id].duration_ms
            assert heard.start_ms >= ms_of(clip.start, made.frame_rate) + spoken.start_ms
            assert heard.start_ms + heard.duration_ms + AIR_MS <= ends[each.id]


@given(storyboards())
def test_subtitles_are_the_script_and_stand_inside_the_speech(
    board: tuple[list[Shot], dict[str, Take], dict[str, Speech]],
) -> None:
    made = film(*board)
    sounds = {each.line_id: each for each in made.audio}
    for each in (spoken for one in board[0] for spoken in one.lines):
        shown = [cue for cue in made.subtitles if cue.line_id == each.line_id]
        assert "".join("".join(cue.text.split()) for cue in shown) == "".join(each.text.split())
        if shown:
            heard = sounds[each.line_id]
            assert shown[0].start_ms == heard.start_ms
            assert shown[-1].end_ms == heard.start_ms + heard.duration_ms


@given(storyboards())
def test_a_timeline_survives_its_stored_form(
    board: tuple[list[Shot], dict[str, Take], dict[str, Speech]],
) -> None:
    made = film(*board)
    assert from_json(to_json(made)) == made


def test_lines_of_one_shot_wait_for_each_other() -> None:
    lines = (line("l1", start_ms=0), line("l2", start_ms=200))
    made = film(
        [shot(1, lines=lines)], {"s1-01": take()}, {"l1": speech("l1", 3000), "l2": speech("l2", 900)}
    )
    assert [each.start_ms for each in made.audio] == [0, 3120]
    assert made.frames == 103  # 4020 ms and the air, in whole frames


def test_the_last_picture_is_held_when_the_take_is_too_short() -> None:
    made = film([shot(1, frames=96)], {"s1-01": take(frames=50, rate=(25, 1))}, {})
    assert (made.video[0].frames, made.video[0].source_frames) == (96, 48)


def test_the_sound_of_a_take_is_kept_only_where_nobody_speaks() -> None:
    shots = [shot(1), shot(2, lines=(line("l1"),))]
    takes = {each.id: take(sound=True) for each in shots}
    made = film(shots, takes, {"l1": speech("l1")})
    assert [each.keep_native_audio for each in made.video] == [True, False]


def test_files_name_everything_the_film_is_cut_from() -> None:
    made = film([shot(1, lines=(line("l1"),))], {"s1-01": take(1)}, {"l1": speech("l1")})
    assert list(files(made)) == [("video", "ver_v1", SHA), ("speech", "ver_l1", SHA)]


@pytest.mark.parametrize(
    ("shots", "takes", "speeches", "place"),
    [
        ([], {}, {}, "picture track"),
        ([shot(1)], {}, {}, "shot s1-01"),
        ([shot(1)], {"s1-01": take(frames=0)}, {}, "shot s1-01"),
        ([shot(1, frames=-5)], {"s1-01": take()}, {}, "shot s1-01"),
        ([shot(1, frames=0)], {"s1-01": take()}, {}, "shot s1-01"),
        ([shot(1, lines=(line("l1"),))], {"s1-01": take()}, {}, "line l1"),
        ([shot(1, lines=(line("l1"),))], {"s1-01": take()}, {"l1": speech("l1", -3)}, "line l1"),
        ([shot(1, lines=(line("l1", start_ms=-1),))], {"s1-01": take()}, {"l1": speech("l1")}, "line l1"),
        ([shot(1), shot(1)], {"s1-01": take()}, {}, "shot s1-01"),
    ],
)
def test_what_is_missing_is_refused_by_place(
    shots: list[Shot], takes: dict[str, Take], speeches: dict[str, Speech], place: str
) -> None:
    with pytest.raises(NotReady) as refused:
        film(shots, takes, speeches)
    assert refused.value.facts["place"] == place
    assert refused.value.hint


def made() -> Timeline:
    lines = (line("l1"), line("l2", start_ms=2000))
    shots = [shot(1, lines=lines), shot(2)]
    takes = {each.id: take() for each in shots}
    return film(shots, takes, {"l1": speech("l1"), "l2": speech("l2")})


def broken() -> list[Timeline]:
    good = made()
    first, second = good.video
    sound, other = good.audio
    cue = good.subtitles[0]
    return [
        replace(good, frame_rate=(23, 1)),
        replace(good, width=1081),
        replace(good, height=0),
        replace(good, width=100_000),
        replace(good, video=()),
        replace(good, video=(replace(first, frames=50_000, source_frames=1),)),
        replace(good, video=(first, replace(second, start=second.start + 1))),
        replace(good, video=(first, replace(second, start=second.start - 1))),
        replace(good, video=(replace(first, frames=-1), second)),
        replace(good, video=(replace(first, source_frames=first.frames + 1), second)),
        replace(good, video=(replace(first, transition_in="wipe"), second)),
        replace(good, video=(replace(first, sha256=""), second)),
        replace(good, video=(first, replace(second, shot_id=first.shot_id))),
        replace(good, video=(first, replace(second, shot_id="s9-99"))),
        replace(good, audio=(replace(sound, duration_ms=0), other)),
        replace(good, audio=(replace(sound, role="noise"), other)),
        replace(good, audio=(replace(sound, gain_mb=9000), other)),
        replace(good, audio=(replace(sound, start_ms=10_000_000), other)),
        replace(good, audio=(sound, replace(other, start_ms=sound.start_ms + 10))),
        replace(good, subtitles=(replace(cue, text=" "),)),
        replace(good, subtitles=(replace(cue, end_ms=cue.start_ms),)),
        replace(good, subtitles=(cue, cue)),
        replace(good, subtitles=(replace(cue, end_ms=10_000_000),)),
    ]


@pytest.mark.parametrize("number", range(23))
def test_a_timeline_that_cannot_be_is_refused(number: int) -> None:
    check(made(), shot_ids={"s1-01", "s1-02"})
    with pytest.raises(NotReady):
        check(broken()[number], shot_ids={"s1-01", "s1-02"})


def test_a_dissolve_needs_something_to_dissolve_from() -> None:
    shots = [shot(1, transition="dissolve"), shot(2, transition="dissolve")]
    made_ = film(shots, {each.id: take() for each in shots}, {})
    assert [(each.transition_in, each.transition_frames) for each in made_.video] == [
        ("fade", 12),
        ("dissolve", 12),
    ]


def test_a_transition_too_short_to_see_is_a_cut() -> None:
    made_ = film([shot(1, frames=1, transition="fade")], {"s1-01": take()}, {})
    assert (made_.video[0].transition_in, made_.video[0].transition_frames) == ("cut", 0)


# --- cues ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("你到底是谁？我从来没有见过你，可是你的眼神让我很熟悉。",
         ["你到底是谁？", "我从来没有见过你，", "可是你的眼神让我很熟悉。"]),
        ("OK！走。", ["OK！走。"]),
        ("Mr. Li pays 3.5 yuan.", ["Mr. Li pays 3.5 yuan."]),
        ("他说：“我不会走的！”然后转身关上了门。", ["他说：“我不会走的！”", "然后转身关上了门。"]),
        ("a\nb\r\n c", ["a b c"]),
        ("   ", []),
    ],
)  # fmt: skip
def test_cues_end_with_their_clause(text: str, parts: list[str]) -> None:
    assert cues.split_text(text) == parts


@given(st.text(alphabet="你好吗，。！？“”《》（）abc XYZ1.5{}\\", max_size=120))
def test_no_cue_is_wider_than_a_line_or_begins_with_closing_punctuation(text: str) -> None:
    parts = cues.split_text(text)
    assert "".join("".join(each.split()) for each in parts) == "".join(text.split())
    for part in parts:
        assert cues.units(part) <= cues.LINE_UNITS or set(part) & (cues.NO_START | cues.NO_END)


def test_a_family_and_a_flag_are_never_torn() -> None:
    family, flag = "\U0001f468\u200d\U0001f469\u200d\U0001f467", "\U0001f1e8\U0001f1f3"
    text = (family + flag) * 12
    for part in cues.split_text(text):
        assert part.count(family) * 5 + part.count(flag) * 2 == len(part)


@given(st.lists(st.integers(1, 400), min_size=1, max_size=9), st.integers(9, 60_000))
def test_a_duration_is_shared_without_rest(weights: list[int], duration_ms: int) -> None:
    spans = cues.spread(weights, start_ms=7, duration_ms=duration_ms)
    assert spans[0][0] == 7
    assert spans[-1][1] == 7 + duration_ms
    assert all(begin < end for begin, end in spans)
    assert all(one[1] == other[0] for one, other in pairwise(spans))
