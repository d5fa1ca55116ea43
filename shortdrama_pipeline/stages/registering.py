"""A delivered result becomes a version of the right kind, with its origins, and perhaps the choice."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import sqlalchemy as sa

from shortdrama_pipeline.errors import MediaInvalid
from shortdrama_pipeline.rules.states import TaskState, VersionKind
from shortdrama_pipeline.stages import text_results
from shortdrama_pipeline.store.selections import replace_selection, select_where_none
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


@dataclass(frozen=True, slots=True)
class Delivered:
    """What one attempt of a task delivered. What came too late is never chosen by itself (D-10)."""

    task: PaidTask
    attempt_id: str
    outputs: Sequence[StoredOutput]
    may_choose: bool = True


def register_result(
    tx: sa.Connection, task: PaidTask, attempt_id: str, outputs: Sequence[StoredOutput]
) -> list[str]:
    """Make one version per output, in slot order; return their ids. See `register_results`."""
    return register_results(tx, [Delivered(task, attempt_id, outputs)])[0]


def register_results(tx: sa.Connection, results: Sequence[Delivered]) -> list[list[str]]:
    """Make one version per output of each result; ids by result, in slot order.

    Idempotent by (attempt, slot) (V-8), set-based, and safe beside another worker's batch.

    The first output becomes the choice where nothing is chosen yet, or where the order itself was to
    replace the present choice (`constraints.replaces`); never for a task that ended without delivery
    (D-10). Raises MediaInvalid for a text that is not what was asked for: quarantine it.
    """
    known = find_results(tx, [each.attempt_id for each in results])
    drafts = [
        _draft(each.task, each.attempt_id, output)
        for each in results
        for output in sorted(each.outputs, key=lambda output: output.slot)
    ]
    ids = iter(record_versions(tx, drafts))
    made = [[next(ids) for _ in each.outputs] for each in results]
    fresh = [
        (each.task, version_ids[0])
        for each, version_ids in zip(results, made, strict=True)
        if version_ids
        and each.may_choose
        and each.task.state not in _ENDED_WITHOUT_DELIVERY
        and not any(attempt_id == each.attempt_id for attempt_id, _ in known)
    ]
    _choose(tx, fresh)
    return made


def _choose(tx: sa.Connection, fresh: Sequence[tuple[PaidTask, str]]) -> None:
    """Fill empty choices, and let an ordered redo take the place of exactly what it was to replace."""
    versions = find_by_ids(tx, [version_id for _, version_id in fresh])
    taken = select_where_none(tx, [versions[version_id] for _, version_id in fresh])
    for task, version_id in fresh:
        replaces = _object(task.request.get("constraints")).get("replaces")
        if version_id not in taken and isinstance(replaces, str):
            version = versions[version_id]
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
