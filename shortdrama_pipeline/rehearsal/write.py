"""Outlines and scripts from a brief, by rule: the same seed writes the same story."""

import random
import re
from collections.abc import Iterator

from shortdrama_pipeline.rehearsal.book import Json
from shortdrama_pipeline.rehearsal.stories import CHINESE, ENGLISH, SceneText, Story

_KINDS = {"N": "narration", "*": "action"}
_LINE = re.compile(r"(?:\((?P<manner>[^)]*)\))?(?P<text>.*)", re.DOTALL)


class Telling:
    """One story, cast. What the brief fixes stands; the rest is chosen by seed."""

    def __init__(self, params: Json) -> None:
        self.language = str(params["language"])
        self._brief = _strings(params.get("brief")) + _strings(params.get("outline"))
        outline = params.get("outline")
        self._outline: Json = outline if isinstance(outline, dict) else {}
        stock = CHINESE if self.language.startswith("zh") else ENGLISH
        self.story = self._chosen(stock, int(str(params["seed"])))
        # An outline decides the story; a script told from it must choose alike whatever its own seed.
        seed = str(self._outline.get("title") or f"{params['seed']}|{'|'.join(self._brief)}")
        self.chance = random.Random(f"{self.language}|{seed}")  # noqa: S311 - a story, not a secret
        self.title = str(
            self._outline.get("title") or self._briefed("title") or self.chance.choice(self.story.titles)
        )
        self.names = self._names(params.get("brief"))
        self.thing = self._thing()

    def _chosen(self, stock: tuple[Story, ...], seed: int) -> Story:
        """Return the story most of whose words the brief holds; among equals the seed decides."""
        told = next((each for each in stock if self._outline.get("title") in each.titles), None)
        if told is not None:
            return told
        text = " ".join(self._brief).lower()
        scores = [sum(text.count(word) for word in each.words) for each in stock]
        best = [each for each, score in zip(stock, scores, strict=True) if score == max(scores)]
        return best[seed % len(best)]

    def _briefed(self, key: str) -> str:
        return next((text for text in self._brief if key == "title" and text and text in self._titles()), "")

    def _titles(self) -> tuple[str, ...]:
        return self.story.titles

    def _names(self, brief: object) -> list[str]:
        drawn = [self.chance.choice(role.names) for role in self.story.roles]
        for source in (brief, self._outline):
            given = source.get("characters") if isinstance(source, dict) else None
            for index, each in enumerate(given if isinstance(given, list) else []):
                name = each.get("name") if isinstance(each, dict) else each
                if index < len(drawn) and isinstance(name, str) and name.strip():
                    drawn[index] = name.strip()
        return drawn

    def _thing(self) -> str:
        """An outline names the thing in its beats; else it is drawn."""
        drawn = self.chance.choice(self.story.things)
        text = " ".join(self._brief)
        return next((each for each in self.story.things if each in text), drawn)

    def filled(self, text: str) -> str:
        """Choose a variant and put in names and the thing."""
        chosen = self.chance.choice(text.split(" / "))
        return chosen.format(**dict(zip("ABC", self.names, strict=True)), prop=self.thing)

    def characters(self) -> list[Json]:
        return [
            {"id": f"c{index}", "name": name, "description": role.about}
            for index, (name, role) in enumerate(zip(self.names, self.story.roles, strict=True), 1)
        ]


def write(params: Json) -> Json:
    """Return the outline or the script the parameters ask for."""
    telling = Telling(params)
    return outline(telling) if params["task"] == "outline" else script(telling)


def outline(telling: Telling) -> Json:
    """Who, what for, and the four turns of the story."""
    logline = telling.filled(telling.story.logline)
    beats = [telling.filled(each) for each in telling.story.beats]
    return {
        "title": telling.title,
        "logline": logline,
        "language": telling.language,
        "synopsis": "".join(beats) if telling.language.startswith("zh") else " ".join(beats),
        "beats": beats,
        "characters": telling.characters(),
    }


def script(telling: Telling) -> Json:
    """The episode, line by line."""
    logline = telling.filled(telling.story.logline)
    counter = iter(range(1, 1000))
    scenes = [_scene(telling, index, scene, counter) for index, scene in enumerate(telling.story.scenes, 1)]
    return {
        "title": telling.title,
        "language": telling.language,
        "logline": logline,
        "characters": telling.characters(),
        "scenes": scenes,
    }


def _scene(telling: Telling, index: int, scene: SceneText, counter: Iterator[int]) -> Json:
    lines = [_line(telling, each, next(counter)) for each in scene.lines]
    return {
        "id": f"s{index}",
        "heading": f"{scene.place} · {scene.hour}",
        "place": scene.place,
        "time_of_day": scene.hour,
        "props": list(dict.fromkeys(telling.filled(each) for each in scene.props)),
        "lines": lines,
    }


def _line(telling: Telling, line: str, number: int) -> Json:
    who, _, rest = line.partition("|")
    found = _LINE.fullmatch(telling.filled(rest))
    assert found is not None
    speaks = who.upper() in "ABC" and who != ""
    kind = ("inner" if who.islower() else "dialogue") if speaks else _KINDS[who]
    return {
        "kind": kind,
        "text": found["text"].strip(),
        "speaker": f"c{'ABC'.index(who.upper()) + 1}" if speaks else None,
        "manner": found["manner"] or "",
        "source_line": number,
    }


def _strings(value: object) -> list[str]:
    """Return every text inside a brief, however it is built."""
    match value:
        case str():
            return [value]
        case dict():
            return [text for each in value.values() for text in _strings(each)]
        case list():
            return [text for each in value for text in _strings(each)]
        case _:
            return []
