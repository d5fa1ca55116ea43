"""From "the vendor has a result" to a registered version: transfer, hash, measure, register.

A broken transfer is repeated under the same result identity and never asks the vendor to make
anything (P-9.4). Bytes that are not what they claim end in quarantine, with the Task waiting for a
person, never `failed` (D-3).
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import sqlalchemy as sa

from shortdrama_pipeline.crashpoints import Point, reach
from shortdrama_pipeline.errors import EgressRefused, MediaInvalid, Outside, ShortdramaError
from shortdrama_pipeline.providers.egress import resolve_system
from shortdrama_pipeline.providers.transport import ResultGone, download
from shortdrama_pipeline.rules.attempts import Concluded
from shortdrama_pipeline.rules.deadlines import CODE as LATE_CODE
from shortdrama_pipeline.rules.ledger import COMPENSATION, Bill
from shortdrama_pipeline.rules.polling import DOWNLOAD_TRIES_MAX, download_pause_ms
from shortdrama_pipeline.rules.states import AttemptState, MediaKind, MediaState
from shortdrama_pipeline.rules.tasks import FactsMissing, Registered
from shortdrama_pipeline.services import settling
from shortdrama_pipeline.services.batching import Lane
from shortdrama_pipeline.services.recording import (
    ENGINE_ACTOR,
    Change,
    Reason,
    Recorded,
    Stale,
    attempt_move,
    task_move,
)
from shortdrama_pipeline.services.shifts import LOG, Shift, describe
from shortdrama_pipeline.services.work import ChannelLost, Work, resolve_binding
from shortdrama_pipeline.stages.registering import Delivered, StoredOutput, register_results
from shortdrama_pipeline.store import alerts, audit, deadlines, jobs, media, reservations, tasks
from shortdrama_pipeline.store.alerts import Alert
from shortdrama_pipeline.store.jobs import JobNote
from shortdrama_pipeline.store.media import Judgement, StagedFile

RESULT_BYTES_MAX: Mapping[str, int] = {
    MediaKind.TEXT: 4 * 1024**2,
    MediaKind.IMAGE: 64 * 1024**2,
    MediaKind.SPEECH: 256 * 1024**2,
    MediaKind.MUSIC: 256 * 1024**2,
    MediaKind.VIDEO: 2 * 1024**3,
    MediaKind.LIPSYNC: 2 * 1024**3,
}
TEXT_TYPE = "application/json"
OutputJson = dict[str, Any]
Measured = tuple[StoredOutput | None, Judgement]
# Asks the vendor once more for the same job's result; never for a new one.
Refresh = Callable[[Work], Awaitable["list[OutputJson] | None"]]


@dataclass(frozen=True, slots=True)
class Delivery:
    """Measured results of one Task, ready to become versions."""

    work: Work
    outputs: tuple[StoredOutput, ...]
    judged: tuple[Judgement, ...]
    bill: Bill | None = None


class Landing(StrEnum):
    """What became of a delivery at its registration."""

    MISSED = "missed"  # someone else was first
    IN_TIME = "inTime"
    LATE = "late"  # past the deadline: free for the user, beside the choice (P-8.5, D-10)


async def transfer(
    shift: Shift,
    work: Work,
    outputs: Sequence[OutputJson],
    *,
    bill: Bill | None,
    refresh: Refresh | None = None,
) -> None:
    """Bring every output into the store, then deliver (P-8.1)."""
    fetched: list[OutputJson] = []
    pending = list(outputs)
    for tries in range(1, DOWNLOAD_TRIES_MAX + 1):
        try:
            while len(fetched) < len(pending):
                fetched.append(await shift.by_porter(fetch, shift, work, pending[len(fetched)]))
            break
        except ChannelLost:
            await park(shift, work, Reason("channelUnresolvable", "resultKnown"))  # P-10.8: never another one
            return
        except EgressRefused as error:
            await park(shift, work, Reason("egressRefused", "resultKnown", {"rule": error.facts.get("rule")}))
            return
        except MediaInvalid as error:
            await park(shift, work, Reason("resultTooLarge", "resultKnown", dict(error.facts)))
            return
        except ResultGone as error:
            fresh = await refresh(work) if refresh is not None else None
            if fresh is None or tries == DOWNLOAD_TRIES_MAX:
                await park(shift, work, Reason("resultLinkGone", "resultKnown", dict(error.facts)))
                return
            pending = list(fresh)
        except Outside as error:
            if tries == DOWNLOAD_TRIES_MAX or shift.stopping:
                await park(shift, work, Reason("downloadInterrupted", "resultKnown", {"error": error.code}))
                return
        await asyncio.sleep(download_pause_ms(tries, jitter_permille=shift.jitter()) / 1000)
    reach(Point.DOWNLOAD_STORED)
    measured = [await shift.by_porter(measure, shift, work, each) for each in fetched]
    staged = tuple(StagedFile(each["sha256"], each["bytes"], each["media_type"]) for each in fetched)
    if _is_broken(measured):  # the Attempt stays open, so that the same result may be transferred again
        await quarantine(shift, work, [judged for _, judged in measured], staged=staged)
        return
    change = Change(
        held=work.held,
        attempts=(
            attempt_move(work.attempt_id, AttemptState.ACCEPTED, Concluded(), result={"outputs": fetched}),
        ),
        job_note=JobNote(work.attempt_id, transferred=True),
        staged=staged,
    )
    answer = await shift.record(change)
    reach(Point.TRANSFER_COMMITTED)
    if isinstance(answer, Recorded):
        await _register(shift, work.at(answer.now), measured, bill=bill)


def fetch(shift: Shift, work: Work, output: OutputJson) -> OutputJson:
    """Bring one output's bytes into the store, past the outbound policy; what lies there stays."""
    if output.get("sha256"):
        return output if "bytes" in output else output | {"bytes": _size(shift, str(output["sha256"]))}
    binding, _ = resolve_binding(shift.studio, work.channel)
    chunks = download(
        str(output["url"]), binding, bytes_max=RESULT_BYTES_MAX[work.task.kind], resolve=resolve_system
    )
    sha256, size = shift.studio.objects.put(chunks, bytes_max=RESULT_BYTES_MAX[work.task.kind])
    return output | {"sha256": sha256, "bytes": size}


def _size(shift: Shift, sha256: str) -> int:
    return shift.studio.objects.path(sha256).stat().st_size


async def deliver(shift: Shift, work: Work, outputs: Sequence[OutputJson], *, bill: Bill | None) -> None:
    """Measure what lies in the store and register it; broken files go to quarantine."""
    measured = [await shift.by_porter(measure, shift, work, each) for each in outputs]
    if _is_broken(measured):
        await quarantine(shift, work, [judged for _, judged in measured])
        return
    await _register(shift, work, measured, bill=bill)


async def _register(shift: Shift, work: Work, measured: Sequence[Measured], *, bill: Bill | None) -> None:
    delivery = Delivery(
        work, tuple(stored for stored, _ in measured if stored), tuple(judged for _, judged in measured), bill
    )
    try:
        landing = await shift.writer.write(REGISTER, delivery)
    except MediaInvalid as error:
        judged = [
            Judgement(each.sha256, MediaState.QUARANTINED, each.media_type, each.probe, _why(error))
            for each in delivery.judged
        ]
        await quarantine(shift, work, judged)
        return
    except Exception as error:  # noqa: BLE001 - the result is stored; whatever stopped the row, say so (F08)
        LOG.error("engine.register.failed %s %s", work.task_id, describe(error))
        await park(shift, work, Reason("registrationFailed", "transferred", {"error": type(error).__name__}))
        return
    reach(Point.REGISTER_COMMITTED)
    shift.leases.pop(work.task_id, None)
    if landing is not Landing.MISSED:
        shift.count.ingested += 1
    if landing is Landing.IN_TIME:
        await settling.settle(shift, work.task_id, bill=bill)


def _is_broken(measured: Sequence[Measured]) -> bool:
    return not measured or any(judged.state is MediaState.QUARANTINED for _, judged in measured)


def measure(shift: Shift, work: Work, output: OutputJson) -> Measured:
    """Judge stored bytes by what they are, never by what was claimed."""
    from shortdrama_pipeline.media.probe import probe, require

    sha256, media_type = str(output["sha256"]), str(output["media_type"])
    facts = dict(output.get("facts") or {})
    try:
        if work.task.kind == MediaKind.TEXT:
            text = shift.studio.objects.read(sha256).decode("utf-8")
            found = {"media_type": TEXT_TYPE, "bytes": len(text.encode())}
            judged = Judgement(sha256, MediaState.READY, TEXT_TYPE, found)
            return StoredOutput(int(output["slot"]), sha256, TEXT_TYPE, found, facts, text), judged
        seen = probe(shift.studio.objects.path(sha256), bytes_max=RESULT_BYTES_MAX[work.task.kind])
        require(work.task.kind, seen, dict(work.task.request.get("params") or {}))
        return (
            StoredOutput(int(output["slot"]), sha256, seen["media_type"], dict(seen), facts),
            Judgement(sha256, MediaState.READY, seen["media_type"], dict(seen)),
        )
    except (MediaInvalid, UnicodeDecodeError) as error:
        return None, Judgement(sha256, MediaState.QUARANTINED, media_type, {}, _why(error))


def _why(error: Exception) -> dict[str, Any]:
    facts = dict(error.facts) if isinstance(error, ShortdramaError) else {}
    return {"code": "mediaInvalid", "what": str(error)[:200], **facts}


# --- registration -------------------------------------------------------------------------------------


def apply_registrations(tx: sa.Connection, deliveries: Sequence[Delivery]) -> list[Landing]:
    """Publish deliverables and ask for settlement, in one commit (P-8.2).

    Whether a delivery is in time is asked here, under the Task's lock; a late one gives the price back.
    """
    ours = tasks.lock_held(
        tx, [(each.work.task_id, each.work.held.lease_token, each.work.held.state) for each in deliveries]
    )
    valid = [each for each in deliveries if each.work.task_id in ours]
    media.judge(tx, [file for each in valid for file in each.judged])
    states = media.load_states(tx, [file.sha256 for each in valid for file in each.judged])
    for each in valid:
        unready = [file.sha256 for file in each.judged if states.get(file.sha256) != MediaState.READY]
        if unready:
            raise MediaInvalid(
                "The same bytes were found broken before", hint="Transfer again: shortdrama task transfer"
            )
    late = deadlines.find_late(tx, [each.work.task_id for each in valid])
    register_results(
        tx,
        [
            Delivered(each.work.task, each.work.attempt_id, each.outputs, each.work.task_id not in late)
            for each in valid
        ],
    )
    tasks.record_moves(tx, [task_move(each.work.held, Registered(), after_ms=None) for each in valid])
    alerts.close_alerts(tx, [each.work.task_id for each in valid], by=ENGINE_ACTOR)
    jobs.record_notes(tx, [JobNote(each.work.attempt_id, registered=True) for each in valid])
    in_time = [each.work.task_id for each in valid if each.work.task_id not in late]
    reservations.request_settlement_many(tx, in_time)
    _give_back(tx, [each for each in valid if each.work.task_id in late])
    reach(Point.REGISTER_BEFORE_COMMIT)
    return [_landing(each.work.task_id, ours, late) for each in deliveries]


def _landing(task_id: str, ours: set[str], late: set[str]) -> Landing:
    if task_id not in ours:
        return Landing.MISSED
    return Landing.LATE if task_id in late else Landing.IN_TIME


def _give_back(tx: sa.Connection, late: Sequence[Delivery]) -> None:
    """A late delivery is the user's for free; what the vendor took is the platform's (P-8.5, P-8.6)."""
    if not late:
        return
    bills = [replace(each.bill, platform_bears=True) for each in late if each.bill]
    task_ids = [each.work.task_id for each in late]
    reservations.release_many(tx, task_ids, reason={"code": LATE_CODE}, bills=bills, actor=ENGINE_ACTOR)
    audit.record_decisions(
        tx,
        [
            {
                "action": "task.late-result",
                "subject_id": each.work.task_id,
                "facts": {
                    "attempt_id": each.work.attempt_id,
                    "outcome": "delivered",
                    "user": {"money": "released"},
                    "provider": {
                        "cost": None if each.bill is None else each.bill.cost.to_json(),
                        "account": None if each.bill is None else COMPENSATION,
                    },
                },
                "actor": ENGINE_ACTOR,
            }
            for each in late
        ],
    )


REGISTER: Lane[Delivery, Landing] = Lane("register", 30, apply_registrations)


# --- what cannot be delivered now -----------------------------------------------------------------------


async def park(shift: Shift, work: Work, reason: Reason) -> None:
    """Delivery facts are missing: the paid result is kept in sight, a person is told (P-8.4)."""
    change = Change(
        held=work.held,
        task=task_move(
            work.held,
            FactsMissing(),
            after_ms=shift.pace.slow_query_s * 1000,
            reason=reason.to_json(),
            keep_lease=False,
        ),
        alert=Alert("delivery_stuck", work.task_id, "A paid result is not delivered", {"code": reason.code}),
    )
    answer = await shift.record(change)
    if not isinstance(answer, Stale):
        shift.count.reconciling += 1


async def quarantine(
    shift: Shift, work: Work, judged: Sequence[Judgement], *, staged: tuple[StagedFile, ...] = ()
) -> None:
    """Keep the bytes, never selectable; the Task waits for a person (D-3)."""
    what = next((dict(each.reason) for each in judged if each.reason), {"what": "no output"})
    reason = Reason("mediaInvalid", "transferred", {"what": str(what.get("what", ""))[:200]})
    change = Change(
        held=work.held,
        task=task_move(
            work.held,
            FactsMissing(),
            after_ms=shift.pace.slow_query_s * 1000,
            reason=reason.to_json(),
            keep_lease=False,
        ),
        staged=staged,
        judged=tuple(each for each in judged if each.state is MediaState.QUARANTINED),
        alert=Alert(
            "media_invalid", work.task_id, "A paid result is not usable media", {"code": reason.code}
        ),
    )
    answer = await shift.record(change)
    if not isinstance(answer, Stale):
        shift.count.reconciling += 1
