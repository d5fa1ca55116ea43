"""Pictures as the encoder wants them: BT.709 luma and halved chroma, moved by parts of a pixel.

Three quarters of the work of a film is moving pictures about. Zooms are resampled frame by frame; a
pan only slides, so it is resampled once per eighth of a pixel and then merely looked at elsewhere.
Memory is kept: a fresh picture of this size costs more in page faults than what is painted into it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from PIL import Image

# BT.709, limited range, from 8-bit RGB.
_MATRIX = np.array(
    [
        [0.2126 * 219 / 255, 0.7152 * 219 / 255, 0.0722 * 219 / 255],
        [-0.114572 * 224 / 255, -0.385428 * 224 / 255, 0.5 * 224 / 255],
        [0.5 * 224 / 255, -0.454153 * 224 / 255, -0.045847 * 224 / 255],
    ],
    dtype=np.float32,
)
_OFFSET = np.array([16, 128, 128], dtype=np.float32)
PHASES = 8  # positions per pixel of a slide

Box = tuple[float, float, float, float]
Bytes = NDArray[np.uint8]


def _mapped(memory: Bytes, size: tuple[int, int], stride: int) -> Image.Image:
    """Return a picture that lives in `memory`: what is painted into it is written there."""
    image = Image.frombuffer("L", size, memory, "raw", "L", stride, 1)
    image.readonly = 0
    return image


class Sheet:
    """One plane that is looked at through windows, none of which copies it."""

    def __init__(self, pixels: Bytes) -> None:
        height, self._stride = pixels.shape
        # A window reaches up to a row beyond its last pixel.
        self._memory = np.concatenate([pixels.reshape(-1), np.zeros(self._stride, np.uint8)])
        self.whole = _mapped(self._memory, (self._stride, height), self._stride)

    def window(self, left: int, top: int, size: tuple[int, int]) -> Image.Image:
        start = top * self._stride + left
        assert left + size[0] <= self._stride
        return _mapped(self._memory[start : start + size[1] * self._stride], size, self._stride)


@dataclass(frozen=True, slots=True)
class Planes:
    """Luma and, at half size, the two chroma planes; each an L image. `alpha` may be absent."""

    luma: Image.Image
    blue: Image.Image
    red: Image.Image
    alpha: Image.Image | None = None
    alpha_half: Image.Image | None = None

    def put(self, other: "Planes", place: tuple[int, int] = (0, 0)) -> None:
        """Lay another picture over this one, at an even place."""
        x, y = place
        self.luma.paste(other.luma, (x, y), other.alpha)
        self.blue.paste(other.blue, (x // 2, y // 2), other.alpha_half)
        self.red.paste(other.red, (x // 2, y // 2), other.alpha_half)


class Frame:
    """A picture on its way to the encoder: `planes` are painted on, `raw` is yuv420p."""

    def __init__(self, size: tuple[int, int]) -> None:
        width, height = size
        whole, quarter = width * height, width * height // 4
        self.size = size
        self.raw = np.zeros(whole + 2 * quarter, np.uint8)
        half = (width // 2, height // 2)
        self.planes = Planes(
            _mapped(self.raw[:whole], size, width),
            _mapped(self.raw[whole : whole + quarter], half, half[0]),
            _mapped(self.raw[whole + quarter :], half, half[0]),
        )

    def show(self, other: Self) -> None:
        """Become a copy of another frame."""
        np.copyto(self.raw, other.raw)


@dataclass(frozen=True, slots=True)
class Sheets:
    """A picture to be looked at: the planes of `Planes`, whole."""

    luma: Sheet
    blue: Sheet
    red: Sheet
    alpha: Sheet | None
    alpha_half: Sheet | None

    @property
    def size(self) -> tuple[int, int]:
        return self.luma.whole.size

    def each(self, look: Callable[[Sheet, int], Image.Image]) -> Planes:
        """Look at every plane; the second argument of `look` is 1 for full and 2 for half size."""
        return Planes(
            look(self.luma, 1),
            look(self.blue, 2),
            look(self.red, 2),
            None if self.alpha is None else look(self.alpha, 1),
            None if self.alpha_half is None else look(self.alpha_half, 2),
        )

    def whole(self) -> Planes:
        return self.each(lambda sheet, _: sheet.whole)


def sheets_of(picture: Image.Image) -> Sheets:
    """Convert RGB or RGBA; odd sizes lose their last row or column."""
    picture = picture.crop((0, 0, picture.width // 2 * 2, picture.height // 2 * 2))
    colours = np.asarray(picture.convert("RGB"), dtype=np.float32)
    luma = colours @ _MATRIX[0] + _OFFSET[0]
    half = np.asarray(picture.convert("RGB").reduce(2), dtype=np.float32)
    blue, red = half @ _MATRIX[1] + _OFFSET[1], half @ _MATRIX[2] + _OFFSET[2]
    alpha = picture.getchannel("A") if picture.mode == "RGBA" else None
    half_alpha = None if alpha is None else Sheet(np.asarray(alpha.reduce(2)))
    return Sheets(
        _whole(luma),
        _whole(blue),
        _whole(red),
        None if alpha is None else Sheet(np.asarray(alpha)),
        half_alpha,
    )


def _whole(plane: NDArray[np.float32]) -> Sheet:
    return Sheet(np.clip(plane + 0.5, 0, 255).astype(np.uint8))


def cut_out(sheets: Sheets, box: Box, size: tuple[int, int], *, soft: bool = False) -> Planes:
    """Resample `box` (pixels of luma, any fraction) to `size` (even).

    A `soft` picture is out of focus: the nearest pixel is as good as any mean, and much cheaper. So it
    is for colour, which the eye sees far less sharply than light.
    """

    def look(sheet: Sheet, part: int) -> Image.Image:
        place = tuple(each / part for each in box)
        wanted = (size[0] // part, size[1] // part)
        coarse = soft or sheet is sheets.blue or sheet is sheets.red
        method = Image.Resampling.NEAREST if coarse else Image.Resampling.BILINEAR
        return sheet.whole.resize(wanted, method, box=place)  # type: ignore[arg-type]

    return sheets.each(look)


class Slide:
    """A picture that only slides along one axis, by eighths of a pixel."""

    def __init__(self, sheets: Sheets, *, horizontal: bool) -> None:
        self._sheets = sheets
        self._horizontal = horizontal
        self._shifted: dict[tuple[int, int, int], Sheet] = {}

    def at(self, left: float, top: float, size: tuple[int, int]) -> Planes:
        """Return the window of `size` at (left, top); the axis it does not slide on is whole and even."""

        def look(sheet: Sheet, part: int) -> Image.Image:
            along = left if self._horizontal else top
            steps = round(along * PHASES)
            whole, phase = divmod(steps, PHASES * part)
            source = self._phase(sheet, part, phase)
            x = whole if self._horizontal else round(left) // part
            y = round(top) // part if self._horizontal else whole
            return source.window(x, y, (size[0] // part, size[1] // part))

        return self._sheets.each(look)

    def _phase(self, sheet: Sheet, part: int, phase: int) -> Sheet:
        if phase == 0:
            return sheet
        key = (id(sheet), part, phase)
        if key not in self._shifted:
            width, height = sheet.whole.size
            shift = phase / (PHASES * part)
            # One pixel is lost at the far edge; windows stay clear of it.
            less = (1, 0) if self._horizontal else (0, 1)
            size = (width - less[0], height - less[1])
            box = (shift * less[0], shift * less[1], size[0] + shift * less[0], size[1] + shift * less[1])
            moved = sheet.whole.resize(size, Image.Resampling.BILINEAR, box=box)
            self._shifted[key] = Sheet(np.asarray(moved))
        return self._shifted[key]
