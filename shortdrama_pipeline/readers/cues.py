"""Who speaks and how: `林晚（O.S.）`, `LIN WAN (CONT'D)`, `旁白`, `顾沉OS`, `林晚（内心独白，冷笑）`."""

import re
import unicodedata
from dataclasses import dataclass

from shortdrama_pipeline.rules.script import LineKind

NAME_CHARACTERS_MAX = 40

_BRACKETED = re.compile(r"[（(【\[]([^（）()【】\[\]]*)[）)】\]]")
_SPLIT = re.compile(r"[，,、；;/]")
_CONTINUED = re.compile(r"^(?:CONT'?D\.?|CONT’D\.?|CONTINUED|CONTINUING|续|接上)$", re.IGNORECASE)
_INNER = re.compile(
    r"^(?:内心(?:独白|旁白|OS|VO)?|心声|心里(?:想|话)?|心想|心OS|独白|画外音?|旁白|"
    r"INNER(?: VOICE| MONOLOGUE| THOUGHTS?)?|THOUGHTS?|THINKING|IN (?:HIS|HER|THEIR) HEAD|"
    r"V\.?\s?O\.?|VOICE.?OVER|OS)$",
    re.IGNORECASE,
)
_NARRATOR = re.compile(
    r"^(?:旁白|画外音|解说|叙述者|NARRATOR|NARRATION|VOICE.?OVER|V\.?O\.?)$", re.IGNORECASE
)
_TAIL = re.compile(r"(?<=[\u3400-\u9fff])\s*(OS|O\.S\.|VO|V\.O\.|旁白|心声|内心独白|画外音)$", re.IGNORECASE)
_DOTTED_OFF = re.compile(r"^O\.\s?[SC]\.?$|^OC$|^OFF.?SCREEN$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Cue:
    """`name` is empty for the narrator. `manner` keeps every extension but CONT'D."""

    name: str
    kind: LineKind
    manner: str
    marked: bool  # an extension says that this is a cue


def read_cue(text: str) -> Cue:
    """Take a cue apart; the caller knows that it is one."""
    extensions = [each.strip() for inside in _BRACKETED.findall(text) for each in _SPLIT.split(inside)]
    name = " ".join(_BRACKETED.sub(" ", text).split())
    tail = _TAIL.search(name)
    if tail and tail.start() > 0:
        extensions.insert(0, tail.group(1))
        name = name[: tail.start()]
    kind = LineKind.DIALOGUE
    kept = []
    for each in extensions:
        if not each or _CONTINUED.match(each):
            continue
        if _is_inner(each, chinese=not name.isascii()):
            kind = LineKind.INNER
        kept.append(each)
    if _NARRATOR.match(name):
        return Cue("", LineKind.NARRATION, "，".join(kept), marked=True)
    marked = bool(extensions) and any(
        _CONTINUED.match(each) or _INNER.match(each) or _DOTTED_OFF.match(each) for each in extensions
    )
    return Cue(name, kind, ("，" if not name.isascii() else ", ").join(kept), marked=marked)


def manner_kind(manner: str, kind: LineKind) -> LineKind:
    """Return the kind a parenthetical gives a line: （内心独白） makes a thought of it."""
    if kind is LineKind.DIALOGUE and any(_is_inner(e.strip(), chinese=True) for e in _SPLIT.split(manner)):
        return LineKind.INNER
    return kind


def _is_inner(extension: str, *, chinese: bool) -> bool:
    """In Chinese scripts a bare OS is a thought; O.S. with dots stays somebody out of the picture."""
    if extension.upper() == "OS" and not chinese:
        return False
    return bool(_INNER.match(extension))


def name_key(name: str) -> str:
    """Return what two spellings of one character's name have in common: width, case, unseen marks."""
    seen = "".join(each for each in unicodedata.normalize("NFKC", name) if unicodedata.category(each) != "Cf")
    return " ".join(seen.split()).casefold()
