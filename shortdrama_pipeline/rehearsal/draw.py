"""Reference images and storyboard frames."""

from pathlib import Path

from PIL import Image

from shortdrama_pipeline.rehearsal.book import Json


def draw(params: Json, inputs: Path, target: Path) -> None:  # noqa: ARG001
    """Write the picture the parameters ask for, as PNG."""
    Image.new("RGB", (int(str(params["width"])), int(str(params["height"]))), "#345").save(target)
