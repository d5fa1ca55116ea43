"""Asset preparation (P-2.3): who and what is seen gets one reference picture each, and a voice.

From the script come, by rule, the settings of every character, place and prop (`<subject>/content`),
the voices (`<subject>/voice`) and, once every picture is chosen, the ProjectBibleVersion. What uses a
setting depends on that setting alone, so a changed scene leaves a character's picture current.
"""

from shortdrama_pipeline.rules import bible
from shortdrama_pipeline.rules.bible import NARRATOR, Entry
from shortdrama_pipeline.rules.plans import ItemRequest
from shortdrama_pipeline.rules.states import MediaKind, Stage, VersionKind
from shortdrama_pipeline.stages import prompts
from shortdrama_pipeline.stages.view import Key, View
from shortdrama_pipeline.stages.work import RULE, StageWork, seed, use
from shortdrama_pipeline.store.versions import Draft

SIDE = 1024
BIBLE: Key = ("bible", "content")
_OURS = ("character:", "place:", "prop:")


def _owed(view: View) -> list[Key]:
    if view.script is None:
        return [("script", "content")]
    return [*((entry.subject, "reference") for entry in bible.entries(view.script)), BIBLE]


def _free(view: View) -> list[Draft]:
    script_version = view.version("script")
    if view.script is None or script_version is None:
        return []
    origin = [(script_version.version_id, "script")]
    entries = bible.entries(view.script)
    voices = voices_of(view)
    drafts = [_setting(view, entry, origin) for entry in entries]
    drafts += [_voice(view, who, voice, origin) for who, voice in voices.items()]
    references = {entry.subject: view.version(entry.subject, "reference") for entry in entries}
    settings = [view.version(entry.subject) for entry in entries]
    if all(references.values()) and all(settings):
        chosen = {subject: version for subject, version in references.items() if version is not None}
        content = bible.bible_content(
            view.script, {subject: version.version_id for subject, version in chosen.items()}, voices
        )
        uses = [(version.version_id, _purpose(subject)) for subject, version in chosen.items()]
        uses += [(version.version_id, "setting") for version in settings if version is not None]
        drafts.append(
            Draft(VersionKind.PROJECT_BIBLE, view.episode_id, *BIBLE, content=content, actor=RULE, uses=uses)
        )
    return drafts


def _gone(view: View) -> list[Key]:
    if view.script is None:
        return []
    known = {entry.subject for entry in bible.entries(view.script)} | {f"character:{NARRATOR}"}
    return [key for key in view.chosen if key[0].startswith(_OURS) and key[0] not in known]


def _requests(view: View) -> list[ItemRequest]:
    if view.script is None:
        return []
    return [_picture(view, entry) for entry in bible.entries(view.script)]


def voices_of(view: View) -> dict[str, str]:
    """Return the voice of everyone heard; who has one of the channel's voices keeps it."""
    channel = view.channel(MediaKind.SPEECH)
    if view.script is None or channel is None:
        return {}
    given = {who: view.version(f"character:{who}", "voice") for who in bible.speakers(view.script)}
    kept = {who: str(version.content["voice"]) for who, version in given.items() if version is not None}
    return bible.assign_voices(view.script, channel.voices, kept=kept)


def _setting(view: View, entry: Entry, origin: list[tuple[str, str]]) -> Draft:
    return Draft(
        kind=VersionKind.ASSET,
        episode_id=view.episode_id,
        subject=entry.subject,
        role="content",
        content=entry.to_json(),
        actor=RULE,
        uses=origin,
    )


def _voice(view: View, who: str, voice: str, origin: list[tuple[str, str]]) -> Draft:
    return Draft(
        kind=VersionKind.ASSET,
        episode_id=view.episode_id,
        subject=f"character:{who}",
        role="voice",
        content={"voice": voice, "language": view.language},
        actor=RULE,
        uses=origin,
    )


def _picture(view: View, entry: Entry) -> ItemRequest:
    setting = view.version(entry.subject)
    return ItemRequest(
        episode_id=view.episode_id,
        subject=entry.subject,
        role="reference",
        kind=MediaKind.IMAGE,
        params={
            "prompt": prompts.reference_prompt(entry, language=view.language, style=view.style),
            "subject_kind": entry.kind,
            "title": entry.name,
            "caption": entry.description[:200],
            "width": SIDE,
            "height": SIDE,
            "seed": seed(view, entry.subject, "reference"),
            "style": view.style,
            "references": [],
            "language": view.language,
        },
        uses=() if setting is None else (use(setting, "setting"),),
    )


def _purpose(subject: str) -> str:
    return f"{subject.partition(':')[0]}_reference"


WORK = StageWork(Stage.ASSETS, owed=_owed, free=_free, gone=_gone, requests=_requests)
