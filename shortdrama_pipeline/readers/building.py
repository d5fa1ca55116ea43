"""Where every reader puts what it finds; keeps ids, the order and the limits."""

from dataclasses import dataclass, field, replace

from shortdrama_pipeline.readers.cues import NAME_CHARACTERS_MAX, name_key
from shortdrama_pipeline.readers.headings import Heading
from shortdrama_pipeline.readers.language import detected_language, named_language
from shortdrama_pipeline.readers.outcome import (
    CHARACTERS_MAX,
    SCENES_MAX,
    ReadScript,
    Remark,
    shown,
    unreadable,
)
from shortdrama_pipeline.rules.script import (
    INSTRUCTIONS,
    PRESENT,
    TRANSITION,
    Character,
    Line,
    LineKind,
    Scene,
    Script,
)


@dataclass(slots=True)
class _OpenScene:
    """`labels` are the lines (地点：家) that opened it, if no heading did."""

    heading: Heading
    line: int
    labels: list[Remark] = field(default_factory=list)
    props: dict[str, None] = field(default_factory=dict)
    lines: list[Line] = field(default_factory=list)
    has_content: bool = False

    def add(self, line: Line) -> None:
        self.lines.append(line)
        self.has_content |= line.kind is not LineKind.ACTION or line.manner not in INSTRUCTIONS


@dataclass(slots=True)
class ScriptBuilder:
    """Collects a script in the order of the file. `finish` checks it and hands it over."""

    title: str = ""
    logline: str = ""
    language: str = ""
    scenes: list[_OpenScene] = field(default_factory=list)
    names: dict[str, Character] = field(default_factory=dict)
    remarks: list[Remark] = field(default_factory=list)
    early: list[Line] = field(default_factory=list)  # transitions before the first heading

    def remark(self, line: int, what: str) -> None:
        self.remarks.append(Remark(line, what))

    def open_scene(self, heading: Heading, line: int) -> None:
        before = self._take_label_scene()
        self._close_scene()
        if len(self.scenes) == SCENES_MAX:
            raise unreadable(line, f"more than {SCENES_MAX} scenes", hint="split the script into episodes")
        self.scenes.append(_OpenScene(heading, line))
        if before is not None:
            self.scenes[-1].props.update(before.props)
            self.early = [*before.lines, *self.early]
        for each in self.early:
            self.scenes[-1].add(each)
        self.early = []

    def _take_label_scene(self) -> _OpenScene | None:
        """Take away a scene that only labels opened: 时间：现代 above the first heading."""
        if not self.scenes or self.scenes[-1].has_content or not self.scenes[-1].labels:
            return None
        self.remarks.extend(self.scenes[-1].labels)
        return self.scenes.pop()

    def character(self, name: str, line: int, *, description: str = "") -> Character:
        """Return the character of this name, new if nobody was called so before."""
        key = name_key(name)
        if key not in self.names:
            if len(name) > NAME_CHARACTERS_MAX:
                raise unreadable(line, f"a name of more than {NAME_CHARACTERS_MAX} characters: {shown(name)}")
            if len(self.names) == CHARACTERS_MAX:
                raise unreadable(line, f"more than {CHARACTERS_MAX} characters")
            self.names[key] = Character(f"c{len(self.names) + 1}", " ".join(name.split()), description)
        elif description and not self.names[key].description:
            self.names[key] = replace(self.names[key], description=description)
        return self.names[key]

    def knows(self, name: str) -> bool:
        return name_key(name) in self.names

    def say(self, name: str, text: str, line: int, *, kind: LineKind, manner: str = "") -> None:
        """Add a spoken line. An empty `name` is the narrator, or a speaker nobody named."""
        speaker: str | None = None
        if kind is not LineKind.NARRATION:
            speaker = self.character(name, line).id if name else ""
        self._scene(line).add(Line(kind, text, speaker, manner, line))

    def act(self, text: str, line: int, *, manner: str = "") -> None:
        self._scene(line).add(Line(LineKind.ACTION, text, None, manner, line))

    def transit(self, text: str, line: int) -> None:
        """Keep a transition where it stands; one before the first scene belongs to that scene."""
        said = Line(LineKind.ACTION, text, None, TRANSITION, line)
        if self.scenes:
            self.scenes[-1].add(said)
        else:
            self.early.append(said)

    def present(self, text: str, line: int) -> None:
        """Note who a scene lists as present; the words stay in the script."""
        if self.scenes:
            self.scenes[-1].add(Line(LineKind.ACTION, text, None, PRESENT, line))

    def prop(self, text: str, names: list[str], line: int) -> None:
        """Take the things a scene lists; a list above the first scene belongs to that scene."""
        if not self.scenes:
            self.open_scene(Heading("", "", ""), line)
            self.scenes[-1].labels.append(Remark(line, f"above the first scene: {shown(text)}"))
        self.scenes[-1].props.update(dict.fromkeys(names))

    def at(self, text: str, line: int, *, place: str = "", time_of_day: str = "") -> None:
        """Take a labelled place or time: it fills in the running scene, or opens the next one."""
        running = self.scenes[-1] if self.scenes else None
        again = running is not None and bool(running.labels and place and running.heading.place)
        if running is None or running.has_content or again:
            self.open_scene(Heading(text, place, time_of_day), line)
            self.scenes[-1].labels.append(Remark(line, f"above the scene: {shown(text)}"))
            return
        if running.labels:
            running.labels.append(Remark(line, f"above the scene: {shown(text)}"))
        heading = running.heading
        running.heading = Heading(
            heading.text or text, place or heading.place, time_of_day or heading.time_of_day
        )

    def finish(self, *, language: str | None) -> ReadScript:
        """Return the script, or refuse one that has nothing to show."""
        self._close_scene()
        if not self.scenes:
            raise unreadable(1, "no scene, no action and no line in it", hint="write at least one scene")
        return ReadScript(
            Script(
                title=self.title,
                language=self._language(language),
                logline=self.logline,
                characters=tuple(self.names.values()),
                scenes=tuple(_scene(number, each) for number, each in enumerate(self.scenes, start=1)),
            ),
            tuple(sorted(self.remarks, key=lambda each: each.line)),
        )

    def _language(self, given: str | None) -> str:
        if given:
            return named_language(given)
        if self.language:
            return named_language(self.language)
        texts = [line.text for scene in self.scenes for line in scene.lines]
        texts += [scene.heading.text for scene in self.scenes]
        return detected_language("\n".join(texts))

    def _scene(self, line: int) -> _OpenScene:
        if not self.scenes:
            self.open_scene(Heading("", "", ""), line)
        return self.scenes[-1]

    def _close_scene(self) -> None:
        if self.scenes and not self.scenes[-1].has_content:
            scene = self.scenes[-1]
            raise unreadable(
                scene.line,
                f"the scene {shown(scene.heading.text)!r} has no content",
                hint="write an action or a line into it, or take the heading out",
            )


def _scene(number: int, scene: _OpenScene) -> Scene:
    return Scene(
        id=f"s{number}",
        heading=scene.heading.text,
        place=scene.heading.place,
        time_of_day=scene.heading.time_of_day,
        props=tuple(scene.props),
        lines=tuple(scene.lines),
    )
