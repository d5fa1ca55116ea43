"""The words a model is given, by rule and in the language of the script. No names of vendors here."""

from shortdrama_pipeline.rules.bible import Entry
from shortdrama_pipeline.rules.shots import Shot

_SIZES = {
    "zh": {"wide": "远景", "full": "全景", "medium": "中景", "close": "特写", "detail": "细节特写"},
    "en": {
        "wide": "wide shot",
        "full": "full shot",
        "medium": "medium shot",
        "close": "close-up",
        "detail": "detail shot",
    },
}
_MOVES = {
    "zh": {
        "still": "固定机位",
        "push_in": "缓慢推近",
        "pull_out": "缓慢拉远",
        "pan_left": "向左摇",
        "pan_right": "向右摇",
        "tilt_up": "向上摇",
        "tilt_down": "向下摇",
    },
    "en": {
        "still": "locked camera",
        "push_in": "slow push in",
        "pull_out": "slow pull out",
        "pan_left": "pan left",
        "pan_right": "pan right",
        "tilt_up": "tilt up",
        "tilt_down": "tilt down",
    },
}
_KINDS = {
    "zh": {"character": "人物设定图", "place": "场景设定图，画面中没有人", "prop": "道具设定图"},
    "en": {
        "character": "character reference",
        "place": "location reference, no people",
        "prop": "prop reference",
    },
}


def reference_prompt(entry: Entry, *, language: str, style: str) -> str:
    """Describe one reference picture."""
    words = [_KINDS[_tongue(language)][entry.kind], entry.name, entry.description, style]
    return _join(words, language)


def frame_prompt(shot: Shot, names: list[str], *, language: str, style: str) -> str:
    """Describe the first picture of a shot."""
    who = ("、" if _tongue(language) == "zh" else ", ").join(names)
    size = _SIZES[_tongue(language)][shot.size]
    return _join([size, who, shot.place, shot.time_of_day, shot.action, *shot.props, style], language)


def video_prompt(shot: Shot, names: list[str], *, language: str, style: str) -> str:
    """Describe what happens in a shot, and how the camera moves."""
    move = _MOVES[_tongue(language)][shot.move]
    return _join([frame_prompt(shot, names, language=language, style=style), move], language)


def _tongue(language: str) -> str:
    return "zh" if language.lower().startswith("zh") else "en"


def _join(words: list[str], language: str) -> str:
    mark = "，" if _tongue(language) == "zh" else ", "
    return mark.join(word.strip() for word in words if word and word.strip())
