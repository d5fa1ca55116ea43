"""A small drawing table over pillow: smooth closed curves, gradients, soft light, at twice the size.

Coordinates are pixels of the finished picture; everything is drawn larger and brought down once, which
is what makes edges clean.
"""

import math
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageChops, ImageDraw, ImageFilter, ImageFont

from shortdrama_pipeline.rehearsal.fonts import tongue

Colour = tuple[int, int, int]
Point = tuple[float, float]
Fill = Colour | tuple[int, int, int, int]


def mix(one: Colour, other: Colour, share: float) -> Colour:
    """Return `one` with `share` (0 to 1) of `other` in it."""
    red, green, blue = (round(a + (b - a) * share) for a, b in zip(one, other, strict=True))
    return red, green, blue


def darker(colour: Colour, share: float) -> Colour:
    """Return a shadow of the colour: darker and a little colder."""
    return mix(colour, (18, 16, 38), share)


def lighter(colour: Colour, share: float) -> Colour:
    return mix(colour, (255, 250, 238), share)


def hexadecimal(text: str) -> Colour:
    return int(text[1:3], 16), int(text[3:5], 16), int(text[5:7], 16)


def curve(points: Sequence[Point], *, closed: bool = True, steps: int = 10) -> list[Point]:
    """Return a polygon that runs smoothly through all points (Catmull-Rom)."""
    count = len(points)
    result: list[Point] = []
    for index in range(count if closed else count - 1):
        if closed:
            before, start, end, after = (points[(index + k) % count] for k in (-1, 0, 1, 2))
        else:
            before, start = points[max(index - 1, 0)], points[index]
            end, after = points[index + 1], points[min(index + 2, count - 1)]
        for step in range(steps):
            t = step / steps
            result.append(
                (
                    _spline(before[0], start[0], end[0], after[0], t),
                    _spline(before[1], start[1], end[1], after[1], t),
                )
            )
    if not closed:
        result.append(points[-1])
    return result


def _spline(before: float, start: float, end: float, after: float, t: float) -> float:
    return 0.5 * (
        2 * start
        + (end - before) * t
        + (2 * before - 5 * start + 4 * end - after) * t * t
        + (3 * start - before - 3 * end + after) * t * t * t
    )


def gradient(size: tuple[int, int], stops: Sequence[tuple[float, Colour]]) -> Image.Image:
    """Return a vertical gradient through `stops` (place 0 to 1, colour), with a breath of noise."""
    width, height = size
    places = np.linspace(0, 1, height)
    channels = [np.interp(places, [s[0] for s in stops], [s[1][c] for s in stops]) for c in range(3)]
    column = np.stack(channels, axis=1)[:, None, :]
    # A little dither keeps wide skies from banding in 8 bits.
    dither = np.random.default_rng(3).uniform(-0.5, 0.5, (height, 64, 1))
    tile = np.clip(column + dither, 0, 255).round().astype(np.uint8)
    wide = np.tile(tile, (1, width // 64 + 1, 1))[:, :width]
    return Image.fromarray(np.ascontiguousarray(wide))


class Canvas:
    """A picture being drawn. `scale` is the enlargement while drawing.

    Without a `base` it is a layer: it remembers where it was painted and finishes as RGBA. A fill with
    an alpha only tints what is painted already.
    """

    def __init__(self, size: tuple[int, int], *, scale: int = 2, base: Image.Image | None = None) -> None:
        self.size = size
        self.scale = scale
        large = (size[0] * scale, size[1] * scale)
        self._cover: Image.Image | None = None
        if base is None:
            self.image = Image.new("RGB", large)
            self._cover = Image.new("L", large)
            self._cover_draw = ImageDraw.Draw(self._cover)
        else:
            flat = base.size == (1, 1)
            self.image = (
                Image.new("RGB", large, base.getpixel((0, 0)))
                if flat
                else base.convert("RGB").resize(large, Image.Resampling.BILINEAR)
            )
        self._draw = ImageDraw.Draw(self.image, "RGBA")

    def _covers(self, fill: Fill) -> bool:
        return self._cover is not None and len(fill) == 3

    def polygon(self, points: Iterable[Point], fill: Fill) -> None:
        scaled = [(x * self.scale, y * self.scale) for x, y in points]
        self._draw.polygon(scaled, fill=fill)
        if self._covers(fill):
            self._cover_draw.polygon(scaled, fill=255)

    def blob(self, points: Sequence[Point], fill: Fill) -> None:
        """Fill the smooth closed curve through the points."""
        self.polygon(curve(points), fill)

    def line(self, points: Sequence[Point], fill: Fill, width: float) -> None:
        """Draw a smooth line with round ends."""
        path = curve(points, closed=False) if len(points) > 2 else points
        scaled = [(x * self.scale, y * self.scale) for x, y in path]
        thickness = max(1, round(width * self.scale))
        if len(fill) == 4:
            self._tint_line(scaled, thickness, fill)
            return
        for draw, colour in self._pens(fill):
            draw.line(scaled, fill=colour, width=thickness, joint="curve")
            if thickness > 3:
                half = thickness / 2
                for x, y in (scaled[0], scaled[-1]):
                    draw.ellipse((x - half, y - half, x + half, y + half), fill=colour)

    def _tint_line(self, path: Sequence[Point], thickness: int, fill: tuple[int, int, int, int]) -> None:
        """Draw a translucent line in one go: joints drawn over each other would show as dots."""
        left = math.floor(min(x for x, _ in path)) - thickness
        top = math.floor(min(y for _, y in path)) - thickness
        width = math.ceil(max(x for x, _ in path)) + thickness - left
        height = math.ceil(max(y for _, y in path)) + thickness - top
        mask = Image.new("L", (width, height))
        shifted = [(x - left, y - top) for x, y in path]
        ImageDraw.Draw(mask).line(shifted, fill=fill[3], width=thickness, joint="curve")
        self.image.paste(fill[:3], (left, top, left + width, top + height), mask)

    def _pens(self, fill: Fill) -> list[tuple[ImageDraw.ImageDraw, Fill | int]]:
        pens: list[tuple[ImageDraw.ImageDraw, Fill | int]] = [(self._draw, fill)]
        if self._covers(fill):
            pens.append((self._cover_draw, 255))
        return pens

    def ellipse(self, centre: Point, radii: Point, fill: Fill) -> None:
        (x, y), (across, down) = centre, radii
        box = [each * self.scale for each in (x - across, y - down, x + across, y + down)]
        for draw, colour in self._pens(fill):
            draw.ellipse(box, fill=colour)

    def box(self, box: tuple[float, float, float, float], fill: Fill, *, radius: float = 0) -> None:
        left, top, right, bottom = (each * self.scale for each in box)
        if right - left < 1 or bottom - top < 1:
            return
        for draw, colour in self._pens(fill):
            if radius:
                draw.rounded_rectangle((left, top, right, bottom), radius * self.scale, fill=colour)
            else:
                draw.rectangle((left, top, right - 1, bottom - 1), fill=colour)

    def clipped(self, clip: Sequence[Point], points: Sequence[Point], fill: Fill) -> None:
        """Fill `points`, but only inside `clip`: for shadows and patterns on a shape."""
        left, top, right, bottom = self._bounds(clip)
        if right <= left or bottom <= top:
            return
        masks = []
        for path in (clip, points):
            mask = Image.new("L", (right - left, bottom - top))
            shifted = [(x * self.scale - left, y * self.scale - top) for x, y in path]
            ImageDraw.Draw(mask).polygon(shifted, fill=255)
            masks.append(mask)
        mask = ImageChops.darker(*masks)
        if len(fill) == 4:
            mask = mask.point([value * fill[3] // 255 for value in range(256)])
        self.image.paste(fill[:3], (left, top, right, bottom), mask)
        if self._cover is not None and len(fill) == 3:
            self._cover.paste(255, (left, top, right, bottom), mask)

    def glow(self, centre: Point, radius: float, colour: Colour, strength: float) -> None:
        """Add light around a point; falls off softly. Only on an opaque canvas."""
        size = 64
        axis = np.linspace(-1, 1, size)
        distance = np.sqrt(axis[:, None] ** 2 + axis[None, :] ** 2)
        falloff = np.clip(1 - distance, 0, 1) ** 2 * strength * 255
        side = max(2, round(radius * 2 * self.scale))
        mask = Image.fromarray(falloff.astype(np.uint8)).resize((side, side), Image.Resampling.BICUBIC)
        left = round((centre[0] - radius) * self.scale)
        top = round((centre[1] - radius) * self.scale)
        self.image.paste(Image.new("RGB", mask.size, colour), (left, top), mask)

    def text(self, centre: Point, text: str, letters: ImageFont.FreeTypeFont, fill: Fill) -> None:
        """Letter `text` around a point of the enlarged picture."""
        self._draw.text(centre, text, font=letters, fill=fill, anchor="mm", language=tongue())

    def finished(self) -> Image.Image:
        """Return the picture at its own size, a layer with its alpha."""
        picture = self.image.reduce(self.scale)
        if self._cover is None:
            return picture
        cover = self._cover.reduce(self.scale)
        # Half covered pixels hold half the colour (the rest is black): give them all of it.
        alpha = np.asarray(cover)
        colours = np.array(picture)
        edge = (alpha > 0) & (alpha < 255)
        lifted = colours[edge].astype(np.uint32) * 255 // alpha[edge][:, None]
        colours[edge] = np.minimum(lifted, 255)
        layer = Image.fromarray(colours)
        layer.putalpha(cover)
        return layer

    def _bounds(self, points: Sequence[Point]) -> tuple[int, int, int, int]:
        xs = [x * self.scale for x, _ in points]
        ys = [y * self.scale for _, y in points]
        return (
            max(0, math.floor(min(xs))),
            max(0, math.floor(min(ys))),
            min(self.image.width, math.ceil(max(xs)) + 1),
            min(self.image.height, math.ceil(max(ys)) + 1),
        )


def blurred(image: Image.Image, radius: float, box: tuple[float, float, float, float]) -> Image.Image:
    """Return a part of the picture, enlarged to its size and out of focus by `radius` of its pixels.

    Done small, since nobody sees the difference.
    """
    factor = 4 if radius >= 6 else 2
    zoom = image.width / (box[2] - box[0])
    small = image.reduce(factor).filter(ImageFilter.GaussianBlur(radius / factor / zoom))
    part = (box[0] / factor, box[1] / factor, box[2] / factor, box[3] / factor)
    return small.resize(image.size, Image.Resampling.BILINEAR, box=part)


def vignette(size: tuple[int, int], strength: float) -> NDArray[np.float64]:
    """Return factors (height, width, 1) that darken towards the corners."""
    across = np.linspace(-1, 1, size[0])[None, :]
    down = np.linspace(-1, 1, size[1])[:, None]
    factors: NDArray[np.float64] = 1 - strength * np.clip(across**2 * 0.55 + down**2 * 0.65 - 0.25, 0, 1)
    return factors[:, :, None]
