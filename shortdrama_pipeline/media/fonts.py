"""The fonts that letter subtitles and covers, from their own packages: every machine letters alike.

Noto Sans CJK covers Chinese, Japanese, Korean and Latin; Noto Emoji (one colour) covers emoji. A
character that neither has is refused before a Quote, never shown as a box (P-12.2).
"""

import struct
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

from PIL import ImageFont

from shortdrama_pipeline.errors import NotReady

# Shape the neighbours or say nothing: never drawn by themselves.
_JOINERS = frozenset("\u200b\u200c\u200d\u2060\ufe0e\ufe0f\u00ad")


@dataclass(frozen=True, slots=True)
class Font:
    """One file. `starts` and `ends` are the sorted ranges of code points it draws."""

    family: str
    path: Path
    starts: tuple[int, ...]
    ends: tuple[int, ...]

    def covers(self, character: str) -> bool:
        code = ord(character)
        at = bisect_right(self.starts, code) - 1
        return at >= 0 and code <= self.ends[at]

    def line_height(self, pixels: int) -> int:
        """Return the ASS font size that draws letters of `pixels` to the em: libass counts whole lines."""
        return pixels * sum(self.sized(1000).getmetrics()) // 1000

    def sized(self, pixels: int) -> ImageFont.FreeTypeFont:
        return _sized(str(self.path), pixels)


@cache
def _sized(path: str, pixels: int) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(path, pixels)


@cache
def text_font() -> Font:
    return _font("cvttf_NotoSansCJK_Regular", "NotoSansCJKtc-Regular.otf")


@cache
def emoji_font() -> Font:
    return _font("manimgx_fonts", "NotoEmoji[wght].ttf")


def shaping_language(language: str) -> str:
    """Return the tag by which the font picks its regional shapes: mainland forms for zh-CN."""
    return {"zh-CN": "zh-Hans", "zh-SG": "zh-Hans", "zh": "zh-Hans", "zh-TW": "zh-Hant"}.get(
        language, language
    )


def missing_glyphs(text: str) -> list[str]:
    """Return the characters that no font of ours draws, each once, in order."""
    shown = dict.fromkeys(each for each in text if each not in _JOINERS and not each.isspace())
    return [each for each in shown if not _drawn(each)]


def require_glyphs(text: str, *, place: str) -> None:
    """Refuse text that would be shown as boxes (reports 62)."""
    missing = missing_glyphs(text)
    if missing:
        shown = " ".join(f"{each} (U+{ord(each):04X})" for each in missing[:8])
        raise NotReady(
            f"No font for {shown} in {place}",
            hint="Write it another way in the script; it would be shown as an empty box",
            place=place,
            missing=[f"U+{ord(each):04X}" for each in missing],
        )


def runs(text: str) -> Iterator[tuple[Font, str]]:
    """Yield `text` in pieces, each with the font that draws it. Joiners stay with what they join."""
    font, piece = text_font(), ""
    for character in text:
        wanted = font if character in _JOINERS else _font_for(character)
        if wanted is not font and piece:
            yield font, piece
            piece = ""
        font, piece = wanted, piece + character
    if piece:
        yield font, piece


def gather_fonts(folder: Path) -> Path:
    """Make `folder` hold links to all our fonts, as libass wants them, and return it."""
    folder.mkdir(parents=True, exist_ok=True)
    for font in (text_font(), emoji_font()):
        link = folder / font.path.name
        if not link.exists():
            link.symlink_to(font.path)
    return folder


def _drawn(character: str) -> bool:
    if unicodedata.category(character) == "Cc":  # control characters have no picture, whatever a font says
        return False
    return text_font().covers(character) or emoji_font().covers(character)


def _font_for(character: str) -> Font:
    return text_font() if text_font().covers(character) else emoji_font()


def _font(package: str, name: str) -> Font:
    path = Path(str(files(package).joinpath(name)))
    data = path.read_bytes()
    ranges = sorted(_code_points(data, _table(data, b"cmap")))
    family = _family(data, _table(data, b"name"))
    return Font(family, path, tuple(start for start, _ in ranges), tuple(end for _, end in ranges))


def _table(data: bytes, wanted: bytes) -> int:
    for index in range(_u16(data, 4)):
        tag, _, offset, _ = struct.unpack_from(">4sLLL", data, 12 + 16 * index)
        if tag == wanted:
            return int(offset)
    raise ValueError(f"a font without {wanted!r}")


def _code_points(data: bytes, cmap: int) -> Iterator[tuple[int, int]]:
    """Read the ranges of the font's full Unicode table (cmap format 12)."""
    for index in range(_u16(data, cmap + 2)):
        table = cmap + _u32(data, cmap + 8 + 8 * index)
        if _u16(data, table) == 12:
            groups = data[table + 16 : table + 16 + 12 * _u32(data, table + 12)]
            yield from ((first, last) for first, last, _ in struct.iter_unpack(">LLL", groups))
            return
    raise ValueError("a font without a full Unicode table")


def _family(data: bytes, names: int) -> str:
    """Return the name libass knows the font by: name 1 in the Microsoft encoding, not the typographic one.

    Asked for the typographic family of an OTF, libass falls back to whatever the machine has.
    """
    strings = names + _u16(data, names + 4)
    for index in range(_u16(data, names + 2)):
        platform, _, _, name_id, length, offset = struct.unpack_from(">6H", data, names + 6 + 12 * index)
        if (platform, name_id) == (3, 1):
            return data[strings + offset : strings + offset + length].decode("utf-16-be")
    raise ValueError("a font without a family name")


def _u16(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 2])


def _u32(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 4])
