"""The cover: a picture of the film under its title, upright, as the platforms ask for it."""

from collections.abc import Callable
from dataclasses import dataclass

from PIL import Image, ImageDraw

from shortdrama_pipeline.media import fonts
from shortdrama_pipeline.media.stills import fit
from shortdrama_pipeline.rules.cues import break_line

SIZE = (1080, 1920)
TITLE_LINES_MAX = 3
MARGIN = 96
_PAPER = (250, 248, 242)
_DIM = (214, 208, 196)


def draw_cover(picture: Image.Image, *, title: str, below: str, language: str) -> Image.Image:
    """Draw `title` large over the lower third of the picture, `below` small under it."""
    cover = fit(picture, SIZE)
    cover.paste((8, 8, 12), (0, 0), _shade())
    draw = ImageDraw.Draw(cover)
    size, lines = _title(title)
    foot = SIZE[1] - 330
    small = 38
    top = foot - len(lines) * size * 13 // 10
    draw.rectangle((MARGIN, top - 46, MARGIN + 84, top - 40), fill=_PAPER)
    for number, line in enumerate(lines):
        at = (MARGIN, top + number * size * 13 // 10)
        _letter(draw, at, line, _Look(size, _PAPER, max(1, size // 48), fonts.shaping_language(language)))
    _letter(draw, (MARGIN, foot + 34), below, _Look(small, _DIM, 0, fonts.shaping_language(language)))
    return cover


def _title(title: str) -> tuple[int, list[str]]:
    """Choose the largest lettering that takes the title in at most three lines."""
    size = 148
    while True:
        lines = [each.strip() for each in break_line(title, SIZE[0] - 2 * MARGIN, _measure_at(size))]
        if len(lines) <= TITLE_LINES_MAX or size <= 48:
            return size, [each for each in lines if each]
        size = size * 9 // 10


def _measure_at(size: int) -> Callable[[str], int]:
    return lambda text: sum(round(font.sized(size).getlength(piece)) for font, piece in fonts.runs(text))


@dataclass(frozen=True, slots=True)
class _Look:
    size: int
    colour: tuple[int, int, int]
    stroke: int
    language: str


def _letter(draw: ImageDraw.ImageDraw, at: tuple[int, int], text: str, look: _Look) -> None:
    left = at[0]
    for font, piece in fonts.runs(text):
        sized = font.sized(look.size)
        draw.text(
            (left, at[1]), piece, font=sized, fill=look.colour, stroke_width=look.stroke,
            stroke_fill=look.colour, language=look.language,
        )  # fmt: skip
        left += round(sized.getlength(piece))


def _shade() -> Image.Image:
    """A veil that is clear above and dark below, and a breath of it at the top."""
    column = Image.new("L", (1, SIZE[1]))
    for y in range(SIZE[1]):
        low = max(0, y - SIZE[1] * 40 // 100) * 235 // (SIZE[1] * 60 // 100)
        high = max(0, SIZE[1] * 12 // 100 - y) * 90 // (SIZE[1] * 12 // 100)
        column.putpixel((0, y), min(228, low + high))
    return column.resize(SIZE)
