"""Reading descriptions: ages, colours and garments named in Chinese or English."""

import re
from collections.abc import Iterable, Mapping, Sequence

_DIGITS = {each: value for value, each in enumerate("零一二三四五六七八九")} | {"两": 2, "〇": 0}
_TENS = {
    "ten": 10, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70,
    "eighty": 80, "ninety": 90, "twenties": 25, "thirties": 35, "forties": 45, "fifties": 55,
    "sixties": 65, "seventies": 75, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "twelve": 12, "sixteen": 16, "eighteen": 18,
}  # fmt: skip
_COLOURS: Mapping[str, str] = {
    "米白": "#e9e2d2", "白": "#f1efea", "white": "#f1efea", "ivory": "#efe8d8", "cream": "#ece3cf",
    "黑": "#25262d", "black": "#25262d", "深色": "#2b2f3b", "dark": "#2b2f3b", "灰": "#7d828b",
    "grey": "#7d828b", "gray": "#7d828b", "银": "#b9bcc4", "silver": "#b9bcc4", "酒红": "#6e2233",
    "红": "#a8323c", "red": "#a8323c", "crimson": "#8c2030", "burgundy": "#6e2233", "粉": "#d99aa5",
    "pink": "#d99aa5", "橙": "#c8703a", "orange": "#c8703a", "黄": "#cfa544", "yellow": "#cfa544",
    "金": "#bf9a4a", "gold": "#bf9a4a", "墨绿": "#274a3d", "青衫": "#56798a", "青": "#4d7a80",
    "绿": "#3f6a4c", "green": "#3f6a4c", "olive": "#5d6238", "藏青": "#23324d", "深蓝": "#23324d",
    "navy": "#23324d", "蓝": "#2f5c8f", "blue": "#2f5c8f", "teal": "#2d6b6e", "紫": "#5f4480",
    "purple": "#5f4480", "棕": "#6d4c36", "褐": "#6d4c36", "brown": "#6d4c36", "卡其": "#a38f66",
    "beige": "#c9b796", "khaki": "#a38f66", "素": "#dcd8cf",
}  # fmt: skip
# A colour before one of these is not that of the clothes.
_NOT_CLOTHES = ("发", "眼", "皮肤", "脸", "须", "眉", "hair", "eyes", "skin", "beard", "haired", "eyed")
_HAIR_COLOURS: Mapping[str, str] = {
    "白发": "#d6d3d2", "银发": "#c4c4c8", "花白": "#a9a7a8", "灰发": "#9a999e", "金发": "#c9a25c",
    "红发": "#7d3423", "棕发": "#5a3a28", "黑发": "#1d1a1f", "黑色长发": "#1d1a1f",
    "white hair": "#d6d3d2", "silver hair": "#c4c4c8", "grey hair": "#9a999e", "gray hair": "#9a999e",
    "blonde": "#c9a25c", "blond": "#c9a25c", "red hair": "#7d3423", "brown hair": "#5a3a28",
    "black hair": "#1d1a1f", "dark hair": "#231d20",
}  # fmt: skip


def place_of_first(text: str, keys: Iterable[str]) -> int | None:
    """Return where a key first stands: Chinese anywhere, English only as a whole word."""
    spaced = "".join(each if each.isalnum() or each == "." else " " for each in f" {text.lower()} ")
    places = [spaced.find(f" {key} " if key.isascii() else key) for key in keys]
    return min((each for each in places if each >= 0), default=None)


def has(text: str, keys: Iterable[str]) -> bool:
    return place_of_first(text, keys) is not None


def first_of(text: str, choices: Sequence[tuple[str, Sequence[str]]]) -> str | None:
    """Return the name of the choice whose word comes first in the text."""
    found = [(place, name) for name, keys in choices if (place := place_of_first(text, keys)) is not None]
    return min(found)[1] if found else None


def years(text: str) -> int | None:
    """Return an age in years: 26岁, 二十六岁, thirty-two, a man of 31."""
    lower = text.lower()
    if found := re.search(r"(\d{1,3})\s*(?:多)?岁|\b(?:of|aged?)\s+(\d{1,3})\b|\b(\d{1,3})[- ]years?", lower):
        return int(next(each for each in found.groups() if each))
    if found := re.search(r"([一二三四五六七八九两〇零十]{1,4})(?:多)?岁", lower):
        return _chinese(found[1])
    for tens, units in re.findall(
        r"\b([a-z]+)(?:[- ](one|two|three|four|five|six|seven|eight|nine))?\b", lower
    ):
        if tens in _TENS:
            return _TENS[tens] + (0 if not units else _units(units))
    return None


def colour(text: str) -> str | None:
    """Return the first colour named that is not one of hair or eyes, as #rrggbb."""
    lower = text.lower()
    best: tuple[int, int, str] | None = None
    for word, value in _COLOURS.items():
        pattern = rf"\b{word}\b" if word.isascii() else word
        for found in re.finditer(pattern, lower):
            after = (
                lower[found.end() : found.end() + 12].lstrip("色的 -").removeprefix("长").removeprefix("短")
            )
            if not after.startswith(_NOT_CLOTHES):
                # Of two words at one place the longer is the more exact.
                best = min(filter(None, (best, (found.start(), -len(word), value))))
                break
    return None if best is None else best[2]


def hair_colour(text: str) -> str | None:
    lower = text.lower()
    return next((value for word, value in _HAIR_COLOURS.items() if word in lower), None)


def _chinese(text: str) -> int:
    if "十" not in text:
        return int("".join(str(_DIGITS[each]) for each in text))
    tens, _, units = text.partition("十")
    return (_DIGITS[tens[0]] if tens else 1) * 10 + (_DIGITS[units[0]] if units else 0)


def _units(word: str) -> int:
    return ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine").index(word) + 1
