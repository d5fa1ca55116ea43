"""A delivered result becomes a version of the right kind, with its origins, and perhaps the choice."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import sqlalchemy as sa

from shortdrama_pipeline.errors import MediaInvalid
from shortdrama_pipeline.rules.states import TaskState, VersionKind
from shortdrama_pipeline.stages import text_results
from shortdrama_pipeline.store.selections import replace_selection, select_if_none
from shortdrama_pipeline.store.versions import Draft, find_by_ids, find_results, record_versions

# Of what a file is, by the role it plays (§2); text roles are named by their subject.
KINDS: Mapping[str, VersionKind] = {
    "reference": VersionKind.ASSET,
    "frame": VersionKind.ASSET,
    "video": VersionKind.ASSET,
    "speech": VersionKind.AUDIO,
}
_TEXT_KINDS: Mapping[str, VersionKind] = {
    "outline": VersionKind.STORY_OUTLINE,
    "script": VersionKind.SCRIPT,
}
_ENDED_WITHOUT_DELIVERY = {TaskState.FAILED, TaskState.CANCELLED}


class PaidTask(Protocol):
    """What registration reads of a task; the row of `tasks` as the engine loads it."""

    @property
    def task_id(self) -> str: ...
    @property
    def episode_id(self) -> str: ...
    @property
    def subject(self) -> str: ...
    @property
    def role(self) -> str: ...
    @property
    def state(self) -> str: ...
    @property
    def request(self) -> Mapping[str, object]: ...


@dataclass(frozen=True, slots=True)
class StoredOutput:
    """One validated file of an attempt: its row of media_files is there, state `ready`.

    `probe` is what the server measured (whole numbers and text only), `facts` the vendor's remarks.
    `text` is the decoded file of a text result (application/json), None for media.
    """

    slot: int
    sha256: str
    media_type: str
    probe: Mapping[str, object] = field(default_factory=dict)
    facts: Mapping[str, object] = field(default_factory=dict)
    text: str | None = None


def register_result(
    tx: sa.Connection, task: PaidTask, attempt_id: str, outputs: Sequence[StoredOutput]
) -> list[str]:
    """Make one version per output, in slot order; return their ids. Idempotent by (attempt, slot) (V-8).

    The first becomes the choice where nothing is chosen yet, or where the order itself was to replace
    the present choice (`constraints.replaces`); never for a task that ended without delivery (D-10).
    Raises MediaInvalid for a text that is not what was asked for: quarantine it.
    """
    known = find_results(tx, attempt_id)
    ordered = sorted(outputs, key=lambda each: each.slot)
    ids = record_versions(tx, [_draft(task, attempt_id, each) for each in ordered])
    fresh = [version_id for each, version_id in zip(ordered, ids, strict=True) if each.slot not in known]
    if fresh and task.state not in _ENDED_WITHOUT_DELIVERY:
        _choose(tx, task, fresh[0])
    return ids


def _choose(tx: sa.Connection, task: PaidTask, version_id: str) -> None:
    version = find_by_ids(tx, [version_id])[version_id]
    if select_if_none(tx, version, actor=version.actor):
        return
    replaces = _object(task.request.get("constraints")).get("replaces")
    if isinstance(replaces, str):
        replace_selection(tx, version, seen=replaces, actor=version.actor)


def _draft(task: PaidTask, attempt_id: str, output: StoredOutput) -> Draft:
    return Draft(
        kind=KINDS.get(task.role) or _TEXT_KINDS[task.subject],
        episode_id=task.episode_id,
        subject=task.subject,
        role=task.role,
        content=_content(task, output),
        actor=f"task:{task.task_id}",
        sha256=output.sha256,
        uses=[(str(use["version_id"]), str(use["purpose"])) for use in _list(task.request.get("uses"))],
        attempt_id=attempt_id,
        slot=output.slot,
        provenance=_provenance(task),
    )


def _content(task: PaidTask, output: StoredOutput) -> dict[str, object]:
    params = _object(task.request.get("params"))
    match task.role:
        case "content":
            return _text_content(task, output)
        case "speech":
            wanted = ("text", "voice", "language", "kind", "manner")
            return {
                **{name: params.get(name) for name in wanted},
                "duration_ms": output.probe.get("duration_ms"),
                "media": _measured(output),
            }
        case _:
            return {"title": params.get("title") or params.get("shot"), "media": _measured(output)}


def _text_content(task: PaidTask, output: StoredOutput) -> dict[str, object]:
    if output.text is None:
        raise MediaInvalid(
            f"The result for {task.subject} is not a text",
            hint="The binding answers with another media type: `shortdrama provider check BINDING`",
            media_type=output.media_type,
        )
    if task.subject == "outline":
        return text_results.read_outline(output.text)
    return text_results.read_script(output.text)


def _measured(output: StoredOutput) -> dict[str, object]:
    """What the server measured, the file's name for it first."""
    return {"media_type": output.media_type, **dict(output.probe)}


def _provenance(task: PaidTask) -> dict[str, object]:
    """Where it came from: order, channel, price and seed, so that a film can be explained later."""
    request = task.request
    params = _object(request.get("params"))
    return {
        "source": "paid",
        "task_id": task.task_id,
        "binding_id": request.get("binding_id"),
        "product_model": request.get("product_model"),
        "price_version_id": request.get("price_version_id"),
        "price_micros": request.get("price_micros"),
        "seed": params.get("seed"),
    }


def _object(value: object) -> dict[str, object]:
    return dict(value) if isinstance(value, Mapping) else {}


def _list(value: object) -> list[dict[str, object]]:
    return [_object(each) for each in value] if isinstance(value, list | tuple) else []
