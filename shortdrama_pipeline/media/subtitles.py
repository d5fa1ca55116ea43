r"""Subtitles as files: ASS to burn in, SRT and VTT to hand over. The text is the script's, literally.

libass knows no plain text: `{…}` is an override and `\N` a line break. `{` and `}` are written
`\{` and `\}`, which it shows as they are; a backslash is followed by a word joiner (U+2060,
invisible), so that it never begins a command. Emoji are lettered in a font of their own.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import pysubs2

from shortdrama_pipeline.media import fonts
from shortdrama_pipeline.rules.cues import break_line
from shortdrama_pipeline.rules.timeline import Subtitle

WORD_JOINER = "\u2060"
LINES_MAX = 2
LINE_WIDTH_PERCENT = 82  # of the picture
# Styles by kind: dialogue plain, narration warm, inner voice leaning.
_WARM = pysubs2.Color(255, 236, 196)
_WHITE = pysubs2.Color(255, 255, 255)
_BLACK = pysubs2.Color(12, 12, 16)


@dataclass(frozen=True, slots=True)
class Lettering:
    """Sizes in pixels of a picture `width` x `height`."""

    width: int
    size: int
    line_width: int
    margin_bottom: int

    def measure(self, text: str) -> int:
        """Return the width in pixels, a little generously, since libass emboldens."""
        return sum(round(font.sized(self.size).getlength(piece) * 1.02) for font, piece in fonts.runs(text))


def lettering(width: int, height: int, *, language: str) -> Lettering:
    """Choose a size that a phone shows well: sixteen CJK characters or about thirty letters a line."""
    short = min(width, height)
    wide = language.split("-", maxsplit=1)[0] in {"zh", "ja", "ko"}
    size = short * (54 if wide else 50) // 1080
    # On tall pictures the foot stands at about 77 %, above the buttons and names that players draw there.
    margin = height * 23 // 100 if height > width else height * 7 // 100
    return Lettering(width, size, width * LINE_WIDTH_PERCENT // 100, margin)


def to_ass(cues: Iterable[Subtitle], *, width: int, height: int, language: str, title: str = "") -> str:
    """Return an ASS file lettered for a picture of this size."""
    letters = lettering(width, height, language=language)
    made = pysubs2.SSAFile()
    made.info.update(
        {
            "Title": title or "shortdrama",
            "PlayResX": str(width),
            "PlayResY": str(height),
            "WrapStyle": "2",  # we break the lines ourselves
            "ScaledBorderAndShadow": "yes",
            "YCbCr Matrix": "TV.709",
        }
    )
    shaping = fonts.shaping_language(language)
    if (
        shaping != "zh-Hant"
    ):  # libass reads "zh" of it and would take mainland forms; the font's own are these
        made.info["Language"] = shaping
    made.styles = {kind: _style(kind, letters) for kind in ("dialogue", "narration", "inner")}
    for cue in cues:
        lines = [_literal(each, letters) for each in wrap(cue.text, letters)]
        made.append(
            pysubs2.SSAEvent(start=cue.start_ms, end=cue.end_ms, text="\\N".join(lines), style=cue.kind)
        )
    return made.to_string("ass")


def to_srt(cues: Iterable[Subtitle]) -> str:
    """Return an SRT file. Players read the text as it stands, so it is only kept on one line."""
    blocks = [
        f"{number}\n{_clock(cue.start_ms, ',')} --> {_clock(cue.end_ms, ',')}\n{_one_line(cue.text)}\n"
        for number, cue in enumerate(cues, 1)
    ]
    return "\n".join(blocks)


def to_vtt(cues: Iterable[Subtitle]) -> str:
    """Return a WebVTT file, for the player of the web page."""
    escaped = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
    blocks = [
        f"{_clock(cue.start_ms, '.')} --> {_clock(cue.end_ms, '.')}\n{_one_line(cue.text).translate(escaped)}"
        for cue in cues
    ]
    return "\n\n".join(["WEBVTT", *blocks, ""])


def wrap(text: str, letters: Lettering) -> list[str]:
    """Break one cue into at most two even lines, never inside a word or before closing punctuation."""
    flat = _one_line(text)
    width_max = letters.line_width
    lines = break_line(flat, width_max, letters.measure)
    while len(lines) > LINES_MAX:  # too much for two lines of this width: two even ones, smaller margins
        width_max += letters.size
        lines = break_line(flat, width_max, letters.measure)
    return [each.strip() for each in lines if each.strip()]


def require_glyphs(cues: Iterable[Subtitle]) -> None:
    """Refuse text that our fonts cannot draw, naming the line (P-12.2)."""
    for cue in cues:
        fonts.require_glyphs(cue.text, place=f"line {cue.line_id}")


def _style(kind: str, letters: Lettering) -> pysubs2.SSAStyle:
    side = letters.width * (100 - LINE_WIDTH_PERCENT) // 200
    return pysubs2.SSAStyle(
        fontname=fonts.text_font().family,
        fontsize=fonts.text_font().line_height(letters.size),
        primarycolor=_WARM if kind == "narration" else _WHITE,
        outlinecolor=_BLACK,
        backcolor=pysubs2.Color(0, 0, 0, 110),
        bold=True,
        italic=kind == "inner",
        outline=max(1, letters.size // 13),
        shadow=max(1, letters.size // 30),
        alignment=pysubs2.Alignment.BOTTOM_CENTER,
        marginl=side,
        marginr=side,
        marginv=letters.margin_bottom,
    )


def _literal(text: str, letters: Lettering) -> str:
    pieces = []
    for font, piece in fonts.runs(text):
        shown = piece.replace("\\", "\\" + WORD_JOINER).replace("{", "\\{").replace("}", "\\}")
        other = font is not fonts.text_font()
        start = f"{{\\fn{font.family}\\fs{font.line_height(letters.size)}\\b0\\i0}}"
        pieces.append(f"{start}{shown}{{\\r}}" if other else shown)
    return "".join(pieces)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _clock(ms: int, mark: str) -> str:
    seconds, rest = divmod(ms, 1000)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    return f"{hour:02d}:{minute:02d}:{second:02d}{mark}{rest:03d}"
