"""Plain text screenplays as short dramas are really written."""

import pytest

from shortdrama_pipeline.errors import UnreadableScript
from tests.readers.shape import read, remarks, shape

EPISODE = """第1集 雨夜

简介：一个雨夜的故事。

1-1 夜 内 医院走廊
人物：林晚、顾沉（28岁，总裁）
道具：戒指、手机

△林晚推门而入，浑身湿透。
林晚（冷笑）：你来晚了。
顾沉OS：她怎么知道？
顾沉：（低头）对不起。
旁白：三年前。
【字幕：三年后】
音效：雷声
林晚：
你走吧。
再也别回来。

（顾沉转身离开）
切至：
1-2 日 外 天台
她站在风里。
众人: 林总好！
林晚VO：我：不后悔{x}\\n😀。
"""


def test_a_chinese_short_drama_script_is_read_whole() -> None:
    found = read(EPISODE, ".txt")
    assert shape(found.script) == [
        "## 1-1 夜 内 医院走廊",
        "人物：林晚、顾沉（28岁，总裁） [characters]",
        "林晚推门而入，浑身湿透。",
        "林晚 (冷笑): 你来晚了。",
        "顾沉 (OS) ~ 她怎么知道？",
        "顾沉 (低头): 对不起。",
        "> 三年前。",
        "【字幕：三年后】",
        "音效：雷声",
        "林晚: 你走吧。再也别回来。",
        "顾沉转身离开",
        "切至： [transition]",
        "## 1-2 日 外 天台",
        "她站在风里。",
        "众人: 林总好！",
        "林晚 (VO) ~ 我：不后悔{x}\\n😀。",
    ]
    assert (found.script.title, found.script.logline) == ("第1集 雨夜", "一个雨夜的故事。")
    assert [scene.props for scene in found.script.scenes] == [("戒指", "手机"), ()]
    assert [each.name for each in found.script.characters] == ["林晚", "顾沉", "众人"]
    assert found.remarks == ()


def test_people_are_described_above_the_script_or_in_their_scene() -> None:
    text = (
        "第1集\n\n人物小传：\n林晚：25岁，设计师。\n\n老王（60岁）\n……\n\n1-1 夜 内 家\n"
        "人物：林晚、顾沉（28岁，总裁）\n林晚：走。\n"
    )
    found = read(text, ".txt")
    assert [(each.name, each.description) for each in found.script.characters] == [
        ("林晚", "25岁，设计师。"),
        ("老王", "60岁"),
        ("顾沉", "28岁，总裁"),
    ]
    assert remarks(found) == [(7, "among the characters: ……")]
    assert shape(found.script)[1:] == ["人物：林晚、顾沉（28岁，总裁） [characters]", "林晚: 走。"]


def test_a_list_of_people_ends_at_a_blank_line_where_no_heading_follows() -> None:
    found = read("人物：\n林晚：25岁\n\n林晚：走。\n顾沉：好。\n", ".txt")
    assert shape(found.script)[1:] == ["林晚: 走。", "顾沉: 好。"]
    assert found.script.characters[0].description == "25岁"


def test_an_english_screenplay_with_colons_is_read() -> None:
    said = "Maya: Hi.\nDANIEL (V.O.): Don't.\nMr. Smith: see http://x.y at 12:30.\n"
    text = f"INT. KITCHEN - NIGHT\n\n{said}The phone rings.\nNarrator: A year ago.\n"
    assert shape(read(text, ".txt").script)[1:] == [
        "Maya: Hi.",
        "DANIEL (V.O.) ~ Don't.",
        "Mr. Smith: see http://x.y at 12:30.",
        "The phone rings.",
        "> A year ago.",
    ]


def test_fountain_in_a_text_file_is_known_by_its_cues() -> None:
    text = "INT. KITCHEN - NIGHT\n\nMaya enters.\n\nMAYA\nHello.\n\nDANIEL (O.S.)\nHi.\n"
    assert shape(read(text, ".txt").script)[1:] == ["Maya enters.", "MAYA: Hello.", "DANIEL (O.S.): Hi."]


def test_a_labelled_place_opens_a_scene_once_the_one_before_is_full() -> None:
    text = "场景：客厅\n时间：夜\n林晚：你好。\n地点：天台\n时间：日\n顾沉：走吧。\n"
    scenes = read(text, ".txt").script.scenes
    assert [(each.place, each.time_of_day) for each in scenes] == [("客厅", "夜"), ("天台", "日")]


def test_labels_above_the_first_heading_open_no_scene() -> None:
    text = "时间：现代\n地点：上海\n道具：戒指\n\n1-1 日 内 家\n林晚：你好。\n"
    found = read(text, ".txt")
    assert [(each.heading, each.place, each.props) for each in found.script.scenes] == [
        ("1-1 日 内 家", "家", ("戒指",))
    ]
    assert remarks(found) == [(1, "above the scene: 时间：现代"), (2, "above the scene: 地点：上海")]


def test_a_second_episode_in_the_file_is_pointed_out() -> None:
    found = read("第1集\n\n1-1 日 内 家\n林晚：你好。\n第2集 再见\n2-1 夜 内 家\n林晚：走吧。\n", ".txt")
    assert len(found.script.scenes) == 2
    assert remarks(found) == [(5, "another episode in the same file: 第2集 再见")]


def test_a_note_is_reported_and_not_spoken() -> None:
    found = read("1-1 日 内 家\n林晚：你好。\n备注：补拍\n", ".txt")
    assert shape(found.script)[1:] == ["林晚: 你好。"]
    assert remarks(found) == [(3, "note: 备注：补拍")]


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("1-1 日 内 家\n：你好\n", 2, "dialogue before any character"),
        ("1-1 日 内 家\n林晚：\n\n顾沉：你好。\n", 2, "the cue '林晚：' has no line"),
        ("1-1 日 内 家\n林晚：\n△她走了。\n", 2, "the cue '林晚：' has no line"),
        ("1-1 日 内 家\n1-2 夜 内 家\n林晚：你好。\n", 1, "has no content"),
    ],
)
def test_what_cannot_be_read_names_line_and_reason(text: str, line: int, reason: str) -> None:
    with pytest.raises(UnreadableScript) as refused:
        read(text, ".txt")
    assert refused.value.facts["line"] == line
    assert reason in str(refused.value.facts["reason"])
