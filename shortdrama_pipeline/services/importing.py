"""Import a person's own script: a draft outline and a draft script, without a purchase (D-25)."""

import hashlib
from collections import Counter
from pathlib import Path

from shortdrama_pipeline.errors import NotReady
from shortdrama_pipeline.readers.decoding import read_bytes
from shortdrama_pipeline.readers.outcome import ReadScript
from shortdrama_pipeline.readers.reading import read_raw
from shortdrama_pipeline.rules import script as scripts
from shortdrama_pipeline.rules.actors import parse_actor
from shortdrama_pipeline.rules.outline import outline_of
from shortdrama_pipeline.rules.script import Script
from shortdrama_pipeline.rules.states import VersionKind
from shortdrama_pipeline.rules.storyboard import plan_shots, shots_ms
from shortdrama_pipeline.services.context import Studio
from shortdrama_pipeline.store import audit
from shortdrama_pipeline.store.database import Database
from shortdrama_pipeline.store.episodes import require_episode
from shortdrama_pipeline.store.selections import select_versions
from shortdrama_pipeline.store.versions import Draft, Version, find_by_ids, find_versions, record_versions

IMPORTED = "import"


def import_script(
    studio: Studio, episode_id: str, path: Path, *, actor: str, language: str | None = None
) -> dict[str, object]:
    """Read the file into a draft StoryOutlineVersion and a draft ScriptVersion, and choose both.

    The episode is looked up before the file is opened. The same text again is the same versions.
    Raises UnknownId, or UnreadableScript with line and reason; then nothing is written.
    """
    parse_actor(actor)
    with studio.db.read() as tx:
        require_episode(tx, episode_id)
    raw = read_bytes(path)
    read = read_raw(raw, ending=path.suffix, language=language)
    origin: dict[str, object] = {
        "source": IMPORTED,
        "file": path.name,
        "file_sha256": hashlib.sha256(raw).hexdigest(),
        "remarks": [{"line": each.line, "what": each.what} for each in read.remarks],
    }
    outline, script, created = _record(studio.db, episode_id, read.script, origin=origin, actor=actor)
    return {
        "episode_id": episode_id,
        "outline_version_id": outline.version_id,
        "script_version_id": script.version_id,
        "created": created,
        "state": "draft",
        **_counts(read),
        "remarks": origin["remarks"],
    }


def _record(
    db: Database, episode_id: str, script: Script, *, origin: dict[str, object], actor: str
) -> tuple[Version, Version, bool]:
    """Return the two versions, and whether the script's is new."""
    with db.begin() as tx:
        known = {
            each.digest: each.version_id
            for subject in ("outline", "script")
            for each in find_versions(tx, episode_id, subject=subject, role="content")
        }
        drafts = [
            Draft(
                kind=VersionKind.STORY_OUTLINE,
                episode_id=episode_id,
                subject="outline",
                role="content",
                content=outline_of(script),
                actor=actor,
                provenance=origin,
            )
        ]
        outline_id = known.get(drafts[0].digest) or record_versions(tx, drafts)[0]
        draft = Draft(
            kind=VersionKind.SCRIPT,
            episode_id=episode_id,
            subject="script",
            role="content",
            content=scripts.to_json(script),
            actor=actor,
            uses=[(outline_id, "outline")],
            provenance=origin,
        )
        script_id = known.get(draft.digest) or record_versions(tx, [draft])[0]
        created = draft.digest not in known
        found = find_by_ids(tx, [outline_id, script_id])
        select_versions(tx, [found[outline_id], found[script_id]], actor=actor)
        if created:
            facts = {"file": str(origin["file"]), "file_sha256": str(origin["file_sha256"])}
            audit.record_decision(tx, "script.import", script_id, actor=actor, facts=dict(facts))
    return found[outline_id], found[script_id], created


def _counts(read: ReadScript) -> dict[str, object]:
    """Return what a person checks first: how much was read, who speaks, how long it will last."""
    script = read.script
    lines = [line for scene in script.scenes for line in scene.lines]
    kinds = Counter(line.kind.value for line in lines)
    try:
        shots = plan_shots(script)
        length: dict[str, object] = {"shots": len(shots), "estimated_ms": shots_ms(shots), "not_ready": None}
    except NotReady as error:  # a draft may be; the gate says so again
        length = {"shots": None, "estimated_ms": None, "not_ready": error.message}
    return {
        "title": script.title,
        "language": script.language,
        "scenes": len(script.scenes),
        "characters": [each.name for each in script.characters],
        "lines": {kind.value: kinds.get(kind.value, 0) for kind in scripts.LineKind},
        "speakers_missing": sum(1 for line in lines if line.speaker == ""),
        **length,
    }
