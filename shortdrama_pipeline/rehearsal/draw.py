"""Reference pictures and storyboard frames.

A picture carries in its own PNG text what it was drawn from: a frame takes a character's look out of
the reference picture it is sent, and the film takes a frame apart again into its layers.
"""

import json
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from PIL import Image, ImageChops, ImageDraw, ImageFilter, PngImagePlugin

from shortdrama_pipeline.rehearsal import looks, places, slate
from shortdrama_pipeline.rehearsal.book import Json
from shortdrama_pipeline.rehearsal.canvas import (
    Canvas,
    Colour,
    blurred,
    darker,
    gradient,
    hexadecimal,
    lighter,
    mix,
    vignette,
)
from shortdrama_pipeline.rehearsal.figures import FEET, Figure, Pose, height_of
from shortdrama_pipeline.rehearsal.looks import Look
from shortdrama_pipeline.rehearsal.places import Place
from shortdrama_pipeline.rehearsal.props import draw_prop
from shortdrama_pipeline.rehearsal.staging import Standing, stand

OVERSIZE = 1.10  # layers are larger than the picture, so that the camera has room to move
TEXT_KEY = "rehearsal"
# Per size of shot: how far the place is enlarged and how far it is out of focus, of 1080 pixels.
DEPTH = {
    "wide": (1.0, 0.0),
    "full": (1.06, 2.0),
    "medium": (1.28, 6.0),
    "close": (1.62, 12.0),
    "detail": (2.0, 18.0),
}


@dataclass(frozen=True, slots=True)
class Layers:
    """A frame taken apart. `place` is RGB and `figures` RGBA, both `OVERSIZE` times the picture.

    `slate` is RGBA, as wide as the picture. `soft` says that the place is out of focus.
    """

    place: Image.Image
    figures: Image.Image
    slate: Image.Image
    rain: bool
    soft: bool
    seed: int


def draw(params: Json, inputs: Path, target: Path) -> None:
    """Write the picture the parameters ask for, as PNG. `inputs` holds the sent reference pictures."""
    size = (int(str(params["width"])), int(str(params["height"])))
    kind = str(params["subject_kind"])
    title, about = str(params["title"]), f"{params['caption']} {params['prompt']}"
    caption = str(params["caption"])
    note: Json
    match kind:
        case "character":
            look = looks.look_of(title, about, int(str(params["seed"])))
            picture, note = portrait(size, look, caption), {"look": looks.to_json(look)}
        case "place":
            picture, note = landscape(size, title, caption, about), {"place": title}
        case "prop":
            picture, note = still_life(size, title, caption), {"prop": title}
        case _:
            spec = frame_spec(params, inputs)
            picture, note = flattened(layers(size, spec), size), {"frame": spec}
    _save(picture, target, note)


def frame_spec(params: Json, inputs: Path) -> Json:
    """Gather what a frame is drawn from, the looks out of the reference pictures included."""
    known: dict[str, object] = {}
    references = params["references"]
    assert isinstance(references, list)
    for each in references:
        look = read_note(inputs / each["sha256"]).get("look")
        if isinstance(look, dict):
            known[str(look["name"])] = look
            known.setdefault(str(each["title"]), look)
    shot = params["shot"]
    assert isinstance(shot, dict)
    cast = [known.get(name) or looks.to_json(looks.look_of(name)) for name in shot["characters"]]
    props = [each["title"] for each in references if "prop" in each["role"] and each["title"]]
    return {
        "shot": {**shot, "id": shot["id"] or str(params["title"])},
        "cast": cast,
        "props": props,
        "language": str(params["language"]),
        "context": f"{params['caption']} {params['prompt']}"[:400],
    }


def read_note(path: Path) -> Json:
    """Return what one of our pictures says of itself; nothing for a foreign or missing one."""
    try:
        with Image.open(path) as picture:
            note = json.loads(str(picture.info.get(TEXT_KEY, "{}")))
    except (OSError, ValueError):
        return {}
    return note if isinstance(note, dict) else {}


def _save(picture: Image.Image, target: Path, note: Json) -> None:
    text = PngImagePlugin.PngInfo()
    text.add_itxt(TEXT_KEY, json.dumps(note, ensure_ascii=False))
    picture.convert("RGB").save(target, pnginfo=text, compress_level=4)


# --- frames ---------------------------------------------------------------------------------------


def layers(size: tuple[int, int], spec: Json) -> Layers:
    """Paint a frame's layers."""
    shot, cast = spec["shot"], spec["cast"]
    assert isinstance(shot, dict)
    assert isinstance(cast, list)
    large = (round(size[0] * OVERSIZE), round(size[1] * OVERSIZE))
    words = f"{shot['action']} {shot['line'] or ''}"
    place = places.place_of(
        str(shot["place"]), time_of_day=str(shot["time_of_day"]), context=f"{words} {spec['context']}"
    )
    ambient = ambient_of(place)
    light = 1 if place.seed % 2 else -1
    props = [str(each) for each in spec["props"]] if isinstance(spec["props"], list) else []
    shows_prop = shot["size"] == "detail" and (props or not cast)
    people = [looks.from_json(each) for each in cast]
    standing = (
        []
        if shows_prop
        else stand(
            str(shot["id"]),
            str(shot["size"]),
            [each.name for each in people],
            speaker=str(shot["speaker"] or ""),
            words=words,
            light=light,
        )
    )
    standing = [_grown(each, people[each.index]) for each in standing]
    ground = background(large, place, str(shot["size"]), standing, people)
    if shows_prop:
        subject = props[0] if props else words
        figures = _prop_layer(large, subject, ambient)
    else:
        figures = _figure_layer(large, people, standing, ambient)
    return Layers(
        ground,
        figures,
        slate_of(size, shot, str(spec["language"])),
        rain=place.rain,
        soft=_depth(str(shot["size"]))[1] > 4,
        seed=place.seed,
    )


def _grown(standing: Standing, look: Look) -> Standing:
    """Let a child stand on the same ground, smaller."""
    if look.age != "child" or standing.behind or standing.head > 0.2:
        return standing
    head = standing.head * 0.92
    return replace(standing, head=head, y=standing.y + standing.head * FEET - head * height_of(look))


def flattened(parts: Layers, size: tuple[int, int]) -> Image.Image:
    """Put the layers together as the camera sees them at rest."""
    whole = parts.place.copy()
    whole.paste(parts.figures, (0, 0), parts.figures)
    left, top = (whole.width - size[0]) // 2, (whole.height - size[1]) // 2
    picture = whole.crop((left, top, left + size[0], top + size[1]))
    if parts.rain:
        from shortdrama_pipeline.rehearsal.exteriors import rain_mask

        picture.paste((226, 234, 250), (0, 0, *size), rain_mask(size, seed=parts.seed))
    picture.paste(parts.slate, (0, round(slate.TOP * size[1])), parts.slate)
    return picture


def slate_of(size: tuple[int, int], shot: Json, language: str) -> Image.Image:
    """Letter the slate of a shot."""
    chinese = language.startswith("zh")
    names = shot["characters"]
    assert isinstance(names, list)
    cast = ("、" if chinese else ", ").join(names)
    action = str(shot["action"]).strip()
    subject = " — ".join(each for each in (cast, action) if each)
    line, speaker = str(shot["line"] or "").strip(), str(shot["speaker"] or "").strip()
    if line and speaker:
        if speaker not in names:
            speaker += "（画外音）" if chinese else " (V.O.)"
        line = f"{speaker}：“{line}”" if chinese else f"{speaker}: “{line}”"
    return slate.slate(
        size,
        shot_id=str(shot["id"]) or "—",
        shot_size=str(shot["size"]),
        move=str(shot["move"]),
        place=" · ".join(each for each in (str(shot["place"]), str(shot["time_of_day"])) if each),
        subject=subject,
        line=line,
        language=language,
    )


def ambient_of(place: Place) -> Colour:
    """Return the tint of the light people stand in: lamps warm a room at night."""
    if place.indoors:
        return mix(place.hour.ambient, place.hour.lamp, 0.55 * place.hour.dark)
    return mix(place.hour.ambient, (190, 200, 224), 0.4) if place.rain else place.hour.ambient


def background(
    size: tuple[int, int], place: Place, shot_size: str, standing: list[Standing], people: list[Look]
) -> Image.Image:
    """Paint the place as this size of shot sees it: enlarged, out of focus, darker at the edges."""
    zoom, blur = _depth(shot_size)
    picture = places.paint(place, size, sharp=blur == 0)
    width, height = size[0] / zoom, size[1] / zoom
    # Different sizes look at different parts of the same place.
    across = (place.seed >> 8) % 100 / 100
    left, top = (size[0] - width) * (0.2 + 0.6 * across), (size[1] - height) * 0.42
    if blur:
        picture = blurred(picture, blur * size[0] / 1188, (left, top, left + width, top + height))
    if place.rain:
        picture = Image.blend(picture, Image.new("RGB", size, (70, 82, 106)), 0.28)
    if shot_size in ("wide", "full"):
        picture = _with_shadows(picture, standing, people)
    return _graded(picture)


def _depth(shot_size: str) -> tuple[float, float]:
    return DEPTH.get(shot_size, DEPTH["medium"])


def _graded(picture: Image.Image) -> Image.Image:
    """Darken the corners, and the foot a little more, where subtitles will stand."""
    width, height = picture.size
    small = (width // 8, height // 8)
    factors = vignette(small, 0.42)
    foot = np.clip((np.linspace(0, 1, small[1]) - 0.62) / 0.38, 0, 1)[:, None, None]
    mask = Image.fromarray((np.clip(factors * (1 - 0.30 * foot), 0, 1)[:, :, 0] * 255).astype(np.uint8))
    shade = mask.resize(picture.size, Image.Resampling.BILINEAR)
    return ImageChops.multiply(picture, Image.merge("RGB", (shade, shade, shade)))


def _with_shadows(picture: Image.Image, standing: list[Standing], people: list[Look]) -> Image.Image:
    width, height = picture.size
    mask = Image.new("L", (width // 4, height // 4))
    pen = ImageDraw.Draw(mask)
    for each in standing:
        x, y = each.x * width / 4, (each.y + each.head * height_of(people[each.index])) * height / 4
        reach = each.head * height / 4
        pen.ellipse((x - reach * 1.1, y - reach * 0.20, x + reach * 1.3, y + reach * 0.22), fill=150)
    mask = mask.filter(ImageFilter.GaussianBlur(3)).resize(picture.size)
    picture.paste((8, 8, 18), (0, 0, width, height), mask)
    return picture


def _figure_layer(
    size: tuple[int, int], people: list[Look], standing: list[Standing], ambient: Colour
) -> Image.Image:
    canvas = Canvas(size)
    for each in standing:
        if not each.behind:
            head = (each.x * size[0], each.y * size[1])
            Figure(canvas, people[each.index], each.pose, head=head, unit=each.head * size[1]).draw()
    layer = _tinted(canvas.finished(), ambient)
    for each in standing:
        if each.behind:
            layer = _with_shoulder(layer, people[each.index], each, ambient)
    return layer


def _with_shoulder(layer: Image.Image, look: Look, standing: Standing, ambient: Colour) -> Image.Image:
    """Add somebody close before the camera, seen from behind and out of focus."""
    small = (layer.width // 4, layer.height // 4)
    canvas = Canvas(small)
    unit, (x, y) = standing.head * small[1], (standing.x * small[0], standing.y * small[1])
    coat, hair = darker(hexadecimal(look.clothes), 0.45), darker(hexadecimal(look.hair), 0.20)

    def path(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
        return [(x + px * unit, y + py * unit) for px, py in points]

    canvas.blob(
        path(
            [
                (-0.2, 0.5),
                (0.2, 0.5),
                (0.75, 0.85),
                (1.1, 1.2),
                (1.2, 3),
                (-1.2, 3),
                (-1.1, 1.2),
                (-0.75, 0.85),
            ]
        ),
        coat,
    )
    canvas.blob(
        path([(-0.2, 0.3), (0.2, 0.3), (0.24, 0.8), (-0.24, 0.8)]), darker(hexadecimal(look.skin), 0.35)
    )
    canvas.ellipse((x, y - 0.04 * unit), (0.42 * unit, 0.54 * unit), hair)
    if look.female and look.hair_style in ("long", "long_fringe", "wavy", "palace", "bob"):
        low = 0.6 if look.hair_style == "bob" else 1.2
        canvas.blob(
            path(
                [
                    (0, -0.6),
                    (0.46, -0.2),
                    (0.5, low * 0.6),
                    (0.36, low),
                    (-0.36, low),
                    (-0.5, low * 0.6),
                    (-0.46, -0.2),
                ]
            ),
            hair,
        )
    shape = _tinted(canvas.finished(), mix(ambient, (60, 60, 80), 0.35)).filter(ImageFilter.GaussianBlur(3.2))
    shape = shape.resize(layer.size, Image.Resampling.BILINEAR)
    return Image.alpha_composite(layer, shape)


def _prop_layer(size: tuple[int, int], name: str, ambient: Colour) -> Image.Image:
    canvas = Canvas(size)
    draw_prop(canvas, name, centre=(size[0] * 0.5, size[1] * 0.44), reach=size[0] * 0.34)
    return _tinted(canvas.finished(), ambient)


def _tinted(layer: Image.Image, ambient: Colour) -> Image.Image:
    """Set a layer into the scene's light, its foot a little darker."""
    shades = gradient(layer.size, [(0, ambient), (0.62, ambient), (1, mix(ambient, (0, 0, 0), 0.32))])
    tinted = ImageChops.multiply(layer.convert("RGB"), shades)
    tinted.putalpha(layer.getchannel("A"))
    return tinted


# --- reference pictures -----------------------------------------------------------------------------


def portrait(size: tuple[int, int], look: Look, caption: str) -> Image.Image:
    """A character sheet: the person near and whole, the colours they are made of, their name."""
    width, height = size
    clothes, accent = hexadecimal(look.clothes), hexadecimal(look.accent)
    tone = mix(mix(clothes, accent, 0.35), (206, 204, 208), 0.55)
    canvas = Canvas(size, base=gradient(size, [(0, lighter(tone, 0.35)), (1, darker(tone, 0.35))]))
    canvas.ellipse((width * 0.40, height * 0.40), (width * 0.40, width * 0.40), (*lighter(tone, 0.45), 150))
    canvas.box(
        (width * 0.735, height * 0.09, width * 0.965, height * 0.74),
        (*darker(tone, 0.45), 120),
        radius=width * 0.02,
    )
    for index, colour in enumerate((look.skin, look.hair, look.clothes, look.accent)):
        canvas.ellipse(
            (width * 0.075, height * (0.12 + 0.062 * index)), (width * 0.034, width * 0.034), (255, 255, 255)
        )
        canvas.ellipse(
            (width * 0.075, height * (0.12 + 0.062 * index)),
            (width * 0.029, width * 0.029),
            hexadecimal(colour),
        )
    picture = canvas.finished()
    layer = Canvas(size)
    Figure(layer, look, Pose(turn=0.35), head=(width * 0.40, height * 0.345), unit=height * 0.315).draw()
    figure = layer.finished()
    # What reaches under the small card would read as its shoulder.
    ImageDraw.Draw(figure).rectangle((width * 0.735, 0, width, height), fill=(0, 0, 0, 0))
    picture.paste(figure, (0, 0), figure)
    layer = Canvas(size)
    Figure(
        layer, look, Pose(facing=-1, turn=0.6), head=(width * 0.85, height * 0.175), unit=height * 0.077
    ).draw()
    small = layer.finished()
    picture.paste(small, (0, 0), small)
    return _with_plate(picture, look.name, caption, "CHARACTER")


def landscape(size: tuple[int, int], title: str, caption: str, about: str) -> Image.Image:
    """A place without people."""
    place = places.place_of(title, time_of_day=caption, context=about)
    picture = _graded(places.paint(place, size, sharp=True))
    return _with_plate(picture, title, caption, "LOCATION")


def still_life(size: tuple[int, int], title: str, caption: str) -> Image.Image:
    """A prop on a lit table."""
    width, height = size
    canvas = Canvas(
        size,
        base=gradient(
            size, [(0, (52, 56, 70)), (0.62, (104, 104, 118)), (0.63, (74, 66, 66)), (1, (46, 40, 42))]
        ),
    )
    canvas.glow((width * 0.5, height * 0.38), width * 0.7, (255, 236, 204), 0.55)
    canvas.ellipse((width * 0.5, height * 0.68), (width * 0.34, height * 0.035), (20, 18, 22, 150))
    picture = canvas.finished()
    layer = Canvas(size)
    draw_prop(layer, title, centre=(width * 0.5, height * 0.42), reach=min(width * 0.36, height * 0.27))
    thing = layer.finished()
    picture.paste(thing, (0, 0), thing)
    return _with_plate(picture, title, caption, "PROP")


def _with_plate(picture: Image.Image, title: str, caption: str, tag: str) -> Image.Image:
    plate = slate.name_plate(picture.size, title=title or "—", caption=caption, tag=tag)
    picture.paste(plate, (0, picture.height - plate.height), plate)
    return picture
