"""§10: after any crash, from the rows alone, what goes on by itself and what waits for a person.

    queued                               nothing to recover; it is simply due
    running, no fence                    back to the queue (D-1 a)
    running, fence without acceptance    outcomeUnknown, needsReconciliation; then receipt or look-up
    waitingProvider                      ask the same job again
    ingesting                            deliver the stored result again
    needsReconciliation                  a verified look-up, a slow query, or a person
    succeeded, settlementPending         settle

Anyone may run it at any time; what a live worker holds is not touched. A second pass finds nothing due.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from shortdrama_pipeline.crashpoints import Point, reach
from shortdrama_pipeline.errors import CredentialMissing
from shortdrama_pipeline.rules.attempts import WentSilent
from shortdrama_pipeline.rules.states import AttemptState, TaskState
from shortdrama_pipeline.rules.tasks import (
    FactsMissing,
    HandBack,
    HandedBack,
    ResultKnown,
)
from shortdrama_pipeline.services import ingesting, late_results, settling
from shortdrama_pipeline.services.context import Studio
from shortdrama_pipeline.services.deadlines import pass_deadlines
from shortdrama_pipeline.services.polling import Poller
from shortdrama_pipeline.services.proving import look_up, put_back, stop
from shortdrama_pipeline.services.recording import (
    Change,
    Held,
    Reason,
    Recorded,
    attempt_move,
    task_move,
)
from shortdrama_pipeline.services.shifts import Pace, Shift, worker_name
from shortdrama_pipeline.services.work import ChannelLost, Work, bill_of, resolve_channel
from shortdrama_pipeline.store import attempts, tasks
from shortdrama_pipeline.store.alerts import Alert
from shortdrama_pipeline.store.attempts import Attempt
from shortdrama_pipeline.store.tasks import Task

TAKE_AT_ONCE = 256
# Repeating these by itself would only repeat the same end; a person looks first, `task transfer` tries again.
FOR_A_PERSON = frozenset({"mediaInvalid", "egressRefused", "resultTooLarge"})
NOTHING: Mapping[str, Any] = {}


@dataclass(frozen=True, slots=True)
class Found:
    """A Task taken over, with the Attempt that stands for it."""

    work: Work
    attempt: Attempt | None


@dataclass(frozen=True, slots=True)
class RecoverReport:
    """What one pass did. A second pass right after it takes nothing."""

    taken: int
    requeued: int
    reconciling: int
    polled: int
    ingested: int
    settled: int
    errors: int

    def to_json(self) -> dict[str, int]:
        return dict(asdict(self))


def recover(studio: Studio, *, worker: str | None = None, pace: Pace | None = None) -> RecoverReport:
    """One full pass over everything that is due and that nobody holds. It never sends a paid request."""
    return asyncio.run(_recover(studio, worker or worker_name(), pace or Pace()))


async def _recover(studio: Studio, worker: str, pace: Pace) -> RecoverReport:
    shift = Shift(studio, worker=worker, pace=pace, limit=1)
    poller = Poller(shift)
    beating = asyncio.get_running_loop().create_task(_beat(shift, poller), name="heartbeat")
    taken = 0
    try:
        await pass_deadlines(shift)
        while True:
            found = await take_over(shift, poller)
            taken += found
            await shift.finish()
            poller.start_due()
            await shift.finish()
            if not found:
                break
        await late_results.look_after(shift)
        await shift.finish()
        await settle_pending(shift)
    finally:
        beating.cancel()
        await asyncio.gather(beating, return_exceptions=True)
        if shift.leases:
            await shift.give_back(dict(shift.leases), again_ms=pace.lease_ms)
        await shift.close()
    count = shift.count
    return RecoverReport(
        taken,
        count.requeued,
        count.reconciling,
        count.polled,
        count.ingested,
        count.settled,
        count.errors,
    )


async def _beat(shift: Shift, poller: Poller) -> None:
    while True:
        await asyncio.sleep(shift.pace.heartbeat_ms / 1000)
        poller.drop(await shift.beat())


async def take_over(shift: Shift, poller: Poller) -> int:
    """Take what nobody holds and is due, and set each on its way. Returns how many."""

    def take() -> list[Found]:
        with shift.studio.db.begin() as tx:
            taken = tasks.take_over(tx, worker=shift.worker, lease_ms=shift.pace.lease_ms, most=TAKE_AT_ONCE)
            latest = attempts.load_latest(tx, [each.task_id for each in taken])
        return [_found(each, latest.get(each.task_id)) for each in taken]

    if not await shift.read(tasks.anything_to_take):
        return 0
    found = await shift.in_thread(take)
    reach(Point.TAKEOVER_COMMITTED)
    for each in found:
        shift.leases[each.work.task_id] = each.work.held.lease_token
        shift.spawn(resume(shift, poller, each), name="resume", task_ids=[each.work.task_id])
    return len(found)


def take_one(shift: Shift, task_id: str) -> Found | None:
    """Take one Task for a named action; None while a live worker is at it."""
    with shift.studio.db.begin() as tx:
        task = tasks.take_one(tx, task_id, worker=shift.worker, lease_ms=shift.pace.lease_ms)
        if task is None:
            return None
        latest = attempts.load_latest(tx, [task_id])
    shift.leases[task_id] = task.lease_token
    return _found(task, latest.get(task_id))


async def settle_pending(shift: Shift) -> int:
    """Charge what is registered and not charged yet (P-10.7). Returns how many were charged."""
    due = await shift.read(lambda tx: settling.find_pending(tx, most=TAKE_AT_ONCE))
    charged = 0
    for each in due:
        charged += int(await settling.settle(shift, each.task_id, bill=each.bill))
    return charged


async def resume(shift: Shift, poller: Poller, found: Found, *, by_person: bool = False) -> None:
    """Decide by Task and Attempt what the rows allow."""
    work, attempt = found.work, found.attempt
    match work.held.state, None if attempt is None else AttemptState(attempt.state):
        case TaskState.RUNNING, (None | AttemptState.PREPARED | AttemptState.REJECTED_BEFORE_ACCEPTANCE):
            await _requeue(shift, work)
        case TaskState.RUNNING, AttemptState.SUBMIT_STARTED:
            await _fence_without_answer(shift, poller, work, attempt)
        case ((TaskState.WAITING_PROVIDER | TaskState.NEEDS_RECONCILIATION), AttemptState.ACCEPTED):
            await _accepted(shift, poller, work, attempt, by_person=by_person)
        case TaskState.INGESTING, (AttemptState.ACCEPTED | AttemptState.COMPLETED):
            await _ingesting(shift, poller, work, attempt)
        case TaskState.NEEDS_RECONCILIATION, AttemptState.OUTCOME_UNKNOWN:
            await look_up(shift, poller, work, attempt)
        case TaskState.NEEDS_RECONCILIATION, AttemptState.COMPLETED:
            await _deliver_again(shift, poller, work, attempt, by_person=by_person)
        case TaskState.NEEDS_RECONCILIATION, _:
            await put_back(shift, work, Reason("attemptMissing", "unknown"))
        case _:
            await stop(shift, work, "rowsDisagree", "unknown")


def _found(task: Task, attempt: Attempt | None) -> Found:
    held = Held(task.task_id, task.lease_token, TaskState(task.state))
    return Found(
        Work(
            task,
            held,
            "" if attempt is None else attempt.attempt_id,
            NOTHING if attempt is None else attempt.channel,
        ),
        attempt,
    )


async def _requeue(shift: Shift, work: Work) -> None:
    back = task_move(
        work.held,
        HandedBack(HandBack.LEASE_EXPIRED),
        after_ms=0,
        reason=Reason(str(HandBack.LEASE_EXPIRED), "claimed").to_json(),
        keep_lease=False,
    )
    await shift.record(Change(held=work.held, task=back))
    shift.count.requeued += 1
    shift.work_changed.set()


async def _fence_without_answer(shift: Shift, poller: Poller, work: Work, attempt: Attempt | None) -> None:
    """P-10.4: it may have arrived. Say so first; then a receipt or a look-up may prove more."""
    assert attempt is not None
    change = Change(
        held=work.held,
        task=task_move(
            work.held,
            FactsMissing(),
            after_ms=shift.pace.lease_ms,
            reason=Reason("outcomeUnknown", "submitStarted", {"found_by": "recovery"}).to_json(),
        ),
        attempts=(
            attempt_move(
                attempt.attempt_id,
                AttemptState.SUBMIT_STARTED,
                WentSilent(),
                evidence={"why": "the worker was lost after the fence"},
            ),
        ),
        alert=Alert("outcome_unknown", work.task_id, "A paid request was left without an answer"),
    )
    answer = await shift.record(change)
    if isinstance(answer, Recorded):
        shift.count.reconciling += 1
        await look_up(shift, poller, work.at(answer.now), attempt)


# --- jobs and results -----------------------------------------------------------------------------------


async def _accepted(
    shift: Shift, poller: Poller, work: Work, attempt: Attempt | None, *, by_person: bool
) -> None:
    """P-10.5, or P-10.8 where the checkpoint is broken: then nothing is asked at all."""
    assert attempt is not None
    code = str((work.task.reason or {}).get("code"))
    if work.held.state is TaskState.NEEDS_RECONCILIATION and code in FOR_A_PERSON and not by_person:
        await put_back(shift, work, Reason(code, "resultKnown"))
        return
    checkpoint, external_id = attempt.checkpoint, attempt.external_id
    if (
        not isinstance(checkpoint, dict)
        or not external_id
        or checkpoint.get("external_id", external_id) != external_id
        or not checkpoint
    ):
        await stop(shift, work, "checkpointBroken", "accepted")
        return
    try:
        await shift.in_thread(lambda: resolve_channel(shift.studio, attempt.channel))
    except CredentialMissing:
        if work.held.state is TaskState.NEEDS_RECONCILIATION:
            await put_back(shift, work, Reason("accessLost", "accepted"))
            return
    except ChannelLost:
        await stop(shift, work, "channelUnresolvable", "accepted")
        return
    poller.add(
        work,
        checkpoint=checkpoint,
        external_id=external_id,
        age_ms=attempt.accepted_age_s * 1000,
        now=True,
    )


async def _ingesting(shift: Shift, poller: Poller, work: Work, attempt: Attempt | None) -> None:
    """P-10.6 and F07: the stored result is delivered again; nobody is asked to make anything."""
    assert attempt is not None
    outputs = list((attempt.result or {}).get("outputs") or [])
    if not outputs:
        await stop(shift, work, "resultMissing", "resultKnown")
        return
    bill = bill_of(work, cost_micros=attempt.provider_cost_micros, cost_currency=attempt.provider_currency)
    if attempt.state == AttemptState.COMPLETED:
        await ingesting.deliver(shift, work, outputs, bill=bill)
        return
    refresh = None
    if attempt.checkpoint and attempt.external_id:
        refresh = poller.refresher_for(work, checkpoint=attempt.checkpoint, external_id=attempt.external_id)
    await ingesting.transfer(shift, work, outputs, bill=bill, refresh=refresh)


async def _deliver_again(
    shift: Shift, poller: Poller, work: Work, attempt: Attempt | None, *, by_person: bool
) -> None:
    """F08: the bytes are there; register them by their hash."""
    assert attempt is not None
    if (work.task.reason or {}).get("code") in FOR_A_PERSON and not by_person:
        await put_back(shift, work, Reason("mediaInvalid", "transferred"))
        return
    change = Change(held=work.held, task=task_move(work.held, ResultKnown(), after_ms=shift.pace.lease_ms))
    answer = await shift.record(change)
    if isinstance(answer, Recorded):
        await _ingesting(shift, poller, work.at(answer.now), attempt)
