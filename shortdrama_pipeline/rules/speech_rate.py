"""How long a text takes to say, before anybody has said it.

One rule for both languages: a Chinese character takes 200 ms (5.0 a second), a word of an
alphabet 400 ms (2.5 a second), and punctuation inside the text a short pause. The storyboard plans
with it; a voice that is measured later replaces it.
"""

import re
from itertools import pairwise

from shortdrama_pipeline.rules.script import LineKind

CHARACTER_MS = 200  # one Han character, kana or Hangul syllable
WORD_MS = 400  # one word of an alphabet
DIGIT_MS = 200  # one digit: read one by one in Chinese, in pairs in English
COMMA_MS = 150
STOP_MS = 300
SPOKEN_MS_MIN = 400  # even "Oh" takes as long as this

INNER_PERCENT = 110  # a thought is said more slowly than a line

# Characters said one by one: Han with its extensions, kana, Hangul syllables.
SYLLABLES = "\u3007\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff"
_TOKEN = re.compile(
    rf"(?P<syllable>[{SYLLABLES}])"
    r"|(?P<digits>\d)"
    rf"|(?P<word>(?:(?![{SYLLABLES}])[^\W\d_])(?:(?![{SYLLABLES}])[^\W\d_]|['’](?=[^\W\d_]))*)"
    r"|(?P<comma>[,，、;；:：])"
    r"|(?P<stop>[.。!！?？…—–])"
)
_COST_MS = {
    "syllable": CHARACTER_MS,
    "digits": DIGIT_MS,
    "word": WORD_MS,
    "comma": COMMA_MS,
    "stop": STOP_MS,
}
_PAUSES = ("comma", "stop")


def can_be_spoken(text: str) -> bool:
    """Tell whether there is a letter, a character or a digit to say."""
    return any(each.isalnum() for each in text)


def estimated_ms(text: str, language: str, kind: LineKind | str = LineKind.DIALOGUE) -> int:
    """Return the expected length of speech in milliseconds, 0 when there is nothing to say.

    A run of punctuation pauses once, for its longest mark; punctuation at either end does not pause,
    since the shot leaves air there. `language` (BCP 47) decides how numbers are read.
    """
    if not can_be_spoken(text):
        return 0
    tokens = [str(match.lastgroup) for match in _TOKEN.finditer(text)]
    while tokens and tokens[-1] in _PAUSES:
        tokens.pop()
    total = sum(_COST_MS[each] for each in tokens if each not in _PAUSES)
    total += sum(_pause_ms(each) for each in _runs(tokens))
    if not language.startswith("zh"):
        total += tokens.count("digits") * (WORD_MS // 2 - DIGIT_MS)
    if kind == LineKind.INNER:
        total = total * INNER_PERCENT // 100
    return max(total, SPOKEN_MS_MIN)


def _runs(tokens: list[str]) -> list[list[str]]:
    """Group neighbouring pauses, leaving out one that opens the text."""
    runs: list[list[str]] = []
    for before, token in pairwise(["comma", *tokens]):
        if token in _PAUSES:
            if before in _PAUSES and runs:
                runs[-1].append(token)
            elif before not in _PAUSES:
                runs.append([token])
    return runs


def _pause_ms(run: list[str]) -> int:
    return STOP_MS if "stop" in run else COMMA_MS
