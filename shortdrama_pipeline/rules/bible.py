"""The project bible: who, where and what is seen, with which picture and voice, derived from a script.

Subjects are named here and nowhere else: `character:c1`, `place:p1`, `prop:o1`, `shot:s1-03`, `line:s1-l2`.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from shortdrama_pipeline.errors import NotReady
from shortdrama_pipeline.rules.script import Character, Line, LineKind, Script

NARRATOR = "narrator"

# Kinds of voices by what tells them, the most special first: (kind, Chinese signs, English words).
_HINTS: tuple[tuple[str, tuple[str, ...], frozenset[str]], ...] = (
    ("old-woman", ("奶奶", "婆婆", "外婆", "老太", "老妇", "姥姥"), frozenset({"grandmother", "grandma"})),
    ("old-man", ("爷爷", "外公", "老头", "老汉", "老人", "姥爷"), frozenset({"grandfather", "grandpa"})),
    ("girl", ("女孩", "小女", "女童"), frozenset({"girl"})),
    ("boy", ("男孩", "男童", "小子"), frozenset({"boy"})),
    (
        "female",
        ("女", "妈", "母", "姐", "妹", "姨", "姑", "嫂", "妻", "太太", "夫人", "她", "娘"),
        frozenset(
            {"woman", "female", "mother", "she", "her", "wife", "mrs", "ms", "miss", "sister", "queen"}
        ),
    ),
    (
        "male",
        ("男", "爸", "父", "哥", "弟", "叔", "伯", "舅", "丈夫", "先生", "他"),
        frozenset({"man", "male", "father", "he", "his", "husband", "mr", "brother", "king"}),
    ),
)


@dataclass(frozen=True, slots=True)
class Entry:
    """One person, place or thing of the bible. `slug` is a character's id, or p1…, o1…."""

    kind: str  # character, place, prop
    slug: str
    name: str
    description: str

    @property
    def subject(self) -> str:
        return f"{self.kind}:{self.slug}"

    def to_json(self) -> dict[str, object]:
        """The content of `<subject>/content`, from which its picture is made."""
        return {"kind": self.kind, "slug": self.slug, "name": self.name, "description": self.description}


def entries(script: Script) -> tuple[Entry, ...]:
    """Return everyone and everything to be pictured: characters, then places and props as they appear."""
    characters = [Entry("character", c.id, c.name, c.description) for c in script.characters]
    places = _unique(scene.place for scene in script.scenes)
    props = _unique(prop for scene in script.scenes for prop in scene.props)
    return (
        *characters,
        *(Entry("place", f"p{n}", name, _place_words(script, name)) for n, name in enumerate(places, 1)),
        *(Entry("prop", f"o{n}", name, "") for n, name in enumerate(props, 1)),
    )


def subjects_by_name(script: Script) -> dict[tuple[str, str], str]:
    """Return the subject of a place or prop by (kind, name), and of a character by its id."""
    named = {(each.kind, each.name): each.subject for each in entries(script) if each.kind != "character"}
    return named | {("character", each.id): f"character:{each.id}" for each in script.characters}


def speakers(script: Script) -> tuple[str, ...]:
    """Return who is heard, in order of first speech; NARRATOR for narration, "" for an unnamed speaker."""
    heard = (
        _voice_owner(line)
        for scene in script.scenes
        for line in scene.lines
        if line.kind is not LineKind.ACTION
    )
    return tuple(dict.fromkeys(heard))


def assign_voices(
    script: Script, registry: Sequence[str], *, kept: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Give everyone heard a voice of the binding's registry, the same on every run.

    `kept` are voices given before: they stay while the registry has them. A new speaker gets an unused
    voice of the kind their name and description hint at, if the registry's names tell kinds apart
    (female-1, old-man-2); else the next unused one. More speakers than voices share them in turn.
    """
    heard = [each for each in speakers(script) if each]
    voices = {who: voice for who, voice in (kept or {}).items() if who in heard and voice in registry}
    if NARRATOR in heard and registry:
        voices.setdefault(NARRATOR, NARRATOR if NARRATOR in registry else registry[-1])
    # The narrator's voice is spared as long as there are others, so that adding one changes nobody.
    spared = voices.get(NARRATOR, NARRATOR if NARRATOR in registry else registry[-1] if registry else "")
    pool = [voice for voice in registry if voice != spared] or list(registry)
    for n, person in enumerate(each for each in script.characters if each.id in heard):
        if person.id not in voices and pool:
            unused = [voice for voice in pool if voice not in voices.values()]
            alike = [voice for voice in unused if _kind_of_voice(voice) == _hint(person)]
            voices[person.id] = [*alike, *unused, pool[n % len(pool)]][0]
    return voices


def _kind_of_voice(voice: str) -> str:
    return voice.rpartition("-")[0]


def _hint(person: Character) -> str:
    """Guess the kind of voice from words in the name and description; "" where nothing tells."""
    text = f"{person.name} {person.description}"
    folded = set(re.findall(r"[a-z]+", text.lower()))
    if re.match(r"老[\u4e00-\u9fff]$", person.name):
        return "old-man"
    for kind, signs, words in _HINTS:
        if any(sign in text for sign in signs) or folded & words:
            return kind
    return ""


def merge_characters(script: Script, keep: str, *, drop: str) -> Script:
    """Return the script in which everything said by `drop` is said by `keep` (P-2.3: merge characters)."""
    known = {each.id for each in script.characters}
    if keep == drop or not {keep, drop} <= known:
        raise NotReady(
            f"Cannot merge {drop} into {keep}",
            hint=f"Name two different characters of the script: {', '.join(sorted(known))}",
            keep=keep,
            drop=drop,
        )
    return replace(
        script,
        characters=tuple(each for each in script.characters if each.id != drop),
        scenes=tuple(
            replace(
                scene,
                lines=tuple(
                    replace(line, speaker=keep) if line.speaker == drop else line for line in scene.lines
                ),
            )
            for scene in script.scenes
        ),
    )


def bible_content(
    script: Script, references: Mapping[str, str], voices: Mapping[str, str]
) -> dict[str, object]:
    """Return a ProjectBibleVersion's content. `references` maps a subject to its chosen picture."""
    listed: dict[str, list[dict[str, object]]] = {"character": [], "place": [], "prop": []}
    for each in entries(script):
        row: dict[str, object] = {
            "name": each.name,
            "reference_version_id": references[each.subject],
        }
        if each.kind == "character":
            row |= {"id": each.slug, "description": each.description, "voice": voices.get(each.slug)}
        else:
            row["slug"] = each.slug
        listed[each.kind].append(row)
    return {
        "characters": listed["character"],
        "places": listed["place"],
        "props": listed["prop"],
        "narrator_voice": voices.get(NARRATOR),
    }


def _voice_owner(line: Line) -> str:
    return NARRATOR if line.kind is LineKind.NARRATION else (line.speaker or "")


def _unique(names: Iterable[str]) -> list[str]:
    return [name for name in dict.fromkeys(each.strip() for each in names) if name]


def _place_words(script: Script, name: str) -> str:
    times = dict.fromkeys(
        scene.time_of_day for scene in script.scenes if scene.place.strip() == name and scene.time_of_day
    )
    return ", ".join(times)
