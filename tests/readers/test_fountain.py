"""Fountain after its own syntax page, with the headings and cues of Chinese scripts."""

import pytest

from shortdrama_pipeline.errors import UnreadableScript
from tests.readers.shape import read, remarks, shape

HOUSE = "INT. HOUSE - DAY\n\n"

SHOUT = "THE DOG BARKS AT THE MOON AND THE TRAIN PASSES"

ELEMENTS = [
    ("an action", "She waits.", ["She waits."]),
    ("a wrapped action is one", "She waits\nin the dark.", ["She waits in the dark."]),
    ("a wrapped Chinese action has no space", "她在黑暗里\n等着。", ["她在黑暗里等着。"]),
    ("a cue in capitals", "BOB\nHi.", ["BOB: Hi."]),
    ("a cue with digits", "R2D2\nBeep.", ["R2D2: Beep."]),
    ("a long sentence in capitals", f"{SHOUT}\nand stops.", [f"{SHOUT} and stops."]),
    ("a cue without a letter is an action", "23\nskidoo", ["23 skidoo"]),
    ("capitals above a blank line are an action", "BOB\n\nHi.", ["BOB", "Hi."]),
    ("a forced cue", "@McAvoy\nYes.", ["McAvoy: Yes."]),
    ("a forced Chinese cue", "@林晚\n你来晚了。", ["林晚: 你来晚了。"]),
    ("a forced action", "!BOB\nis not a cue.", ["BOB is not a cue."]),
    ("off screen", "BOB (O.S.)\nHi.", ["BOB (O.S.): Hi."]),
    ("voice over is a thought", "BOB (V.O.)\nHi.", ["BOB (V.O.) ~ Hi."]),
    ("inner is a thought", "BOB (INNER)\nHi.", ["BOB (INNER) ~ Hi."]),
    ("a Chinese thought", "@林晚（内心独白，冷笑）\n是他。", ["林晚 (内心独白，冷笑) ~ 是他。"]),
    ("a Chinese voice over", "@林晚（旁白）\n那年我十八。", ["林晚 (旁白) ~ 那年我十八。"]),
    ("off screen in Chinese", "@林晚（O.S.）\n谁？", ["林晚 (O.S.): 谁？"]),
    ("the narrator", "NARRATOR\nA year ago.", ["> A year ago."]),
    ("the Chinese narrator needs no mark", "旁白\n三年后。", ["> 三年后。"]),
    ("CONT'D says nothing new", "BOB (CONT'D)\nHi.", ["BOB: Hi."]),
    ("a parenthetical is the manner", "BOB\n(low)\nHi.", ["BOB (low): Hi."]),
    ("a parenthetical in between splits", "BOB\nHi.\n(beat)\nBye.", ["BOB: Hi.", "BOB (beat): Bye."]),
    ("a parenthetical can make a thought", "BOB\n(thinking)\nHi.", ["BOB (thinking) ~ Hi."]),
    ("two spaces keep a line inside the speech", "BOB\nHi.\n  \nBye.", ["BOB: Hi. Bye."]),
    ("dual dialogue is two lines", "BOB\nHi.\n\nANN ^\nHo.", ["BOB: Hi.", "ANN (dual): Ho."]),
    ("lyrics in a speech", "BOB\n~La la\n~la", ["BOB: La la la"]),
    ("lyrics alone", "~La la", ["La la"]),
    ("a transition", "CUT TO:", ["CUT TO: [transition]"]),
    ("a forced transition", "> Fade slowly.", ["Fade slowly. [transition]"]),
    ("a Chinese transition", "叠化至：", ["叠化至： [transition]"]),
    ("centred text", "> THE END <", ["THE END"]),
    ("a page break", "One.\n\n===\n\nTwo.", ["One.", "Two."]),
    ("emphasis", "*a* **b** ***c*** _d_ **_e_**", ["a b c d e"]),
    ("stars that embrace nothing", "2 * 3 * 4 and a_b_c and * x", ["2 * 3 * 4 and a_b_c and * x"]),
    ("escaped marks", r"\*not\* \_this\_", ["*not* _this_"]),
    ("emphasis touching Chinese", "他*很*生气，_真的_。", ["他很生气，真的。"]),
    ("braces, backslashes and emoji", "BOB\nHi {x} C:\\new\\{y} 😀 %s", ["BOB: Hi {x} C:\\new\\{y} 😀 %s"]),
    ("props are not an action", "Props: phone, ring\n\nShe waits.", ["She waits."]),
    ("who is there", "人物：林晚、老王（60）\n\n她等。", ["人物：林晚、老王（60） [characters]", "她等。"]),
    ("a caption is seen", "字幕：三年后", ["字幕：三年后"]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "lines"), [each[1:] for each in ELEMENTS], ids=[each[0] for each in ELEMENTS]
)
def test_an_element_is_read_as_it_is_meant(text: str, lines: list[str]) -> None:
    begun = HOUSE + "Begin.\n\n"  # a scene must hold something
    assert shape(read(begun + text + "\n", ".fountain").script)[2:] == lines


@pytest.mark.parametrize(
    ("heading", "place", "time_of_day"),
    [
        ("INT. HOUSE - DAY", "HOUSE", "DAY"),
        ("EXT. BRICK'S PATIO - LATE NIGHT", "BRICK'S PATIO", "LATE NIGHT"),
        ("INT./EXT. CAR - DAY", "CAR", "DAY"),
        ("I/E CAR — NIGHT", "CAR", "NIGHT"),
        ("EST. CITY", "CITY", ""),
        ("int house - later", "house", "later"),
        ("INT. HOUSE - KITCHEN - NIGHT #12A#", "HOUSE - KITCHEN", "NIGHT"),
        ("INT. 咖啡馆 - 夜", "咖啡馆", "夜"),
        (".FLASHBACK", "FLASHBACK", ""),
        (".天台 夜", "天台", "夜"),
        ("内景 医院走廊 夜", "医院走廊", "夜"),
        ("外景．海边．黄昏", "海边", "黄昏"),
        ("内/外 车里 日", "车里", "日"),
        ("第1场 天台 夜 外", "天台", "夜"),
        ("第十二场：码头，清晨", "码头", "清晨"),
        ("场景一：天台 深夜", "天台", "深夜"),
        ("场1 夜 内 办公室", "办公室", "夜"),
        ("1-1 日 内 林家客厅", "林家客厅", "日"),
        ("3、夜 外 码头", "码头", "夜"),
        ("12. INT. HOUSE - DAY", "HOUSE", "DAY"),
        ("1-2 内景 客厅 日", "客厅", "日"),
    ],
)
def test_a_heading_says_where_and_when(heading: str, place: str, time_of_day: str) -> None:
    scene = read(f"{heading}\n\nShe waits. 她等。\n", ".fountain").script.scenes[0]
    assert (scene.place, scene.time_of_day) == (place, time_of_day)
    assert scene.heading == heading.removeprefix(".")


@pytest.mark.parametrize(
    "line",
    [
        "第一场雨下了三天。",
        "第一场雨",
        "内心深处，她知道。",
        "外面在下雨",
        "1、买菜",
        "2026-08-07",
        "Interior design is hard.",
        "...and then",
        "日子一天天过去",
    ],
)
def test_a_sentence_is_no_heading(line: str) -> None:
    script = read(f"INT. HOUSE - DAY\n\n{line}\n", ".fountain").script
    assert shape(script) == ["## INT. HOUSE - DAY", line]


def test_a_title_page_gives_title_logline_and_language() -> None:
    page = "Title:\n    _**BRICK**_\n    **STEEL**\nAuthor: Stu\nLogline: Two men.\nLanguage: en\n"
    text = page + "\nINT. A - DAY\n\nHi.\n"
    found = read(text, ".fountain")
    assert (found.script.title, found.script.logline, found.script.language) == (
        "BRICK STEEL",
        "Two men.",
        "en-US",
    )
    assert remarks(found) == [(4, "title page: Author: Stu")]


def test_a_title_page_describes_people() -> None:
    text = "Title: Rain\nCharacters:\n    Maya: thirty, tired eyes\n    Dan\n\nINT. A - DAY\n\nMAYA\nHi.\n"
    found = read(text, ".fountain")
    assert [(each.id, each.name, each.description) for each in found.script.characters] == [
        ("c1", "Maya", "thirty, tired eyes"),
        ("c2", "Dan", ""),
    ]
    assert found.script.scenes[0].lines[0].speaker == "c1"
    assert found.remarks == ()


def test_a_first_line_with_a_colon_is_not_always_a_title_page() -> None:
    script = read("FADE IN:\n\nINT. A - DAY\n\nHi.\n", ".fountain").script
    assert shape(script) == ["## INT. A - DAY", "FADE IN: [transition]", "Hi."]


def test_comments_leave_the_script_and_are_reported() -> None:
    text = (
        HOUSE + "She runs. /* cut\nthis out */ Then stops.\n\n/* whole\n\nblock */\n\n"
        "BOB\n[[note in\ndialogue]]\nHi [[x]] there.\n\n# Act\n\n= what happens\n\nEnd.\n"
    )
    found = read(text, ".fountain")
    assert shape(found.script)[1:] == ["She runs. Then stops.", "BOB: Hi there.", "End."]
    assert remarks(found) == [
        (3, "boneyard: cut this out"),
        (6, "boneyard: whole block"),
        (11, "note: note in dialogue"),
        (13, "note: x"),
        (15, "section: Act"),
        (17, "synopsis: what happens"),
    ]


def test_a_comment_that_never_closes_is_text() -> None:
    script = read(HOUSE + "Open [[here and /* there.\n", ".fountain").script
    assert shape(script)[1:] == ["Open [[here and /* there."]


def test_the_first_synopsis_is_the_logline() -> None:
    assert (
        read("= Two people meet.\n\nINT. A - DAY\n\nHi.\n", ".fountain").script.logline == "Two people meet."
    )


@pytest.mark.parametrize(
    "cues",
    [
        ("@林晚", "@林晚（O.S.）", "@林晚 (V.O.)", "林晚（续）", "@林晚（冷笑）"),
        ("林晚", "@林晚\u200b", "@ 林晚（O.S.）", "@林晚 (V.O.)", "林晚"),
        ("LIN WAN", "ＬＩＮ ＷＡＮ", "LIN WAN (CONT'D)", "LIN  WAN (V.O.)", "@Lin Wan", "LIN WAN ^"),
    ],
)
def test_one_name_with_extensions_is_one_character(cues: tuple[str, ...]) -> None:
    text = HOUSE + "".join(f"{cue}\n你好 hello。\n\n" for cue in cues)
    script = read(text, ".fountain").script
    assert len(script.characters) == 1
    assert {line.speaker for line in script.scenes[0].lines} == {"c1"}


def test_a_bare_chinese_name_is_a_cue_when_it_is_named_again() -> None:
    text = "内景 家 夜\n\n林晚推门。\n\n林晚\n你来晚了。\n\n走廊很长\n灯很暗。\n"
    found = read(text, ".fountain")
    assert shape(found.script)[1:] == ["林晚推门。", "林晚: 你来晚了。", "走廊很长灯很暗。"]
    assert remarks(found) == [(5, "'林晚' was read as a character; Fountain's mark for one is @")]


def test_a_chinese_colon_line_stays_action_and_is_pointed_out() -> None:
    found = read("内景 家 夜\n\n顾沉：你好。\n", ".fountain")
    assert shape(found.script)[1:] == ["顾沉：你好。"]
    assert remarks(found) == [(3, "read as action, though it may be a line: 顾沉：你好。")]


def test_lines_know_where_they_stand() -> None:
    script = read("INT. A - DAY\r\n\r\nShe waits.\r\n\r\nBOB\r\n(low)\r\nHi.\r\n", ".fountain").script
    assert [line.source_line for line in script.scenes[0].lines] == [3, 7]


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        (HOUSE + "@Bob\n\nHi.\n", 3, "the cue '@Bob' has no line"),
        (HOUSE + "She waits.\n\n@Bob\n", 5, "the cue '@Bob' has no line"),
        (HOUSE + "BOB\n(angry)\n\nHi.\n", 3, "the cue 'BOB' has no line"),
        ("INT. A - DAY\n\nINT. B - DAY\n\nHi.\n", 1, "the scene 'INT. A - DAY' has no content"),
        ("INT. A - DAY\n\nHi.\n\nINT. B - DAY\n\nCUT TO:\n", 5, "the scene 'INT. B - DAY' has no content"),
        ("Title: Nothing\n", 1, "no scene"),
        ("/* all of it */", 1, "no scene"),
        ("...\n", 1, "neither Chinese nor English"),
    ],
)
def test_what_cannot_be_read_names_line_and_reason(text: str, line: int, reason: str) -> None:
    with pytest.raises(UnreadableScript) as refused:
        read(text, ".fountain")
    assert refused.value.facts["line"] == line
    assert reason in str(refused.value.facts["reason"])
    assert refused.value.hint
