"""Animatics: the camera moves over a frame's layers; exact in frames, rate and size.

The people stand nearer than the place, so they move more: that difference is what gives depth.
"""

import fcntl
import math
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import av
import imageio_ffmpeg
from PIL import Image, ImageOps

from shortdrama_pipeline.rehearsal import draw, slate
from shortdrama_pipeline.rehearsal.book import Json
from shortdrama_pipeline.rehearsal.draw import OVERSIZE, Layers
from shortdrama_pipeline.rehearsal.exteriors import rain_mask
from shortdrama_pipeline.rehearsal.planes import Frame, Planes, Sheets, Slide, cut_out, sheets_of

Size = tuple[int, int]
# How far the camera goes in one shot: growth of the picture, share of its width or height.
ZOOM = 0.045
SLIDE = 0.030
# How much more the people move than the place. In wide shots their feet stand on it and must not skate.
NEARNESS = {"wide": 1.08, "full": 1.12, "medium": 1.7, "close": 2.1, "detail": 1.6}
BREATH = 0.0020  # of the height: how far somebody standing still rises and falls
BREATH_S = 3.6
RAIN_SCREENS_S = 1.15
PIPE_BYTES = 1 << 20  # what any user may ask for; the default of 64 kB wakes both ends far too often


class FilmBroken(Exception):
    """ffmpeg failed, or the file is not what was asked for."""


@dataclass(frozen=True, slots=True)
class Shooting:
    """One film to be made. `rate` is a fraction of frames per second."""

    size: Size
    frames: int
    rate: tuple[int, int]
    move: str
    nearness: float

    def seconds(self, frame: int) -> float:
        return frame * self.rate[1] / self.rate[0]


def film(params: Json, inputs: Path, target: Path) -> int:
    """Write the mp4 and return its length in milliseconds."""
    rate = params["frame_rate"]
    shot = params["shot"]
    assert isinstance(rate, list)
    assert isinstance(shot, dict)
    size = (int(str(params["width"])), int(str(params["height"])))
    frames = int(str(params["duration_frames"]))
    nearness = NEARNESS.get(str(shot["size"]), NEARNESS["medium"])
    shooting = Shooting(size, frames, (int(rate[0]), int(rate[1])), str(shot["move"]), nearness)
    parts = layers_of(params, inputs, size)
    _encode(shooting, pictures(shooting, parts), target, outdoors=parts.rain)
    _check(shooting, target)
    return round(shooting.seconds(frames) * 1000)


def pictures(shooting: Shooting, parts: Layers) -> Iterator[Frame]:
    """Yield every frame of the film, ready for the encoder; each time the same one, painted anew."""
    over = sheets_of(parts.slate).whole()
    top = round(slate.TOP * shooting.size[1]) // 2 * 2
    rain = rain_mask(shooting.size, seed=parts.seed) if parts.rain else None
    for number, frame in enumerate(_moved(shooting, parts)):
        if rain is not None:
            _rain(frame, rain, shooting.seconds(number))
        frame.planes.put(over, (0, top))
        _progress(frame, over.luma.height, top, (number + 1) / shooting.frames)
        yield frame


# --- the camera -----------------------------------------------------------------------------------


def _moved(shooting: Shooting, parts: Layers) -> Iterator[Frame]:
    place, people = sheets_of(parts.place), _cropped_people(parts.figures)
    match shooting.move:
        case "push_in" | "pull_out":
            return _zoom(shooting, place, people, soft=parts.soft)
        case "pan_left" | "pan_right":
            return _pan(shooting, place, people, horizontal=True)
        case "tilt_up" | "tilt_down":
            return _pan(shooting, place, people, horizontal=False)
        case _:
            return _still(shooting, place, people)


@dataclass(frozen=True, slots=True)
class _People:
    """The figures, cut to what is painted of them. `left` and `top` are their place in the large picture."""

    sheets: Sheets
    left: int
    top: int


def _cropped_people(figures: Image.Image) -> _People | None:
    bounds = figures.getchannel("A").getbbox()
    if bounds is None:
        return None
    left, top = max(0, bounds[0] - 6) // 2 * 2, max(0, bounds[1] - 6) // 2 * 2
    right, bottom = min(figures.width, bounds[2] + 6), min(figures.height, bounds[3] + 6)
    return _People(sheets_of(figures.crop((left, top, right, bottom))), left, top)


def _eased(share: float) -> float:
    """Start and end gently, without standing still at either end."""
    return 0.35 * share + 0.65 * share * share * (3 - 2 * share)


def _share(shooting: Shooting, frame: int) -> float:
    return _eased(frame / max(1, shooting.frames - 1))


def _zoom(shooting: Shooting, place: Sheets, people: _People | None, *, soft: bool) -> Iterator[Frame]:
    picture = Frame(shooting.size)
    middle = (place.size[0] / 2, place.size[1] * 0.46)
    for frame in range(shooting.frames):
        share = _share(shooting, frame)
        if shooting.move == "pull_out":
            share = 1 - share
        zoom = 1 + ZOOM * share
        box = _window(place.size, shooting.size, middle, zoom)
        picture.planes.put(cut_out(place, box, shooting.size, soft=soft))
        if people is not None:
            zoom = 1 + ZOOM * shooting.nearness * share
            x, y, right, bottom = _window(place.size, shooting.size, middle, zoom)
            rise = _breath(shooting, frame)
            _put_zoomed(picture.planes, people, (x, y + rise, right, bottom + rise), shooting.size)
        yield picture


def _window(
    large: Size, size: Size, middle: tuple[float, float], zoom: float
) -> tuple[float, float, float, float]:
    """Return what the camera sees of the large picture: at rest the middle, zoomed towards `middle`."""
    left, top = (large[0] - size[0]) / 2, (large[1] - size[1]) / 2
    left, top = middle[0] + (left - middle[0]) / zoom, middle[1] + (top - middle[1]) / zoom
    return left, top, left + size[0] / zoom, top + size[1] / zoom


def _put_zoomed(
    picture: Planes, people: _People, window: tuple[float, float, float, float], size: Size
) -> None:
    """Resample only what the people cover, and lay it over the picture."""
    left, top, right, _ = window
    scale = size[0] / (right - left)
    wide, tall = people.sheets.size
    x0 = max(0, math.ceil((people.left - left) * scale / 2) * 2)
    y0 = max(0, math.ceil((people.top - top) * scale / 2) * 2)
    x1 = min(size[0], math.floor((people.left + wide - left) * scale / 2) * 2)
    y1 = min(size[1], math.floor((people.top + tall - top) * scale / 2) * 2)
    if x1 <= x0 or y1 <= y0:
        return
    box = (
        left + x0 / scale - people.left,
        top + y0 / scale - people.top,
        min(wide, left + x1 / scale - people.left),
        min(tall, top + y1 / scale - people.top),
    )
    picture.put(
        cut_out(people.sheets, (max(0.0, box[0]), max(0.0, box[1]), box[2], box[3]), (x1 - x0, y1 - y0)),
        (x0, y0),
    )


def _pan(shooting: Shooting, place: Sheets, people: _People | None, *, horizontal: bool) -> Iterator[Frame]:
    width, height = shooting.size
    picture = Frame(shooting.size)
    length = width if horizontal else height
    way = 1 if shooting.move in ("pan_right", "tilt_down") else -1
    rest = ((place.size[0] - width) // 4 * 2, (place.size[1] - height) // 4 * 2)
    ground = Slide(place, horizontal=horizontal)
    actors = None if people is None else _Actors(people, horizontal=horizontal)
    for frame in range(shooting.frames):
        share = (_share(shooting, frame) - 0.5) * way
        offset = [0.0, 0.0]
        offset[0 if horizontal else 1] = share * SLIDE * length
        picture.planes.put(ground.at(rest[0] + offset[0], rest[1] + offset[1], shooting.size))
        if actors is not None:
            offset[0 if horizontal else 1] = share * SLIDE * shooting.nearness * length
            actors.put(picture.planes, rest[0] + offset[0], rest[1] + offset[1], shooting.size)
        yield picture


def _still(shooting: Shooting, place: Sheets, people: _People | None) -> Iterator[Frame]:
    width, height = shooting.size
    rest = ((place.size[0] - width) // 4 * 2, (place.size[1] - height) // 4 * 2)
    picture, ground = Frame(shooting.size), Frame(shooting.size)
    ground.planes.put(Slide(place, horizontal=False).at(*rest, shooting.size))
    actors = None if people is None else _Actors(people, horizontal=False)
    for frame in range(shooting.frames):
        picture.show(ground)
        if actors is not None:
            actors.put(picture.planes, rest[0], rest[1] + _breath(shooting, frame), shooting.size)
        yield picture


def _breath(shooting: Shooting, frame: int) -> float:
    """Somebody near is seen to breathe."""
    depth = BREATH * (shooting.nearness - 1) * shooting.size[1]
    return math.sin(shooting.seconds(frame) / BREATH_S * 2 * math.pi) * depth


class _Actors:
    """The people, sliding with the camera."""

    def __init__(self, people: _People, *, horizontal: bool) -> None:
        self._people = people
        self._slide = Slide(people.sheets, horizontal=horizontal)
        self._horizontal = horizontal

    def put(self, picture: Planes, left: float, top: float, size: Size) -> None:
        """Lay them over the picture, whose window stands at (left, top) of the large one."""
        wide, tall = self._people.sheets.size
        # Where the people's own picture begins within the window, to the even pixel; the rest slides.
        x = math.ceil((self._people.left - left) / 2) * 2
        y = math.ceil((self._people.top - top) / 2) * 2
        inside = (left + x - self._people.left, top + y - self._people.top)
        skip = (max(0, -x), max(0, -y))
        x, y = x + skip[0], y + skip[1]
        room = (
            min(size[0] - x, math.floor(wide - inside[0] - skip[0]) - 2) // 2 * 2,
            min(size[1] - y, math.floor(tall - inside[1] - skip[1]) - 2) // 2 * 2,
        )
        if room[0] > 0 and room[1] > 0:
            picture.put(self._slide.at(inside[0] + skip[0], inside[1] + skip[1], room), (x, y))


# --- over the picture -----------------------------------------------------------------------------


def _rain(frame: Frame, mask: Image.Image, seconds: float) -> None:
    width, height = frame.size
    shift = int(seconds * RAIN_SCREENS_S * height) % height
    frame.planes.luma.paste(218, (0, shift, width, height), mask.crop((0, 0, width, height - shift)))
    if shift:
        frame.planes.luma.paste(218, (0, 0, width, shift), mask.crop((0, height - shift, width, height)))


def _progress(frame: Frame, slate_height: int, top: int, share: float) -> None:
    """Let a thin line under the slate tell how far the shot has run."""
    width, thick = frame.size[0], max(2, frame.size[1] // 480)
    margin = round(slate.MARGIN * width) + round(18 * width / 1080)
    y = top + slate_height - thick - 1
    end = margin + round((width - 2 * margin) * share)
    frame.planes.luma.paste(206, (margin, y, max(margin + 1, end), y + thick))


# --- files ----------------------------------------------------------------------------------------


def layers_of(params: Json, inputs: Path, size: Size) -> Layers:
    """Take our own frame apart; show a foreign one whole; without any, draw one from the shot."""
    frame = params["frame"]
    if isinstance(frame, dict):
        path = inputs / str(frame["sha256"])
        spec = draw.read_note(path).get("frame")
        if isinstance(spec, dict):
            return draw.layers(size, spec)
        if path.exists():
            return _foreign(path, params, size)
    spec = draw.frame_spec({"title": "", "caption": "", "prompt": "", **params}, inputs)
    return draw.layers(size, spec)


def _foreign(path: Path, params: Json, size: Size) -> Layers:
    large = (round(size[0] * OVERSIZE), round(size[1] * OVERSIZE))
    with Image.open(path) as picture:
        place = ImageOps.fit(picture.convert("RGB"), large, Image.Resampling.LANCZOS)
    shot = params["shot"]
    assert isinstance(shot, dict)
    over = draw.slate_of(size, shot, str(params["language"]))
    return Layers(place, Image.new("RGBA", large), over, rain=False, soft=False, seed=0)


def _encode(shooting: Shooting, frames: Iterator[Frame], target: Path, *, outdoors: bool) -> None:
    width, height = shooting.size
    rate = f"{shooting.rate[0]}/{shooting.rate[1]}"
    source = ["-f", "rawvideo", "-pix_fmt", "yuv420p", "-s", f"{width}x{height}", "-r", rate, "-i", "-"]
    sound: list[str] = []
    if outdoors:  # rain is heard; nothing else is
        length = f"{shooting.seconds(shooting.frames):.6f}"
        noise = f"anoisesrc=color=pink:amplitude=0.03:sample_rate=48000:duration={length}:seed=7"
        source += ["-f", "lavfi", "-i", noise]
        sound = ["-c:a", "aac", "-b:a", "96k", "-ac", "1"]
    tags = ["-x264-params", "colorprim=bt709:transfer=bt709:colormatrix=bt709:range=tv"]
    # A constant quantiser needs no look at a frame before it is encoded: a third less work for drawings.
    quality = ["-preset", "ultrafast", "-qp", "19", "-threads", "1", "-g", "48"]
    video = ["-c:v", "libx264", *quality, *tags]
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", "-nostdin", "-y", *source, *video, *sound]
    command += ["-pix_fmt", "yuv420p", "-movflags", "+faststart", str(target)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        try:
            fcntl.fcntl(process.stdin, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
            for frame in frames:
                process.stdin.write(frame.raw.data)
            process.stdin.close()
        except BrokenPipeError:  # it has said why
            pass
        errors = process.stderr.read().decode(errors="replace")
        if process.wait() != 0:
            raise FilmBroken(f"ffmpeg: {errors[-400:]}")


def _check(shooting: Shooting, target: Path) -> None:
    """Count the frames of what was written: nothing leaves that is not exact."""
    with av.open(str(target)) as container:
        stream = container.streams.video[0]
        count = sum(1 for packet in container.demux(stream) if packet.size)
        found = (stream.width, stream.height)
    if count != shooting.frames or found != shooting.size:
        raise FilmBroken(f"{count} frames of {found} instead of {shooting.frames} of {shooting.size}")
