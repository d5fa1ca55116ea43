"""Pictures as the encoder wants them: BT.709 luma and halved chroma, moved by parts of a pixel.

Three quarters of the work of a film is moving pictures about. Zooms are resampled frame by frame; a
pan only slides, so it is resampled once per eighth of a pixel and then merely cut out.
"""

from collections.abc import Callable
from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True)
class Planes:
    """Luma and, at half size, the two chroma planes; each an L image. `alpha` may be absent."""

    luma: Image.Image
    blue: Image.Image
    red: Image.Image
    alpha: Image.Image | None
    alpha_half: Image.Image | None

    @property
    def size(self) -> tuple[int, int]:
        return self.luma.size

    def each(self, change: Callable[[Image.Image, int], Image.Image]) -> "Planes":
        """Apply a change to every plane; its second argument is 1 for full and 2 for half size."""
        return Planes(
            change(self.luma, 1),
            change(self.blue, 2),
            change(self.red, 2),
            None if self.alpha is None else change(self.alpha, 1),
            None if self.alpha_half is None else change(self.alpha_half, 2),
        )

    def put(self, other: "Planes", place: tuple[int, int]) -> None:
        """Lay another picture over this one, at an even place."""
        x, y = place
        self.luma.paste(other.luma, (x, y), other.alpha)
        self.blue.paste(other.blue, (x // 2, y // 2), other.alpha_half)
        self.red.paste(other.red, (x // 2, y // 2), other.alpha_half)

    def copy(self) -> "Planes":
        return self.each(lambda plane, _: plane.copy())

    def raw(self) -> tuple[bytes, bytes, bytes]:
        """Return the frame as the three parts of yuv420p."""
        return self.luma.tobytes(), self.blue.tobytes(), self.red.tobytes()


def planes_of(picture: Image.Image) -> Planes:
    """Convert RGB or RGBA; odd sizes lose their last row or column."""
    picture = picture.crop((0, 0, picture.width // 2 * 2, picture.height // 2 * 2))
    colours = np.asarray(picture.convert("RGB"), dtype=np.float32)
    luma = colours @ _MATRIX[0] + _OFFSET[0]
    half = np.asarray(picture.convert("RGB").reduce(2), dtype=np.float32)
    blue, red = half @ _MATRIX[1] + _OFFSET[1], half @ _MATRIX[2] + _OFFSET[2]
    alpha = picture.getchannel("A") if picture.mode == "RGBA" else None
    half_alpha = None if alpha is None else alpha.reduce(2)
    return Planes(_whole(luma), _whole(blue), _whole(red), alpha, half_alpha)


def _whole(plane: NDArray[np.float32]) -> Image.Image:
    return Image.fromarray(np.clip(plane + 0.5, 0, 255).astype(np.uint8))


def cut_out(planes: Planes, box: Box, size: tuple[int, int], *, soft: bool = False) -> Planes:
    """Resample `box` (pixels of luma, any fraction) to `size` (even).

    A `soft` picture is out of focus: the nearest pixel is as good as any mean, and much cheaper. So it
    is for colour, which the eye sees far less sharply than light.
    """

    def change(plane: Image.Image, part: int) -> Image.Image:
        place = tuple(each / part for each in box)
        wanted = (size[0] // part, size[1] // part)
        coarse = soft or plane is planes.blue or plane is planes.red
        method = Image.Resampling.NEAREST if coarse else Image.Resampling.BILINEAR
        return plane.resize(wanted, method, box=place)  # type: ignore[arg-type]

    return planes.each(change)


class Slide:
    """A picture that only slides along one axis, by eighths of a pixel."""

    def __init__(self, planes: Planes, *, horizontal: bool) -> None:
        self._planes = planes
        self._horizontal = horizontal
        self._shifted: dict[tuple[int, int, int], Image.Image] = {}

    def at(self, left: float, top: float, size: tuple[int, int]) -> Planes:
        """Return the window of `size` at (left, top); the axis it does not slide on is whole and even."""

        def change(plane: Image.Image, part: int) -> Image.Image:
            along = left if self._horizontal else top
            steps = round(along * PHASES)
            whole, phase = divmod(steps, PHASES * part)
            source = self._phase(plane, part, phase)
            x = whole if self._horizontal else round(left) // part
            y = round(top) // part if self._horizontal else whole
            return source.crop((x, y, x + size[0] // part, y + size[1] // part))

        return self._planes.each(change)

    def _phase(self, plane: Image.Image, part: int, phase: int) -> Image.Image:
        if phase == 0:
            return plane
        key = (id(plane), part, phase)
        if key not in self._shifted:
            width, height = plane.size
            shift = phase / (PHASES * part)
            box: Box
            # One pixel is lost at the far edge; windows stay clear of it.
            if self._horizontal:
                box = (shift, 0, width - 1 + shift, height)
                moved = plane.resize((width - 1, height), Image.Resampling.BILINEAR, box=box)
            else:
                box = (0, shift, width, height - 1 + shift)
                moved = plane.resize((width, height - 1), Image.Resampling.BILINEAR, box=box)
            self._shifted[key] = moved
        return self._shifted[key]
