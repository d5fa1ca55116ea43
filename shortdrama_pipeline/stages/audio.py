"""Audio (P-2.7): every spoken line in the voice of the one who says it."""

from shortdrama_pipeline.rules.bible import NARRATOR
from shortdrama_pipeline.rules.plans import ItemRequest
from shortdrama_pipeline.rules.shots import ShotLine
from shortdrama_pipeline.rules.states import MediaKind, Stage
from shortdrama_pipeline.stages import storyboard
from shortdrama_pipeline.stages.view import Key, View
from shortdrama_pipeline.stages.work import StageWork, seed, use

SAMPLE_RATE = 48_000


def _owed(view: View) -> list[Key]:
    """A film without a word owes nothing here, and its gate asks for the rights all the same."""
    if not view.shots:
        return [storyboard.UNPLANNED]
    return [(f"line:{line.line_id}", "speech") for shot in view.shots for line in shot.lines]


def _requests(view: View) -> list[ItemRequest]:
    return [_speech(view, line) for shot in view.shots for line in shot.lines]


def _speech(view: View, line: ShotLine) -> ItemRequest:
    subject = f"line:{line.line_id}"
    who = line.speaker or NARRATOR
    words, voice = view.version(subject), view.version(f"character:{who}", "voice")
    channel = view.channel(MediaKind.SPEECH)
    known = {} if view.script is None else {each.id: each.name for each in view.script.characters}
    return ItemRequest(
        episode_id=view.episode_id,
        subject=subject,
        role="speech",
        kind=MediaKind.SPEECH,
        params={
            "text": line.text,
            "voice": None if voice is None else voice.content["voice"],
            "language": view.language,
            "kind": line.kind,
            "manner": line.manner,
            "speaker": known.get(who, who),
            "sample_rate": SAMPLE_RATE,
            "seed": seed(view, subject, "speech"),
        },
        uses=(
            *(() if words is None else (use(words, "line"),)),
            *(() if voice is None else (use(voice, "voice"),)),
        ),
        # A voice belongs to the channel that has it.
        constraints={} if channel is None else {"binding_id": channel.binding_id},
    )


WORK = StageWork(Stage.AUDIO, owed=_owed, requests=_requests)
