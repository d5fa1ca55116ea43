"""Which bytes are text, in which encoding, and what is refused by name."""

from pathlib import Path

import pytest

from shortdrama_pipeline.errors import UnreadableScript, UsageError
from shortdrama_pipeline.readers.outcome import BYTES_MAX, LINE_CHARACTERS_MAX, LINES_MAX
from shortdrama_pipeline.readers.reading import read_raw, read_script
from tests.readers.shape import read, shape

TEXT = "1-1 日 内 家\n林晚：你来晚了，我们走吧。\n"
HEARD = ["## 1-1 日 内 家", "林晚: 你来晚了，我们走吧。"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "gb18030", "gbk"])
def test_every_usual_encoding_of_chinese_is_read(encoding: str) -> None:
    assert shape(read_raw(TEXT.encode(encoding), ending=".txt").script) == HEARD


@pytest.mark.parametrize("mark", ["\r\n", "\r", "\n", "\x0b", "\u2028"])
def test_every_line_end_is_one(mark: str) -> None:
    assert shape(read(TEXT.replace("\n", mark), ".txt").script) == HEARD


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"", "empty"),
        (b" \n\t\n", "empty"),
        (b"\xef\xbb\xbf", "empty"),
        (b"%PDF-1.7 ...", "PDF"),
        (b"{\\rtf1 hello}", "RTF"),
        (b"\x89PNG\r\n\x1a\n....", "picture"),
        (b"\x1f\x8b\x08....", "compressed"),
        (b"hello\x00world", "U+0000"),
        (b"\xff\xfeh\x00e", "control"),
        (b"hello\n\x07world", "U+0007"),
        (b"\xff\xfe\x00\xd8", "broken UTF-16"),
        (b"ok\n\x80\xff\xfe", "neither UTF-8"),
        ("été à la plage, très tôt".encode("latin-1"), "neither UTF-8"),
        ("Привет мира".encode("cp1251"), "not known"),
        ("林晚".encode()[:-1] + b"\x00\x00", "NUL"),
    ],
)
def test_bytes_that_are_no_text_are_refused(raw: bytes, reason: str) -> None:
    with pytest.raises(UnreadableScript, match=r"line \d+") as refused:
        read_raw(raw, ending=".txt")
    assert reason in str(refused.value.facts["reason"]) or reason == "control"


def test_the_line_of_a_bad_byte_is_named() -> None:
    with pytest.raises(UnreadableScript) as refused:
        read_raw(b"one\r\ntwo\nthree\x00\n", ending=".md")
    assert refused.value.facts["line"] == 3


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"a" * (BYTES_MAX + 1), "MiB"),
        (b"a\n" * (LINES_MAX + 1), "lines"),
        (b"ok\n" + b"a" * (LINE_CHARACTERS_MAX + 1), "characters"),
    ],
)
def test_files_beyond_the_limits_are_refused(raw: bytes, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "long.txt"
    path.write_bytes(raw)
    with pytest.raises(UnreadableScript, match=reason):
        read_script(path)


@pytest.mark.parametrize(("name", "reason"), [("no.txt", "no such file"), ("", "folder")])
def test_a_path_that_is_no_file_is_refused(name: str, reason: str, tmp_path: Path) -> None:
    with pytest.raises(UnreadableScript, match=reason):
        read_script(tmp_path / name)


@pytest.mark.parametrize("ending", [".doc", ".pdf", ".fdx", ".odt"])
def test_a_form_nobody_reads_says_what_to_do(ending: str) -> None:
    with pytest.raises(UnreadableScript) as refused:
        read_raw(b"anything", ending=ending)
    assert ".docx" in refused.value.hint


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("林晚：Hello，我是林晚。\n林晚：走吧。", "zh-CN"),
        ("BOB: Hello there, Mr. Wang 王.\nBOB: Go.", "en-US"),
    ],
)
def test_the_language_is_told_from_the_text(text: str, language: str) -> None:
    assert read(text, ".txt").script.language == language


@pytest.mark.parametrize(("given", "tag"), [("zh", "zh-CN"), ("en_us", "en-US"), ("English", "en-US")])
def test_a_given_language_counts(given: str, tag: str) -> None:
    assert read(TEXT, ".txt", language=given).script.language == tag


def test_an_unknown_language_is_refused() -> None:
    with pytest.raises(UsageError, match="klingon"):
        read(TEXT, ".txt", language="klingon")


def test_a_file_in_neither_language_is_refused_unless_it_is_named() -> None:
    with pytest.raises(UnreadableScript, match="neither Chinese nor English"):
        read("Привет", ".txt")
    assert read("Привет", ".txt", language="en").script.language == "en-US"
