"""Subtitle text is shown literally, in our own fonts; judged by the pixels libass draws."""

from pathlib import Path

import numpy as np
import pysubs2
import pytest
from numpy.typing import NDArray
from PIL import Image

from shortdrama_pipeline.errors import NotReady
from shortdrama_pipeline.media import fonts, subtitles
from shortdrama_pipeline.media.tools import run_ffmpeg
from shortdrama_pipeline.rules.timeline import Subtitle

WIDTH, HEIGHT = 540, 960


def cue(text: str, *, kind: str = "dialogue", start_ms: int = 0) -> Subtitle:
    return Subtitle("l1", text, kind, start_ms, start_ms + 1000)


def draw(folder: Path, ass: str, name: str = "x") -> NDArray[np.uint8]:
    """Return the grey picture libass makes of an ASS file at half a second."""
    fonts.gather_fonts(folder / "fonts")
    (folder / f"{name}.ass").write_text(ass, encoding="utf-8")
    source = f"color=black:s={WIDTH}x{HEIGHT}:r=2:d=1"
    told = run_ffmpeg(
        [
            "-f",
            "lavfi",
            "-i",
            source,
            "-vf",
            f"ass={name}.ass:fontsdir=fonts",
            "-frames:v",
            "1",
            f"{name}.png",
        ],
        cwd=folder,
    )
    assert "not found" not in told
    return np.asarray(Image.open(folder / f"{name}.png").convert("L"))


def shown(folder: Path, text: str, *, kind: str = "dialogue", name: str = "x") -> NDArray[np.uint8]:
    ass = subtitles.to_ass([cue(text, kind=kind)], width=WIDTH, height=HEIGHT, language="zh-CN")
    return draw(folder, ass, name)


LITERALS = ["a{b}c", "{\\an8}", "x\\Ny", "x\\hy\\nz", "\\{x\\}", "end\\", "{", "}", "\\"]


@pytest.mark.parametrize("text", LITERALS)
def test_characters_that_command_libass_are_drawn_as_they_are(tmp_path: Path, text: str) -> None:
    """They must be as wide as the font says the plain text is, on one line in its usual place."""
    picture = shown(tmp_path, text)
    columns = np.flatnonzero(picture.max(axis=0) > 128)
    rows = np.flatnonzero(picture.max(axis=1) > 128)
    font = fonts.text_font().sized(subtitles.lettering(WIDTH, HEIGHT, language="zh-CN").size)
    expected = font.getbbox(text, stroke_width=0)
    assert abs((columns[-1] - columns[0]) - (expected[2] - expected[0])) <= 8
    assert rows[0] > HEIGHT * 70 // 100  # one line, low in the picture: no \an8, no break
    assert rows[-1] - rows[0] < 40


def test_chinese_is_drawn_in_our_font_and_lines_stand_at_three_quarters(tmp_path: Path) -> None:
    picture = shown(tmp_path, "你到底是谁？")
    rows = np.flatnonzero(picture.max(axis=1) > 128)
    assert HEIGHT * 70 // 100 < rows[0] < rows[-1] < HEIGHT * 80 // 100
    assert picture.max() > 240


def test_emoji_are_drawn_not_boxed(tmp_path: Path) -> None:
    assert not np.array_equal(shown(tmp_path, "😀", name="a"), shown(tmp_path, "😭", name="b"))


def test_kinds_look_different(tmp_path: Path) -> None:
    kinds = ("dialogue", "narration", "inner")
    pictures = [shown(tmp_path, "那封信", kind=kind, name=kind) for kind in kinds]
    assert not np.array_equal(pictures[0], pictures[1])
    assert not np.array_equal(pictures[0], pictures[2])


def test_a_mainland_text_gets_mainland_shapes(tmp_path: Path) -> None:
    pictures = []
    for language in ("zh-CN", "zh-TW", "ja-JP"):
        ass = subtitles.to_ass([cue("骨直述角")], width=WIDTH, height=HEIGHT, language=language)
        pictures.append(draw(tmp_path, ass, language))
    assert not np.array_equal(pictures[0], pictures[1])
    assert not np.array_equal(pictures[0], pictures[2])


def test_missing_glyphs_are_refused_by_name() -> None:
    assert fonts.missing_glyphs("你好 Hello，𠮷😀👨\u200d👩\u200d👧🇨🇳 é\n") == []
    with pytest.raises(NotReady) as refused:
        subtitles.require_glyphs([cue("好"), Subtitle("s1-l9", "สวัสดี", "dialogue", 0, 1)])
    assert refused.value.facts["place"] == "line s1-l9"
    assert "U+0E2A" in refused.value.message
    assert fonts.missing_glyphs("\x07") == ["\x07"]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("你到底是谁？我从来没有见过你。", 1),
        ("如果再给我一次机会，我还是会选择离开这里。", 2),
        ("I never thought I would see you again,", 2),
        ("Donaudampfschifffahrtselektrizitaetenhauptbetriebswerk", 2),
    ],
)
def test_lines_are_few_and_fit_the_picture(text: str, lines: int) -> None:
    letters = subtitles.lettering(1080, 1920, language="zh-CN" if ord(text[0]) > 255 else "en-US")
    made = subtitles.wrap(text, letters)
    assert len(made) == lines
    assert "".join(made).replace(" ", "") == text.replace(" ", "")
    assert all(letters.measure(each) <= letters.line_width for each in made)
    assert not any(each[0] in "，。！？" for each in made)


def test_files_to_hand_over_hold_the_same_text_and_times() -> None:
    cues = [cue("a {b} <i>\\N", start_ms=3_723_004), cue("好\n吧", start_ms=3_725_000)]
    srt, vtt = subtitles.to_srt(cues), subtitles.to_vtt(cues)
    assert srt.startswith("1\n01:02:03,004 --> 01:02:04,004\na {b} <i>\\N\n\n2\n")
    assert vtt.startswith("WEBVTT\n\n01:02:03.004 --> 01:02:04.004\na {b} &lt;i&gt;\\N\n\n")
    assert [event.start for event in pysubs2.SSAFile.from_string(srt)] == [3_723_004, 3_725_000]
    assert "好 吧" in srt
    assert subtitles.to_srt([]) == ""


def test_a_wide_picture_has_its_lines_near_the_foot() -> None:
    tall, wide = (subtitles.lettering(*size, language="zh-CN") for size in ((1080, 1920), (1920, 1080)))
    assert tall.size == wide.size == 54
    assert tall.margin_bottom > 400
    assert wide.margin_bottom < 100
