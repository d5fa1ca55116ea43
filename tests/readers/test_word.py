"""Word scripts: by style, by text, and what no Word file may do to us."""

import time
from collections.abc import Callable
from contextlib import suppress

import pytest
from docx import Document
from hypothesis import given, settings
from hypothesis import strategies as st

from shortdrama_pipeline.errors import UnreadableScript
from shortdrama_pipeline.readers.outcome import DOCX_ENTRIES_MAX, ReadScript
from shortdrama_pipeline.readers.reading import read_raw
from tests.readers.shape import remarks, shape
from tests.readers.word_files import document, picture, rewritten, saved, styled, with_body

TEMPLATE = [
    ("Title", "Rain"),
    ("Scene Heading", "INT. HOUSE - NIGHT"),
    ("Action", "She waits."),
    ("Character", "MAYA (V.O.)"),
    ("Parenthetical", "(low)"),
    ("Dialogue", "Hello."),
    ("Dialogue", "Again."),
    ("Transition", "CUT TO:"),
    ("Scene Heading", "EXT. ROAD - DAY"),
    ("Character", "DAN"),
    ("Dialogue", "Hi."),
]


def read(raw: bytes) -> ReadScript:
    return read_raw(raw, ending=".docx")


def p(*runs: str) -> str:
    return f"<w:p>{''.join(runs)}</w:p>"


def r(text: str) -> str:
    return f"<w:r><w:t>{text}</w:t></w:r>"


def test_a_screenplay_template_is_read_by_its_styles() -> None:
    found = read(styled(TEMPLATE))
    assert found.script.title == "Rain"
    assert shape(found.script) == [
        "## INT. HOUSE - NIGHT",
        "She waits.",
        "MAYA (V.O., low) ~ Hello. Again.",
        "CUT TO: [transition]",
        "## EXT. ROAD - DAY",
        "DAN: Hi.",
    ]
    assert found.script.scenes[1].lines[0].source_line == 11


def test_chinese_style_names_are_known() -> None:
    rows = [("场景", "内景 家 夜"), ("角色", "林晚"), ("对白", "你来晚了。"), ("动作", "她转身。")]
    assert shape(read(styled(rows)).script) == ["## 内景 家 夜", "林晚: 你来晚了。", "她转身。"]


def test_plain_paragraphs_are_read_as_a_screenplay() -> None:
    found = read(
        document("1-1 夜 内 走廊", "△林晚推门。", "林晚（冷笑）：你来晚了。", "顾沉：嗯。", title="雨夜")
    )
    assert found.script.title == "雨夜"
    assert shape(found.script) == ["## 1-1 夜 内 走廊", "林晚推门。", "林晚 (冷笑): 你来晚了。", "顾沉: 嗯。"]


def test_plain_paragraphs_are_read_as_fountain() -> None:
    found = read(document("INT. HOUSE - DAY", "", "BOB", "Hi there.", "", "She waits."))
    assert shape(found.script) == ["## INT. HOUSE - DAY", "BOB: Hi there.", "She waits."]


def test_plain_paragraphs_are_read_as_prose() -> None:
    found = read(document("太原王生，早行。女曰：「行道之人。」", "女喜，从之"))
    assert shape(found.script)[1:] == [
        "> 太原王生，早行。",
        "女曰： [attribution]",
        "女: 行道之人。",
        "> 女喜，从之",
    ]


def test_a_line_break_inside_a_paragraph_is_a_line() -> None:
    assert shape(read(document("林晚：走。\n顾沉：好。")).script)[1:] == ["林晚: 走。", "顾沉: 好。"]


def test_inserted_text_and_content_controls_are_text_and_deleted_text_is_reported() -> None:
    body = (
        p(
            r("林晚：你"),
            f"<w:ins>{r('真的')}</w:ins>",
            "<w:del><w:r><w:delText>不</w:delText></w:r></w:del>",
            r("走？"),
        )
        + f"<w:sdt><w:sdtContent>{p(r('顾沉：好。'))}</w:sdtContent></w:sdt>"
    )
    found = read(with_body(body))
    assert shape(found.script)[1:] == ["林晚: 你真的走？", "顾沉: 好。"]
    assert remarks(found) == [(1, "deleted text is not read: 不")]


def test_pictures_headers_and_comments_are_reported() -> None:
    made = Document()
    made.add_picture(picture())
    made.add_paragraph("林晚：走。")
    made.sections[0].header.paragraphs[0].text = "机密"
    run = made.paragraphs[1].runs[0]
    made.add_comment(runs=run, text="太短", author="导演", initials="D")
    found = read(saved(made))
    assert shape(found.script)[1:] == ["林晚: 走。"]
    assert sorted(remarks(found)) == [
        (1, "a picture is not read"),
        (1, "comments not read: 太短"),
        (1, "header not read: 机密"),
    ]


@settings(max_examples=10, deadline=None)
@given(st.data())
def test_a_damaged_file_is_refused_or_read_and_never_fails_otherwise(data: st.DataObject) -> None:
    raw = bytearray(document("林晚：走。"))
    for _ in range(data.draw(st.integers(1, 6))):
        raw[data.draw(st.integers(4, len(raw) - 1))] = data.draw(st.integers(0, 255))
    with suppress(UnreadableScript):
        read(bytes(raw))


def with_table() -> bytes:
    made = Document()
    made.add_paragraph("第一段")
    made.add_table(1, 1).cell(0, 0).text = "林晚"
    return saved(made)


def only_a_picture() -> bytes:
    made = Document()
    made.add_picture(picture())
    return saved(made)


def entity_bomb() -> bytes:
    levels = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 10))
    xml = (
        f'<?xml version="1.0"?><!DOCTYPE d [<!ENTITY e0 "boom">{levels}]><w:document xmlns:w='
        '"http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body><w:p><w:r><w:t>&e9;'
        "</w:t></w:r></w:p></w:body></w:document>"
    )
    return rewritten(document("x"), {"word/document.xml": xml.encode()})


def text_box() -> bytes:
    return with_body(p(r("x"), f"<w:r><w:txbxContent>{p(r('y'))}</w:txbxContent></w:r>"))


OLD = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
BROKEN: list[tuple[str, Callable[[], bytes], str]] = [
    ("a table", with_table, "a table after paragraph 1"),
    ("a text box", text_box, "a text box"),
    ("only a picture", only_a_picture, "pictures only"),
    ("nothing", lambda: document(""), "no text"),
    ("an old document", lambda: OLD + b"\0" * 600, ".doc"),
    ("a locked document", lambda: OLD + "EncryptedPackage".encode("utf-16-le"), "encrypted"),
    ("a text file", lambda: b"hello", "not a Word file"),
    ("half a file", lambda: document("x")[:-400], "a Word file"),
    ("no types", lambda: rewritten(document("x"), {"[Content_Types].xml": b"<Types/>"}), "damaged"),
    ("broken XML", lambda: rewritten(document("x"), {"word/document.xml": b"<w:document"}), "damaged"),
    ("an entity bomb", entity_bomb, ""),
    ("a zip bomb", lambda: rewritten(document("x"), {"word/a": b"\0" * (65 << 20)}), "unpacked"),
    (
        "many parts",
        lambda: rewritten(document("x"), {f"word/{n}": b"" for n in range(DOCX_ENTRIES_MAX)}),
        "unpacked",
    ),
    (
        "dialogue before a name",
        lambda: styled([("Dialogue", "Hi."), ("Character", "BOB"), ("Dialogue", "Ho.")]),
        "before any character",
    ),
    (
        "a name without a line",
        lambda: styled([("Character", "BOB"), ("Action", "x"), ("Dialogue", "Hi.")]),
        "has no line",
    ),
]


@pytest.mark.parametrize(("make", "reason"), [e[1:] for e in BROKEN], ids=[e[0] for e in BROKEN])
def test_what_cannot_be_read_is_refused_in_time(make: Callable[[], bytes], reason: str) -> None:
    raw = make()
    began = time.monotonic()
    with pytest.raises(UnreadableScript, match=r"line \d+") as refused:
        read(raw)
    assert reason in str(refused.value.facts["reason"])
    assert refused.value.hint
    assert time.monotonic() - began < 2


def test_a_word_file_is_known_whatever_its_name() -> None:
    assert shape(read_raw(document("林晚：走。"), ending=".txt").script)[1:] == ["林晚: 走。"]
