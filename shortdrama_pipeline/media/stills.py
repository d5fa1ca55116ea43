"""Single pictures out of takes: thumbnails of shots, and the one that makes the best cover."""

from pathlib import Path

import av
import av.error
from PIL import Image, ImageFilter, ImageOps, ImageStat

from shortdrama_pipeline.errors import MediaInvalid
from shortdrama_pipeline.media.probe import demuxer_of

THUMB = (270, 480)
JPEG_QUALITY = 86


def middle_picture(path: Path) -> Image.Image:
    """Return the picture at or just before the middle of a film, upright."""
    try:
        with av.open(str(path), format=demuxer_of(path)) as opened:
            video = opened.streams.video[0]
            if video.duration:
                opened.seek((video.start_time or 0) + video.duration // 2, stream=video)
            frame = next(opened.decode(video))
            turned = round(getattr(frame, "rotation", 0))
            width, height = frame.width, frame.height
            pixels = frame.reformat(format="rgb24").to_ndarray()
    except (av.error.FFmpegError, StopIteration) as error:
        raise MediaInvalid(
            f"No picture can be read from {path.name[:12]}",
            hint="Check the stored files with `shortdrama audit verify`",
            sha256=path.name,
        ) from error
    picture = Image.frombytes("RGB", (width, height), pixels.tobytes())
    return picture.rotate(turned, expand=True) if turned else picture


def below(picture: Image.Image, percent: int) -> Image.Image:
    """Return the picture without the top `percent` of it, and as much narrower, so that its shape stays."""
    width, height = picture.width * (100 - percent) // 100, picture.height * (100 - percent) // 100
    left = (picture.width - width) // 2
    return picture.crop((left, picture.height - height, left + width, picture.height))


def fit(picture: Image.Image, size: tuple[int, int]) -> Image.Image:
    """Fill `size`, cropping evenly."""
    much = min(picture.width // size[0], picture.height // size[1]) // 2
    if much > 1:  # most of the way by plain means, which nobody sees
        picture = picture.reduce(much)
    return ImageOps.fit(picture.convert("RGB"), size, Image.Resampling.LANCZOS)


def save_jpeg(picture: Image.Image, into: Path) -> Path:
    into.parent.mkdir(parents=True, exist_ok=True)
    picture.convert("RGB").save(into, "JPEG", quality=JPEG_QUALITY, optimize=True)
    return into


def merit(picture: Image.Image) -> int:
    """Return how well a picture would stand for the film: sharp, neither dark nor flat."""
    small = ImageOps.grayscale(picture).resize((90, 160))
    edges = ImageStat.Stat(small.filter(ImageFilter.FIND_EDGES)).mean[0]
    statistics = ImageStat.Stat(small)
    light, contrast = statistics.mean[0], statistics.stddev[0]
    if light < 16 or contrast < 6:
        return 0
    return round(edges * 4 + contrast * 3 + min(light, 140))
