"""The one font: Noto Sans CJK, from its own package, so every machine letters alike."""

from functools import lru_cache
from importlib.metadata import distribution
from pathlib import Path

from PIL import ImageFont, features


@lru_cache
def font_path() -> Path:
    """Return the file `NotoSansCJK` lies in."""
    files = distribution("cvttf-NotoSansCJK-Regular").files or []
    return next(Path(str(each.locate())) for each in files if each.suffix == ".otf")


@lru_cache(maxsize=64)
def font(size_px: int) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(str(font_path()), size_px)


def tongue() -> str | None:
    """Return the tongue that picks the simplified forms and marks, where the layout engine can."""
    return "zh-Hans" if features.check("raqm") else None
