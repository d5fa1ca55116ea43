"""What every place is made of: the hour's colours, sky, skyline, windows, lamps, perspective."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from PIL import Image

from shortdrama_pipeline.rehearsal.canvas import (
    Canvas,
    Colour,
    Fill,
    Point,
    darker,
    gradient,
    hexadecimal,
    mix,
)
from shortdrama_pipeline.rehearsal.fonts import font


@dataclass(frozen=True, slots=True)
class Hour:
    """The light of a time of day. `ambient` tints what stands in it; `dark` is 0 (noon) to 1 (night)."""

    name: str
    sky: tuple[tuple[float, Colour], ...]
    ambient: Colour
    lamp: Colour
    far: Colour
    dark: float


def _sky(*stops: tuple[float, str]) -> tuple[tuple[float, Colour], ...]:
    return tuple((place, hexadecimal(colour)) for place, colour in stops)


HOURS = {
    "day": Hour(
        "day",
        _sky((0, "#6fa8d6"), (0.45, "#b5d6ea"), (1, "#f3efe2")),
        (255, 252, 246),
        (255, 244, 214),
        hexadecimal("#9fb6c8"),
        0.0,
    ),
    "dawn": Hour(
        "dawn",
        _sky((0, "#5c74ab"), (0.45, "#c9a3b8"), (0.75, "#f6cfae"), (1, "#fbe9cf")),
        (250, 232, 226),
        (255, 226, 184),
        hexadecimal("#8f90b0"),
        0.25,
    ),
    "dusk": Hour(
        "dusk",
        _sky((0, "#2f2f5e"), (0.4, "#8b4a7c"), (0.68, "#e0765a"), (1, "#f9c27a")),
        (255, 214, 190),
        (255, 196, 128),
        hexadecimal("#5d4470"),
        0.5,
    ),
    "night": Hour(
        "night",
        _sky((0, "#070b1d"), (0.5, "#14204a"), (1, "#33457a")),
        (188, 196, 228),
        (255, 206, 132),
        hexadecimal("#141c3c"),
        1.0,
    ),
}
_WORDS = {
    "dusk": ("黄昏", "傍晚", "夕阳", "日落", "dusk", "sunset", "evening"),
    "dawn": ("清晨", "早晨", "凌晨", "黎明", "早上", "dawn", "sunrise", "morning"),
    "night": ("夜", "晚上", "当晚", "今晚", "深宵", "月光", "night", "midnight"),
}
# A whole field of one word; inside longer texts these are also parts of names.
_SHORT = {"晚": "夜", "月": "夜", "早": "清晨", "晨": "清晨", "昏": "黄昏"}


def hour_of(text: str) -> Hour:
    """Return the hour a free text names; noon when it names none."""
    lower = _SHORT.get(text.strip(), text).lower()
    return HOURS[
        next((name for name, words in _WORDS.items() if any(each in lower for each in words)), "day")
    ]


class Scene:
    """A place being painted. Coordinates run from 0 to 1 across and down."""

    def __init__(self, size: tuple[int, int], hour: Hour, *, seed: int, sharp: bool) -> None:
        self.hour = hour
        self.chance = random.Random(seed)  # noqa: S311 - a picture, not a secret
        self.size = size
        self.canvas = Canvas(size, scale=2 if sharp else 1, base=Image.new("RGB", (1, 1)))

    def at(self, x: float, y: float) -> Point:
        return x * self.size[0], y * self.size[1]

    def quad(self, points: Sequence[Point], fill: Fill) -> None:
        self.canvas.polygon([self.at(*each) for each in points], fill)

    def blob(self, points: Sequence[Point], fill: Fill) -> None:
        self.canvas.blob([self.at(*each) for each in points], fill)

    def box(
        self, left: float, top: float, right: float, bottom: float, fill: Fill, *, radius: float = 0
    ) -> None:
        (x0, y0), (x1, y1) = self.at(left, top), self.at(right, bottom)
        self.canvas.box((x0, y0, x1, y1), fill, radius=radius * self.size[0])

    def line(self, points: Sequence[Point], fill: Fill, width: float) -> None:
        self.canvas.line([self.at(*each) for each in points], fill, width * self.size[0])

    def dot(self, x: float, y: float, radius: float, fill: Fill, *, flat: float = 1.0) -> None:
        """A round thing; `flat` below 1 makes it lie."""
        across = radius * self.size[0]
        self.canvas.ellipse(self.at(x, y), (across, across * flat), fill)

    def glow(self, x: float, y: float, radius: float, strength: float, colour: Colour | None = None) -> None:
        self.canvas.glow(self.at(x, y), radius * self.size[0], colour or self.hour.lamp, strength)

    def fade(
        self,
        top: float,
        bottom: float,
        stops: Sequence[tuple[float, Colour]],
        *,
        left: float = 0,
        right: float = 1,
    ) -> None:
        """Fill a box with a vertical gradient."""
        scale = self.canvas.scale
        (x0, y0), (x1, y1) = self.at(left, top), self.at(right, bottom)
        width, height = round(x1 * scale) - round(x0 * scale), round(y1 * scale) - round(y0 * scale)
        if width > 0 and height > 0:
            self.canvas.image.paste(gradient((width, height), stops), (round(x0 * scale), round(y0 * scale)))

    def lit(self, colour: Colour, *, indoors: bool = True) -> Colour:
        """Return a surface's colour at this hour; rooms have lamps, streets have not."""
        share = self.hour.dark * (0.30 if indoors else 0.70)
        shade = mix(colour, (38, 34, 58) if indoors else (16, 22, 50), share)
        warmth = 0.10 * self.hour.dark if indoors else 0.0
        return mix(shade, self.hour.lamp, warmth)

    def write(
        self, text: str, x: float, y: float, size: float, fill: Fill, *, vertical: bool = False
    ) -> None:
        """Letter a sign; centred on (x, y), or hanging down from it."""
        pixels = max(8, round(size * self.size[0] * self.canvas.scale))
        letters = font(pixels)
        px, py = self.at(x, y)
        for index, piece in enumerate(text if vertical else [text]):
            place = (px * self.canvas.scale, py * self.canvas.scale + index * pixels * 1.08)
            self.canvas.text(place, piece, letters, fill)

    # --- common pieces ---------------------------------------------------------------------------

    def sky(self, top: float, bottom: float, *, left: float = 0, right: float = 1) -> None:
        self.fade(top, bottom, self.hour.sky, left=left, right=right)

    def stars_and_moon(
        self, x: float, y: float, *, left: float = 0, right: float = 1, low: float = 0.4
    ) -> None:
        if self.hour.name == "night":
            for _ in range(60):
                place = self.chance.uniform(left, right), self.chance.uniform(0, low)
                self.dot(*place, self.chance.uniform(0.0008, 0.0022), (220, 228, 250))
            self.glow(x, y, 0.30, 0.45, (196, 210, 255))
            self.dot(x, y, 0.062, (238, 236, 220))
            self.dot(x - 0.018, y - 0.006, 0.012, (216, 214, 204))
            self.dot(x + 0.016, y + 0.012, 0.008, (220, 218, 206))
        elif self.hour.name in ("dusk", "dawn"):
            self.glow(x, y + 0.12, 0.55, 0.75, (255, 214, 150))
            self.dot(x, y + 0.12, 0.07, (255, 232, 190))
        else:
            self.glow(x, y - 0.1, 0.6, 0.5, (255, 252, 236))
            for _ in range(3):
                self.cloud(self.chance.uniform(left, right), self.chance.uniform(0.06, low * 0.8))

    def cloud(self, x: float, y: float) -> None:
        for dx, dy, radius in (
            (-0.1, 0.004, 0.05),
            (-0.03, -0.008, 0.07),
            (0.05, -0.002, 0.06),
            (0.12, 0.006, 0.04),
        ):
            self.dot(x + dx, y + dy, radius, (255, 255, 255, 120), flat=0.55)

    def skyline(
        self, base: float, height: float, *, left: float = 0, right: float = 1, near: float = 0.0
    ) -> None:
        """A row of towers standing on `base`; `near` 0 is hazy, 1 is close and dark."""
        x = left - 0.02
        tone = mix(self.hour.far, darker(self.hour.far, 0.5), near)
        glass = self.hour.lamp if self.hour.dark > 0.3 else mix(tone, (255, 255, 255), 0.22)
        while x < right:
            wide = self.chance.uniform(0.06, 0.14)
            tall = height * self.chance.uniform(0.45, 1.0)
            shade = mix(tone, self.hour.sky[-1][1], self.chance.uniform(0, 0.16) * (1 - near))
            ends = min(x + wide, right)
            self.box(max(x, left), base - tall, ends, base, shade)
            if self.chance.random() < 0.3:
                self.line([((x + ends) / 2, base - tall), ((x + ends) / 2, base - tall - 0.03)], shade, 0.004)
            rows, columns = int(tall / 0.014), int(wide / 0.018)
            for row in range(1, rows):
                for column in range(columns):
                    wx = x + 0.008 + column * 0.018
                    chance = 0.45 if self.hour.dark > 0.3 else 0.6
                    if left < wx < ends - 0.012 and self.chance.random() < chance:
                        share = self.chance.uniform(0.25, 0.9) * (0.5 + 0.5 * near)
                        top = base - tall + row * 0.014
                        self.box(wx, top, wx + 0.009, top + 0.006, mix(shade, glass, share))
            x += wide + self.chance.uniform(0, 0.012)

    def window(
        self,
        left: float,
        top: float,
        right: float,
        bottom: float,
        *,
        panes: int = 2,
        frame: Colour = (228, 226, 220),
    ) -> None:
        """A window on a city or sky, with its frame."""
        edge = self.lit(frame)
        self.box(left - 0.014, top - 0.009, right + 0.014, bottom + 0.009, darker(edge, 0.15))
        self.sky(top, bottom, left=left, right=right)
        self.skyline(bottom, (bottom - top) * 0.55, left=left, right=right, near=0.15)
        for index in range(1, panes):
            x = left + (right - left) * index / panes
            self.box(x - 0.005, top, x + 0.005, bottom, edge)
        self.box(left, top + (bottom - top) * 0.30, right, top + (bottom - top) * 0.30 + 0.006, edge)
        self.box(left - 0.025, bottom + 0.009, right + 0.025, bottom + 0.022, edge)
        if self.hour.dark < 0.6:
            self.glow((left + right) / 2, (top + bottom) / 2, 0.5, 0.28, self.hour.lamp)

    def curtains(self, left: float, top: float, right: float, bottom: float, colour: Colour) -> None:
        for side, edge in ((1, left), (-1, right)):
            for fold in range(4):
                x = edge + side * (fold * 0.026 - 0.05)
                shade = darker(self.lit(colour), 0.08 + 0.12 * (fold % 2))
                self.quad(
                    [
                        (x, top),
                        (x + side * 0.03, top),
                        (x + side * 0.034, bottom),
                        (x - side * 0.004, bottom),
                    ],
                    shade,
                )
        self.box(left - 0.08, top - 0.01, right + 0.08, top, darker(self.lit(colour), 0.5))

    def pendant(self, x: float, bottom: float, *, size: float = 0.06, shade: Colour = (60, 52, 50)) -> None:
        self.line([(x, 0), (x, bottom - 0.03)], (40, 36, 38), 0.004)
        dark = self.lit(shade)
        self.quad(
            [
                (x - size * 0.35, bottom - 0.032),
                (x + size * 0.35, bottom - 0.032),
                (x + size, bottom),
                (x - size, bottom),
            ],
            dark,
        )
        self.dot(x, bottom + 0.002, size * 0.55, (255, 240, 206), flat=0.35)
        self.glow(x, bottom + 0.02, 0.26, 0.35 + 0.35 * self.hour.dark)

    def plant(self, x: float, base: float, *, size: float = 0.16) -> None:
        green = self.lit((74, 112, 82))
        for lean in (-0.9, -0.5, -0.15, 0.2, 0.55, 0.9):
            tip = (x + lean * size * 0.8, base - size * (1.25 - abs(lean) * 0.55))
            middle = (x + lean * size * 0.30, base - size * 0.72)
            shade = darker(green, 0.25 if lean < 0 else 0.0)
            self.blob(
                [
                    (x, base - 0.03),
                    (middle[0] - 0.022, middle[1]),
                    tip,
                    (middle[0] + 0.022, middle[1] + 0.01),
                ],
                shade,
            )
        pot = self.lit((150, 104, 84))
        self.quad(
            [
                (x - 0.05, base - 0.045),
                (x + 0.05, base - 0.045),
                (x + 0.038, base + 0.012),
                (x - 0.038, base + 0.012),
            ],
            pot,
        )
        self.box(x - 0.056, base - 0.052, x + 0.056, base - 0.040, darker(pot, 0.2))

    def floor(self, top: float, colour: Colour, *, boards: int = 9, vanish: float = 0.5) -> None:
        """A floor running away from us, with its lines."""
        near, far = self.lit(colour), darker(self.lit(colour), 0.18)
        self.fade(top, 1, [(0, far), (1, near)])
        for index in range(-boards, boards * 2):
            low = index / boards
            high = vanish + (low - vanish) * 0.35
            self.line([(high, top), (low * 1.3 - 0.15, 1)], (*darker(far, 0.35), 90), 0.002)


def perspective(corner: Point, vanish: Point, depth: float) -> Point:
    """Move a corner of the picture towards the vanishing point; `depth` 0 is here, 1 is infinitely far."""
    return corner[0] + (vanish[0] - corner[0]) * depth, corner[1] + (vanish[1] - corner[1]) * depth
