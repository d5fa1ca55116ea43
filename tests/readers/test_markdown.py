"""Markdown scripts, and prose that is written in Markdown."""

import pytest

from shortdrama_pipeline.errors import UnreadableScript
from tests.readers.shape import read, remarks, shape

PARAGRAPHS = [
    ("a bold cue", "**林晚**：你来晚了。", ["林晚: 你来晚了。"]),
    ("a cue with its colon in bold", "**林晚：** 你来晚了。", ["林晚: 你来晚了。"]),
    ("a cue with manner", "**林晚**（冷笑）：你来晚了。", ["林晚 (冷笑): 你来晚了。"]),
    ("a manner after the colon", "**林晚**：（冷笑）你来晚了。", ["林晚 (冷笑): 你来晚了。"]),
    ("a thought", "**林晚（内心独白）**：是他。", ["林晚 (内心独白) ~ 是他。"]),
    ("a plain cue", "LIN WAN: Hello.", ["LIN WAN: Hello."]),
    ("lines of one paragraph", "**林晚**：好。\n**顾沉**：走。\n", ["林晚: 好。", "顾沉: 走。"]),
    ("a cue above its line", "**林晚**：\n你来晚了。", ["林晚: 你来晚了。"]),
    ("narration", "> 三年前，\n> 她还年轻。", ["> 三年前，她还年轻。"]),
    ("narration by name", "旁白：三年前。", ["> 三年前。"]),
    ("an action in brackets", "*(她转身。)*", ["她转身。"]),
    ("an action in full-width brackets", "（她转身。）", ["她转身。"]),
    ("an action in italics", "*她转身。*", ["她转身。"]),
    ("a plain action", "她转身，\n走了。", ["她转身，走了。"]),
    ("a marked action", "△她转身。", ["她转身。"]),
    ("an action before a cue", "她转身。\n**林晚**：走。", ["她转身。", "林晚: 走。"]),
    ("a list", "- 林晚：走。\n- 她转身。", ["林晚: 走。", "她转身。"]),
    ("a transition", "切至：", ["切至： [transition]"]),
    ("a rule is layout", "---", []),
    ("emphasis inside", "林晚：你*真的*来**晚**了。", ["林晚: 你真的来晚了。"]),
    ("braces, backslashes and emoji", r"林晚：{x} C:\new\{y} 😀 \*字\*", [r"林晚: {x} C:\new\{y} 😀 *字*"]),
    ("an indented line is no code", "    林晚：走。", ["林晚: 走。"]),
]


@pytest.mark.parametrize(("text", "lines"), [e[1:] for e in PARAGRAPHS], ids=[e[0] for e in PARAGRAPHS])
def test_a_paragraph_is_read_as_it_is_meant(text: str, lines: list[str]) -> None:
    begun = "## 内景 家 夜\n\n**众人**：开始。\n\n"
    assert shape(read(begun + text + "\n", ".md").script)[2:] == lines


def test_headings_are_title_section_and_scene() -> None:
    found = read("# 雨夜\n\n## 第一幕\n\n### 内景 家 夜\n\n**林晚**：走。\n\n### 回忆\n\n她哭了。\n", ".md")
    assert found.script.title == "雨夜"
    assert [(each.heading, each.place, each.time_of_day) for each in found.script.scenes] == [
        ("内景 家 夜", "家", "夜"),
        ("回忆", "回忆", ""),
    ]
    assert remarks(found) == [(3, "section: 第一幕")]


def test_front_matter_gives_title_logline_and_language() -> None:
    found = read('---\ntitle: "Rain"\nlanguage: en\nauthor: Me\n---\n\n## INT. A - DAY\n\nBOB: Hi.\n', ".md")
    assert (found.script.title, found.script.language) == ("Rain", "en-US")
    assert remarks(found) == [(4, "front matter: author: Me")]
    assert found.script.scenes[0].lines[0].source_line == 9


def test_people_are_described_below_a_heading() -> None:
    found = read("# 雨夜\n\n## 人物\n\n- **林晚**：25岁\n- 顾沉（总裁）\n\n## 家\n\n**顾沉**：走。\n", ".md")
    assert [(each.name, each.description) for each in found.script.characters] == [
        ("林晚", "25岁"),
        ("顾沉", "总裁"),
    ]
    assert [each.heading for each in found.script.scenes] == ["家"]


def test_what_is_no_word_of_the_script_is_reported() -> None:
    text = "## 家\n\n**林晚**：走。\n\n<!-- 冷一点\n再冷 -->\n\n![图](a.png) 她看着照片。\n\n[照片](http://x)掉了。\n"
    found = read(text, ".md")
    assert shape(found.script)[1:] == ["林晚: 走。", "她看着照片。", "照片掉了。"]
    assert remarks(found) == [
        (5, "comment: 冷一点 再冷"),
        (8, "a picture is not read: 图"),
        (10, "a link's address is not read: http://x"),
    ]


def test_markdown_without_a_cue_is_prose() -> None:
    text = "# 画皮\n\n太原王生，早行。女曰：「行道之人。」\n\n“好。”林晚说。\n"
    assert shape(read(text, ".md").script)[1:] == [
        "> 太原王生，早行。",
        "女曰： [attribution]",
        "女: 行道之人。",
        "林晚: 好。",
        "林晚说。 [attribution]",
    ]


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("## 家\n\n| a | b |\n|---|---|\n| 1 | 2 |\n", 3, "a table"),
        ("## 家\n\n```\ncode\n```\n", 3, "a code block"),
        ("## 家\n\n<div>x</div>\n", 3, "HTML"),
        ("## 家\n\n**林晚**：\n\n## 街\n\n她走。\n", 3, "has no line"),
        ("## 家\n\n## 街\n\n**林晚**：走。\n", 1, "has no content"),
        ("## 家\n\n：走。\n\n**林晚**：走。\n", 3, "dialogue before any character"),
        ("<!-- 空 -->\n", 1, "no scene"),
        ("---\ntitle: x\n---\n", 1, "no scene"),
    ],
)
def test_what_cannot_be_read_names_line_and_reason(text: str, line: int, reason: str) -> None:
    with pytest.raises(UnreadableScript) as refused:
        read(text, ".md")
    assert refused.value.facts["line"] == line
    assert reason in str(refused.value.facts["reason"])
