"""The slate: what a director wants to know of a shot, small and legible, above the picture."""

from functools import lru_cache

from PIL import Image, ImageDraw

from shortdrama_pipeline.rehearsal.fonts import font, tongue

SIZES = {
    "wide": ("全景", "WIDE"),
    "full": ("全身", "FULL"),
    "medium": ("中景", "MEDIUM"),
    "close": ("近景", "CLOSE-UP"),
    "detail": ("特写", "DETAIL"),
}
MOVES = {
    "still": ("固定", "STILL"),
    "push_in": ("推进", "PUSH IN"),
    "pull_out": ("拉远", "PULL OUT"),
    "pan_left": ("左摇", "PAN LEFT"),
    "pan_right": ("右摇", "PAN RIGHT"),
    "tilt_up": ("上摇", "TILT UP"),
    "tilt_down": ("下摇", "TILT DOWN"),
}
WHITE = (250, 249, 245, 245)
SOFT = (222, 224, 230, 225)
GOLD = (244, 200, 112, 255)
TOP = 0.040  # of the picture's height: below the clock and the notch
MARGIN = 0.040  # of its width


def slate(
    size: tuple[int, int],
    *,
    shot_id: str,
    shot_size: str,
    move: str,
    place: str,
    subject: str,
    line: str,
    language: str,
) -> Image.Image:
    """Return the slate as RGBA, as wide as the picture; paste it at (0, `TOP` of the height)."""
    width = size[0]
    unit = width / 1080
    chinese = language.startswith("zh")
    pad, left = round(22 * unit), round(MARGIN * width)
    inner = width - 2 * left - 2 * pad
    words = [SIZES.get(shot_size, (shot_size, shot_size.upper()))[0 if chinese else 1]]
    words.append(MOVES.get(move, (move, move.upper()))[0 if chinese else 1])
    rows = wrapped(line, round(34 * unit), inner, rows_max=2)
    height = round((74 + (44 if subject else 0) + 48 * len(rows) + 18) * unit)
    picture = Image.new("RGBA", (width, height))
    draw = ImageDraw.Draw(picture)
    draw.rounded_rectangle((left, 0, width - left, height - 1), round(18 * unit), fill=(12, 13, 20, 148))
    x, y = left + pad, round(15 * unit)
    x = _chip(draw, shot_id, (x, y), unit)
    for word in words:
        _write(draw, word, (x, y + round(5 * unit)), round(31 * unit), WHITE)
        x += round(_length(word, round(31 * unit)) + 10 * unit)
        if word is words[-1]:
            _arrow(draw, move, (x + 16 * unit, y + 25 * unit), 15 * unit)
            x += round(44 * unit)
        else:
            x += round(10 * unit)
    room = width - left - pad - x
    where = shortened(place, round(28 * unit), room)
    _write(
        draw,
        where,
        (width - left - pad - _length(where, round(28 * unit)), y + round(8 * unit)),
        round(28 * unit),
        SOFT,
    )
    y += round(58 * unit)
    if subject:
        _write(draw, shortened(subject, round(28 * unit), inner), (left + pad, y), round(28 * unit), SOFT)
        y += round(44 * unit)
    for row in rows:
        _write(draw, row, (left + pad, y), round(34 * unit), WHITE)
        y += round(48 * unit)
    return picture


def name_plate(size: tuple[int, int], *, title: str, caption: str, tag: str) -> Image.Image:
    """Return a plate for the foot of a reference picture, as wide as it."""
    width = size[0]
    unit = width / 768
    pad = round(34 * unit)
    rows = wrapped(caption, round(24 * unit), width - 2 * pad, rows_max=2)
    height = round((104 + 34 * len(rows) + 22) * unit)
    picture = Image.new("RGBA", (width, height), (16, 17, 24, 214))
    draw = ImageDraw.Draw(picture)
    draw.rectangle((pad, 0, pad + round(90 * unit), round(5 * unit)), fill=GOLD)
    shown = shortened(title, round(50 * unit), width - 3 * pad - _length(tag, round(20 * unit)))
    _write(draw, shown, (pad, round(22 * unit)), round(50 * unit), WHITE)
    _write(
        draw, tag, (width - pad - _length(tag, round(20 * unit)), round(48 * unit)), round(20 * unit), SOFT
    )
    for index, row in enumerate(rows):
        _write(draw, row, (pad, round((96 + 34 * index) * unit)), round(24 * unit), SOFT)
    return picture


def wrapped(text: str, pixels: int, room: float, *, rows_max: int) -> list[str]:
    """Break a text into rows that fit: between words, or anywhere in Chinese; the last may be cut short."""
    rows: list[str] = []
    rest = " ".join(text.split())
    while rest and len(rows) < rows_max:
        if len(rows) == rows_max - 1:
            rows.append(shortened(rest, pixels, room))
            break
        count = len(rest)
        while count > 1 and _length(rest[:count], pixels) > room:
            count -= 1
        if count < len(rest):
            space = rest.rfind(" ", 0, count + 1)
            if space > count // 2 and rest[count - 1].isascii():
                count = space
            while count < len(rest) and rest[count] in "，。！？；：、”’）》,.!?;:" and count > 1:
                count -= 1
        rows.append(rest[:count].strip())
        rest = rest[count:].strip()
    return rows


def shortened(text: str, pixels: int, room: float) -> str:
    """Return the text, or as much of it as fits, with an ellipsis."""
    if _length(text, pixels) <= room:
        return text
    while text and _length(text + "…", pixels) > room:
        text = text[:-1]
    return f"{text}…" if text else ""


def _chip(draw: ImageDraw.ImageDraw, text: str, place: tuple[int, int], unit: float) -> int:
    pixels = round(30 * unit)
    x, y = place
    wide = _length(text, pixels) + 28 * unit
    draw.rounded_rectangle((x, y + 2 * unit, x + wide, y + 46 * unit), round(10 * unit), fill=GOLD)
    draw.text(
        (x + 14 * unit, y + 24 * unit),
        text,
        font=font(pixels),
        fill=(30, 24, 16, 255),
        anchor="lm",
        language=tongue(),
    )
    return round(x + wide + 22 * unit)


def _arrow(draw: ImageDraw.ImageDraw, move: str, centre: tuple[float, float], reach: float) -> None:
    """A small sign of the camera's move."""
    x, y = centre
    thick = max(2, round(reach / 5))
    directions = {"pan_left": (-1, 0), "pan_right": (1, 0), "tilt_up": (0, -1), "tilt_down": (0, 1)}
    if move in directions:
        dx, dy = directions[move]
        draw.line((x - dx * reach, y - dy * reach, x + dx * reach, y + dy * reach), fill=GOLD, width=thick)
        _head(draw, (x + dx * reach, y + dy * reach), (dx, dy), reach * 0.7)
    elif move in ("push_in", "pull_out"):
        sign = 1 if move == "push_in" else -1
        for side in (-1, 1):
            draw.line((x + side * reach, y - side * reach, x, y), fill=GOLD, width=thick)
            tip = (x, y) if sign > 0 else (x + side * reach, y - side * reach)
            _head(draw, tip, (-side * sign * 0.7, side * sign * 0.7), reach * 0.55)
    else:
        draw.rectangle(
            (x - reach * 0.7, y - reach * 0.7, x + reach * 0.7, y + reach * 0.7), outline=GOLD, width=thick
        )


def _head(
    draw: ImageDraw.ImageDraw, tip: tuple[float, float], way: tuple[float, float], reach: float
) -> None:
    (x, y), (dx, dy) = tip, way
    back = (x - dx * reach, y - dy * reach)
    side = (-dy * reach * 0.6, dx * reach * 0.6)
    draw.polygon(
        [(x, y), (back[0] + side[0], back[1] + side[1]), (back[0] - side[0], back[1] - side[1])], fill=GOLD
    )


def _write(
    draw: ImageDraw.ImageDraw,
    text: str,
    place: tuple[float, float],
    pixels: int,
    fill: tuple[int, int, int, int],
) -> None:
    # Anchored on the ascender, so that rows of Chinese and Latin stand level.
    draw.text(place, text, font=font(pixels), fill=fill, anchor="la", language=tongue())


@lru_cache(maxsize=4096)
def _length(text: str, pixels: int) -> float:
    return font(pixels).getlength(text, language=tongue())
