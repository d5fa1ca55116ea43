"""Which language a script is in, when nobody says."""

import re

from shortdrama_pipeline.errors import UsageError
from shortdrama_pipeline.readers.outcome import unreadable

CHINESE, ENGLISH = "zh-CN", "en-US"
_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff]")
_LATIN = re.compile(r"[A-Za-zÀ-ɏ]+")
_NAMES = {
    "zh": CHINESE,
    "zh-cn": CHINESE,
    "zh-hans": CHINESE,
    "zh-hans-cn": CHINESE,
    "chinese": CHINESE,
    "中文": CHINESE,
    "汉语": CHINESE,
    "普通话": CHINESE,
    "en": ENGLISH,
    "en-us": ENGLISH,
    "en-gb": ENGLISH,
    "english": ENGLISH,
    "英文": ENGLISH,
    "英语": ENGLISH,
}


def named_language(name: str) -> str:
    """Return the tag of a language somebody named."""
    found = _NAMES.get(name.strip().casefold().replace("_", "-"))
    if found is None:
        raise UsageError(f"the language {name!r} is not supported", hint="use zh-CN or en-US", language=name)
    return found


def detected_language(text: str) -> str:
    """Tell Chinese from English by which of them says more: one word weighs as much as two characters."""
    han, words = len(_HAN.findall(text)), len(_LATIN.findall(text))
    if not han and not words:
        raise unreadable(
            1, "neither Chinese nor English words", hint="name its language: --language zh-CN, or en-US"
        )
    return CHINESE if han >= 2 * words else ENGLISH
