"""From a script to shots: the cutting rule. Pure and deterministic; a person may change every shot.

A scene opens on a wide shot, a line is seen on the one who says it, a prop that is acted with gets
a detail, strong lines come close, and the episode ends on a close-up. Every spoken line stands in
exactly one shot. Lengths are planned from `speech_rate`; the edit later fits them to the real voice.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from shortdrama_pipeline.errors import NotReady
from shortdrama_pipeline.rules.script import INSTRUCTIONS, TRANSITION, Line, LineKind, Scene, Script
from shortdrama_pipeline.rules.shots import FRAME_RATE, Shot, ShotLine
from shortdrama_pipeline.rules.speech_rate import can_be_spoken, estimated_ms

SHOT_MS_MIN = 1_500  # shorter than this is a flash
SHOT_MS_MAX = 8_000  # a shot without a long line is never longer
LONG_LINE_SHOT_MS_MAX = 15_000  # a shot may grow to this for one line; no vendor makes longer ones
SHOT_MS_GOAL = 6_000  # lines of one speaker share a shot up to this
LEAD_MS = 200  # before the first word of a shot
GAP_MS = 300  # between two lines of a shot
AIR_MS = 350  # after the last word
ESTABLISHING_MS = 2_000
DETAIL_MS = 1_800
REACTION_MS = 1_500
ACTION_MS_MIN, ACTION_MS_MAX = 2_000, 4_000
ACTION_MS_PER_SPOKEN_SECOND = 400  # reading an action takes this share of the time to say it
REPLY_MS_MAX = 1_000  # a reply this short stays in the shot of the line before
ACTION_ALONE_MS = 2_400  # an action that would take this long to say is worth a shot of its own
SHOTS_MAX = 600
QUOTED_CHARACTERS_MAX, LISTED_MAX = 40, 50  # of what a refusal repeats

_MOVES = {
    "wide": ("pan_right", "push_in", "pan_left", "pull_out", "tilt_down"),
    "full": ("pan_left", "still", "pan_right"),
    "medium": ("still", "push_in", "pan_right", "still", "pan_left"),
    "close": ("push_in", "still", "tilt_up", "pull_out"),
    "detail": ("push_in", "tilt_down", "still"),
}
_CLAUSE = re.compile(r"[^。！？!?；;，,、…—.:：]*[。！？!?；;，,、…—.:：]*[”’」』\"')）]*\s*")
_WORD = re.compile(r"\S{1,40}\s*|\s+")
_HEARD_ONLY = re.compile(r"O\.\s?[SC]\.|OFF.?SCREEN|\bOC\b", re.IGNORECASE)
_VOICE_OVER = re.compile(r"V\.?\s?O\b|VOICE.?OVER|画外|电话|录音|旁白", re.IGNORECASE)
_STRONG = ("！", "!", "？", "?", "…", "—")


@dataclass(slots=True)
class _Cut:
    """A shot that is still being made. `needs_ms` is what its lines and action ask for."""

    size: str
    needs_ms: int
    characters: tuple[str, ...] = ()
    props: tuple[str, ...] = ()
    action: str = ""
    lines: list[ShotLine] = field(default_factory=list)
    transition_in: str = "cut"

    @property
    def speaker(self) -> str | None:
        return self.lines[-1].speaker if self.lines else None

    @property
    def speech_end_ms(self) -> int:
        return self.lines[-1].start_ms + self.lines[-1].estimated_ms if self.lines else 0

    @property
    def frames(self) -> int:
        return frames_up(max(self.needs_ms, SHOT_MS_MIN))


@dataclass(slots=True)
class _SceneBoard:
    """The shots of one scene, in the making."""

    script: Script
    scene: Scene
    present: tuple[str, ...]
    visible: frozenset[str]  # who speaks in the scene without being a voice from elsewhere
    cuts: list[_Cut] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)  # actions that have no shot yet
    detailed: set[str] = field(default_factory=set)  # props that had their detail
    transition: str = "cut"

    def add(self, cut: _Cut) -> None:
        cut.transition_in, self.transition = self.transition, "cut"
        self.cuts.append(cut)

    def take_action(self) -> str:
        text, self.waiting = _join(self.waiting), []
        return text


def frames_up(milliseconds: int) -> int:
    """Return the whole frames that hold these milliseconds."""
    return -(-milliseconds * FRAME_RATE // 1_000)


def shots_ms(shots: tuple[Shot, ...]) -> int:
    """Return the length of these shots in milliseconds, rounded down."""
    return sum(shot.duration_frames for shot in shots) * 1_000 // FRAME_RATE


def plan_shots(script: Script, *, target_ms: int | None = None) -> tuple[Shot, ...]:
    """Cut the script into shots with stable ids `s1-01` … (P-2.4).

    `characters` of a shot are character ids, `props` names. `target_ms` stretches or shortens what
    is silent, as far as speech and the limits allow. Raises NotReady for what cannot be shot.
    """
    _refuse_unplayable(script)
    boards: list[_SceneBoard] = []
    transition = "cut"
    for scene in script.scenes:
        boards.append(_board(script, scene, transition))
        transition = boards[-1].transition
    _end_close(boards[-1])
    cuts = [(board.scene, cut) for board in boards for cut in board.cuts]
    if len(cuts) > SHOTS_MAX:
        raise NotReady(
            f"the script makes {len(cuts)} shots, more than {SHOTS_MAX}",
            hint="split the script into several episodes",
            shots=len(cuts),
        )
    frames = _fit([cut for _, cut in cuts], target_ms)
    return tuple(_number(cuts, frames))


def _refuse_unplayable(script: Script) -> None:
    if not script.scenes:
        raise NotReady("the script has no scene", hint="import a script with at least one scene")
    for scene in script.scenes:
        if not any(
            each.kind is not LineKind.ACTION or each.manner not in INSTRUCTIONS for each in scene.lines
        ):
            raise NotReady(
                f"scene {scene.id} is empty", hint="write an action or a line into it", scene_id=scene.id
            )
    lines = [line for scene in script.scenes for line in scene.lines if line.kind is not LineKind.ACTION]
    known = {each.id for each in script.characters}
    _refuse_lines(
        [each for each in lines if not can_be_spoken(each.text)],
        "cannot be spoken",
        hint="give it words, or make it an action",
    )
    owned = [each for each in lines if each.kind is not LineKind.NARRATION]
    _refuse_lines(
        [each for each in owned if not each.speaker],
        "has no speaker",
        hint="name the speaker in the script and import it again",
    )
    _refuse_lines(
        [each for each in owned if each.speaker not in known],
        "is spoken by nobody of the script",
        hint="use a character of the script",
    )


def _refuse_lines(lines: list[Line], reason: str, *, hint: str) -> None:
    """Refuse all lines of one fault together, so that one look at the script mends them."""
    if not lines:
        return
    first = lines[0]
    others = f" (and {len(lines) - 1} more)" if len(lines) > 1 else ""
    raise NotReady(
        f"line {first.source_line} {reason}: {first.text[:QUOTED_CHARACTERS_MAX]!r}{others}",
        hint=hint,
        lines=len(lines),
        source_lines=[each.source_line for each in lines[:LISTED_MAX]],
    )


# --- one scene --------------------------------------------------------------------------------------


def _board(script: Script, scene: Scene, transition: str) -> _SceneBoard:
    board = _SceneBoard(script, scene, _present(script, scene), _visible(scene), transition=transition)
    number = 0
    for line in scene.lines:
        if line.kind is LineKind.ACTION:
            _act(board, line)
            continue
        number += 1
        for part, text in enumerate(_parts(line, script.language), start=1):
            line_id = f"{scene.id}-l{number}" + (f"-{part}" if part > 1 else "")
            _speak(board, replace(line, text=text), line_id)
    _flush(board)
    return board


def _act(board: _SceneBoard, line: Line) -> None:
    """Keep an action for the next shot, or give it one of its own."""
    if line.manner == TRANSITION:
        _flush(board)
        board.transition = _transition(line.text)
        return
    if line.manner in INSTRUCTIONS:
        return
    props = tuple(each for each in board.scene.props if each in line.text)
    if not board.cuts:
        if board.waiting:
            _flush(board)
        else:
            board.waiting.append(line.text)
            return
    if not board.detailed.issuperset(props):
        _flush(board)
        board.detailed.update(props)
        board.add(_Cut("detail", max(DETAIL_MS, _action_ms(line.text, board)), props=props, action=line.text))
    else:
        board.waiting.append(line.text)
        if estimated_ms(_join(board.waiting), board.script.language) >= ACTION_ALONE_MS:
            _flush(board)


def _flush(board: _SceneBoard) -> None:
    """Turn the actions that wait into a silent shot."""
    if not board.waiting:
        return
    text = board.take_action()
    if not board.cuts:
        length = max(ESTABLISHING_MS, _action_ms(text, board))
        props = tuple(each for each in board.scene.props if each in text)
        board.add(_Cut("wide", length, _named(board, text), props, text))
        return
    who = _named(board, text)
    size = "close" if len(who) == 1 and board.cuts[-1].size != "close" else "medium" if who else "full"
    length = max(REACTION_MS if size == "close" else 0, _action_ms(text, board))
    board.add(_Cut(size, length, who, action=text))


def _speak(board: _SceneBoard, line: Line, line_id: str) -> None:
    """Put a line into the running shot if it belongs there, else cut."""
    if not board.cuts:
        _establish(board, line)
    length = estimated_ms(line.text, board.script.language, line.kind)
    spoken = ShotLine(line_id, line.kind.value, line.speaker, line.text, line.manner, LEAD_MS, length)
    last = board.cuts[-1]
    if _shares(board, last, spoken):
        start = last.speech_end_ms + GAP_MS if last.lines else LEAD_MS
        last.lines.append(replace(spoken, start_ms=start))
        last.needs_ms = max(last.needs_ms, last.speech_end_ms + AIR_MS)
        if spoken.speaker and spoken.speaker not in last.characters and _is_seen(board, spoken):
            last.characters = (*last.characters, spoken.speaker)
        return
    if _wants_reaction(board, spoken):
        listener = next(each for each in board.present if each != last.speaker)
        board.add(_Cut("close", REACTION_MS, (listener,)))
    action = board.take_action()
    who = _seen_in(board, action, spoken)
    size = _size(board, spoken, who)
    props = tuple(each for each in board.scene.props if each in action)
    board.add(_Cut(size, LEAD_MS + length + AIR_MS, who, props, action, [spoken]))


def _establish(board: _SceneBoard, line: Line) -> None:
    """Open on the place; narration may already be heard over it."""
    if board.waiting:
        _flush(board)
        return
    who = (line.speaker,) if line.speaker in board.visible else ()
    board.add(_Cut("wide", ESTABLISHING_MS, tuple(each for each in who if each)))


def _shares(board: _SceneBoard, last: _Cut, spoken: ShotLine) -> bool:
    if board.waiting or board.transition != "cut":
        return False
    end = last.speech_end_ms + GAP_MS + spoken.estimated_ms + AIR_MS
    if not last.lines:  # a silent shot: only the narrator may speak over it
        alone = LEAD_MS + spoken.estimated_ms + AIR_MS
        return spoken.kind == LineKind.NARRATION and last.size == "wide" and alone <= SHOT_MS_GOAL
    same = last.lines[-1].speaker == spoken.speaker and last.lines[-1].kind == spoken.kind
    if same:
        return end <= SHOT_MS_GOAL
    both_talk = last.lines[-1].kind == spoken.kind == LineKind.DIALOGUE
    return both_talk and len(last.lines) == 1 and spoken.estimated_ms <= REPLY_MS_MAX and end <= SHOT_MS_GOAL


def _wants_reaction(board: _SceneBoard, spoken: ShotLine) -> bool:
    """After three shots of talk, a strong line is followed by the face of the one who hears it."""
    talk = board.cuts[-3:]
    last = board.cuts[-1]
    return (
        not board.waiting
        and len(talk) == 3
        and all(cut.lines and cut.lines[-1].kind == LineKind.DIALOGUE for cut in talk)
        and last.lines[-1].text.rstrip("”’」』\"'").endswith(_STRONG)
        and any(each != last.speaker for each in board.present)
        and spoken.kind != LineKind.NARRATION
        and spoken.speaker == last.speaker
    )


def _size(board: _SceneBoard, spoken: ShotLine, who: tuple[str, ...]) -> str:
    last = board.cuts[-1]
    if spoken.kind == LineKind.NARRATION:
        if not who:
            return "full" if last.size == "wide" else "wide"
        return "full" if last.size != "full" else "medium"
    if spoken.kind == LineKind.INNER:
        return "close"
    strong = spoken.text.rstrip("”’」』\"'").endswith(_STRONG[:2])
    if last.size == "medium" and (strong or last.speaker is not None):
        return "close"
    return "close" if strong and last.size != "close" else "medium"


def _seen_in(board: _SceneBoard, action: str, spoken: ShotLine) -> tuple[str, ...]:
    named = _named(board, action)
    if spoken.speaker is None:
        return named
    if not _is_seen(board, spoken):
        listener = _listener(board, spoken.speaker)
        return named or ((listener,) if listener else ())
    return (spoken.speaker, *(each for each in named if each != spoken.speaker))


def _is_seen(board: _SceneBoard, spoken: ShotLine) -> bool:
    """Tell whether the one who speaks is in the picture: not off screen, nor a voice from elsewhere."""
    if _HEARD_ONLY.search(spoken.manner):
        return False
    return not _VOICE_OVER.search(spoken.manner) or spoken.speaker in board.visible


def _listener(board: _SceneBoard, speaker: str) -> str | None:
    """Return whom a voice from elsewhere is heard by: the one of the scene the script names first."""
    others = (each.id for each in board.script.characters if each.id in board.visible and each.id != speaker)
    return next(others, None)


# --- text -------------------------------------------------------------------------------------------


def _present(script: Script, scene: Scene) -> tuple[str, ...]:
    """Return who is in the scene: who speaks, or is named in an action, in order of appearance."""
    seen: dict[str, None] = {}
    for line in scene.lines:
        if line.kind is LineKind.ACTION:
            seen.update(dict.fromkeys(_names_in(script, line.text)))
        elif line.speaker:
            seen[line.speaker] = None
    return tuple(seen)


def _visible(scene: Scene) -> frozenset[str]:
    return frozenset(
        line.speaker
        for line in scene.lines
        if line.speaker and not _VOICE_OVER.search(line.manner) and not _HEARD_ONLY.search(line.manner)
    )


def _names_in(script: Script, text: str) -> list[str]:
    folded = text.casefold()
    found = [(folded.find(each.name.casefold()), each.id) for each in script.characters if each.name]
    return [each for place, each in sorted(found) if place >= 0]


def _named(board: _SceneBoard, text: str) -> tuple[str, ...]:
    return tuple(_names_in(board.script, text))


def _action_ms(text: str, board: _SceneBoard) -> int:
    reading = estimated_ms(text, board.script.language) * ACTION_MS_PER_SPOKEN_SECOND // 1_000
    return min(max(ACTION_MS_MIN, reading), ACTION_MS_MAX)


def _join(texts: list[str]) -> str:
    """Join actions into one, with a space where the writing uses spaces."""
    joined = ""
    for text in texts:
        joined += (" " if joined and joined[-1].isascii() else "") + text
    return joined


def _transition(text: str) -> str:
    folded = text.casefold()
    if any(each in folded for each in ("dissolve", "叠化", "溶")):
        return "dissolve"
    if any(each in folded for each in ("fade", "淡", "黑场")):
        return "fade"
    return "cut"


def _parts(line: Line, language: str) -> Iterator[str]:
    """Split a line too long for the longest shot at its clauses, else yield it whole.

    Narration has no lips to follow, so the picture may change sooner.
    """
    longest = SHOT_MS_MAX if line.kind is LineKind.NARRATION else LONG_LINE_SHOT_MS_MAX
    limit = longest - LEAD_MS - AIR_MS
    if estimated_ms(line.text, language, line.kind) <= limit:
        yield line.text
        return
    part = ""
    for chunk in _speakable(_chunks(line, language, limit)):
        if part and estimated_ms(part + chunk, language, line.kind) > limit:
            yield part
            part = ""
        part += chunk
    yield part


def _chunks(line: Line, language: str, limit: int) -> Iterator[str]:
    """Yield clauses, and words of a clause that is too long for a shot by itself."""
    for clause in _CLAUSE.findall(line.text):
        if estimated_ms(clause, language, line.kind) <= limit:
            yield clause
        else:
            yield from _WORD.findall(clause)


def _speakable(chunks: Iterator[str]) -> Iterator[str]:
    """Join what cannot be spoken to what it follows, or to the first chunk that can."""
    held = ""
    for chunk in chunks:
        if can_be_spoken(held) and can_be_spoken(chunk):
            yield held
            held = ""
        held += chunk
    if held:
        yield held


# --- the whole --------------------------------------------------------------------------------------


def _end_close(board: _SceneBoard) -> None:
    """Make the episode end on a face."""
    last = board.cuts[-1]
    if last.size == "close":
        return
    who = last.speaker or (last.characters[-1] if last.characters else None) or _last(board.present)
    if last.size == "medium" and who is not None:
        last.size, last.characters = "close", (who,)
        return
    board.add(_Cut("close", ESTABLISHING_MS, (who,) if who else ()))


def _last(ids: tuple[str, ...]) -> str | None:
    return ids[-1] if ids else None


def _fit(cuts: list[_Cut], target_ms: int | None) -> list[int]:
    """Return the frames of each shot; with a target, spread the difference over what is silent."""
    frames = [cut.frames for cut in cuts]
    if target_ms is None:
        return frames
    difference = target_ms * FRAME_RATE // 1_000 - sum(frames)
    if difference >= 0:
        room = [max(frames_up(SHOT_MS_MAX) - each, 0) for each in frames]
    else:
        least = [frames_up(max(SHOT_MS_MIN, cut.speech_end_ms + AIR_MS if cut.lines else 0)) for cut in cuts]
        room = [each - floor for each, floor in zip(frames, least, strict=True)]
    whole = sum(room)
    wanted = min(abs(difference), whole)
    sign = 1 if difference >= 0 else -1
    given = 0
    passed = 0
    for index, each in enumerate(room):
        passed += each
        share = (wanted * passed // whole if whole else 0) - given
        frames[index] += sign * share
        given += share
    return frames


def _number(cuts: list[tuple[Scene, _Cut]], frames: list[int]) -> Iterator[Shot]:
    moves = dict.fromkeys(_MOVES, 0)
    before = ""
    counts: dict[str, int] = {}
    for order, ((scene, cut), length) in enumerate(zip(cuts, frames, strict=True), start=1):
        counts[scene.id] = counts.get(scene.id, 0) + 1
        choices = _MOVES[cut.size]
        move = choices[moves[cut.size] % len(choices)]
        moves[cut.size] += 1
        if move == before:
            move = choices[moves[cut.size] % len(choices)]
            moves[cut.size] += 1
        before = move
        yield Shot(
            id=f"{scene.id}-{counts[scene.id]:02d}",
            scene_id=scene.id,
            order=order,
            size=cut.size,
            move=move,
            place=scene.place,
            time_of_day=scene.time_of_day,
            characters=cut.characters,
            props=cut.props,
            action=cut.action,
            lines=tuple(cut.lines),
            duration_frames=length,
            transition_in=cut.transition_in,
        )
