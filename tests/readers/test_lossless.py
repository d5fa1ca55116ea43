"""Text in is text out, in order, for every format; and whatever comes in, nothing but a refusal comes out."""

import time
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shortdrama_pipeline.errors import UnreadableScript
from shortdrama_pipeline.readers.decoding import lines_of
from shortdrama_pipeline.readers.outcome import ReadScript
from shortdrama_pipeline.readers.prose import read_prose
from shortdrama_pipeline.readers.reading import read_raw
from shortdrama_pipeline.rules.prose import split_prose
from shortdrama_pipeline.rules.quotations import quotations_of
from tests.readers.shape import read, words
from tests.readers.word_files import document

EXAMPLES = 25

# Letters of both writings, and every mark a format could stumble over.
plain = st.text(alphabet="你好林晚走a bCd1{}\\😀%$&;'’“”「」。！？…—,.!?", min_size=1, max_size=40)
saying = plain.map(str.strip).filter(lambda each: any(one.isalnum() for one in each))
names = st.sampled_from(["林晚", "顾沉", "MAYA", "DAN LEE"])
lines = st.lists(
    st.tuples(st.sampled_from(["say", "think", "act", "tell"]), names, saying), min_size=1, max_size=12
)

fountain_forms = {
    "say": "@{name}\n{text}\n\n",
    "think": "@{name} (INNER)\n{text}\n\n",
    "act": "!{text}\n\n",
    "tell": "NARRATOR\n{text}\n\n",
}
markdown_forms = {
    "say": "**{name}**：{text}\n\n",
    "think": "**{name}（内心独白）**：{text}\n\n",
    "act": "△{text}\n\n",
    "tell": "旁白：{text}\n\n",
}
screenplay_forms = {
    "say": "{name}：{text}\n",
    "think": "{name}（内心独白）：{text}\n",
    "act": "△{text}\n",
    "tell": "旁白：{text}\n",
}
KINDS = {"say": "dialogue", "think": "inner", "act": "action", "tell": "narration"}


def heard(found: ReadScript) -> list[tuple[str, str]]:
    return [(line.kind.value, words(line.text)) for scene in found.script.scenes for line in scene.lines]


def meant(spoken: list[tuple[str, str, str]]) -> list[tuple[str, str]]:
    return [(KINDS[form], words(text)) for form, _, text in spoken]


def written(heading: str, forms: dict[str, str], spoken: list[tuple[str, str, str]]) -> str:
    return heading + "".join(forms[form].format(name=name, text=text) for form, name, text in spoken)


@settings(max_examples=EXAMPLES, deadline=None)
@given(lines)
def test_fountain_loses_nothing(spoken: list[tuple[str, str, str]]) -> None:
    found = read(written("INT. HOUSE - DAY\n\n", fountain_forms, spoken), ".fountain", language="en")
    assert heard(found) == meant(spoken)


@settings(max_examples=EXAMPLES, deadline=None)
@given(lines)
def test_markdown_loses_nothing(spoken: list[tuple[str, str, str]]) -> None:
    found = read(written("## 内景 家 夜\n\n**林晚**：。a\n\n", markdown_forms, spoken), ".md", language="zh")
    assert heard(found)[1:] == meant(spoken)


@settings(max_examples=EXAMPLES, deadline=None)
@given(lines)
def test_a_plain_screenplay_loses_nothing(spoken: list[tuple[str, str, str]]) -> None:
    found = read(written("1-1 夜 内 家\n", screenplay_forms, spoken), ".txt", language="zh")
    assert heard(found) == meant(spoken)


@settings(max_examples=5, deadline=None)
@given(lines)
def test_word_loses_nothing(spoken: list[tuple[str, str, str]]) -> None:
    text = written("1-1 夜 内 家\n", screenplay_forms, spoken)
    found = read_raw(document(*text.splitlines()), ending=".docx", language="zh")
    assert heard(found) == meant(spoken)


prose = st.lists(
    st.text(alphabet="“”「」『』‘’\"'。，！？：说道问曰林晚她 abIs,.!?:\n", max_size=60),
    min_size=1,
    max_size=8,
)


@settings(max_examples=EXAMPLES * 2, deadline=None)
@given(prose)
def test_prose_loses_nothing_but_the_marks_around_speech(paragraphs: list[str]) -> None:
    pieces = split_prose(paragraphs)
    for index, paragraph in enumerate(paragraphs):
        mine = [each for each in pieces if each.paragraph == index]
        quoted = quotations_of(paragraphs)[index]
        allowed = sum(each.end - each.start - (each.inner_end - each.inner_start) for each in quoted)
        kept, whole = words("".join(each.text for each in mine)), words(paragraph)
        assert len(whole) - allowed <= len(kept) <= len(whole)
        assert _is_subsequence(kept, whole)
        lost = [each for each in whole if each not in kept]
        assert all(each in "“”「」『』‘’\"'" for each in lost)
    offsets = [(each.paragraph, each.offset) for each in pieces]
    assert offsets == sorted(offsets)


@settings(max_examples=EXAMPLES, deadline=None)
@given(prose)
def test_a_prose_file_loses_no_letter(paragraphs: list[str]) -> None:
    text = "\n\n".join(paragraphs)
    with suppress(UnreadableScript):  # nothing in it
        found = read_prose(lines_of(text), language="zh")
        out = found.script.title
        for scene in found.script.scenes:
            out += scene.heading + "".join(line.text for line in scene.lines)
        assert [each for each in out if each.isalnum()] == [each for each in text if each.isalnum()]


def _is_subsequence(part: str, whole: str) -> bool:
    rest = iter(whole)
    return all(each in rest for each in part)


TOKENS = [
    "林晚", "BOB", "：", ":", "(", ")", "（", "）", "/*", "*/", "[[", "]]", "*", "**", "_", "=", "===", "@",
    "!", "~", "^", "△", "旁白", "“", "”", "---", "`", "<", "</", "<!--", "-->", "![a](b)", "[a](b)", "|",
    "\\", "😀", "曰", "x"
]  # fmt: skip
SPACES = ["\n", "\n\n", "  ", "\t", "\u2028", "\u3000", "\x0c"]
LINES = ["INT. A - DAY", "1-1 日 内 家", "CUT TO:", "# ", "> ", "- "]
soup = st.lists(st.sampled_from(TOKENS + SPACES * 2 + LINES), max_size=40).map("".join)


@settings(max_examples=EXAMPLES * 3, deadline=None)
@given(soup, st.sampled_from([".fountain", ".md", ".txt", ""]))
def test_whatever_comes_in_is_read_or_refused(text: str, ending: str) -> None:
    found: ReadScript | None = None
    with suppress(UnreadableScript):
        found = read(text, ending, language="zh")
    if found is None:
        return
    assert found.script.scenes
    known = {each.id for each in found.script.characters}
    for scene in found.script.scenes:
        for line in scene.lines:
            assert line.text.strip()
            assert line.source_line >= 1
            spoken_by = {"dialogue": known | {""}, "inner": known | {""}}.get(line.kind.value, {None})
            assert line.speaker in spoken_by


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.binary(max_size=200), st.sampled_from([".fountain", ".md", ".txt", ".docx", ".doc"]))
def test_any_bytes_are_read_or_refused(raw: bytes, ending: str) -> None:
    with suppress(UnreadableScript):
        read_raw(raw, ending=ending)


LONG = 10_000
HUGE = [
    ("fountain", ".fountain", "INT. A - DAY\n\n" + "BOB\nHi, *old* friend.\n\nHe waits.\n\n" * (LONG // 5)),
    ("chinese fountain", ".fountain", "内景 家 夜\n\n" + "林晚\n你来晚了。\n\n她等着。\n\n" * (LONG // 5)),
    ("markdown", ".md", "## 家\n\n" + "**林晚**：你来晚了。\n\n*(她等。)*\n\n" * (LONG // 4)),
    ("screenplay", ".txt", "1-1 日 内 家\n" + "林晚（冷笑）：你来晚了。\n△她等着。\n" * (LONG // 2)),
    ("prose", ".txt", "林晚冷冷地说：“你来晚了。”顾沉没有回答。\n" * LONG),
    ("one paragraph", ".txt", "林晚说：“你来晚了。”她等着。“是吗？”" * 4_000),
    ("english paragraph", ".txt", "“So,” said Maya, “you are late.” He waits. " * 2_000),
    ("stars", ".md", "**林晚**：走\n\n" + "*a **b _c " * 9_000),
    ("brackets", ".md", "**林晚**：走\n\n" + "[![](" * 19_000),
    ("open comments", ".fountain", "INT. A - DAY\n\n" + "/* [[ " * 16_000),
    ("many open comments", ".fountain", "INT. A - DAY\n\n" + "/* [[\n" * 16_000 + "]]\n*/\nEnd."),
    ("open quotes", ".txt", "“「『‘\"'" * 16_000),
    ("open quotes by line", ".txt", "“「『林晚说：\n" * LONG),
    ("quotes in markdown", ".md", ">" * 50_000 + " x"),
    ("lists in markdown", ".md", "- " * 40_000 + "x"),
    ("spaces", ".txt", "a" + " " * 90_000 + "b"),
    ("colons", ".txt", "林晚：" * 30_000),
    ("brackets in a cue", ".txt", "（" * 90_000 + "：走"),
    ("one word", ".txt", "a" * 100_000),
    ("marks", ".txt", "说" * 50_000 + "：“走。”"),
    ("capitals", ".fountain", "A " * 50_000 + "\nx"),
    ("digits", ".txt", "1" * 100_000),
    ("tables", ".md", "**林晚**：走\n\n" + "|" * 50_000 + "\n" + "|-" * 40_000),
    ("html", ".md", "<!-" * 30_000 + "->"),
    ("emphasis", ".fountain", "INT. A - DAY\n\n" + "*_**" * 6_000),
]  # fmt: skip


@pytest.mark.parametrize(("ending", "text"), [each[1:] for each in HUGE], ids=[each[0] for each in HUGE])
def test_a_long_file_takes_no_long_time(ending: str, text: str) -> None:
    began = time.process_time()
    with suppress(UnreadableScript):
        read(text, ending, language="zh")
    assert time.process_time() - began < 10
