"""The project bible: who, where and what is seen, with which picture and voice, derived from a script.

Subjects are named here and nowhere else: `character:c1`, `place:p1`, `prop:o1`, `shot:s1-03`, `line:s1-l2`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from shortdrama_pipeline.errors import NotReady
from shortdrama_pipeline.rules.script import Line, LineKind, Script

NARRATOR = "narrator"


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


def assign_voices(script: Script, registry: Sequence[str]) -> dict[str, str]:
    """Give everyone heard a voice of the binding's registry, the same on every run.

    The narrator takes the registry's last voice where there are enough, so that people keep their
    voices when narration is added. More speakers than voices share them in turn.
    """
    if not registry:
        return {}
    heard = [each for each in speakers(script) if each]
    people = [each.id for each in script.characters if each.id in heard]
    spare = len(registry) > len(people)
    pool = list(registry[:-1]) if spare and NARRATOR in heard and len(registry) > 1 else list(registry)
    voices = {person: pool[n % len(pool)] for n, person in enumerate(people)}
    if NARRATOR in heard:
        voices[NARRATOR] = registry[-1]
    return voices


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
