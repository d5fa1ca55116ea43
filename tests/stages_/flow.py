"""Makes an episode as far as a test needs it: a script, results registered directly, gates passed.

No network and no engine: `deliver` writes the task row a confirmed item would have and registers the
file a vendor would have sent.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import sqlalchemy as sa

from shortdrama_pipeline.ids import new_id
from shortdrama_pipeline.rules import script as scripts
from shortdrama_pipeline.rules.plans import ItemRequest
from shortdrama_pipeline.rules.script import Character, Line, LineKind, Scene, Script
from shortdrama_pipeline.rules.states import Stage, VersionKind
from shortdrama_pipeline.services.context import Studio
from shortdrama_pipeline.services.gates import bring_up_to, pass_gate
from shortdrama_pipeline.stages import wanting
from shortdrama_pipeline.stages.catalogue import CATALOGUE
from shortdrama_pipeline.stages.registering import StoredOutput, register_result
from shortdrama_pipeline.store.database import Database
from shortdrama_pipeline.store.selections import select_version
from shortdrama_pipeline.store.tables import episodes
from shortdrama_pipeline.store.versions import load_version, record_version

PERSON = "person:lin"
AGENT = "agent:writer"


@dataclass(frozen=True, slots=True)
class FakeTask:
    """The columns of a task that registration reads."""

    task_id: str
    episode_id: str
    subject: str
    role: str
    state: str
    request: Mapping[str, object]


def scene(number: int, *lines: Line, place: str = "天台", props: tuple[str, ...] = ()) -> Scene:
    return Scene(f"s{number}", f"场景{number}", place, "夜", props, lines)


def said(speaker: str, text: str) -> Line:
    return Line(LineKind.DIALOGUE, text, speaker, "", 1)


def done(text: str) -> Line:
    return Line(LineKind.ACTION, text, None, "", 1)


def told(text: str) -> Line:
    return Line(LineKind.NARRATION, text, None, "", 1)


def small_script(**changes: object) -> Script:
    """Two people, two places, a prop, a narrator; enough for close-ups and wide shots."""
    fields: dict[str, object] = {
        "title": "天台上的信",
        "language": "zh-CN",
        "logline": "一封信",
        "characters": (Character("c1", "林晚", "年轻女子，白衬衫"), Character("c2", "顾沉", "黑衣男子")),
        "scenes": (
            scene(1, done("林晚站在天台边缘。"), said("c1", "你终于来了！"), said("c2", "我一直都在。")),
            scene(
                2,
                told("那封信，改变了一切。"),
                said("c1", "这封信是你写的吗？"),
                done("顾沉拿出信。"),
                said("c2", "是我写的。"),
                place="咖啡馆",
                props=("信",),
            ),
        ),
    }
    return Script(**(fields | changes))  # type: ignore[arg-type]


def new_episode(db: Database, *, number: int = 0, series_id: str | None = None) -> str:
    """Write the row that allocation would write."""
    episode_id = f"2026-W32-{number}"
    with db.begin() as tx:
        tx.execute(
            sa.insert(episodes).values(
                episode_id=episode_id,
                kind="episode",
                week_id="2026-W32",
                sequence=number,
                allocation_key=f"test-{number}",
                series_id=series_id,
                time_zone="Asia/Shanghai",
                scheduled_for=sa.func.clock_timestamp(),
                state="live",
                actor=PERSON,
            )
        )
    return episode_id


def bring_script(db: Database, episode_id: str, script: Script) -> str:
    """Record and choose an outline and a script, as an import does (D-25); return the script's version."""
    with db.begin() as tx:
        outline = record_version(
            tx,
            kind=VersionKind.STORY_OUTLINE,
            episode_id=episode_id,
            subject="outline",
            role="content",
            content={"title": script.title, "language": script.language, "logline": script.logline},
            provenance={"source": "import"},
            actor=PERSON,
        )
        version_id = record_version(
            tx,
            kind=VersionKind.SCRIPT,
            episode_id=episode_id,
            subject="script",
            role="content",
            content=scripts.to_json(script),
            uses=[(outline, "outline")],
            provenance={"source": "import"},
            actor=PERSON,
        )
        for each in (outline, version_id):
            select_version(tx, load_version(tx, each), actor=PERSON)
    return version_id


def store_file(tx: sa.Connection, content: str, media_type: str) -> str:
    """Write the row of a stored file; its bytes play no part in these tests."""
    sha256 = hashlib.sha256(content.encode()).hexdigest()
    tx.execute(
        sa.text(
            "insert into media_files (sha256, bytes, media_type, state, probe)"
            " values (:sha256, 1, :media_type, 'staging', '{}') on conflict do nothing"
        ),
        {"sha256": sha256, "media_type": media_type},
    )
    tx.execute(
        sa.text("update media_files set state = 'ready' where sha256 = :sha256 and state = 'staging'"),
        {"sha256": sha256},
    )
    return sha256


def probe_of(request: ItemRequest, *, speech_ms: int = 1500) -> tuple[str, dict[str, object]]:
    """Return the media type and the measure of a good result."""
    params = request.params
    match request.role:
        case "video":
            return "video/mp4", {
                "width": params["width"],
                "height": params["height"],
                "frame_rate": [24, 1],
                "frames": params["duration_frames"],
                "duration_ms": int(str(params["duration_frames"])) * 1000 // 24,
                "has_audio": False,
            }
        case "speech":
            return "audio/wav", {"duration_ms": speech_ms, "sample_rate": 48000, "channels": 1}
        case "content":
            return "application/json", {}
        case _:
            return "image/png", {"width": params["width"], "height": params["height"]}


def item_of(request: ItemRequest) -> dict[str, object]:
    """Return the item of a PlanSnapshot as a task carries it."""
    return {
        "item_id": request.item_id,
        "binding_id": f"rehearsal-{request.kind}",
        "product_model": "animatic-1",
        "price_version_id": "price_test",
        "price_micros": 1,
        "params": dict(request.params),
        "uses": [use.to_json() for use in request.uses],
        "constraints": dict(request.constraints),
    }


def deliver(
    db: Database,
    requests: Iterable[ItemRequest],
    *,
    state: str = "ingesting",
    attempt_id: str | None = None,
    text: str | None = None,
) -> dict[str, str]:
    """Register one good result per request; return the version per `subject#role`."""
    made: dict[str, str] = {}
    with db.begin() as tx:
        for request in requests:
            media_type, probe = probe_of(request)
            attempt = attempt_id or new_id("att")
            sha256 = store_file(tx, f"{request.item_id}/{json.dumps(item_of(request))}/{attempt}", media_type)
            task = FakeTask(
                new_id("task"), request.episode_id, request.subject, request.role, state, item_of(request)
            )
            output = StoredOutput(0, sha256, media_type, probe, {}, text)
            made[f"{request.subject}#{request.role}"] = register_result(tx, task, attempt, [output])[0]
    return made


def requests_of(
    studio: Studio, episode_id: str, stage: Stage, *, only: str = "missing", items: list[str] | None = None
) -> list[ItemRequest]:
    """Return what a stage would ask for, without pricing it."""
    return wanting.wanted(bring_up_to(studio, episode_id, stage), CATALOGUE[stage], only=only, items=items)


def drive_to(studio: Studio, episode_id: str, stage: Stage) -> None:
    """Make and confirm everything before `stage`."""
    for each in Stage:
        if each is stage:
            return
        deliver(studio.db, requests_of(studio, episode_id, each))
        bring_up_to(studio, episode_id, each)
        pass_gate(studio, episode_id, each, actor=PERSON, rights=True)


def episode_with_script(studio: Studio, *, number: int = 0, script: Script | None = None) -> str:
    """Return an episode that has an imported draft script and nothing else."""
    episode_id = new_episode(studio.db, number=number)
    bring_script(studio.db, episode_id, script or small_script())
    return episode_id


def count(db: Database, table: sa.Table) -> int:
    with db.read() as tx:
        return int(tx.execute(sa.select(sa.func.count()).select_from(table)).scalar_one())
