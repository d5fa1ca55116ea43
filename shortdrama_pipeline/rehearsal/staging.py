"""Who stands where in a shot: places, sizes and poses of the figures for each size of shot."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from shortdrama_pipeline.rehearsal.figures import Pose

_MOODS = (
    ("angry", ("怒", "吼", "质问", "摔", "瞪", "滚", "骗", "凭什么", "恨", "angr", "furious", "shout", "slam", "glare", "liar", "get out")),
    ("sad", ("哭", "泪", "悲", "哽咽", "难过", "对不起", "离开", "再见", "sob", "tear", "cry", "sad", "sorry", "goodbye", "grief")),
    ("shocked", ("惊", "愣", "震", "不可能", "怎么会", "什么？", "shock", "gasp", "stare", "impossible", "what?", "freez")),
    ("happy", ("笑", "喜", "温柔", "拥抱", "幸福", "谢谢", "smil", "laugh", "happy", "grin", "embrace", "thank", "warm")),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Standing:
    """One figure in the picture: head's middle as shares of width and height, head height of the height.

    `behind` is somebody seen from behind, close to the camera.
    """

    index: int
    x: float
    y: float
    head: float
    pose: Pose
    behind: bool = False


def mood_of(text: str) -> str:
    lower = text.lower()
    return next((mood for mood, words in _MOODS if any(each in lower for each in words)), "calm")


def stand(
    shot_id: str, size: str, names: Sequence[str], *, speaker: str, words: str, light: int
) -> list[Standing]:
    """Place up to four people; who speaks is the one looked at. Nobody moves their lips for a voice unseen."""
    chance = hashlib.sha256(shot_id.encode()).digest()
    speaking = speaker in names
    main = names.index(speaker) if speaking else 0
    mood = mood_of(words)
    count = min(len(names), 4)
    if count == 0:
        return []
    if size in ("close", "detail"):
        return _close(size, count, main, chance, mood=mood, speaking=speaking, light=light)
    head, y, spread = {
        "wide": (0.050, 0.455, 0.17),
        "full": (0.076, 0.345, 0.25),
    }.get(size, (0.165 if count == 1 else 0.138, 0.345 if count == 1 else 0.365, 0.42))
    if size == "medium" and count > 2:
        head, spread = 0.108, 0.30
    middle = 0.5 + (chance[0] % 21 - 10) / 100 * (1 if count == 1 or size == "wide" else 0.3)
    places = []
    for index in range(count):
        x = middle + (index - (count - 1) / 2) * spread
        facing = (1 if x < middle else -1) if count > 1 else (1 if middle < 0.5 or chance[1] % 2 else -1)
        talks = index == main and speaking
        pose = Pose(
            facing=facing,
            turn=0.35 + (chance[2] % 5) * 0.12 if count == 1 else 0.75,
            light=light,
            mood=mood
            if index == main
            else ("calm" if mood == "happy" else mood if chance[3] % 2 else "calm"),
            speaking=talks,
            arms="gesture"
            if talks and chance[4] % 3
            else ("folded" if chance[5 + index] % 4 == 0 else "down"),
        )
        # The one further back stands a little higher and smaller.
        depth = 0.94 if index != main and count > 1 else 1.0
        places.append(Standing(index, x, y + (1 - depth) * 0.1, head * depth, pose))
    places.sort(key=lambda each: each.head)
    return places


def _close(
    size: str, count: int, main: int, chance: bytes, *, mood: str, speaking: bool, light: int
) -> list[Standing]:
    side = 1 if (chance[0] % 2 if count == 1 else main % 2 == 0) else -1
    pose = Pose(
        facing=side,
        turn=0.30 + (chance[2] % 4) * 0.14 if count == 1 else 0.8,
        light=light,
        mood=mood,
        speaking=speaking,
    )
    if size == "detail":
        return [Standing(main, 0.5 - side * 0.02, 0.43, 0.66, pose)]
    places = [Standing(main, 0.5 - side * (0.05 if count == 1 else 0.11), 0.385, 0.295, pose)]
    if count > 1:
        other = (main + 1) % count
        places.append(
            Standing(other, 0.5 + side * 0.44, 0.50, 0.40, Pose(facing=-side, light=light), behind=True)
        )
    return places
