"""T3 and T4: claim, fence, one POST, and what its answer means.

The order is the law here. Everything that can be checked is checked before the fence; the fence is
committed before the connection opens; lease and fence are looked at once more in between; what the
vendor answered is stored before anything uses it.
"""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, assert_never

import sqlalchemy as sa

from shortdrama_pipeline.crashpoints import Point, reach
from shortdrama_pipeline.errors import CredentialMissing, Outside, SafeModeOn, ShortdramaError
from shortdrama_pipeline.ids import new_id
from shortdrama_pipeline.providers.credentials import Credential, read_credential
from shortdrama_pipeline.providers.ports import (
    AcceptedJob,
    AnsweredInline,
    CreateOutcome,
    HttpAnswer,
    Output,
    Rejected,
    RejectionClass,
    Unknown,
)
from shortdrama_pipeline.providers.transport import Encoded, NeverSent, Silent, encode, send_paid_create
from shortdrama_pipeline.rules.attempts import (
    Accepted,
    Concluded,
    Proof,
    ProvenNotAccepted,
    TaskStep,
    WentSilent,
    resend_pause_ms,
    what_follows,
)
from shortdrama_pipeline.rules.breaker import FAILURES_MAX, weigh
from shortdrama_pipeline.rules.leases import send_until_ms
from shortdrama_pipeline.rules.states import AttemptState, TaskState
from shortdrama_pipeline.rules.tasks import (
    FactsMissing,
    FailureProven,
    HandBack,
    HandedBack,
    JobAccepted,
    ResultKnown,
)
from shortdrama_pipeline.services import ingesting, polling, receipts
from shortdrama_pipeline.services.batching import CALLS, Lane
from shortdrama_pipeline.services.recording import (
    Change,
    Held,
    Reason,
    Recorded,
    Stale,
    apply_changes,
    attempt_move,
    task_move,
)
from shortdrama_pipeline.services.safety import Fence, refusal
from shortdrama_pipeline.services.shifts import LOG, Shift, describe, monotonic_ms
from shortdrama_pipeline.services.work import Route, Work, bill_of, freeze_channel, output_json
from shortdrama_pipeline.store import alerts, attempts, breakers, outbox, rate_limits, safety, tasks
from shortdrama_pipeline.store.alerts import Alert
from shortdrama_pipeline.store.attempts import Preparation
from shortdrama_pipeline.store.breakers import Heard
from shortdrama_pipeline.store.jobs import NewJob
from shortdrama_pipeline.store.media import StagedFile
from shortdrama_pipeline.store.tasks import DueTask, Task

INLINE_BYTES_MAX = 64 * 1024 * 1024
LEASE_RUN_OUT = "leaseRunOut"  # ours, not the channel's


@dataclass(frozen=True, slots=True)
class Ready:
    """Everything a send needs, made before the fence. `token` is set for another Attempt under one lease."""

    task: Task
    route: Route
    request: Encoded
    preparation: Preparation
    worker: str
    lease_ms: int
    token: int | None = None
    fence: Fence | None = None


@dataclass(frozen=True, slots=True)
class NotNow:
    """Why a due Task is not sent: held until mended, or `ended` for good (D-9)."""

    task_id: str
    reason: dict[str, Any]
    ended: bool = False


# --- before the fence ---------------------------------------------------------------------------------


def prepare(
    shift: Shift,
    due: DueTask,
    *,
    token: int | None = None,
    read_key: Callable[[str], Credential] = read_credential,
) -> Ready | NotNow:
    """Build and check the whole request; nothing is claimed yet (D-1 b, D-9, P-9.1).

    `read_key` lets those that are prepared in one look read each key once.
    """
    task = due.task
    if due.grant_ended is not None:
        return NotNow(task.task_id, Reason(due.grant_ended, "notSent").to_json(), ended=True)
    binding = shift.studio.bindings.get(task.binding_id)
    adapter = None if binding is None else shift.studio.adapters.get(binding.protocol)
    if binding is None or adapter is None:
        return NotNow(task.task_id, Reason("channelNotConfigured", "notSent").to_json())
    try:
        credential = read_key(binding.credential)
        if _still_held(due, credential.fingerprint):
            return NotNow(task.task_id, dict(due.task.hold_reason or {}))
        channel = freeze_channel(binding, adapter, credential)
        if due.prepared is not None and due.prepared["channel"] != channel:
            return NotNow(task.task_id, Reason("channelChanged", "prepared").to_json())
        attempt_id = due.prepared["attempt_id"] if due.prepared else new_id("attempt")
        call = adapter.build_create(
            binding, task.request, client_id=attempt_id, read_media=shift.studio.objects.read
        )
        request = encode(binding, call)
    except CredentialMissing:
        return NotNow(task.task_id, Reason("credentialMissing", "notSent").to_json())
    except Exception as error:  # noqa: BLE001 - one Task's fault must not stop the others; nothing is claimed
        LOG.error("engine.prepare.failed %s %s", task.task_id, describe(error))
        return NotNow(
            task.task_id, Reason("requestNotBuildable", "notSent", {"error": type(error).__name__}).to_json()
        )
    reach(Point.CLAIM_PREPARED)
    preparation = Preparation(
        attempt_id=attempt_id,
        task_id=task.task_id,
        number=due.prepared["number"] if due.prepared else due.attempts + 1,
        channel=channel,
        request_digest=request.digest,
        provider_currency=str(task.request.get("cost_currency", "")),
    )
    return Ready(
        task,
        Route(binding, adapter, credential),
        request,
        preparation,
        shift.worker,
        shift.pace.lease_ms,
        token,
    )


def _still_held(due: DueTask, fingerprint: str) -> bool:
    """A rejected key holds until there is another one; a person lifts every other mendable hold."""
    hold = due.task.hold_reason
    if hold is None or hold.get("code") != "mendable":
        return False
    return bool(hold.get("fingerprint") == fingerprint)


# --- the fence ----------------------------------------------------------------------------------------


def apply_fences(tx: sa.Connection, ready: Sequence[Ready]) -> list[int | None]:
    """Claim and fence what may start now, in one transaction; None for what was not won (T2, T3)."""
    worker, lease_ms = ready[0].worker, ready[0].lease_ms
    if not safety.may_fence(tx, {each.fence.upper for each in ready if each.fence is not None}):
        raise refusal(safety.find_open(tx))
    chosen, more = _within_limits(tx, ready)
    tokens = tasks.claim(tx, [each.task.task_id for each in chosen], worker=worker, lease_ms=lease_ms)
    again = {each.task.task_id: each.token for each in more if each.token is not None}
    if again:
        allowed = tasks.renew_allowed(tx, again, lease_ms=lease_ms)
        tokens |= {task_id: token for task_id, token in again.items() if task_id in allowed}
    won = [each for each in ready if each.task.task_id in tokens]
    if not won:
        return [None] * len(ready)
    attempts.prepare(tx, [each.preparation for each in won], tokens, worker=worker)
    fenced = attempts.take_fence(
        tx,
        {each.preparation.attempt_id: tokens[each.task.task_id] for each in won},
        worker=worker,
        numbers={each.preparation.attempt_id: each.fence.number for each in won if each.fence is not None},
    )
    assert len(fenced) == len(won), "a claimed task without its fence"
    outbox.mark_claimed(tx, [each.task.task_id for each in chosen])
    reach(Point.FENCE_BEFORE_COMMIT)
    return [tokens.get(each.task.task_id) for each in ready]


FENCES: Lane[Ready, int | None] = Lane("fences", 10, apply_fences)


def _within_limits(tx: sa.Connection, ready: Sequence[Ready]) -> tuple[list[Ready], list[Ready]]:
    """What breakers and rates let start: fresh Tasks, and further Attempts, which have their rate already."""
    by_channel: dict[str, list[Ready]] = {}
    for each in sorted(ready, key=lambda one: one.token is None):
        by_channel.setdefault(each.route.binding.id, []).append(each)
    admitted = breakers.admit(tx, {channel: len(group) for channel, group in by_channel.items()})
    let = [each for channel, group in by_channel.items() for each in group[: admitted[channel]]]
    fresh: dict[str, list[Ready]] = {}
    for each in let:
        if each.token is None:
            fresh.setdefault(each.route.binding.id, []).append(each)
    wanted = {
        channel: rate_limits.Wanted(
            len(group), group[0].route.binding.requests_per_minute, group[0].route.binding.in_flight_max
        )
        for channel, group in fresh.items()
    }
    allowed = rate_limits.take(tx, wanted)
    chosen = [each for channel, group in fresh.items() for each in group[: allowed[channel]]]
    return chosen, [each for each in let if each.token is not None]


# --- the send -----------------------------------------------------------------------------------------


async def fence_and_check(shift: Shift, ready: Sequence[Ready]) -> list[tuple[Ready, Work, int]]:
    """Commit fences, then look once more at lease and fence (P-6.9). Returns what may be sent, until when.

    A lease is renewed only while somebody is at its Task: what is not sent is let go, for recovery to judge.
    """
    numbers = await shift.in_thread(shift.fences.take, len(ready))
    ready = [replace(each, fence=number) for each, number in zip(ready, numbers, strict=True)]
    asked_ms = monotonic_ms()
    answers = await asyncio.gather(
        *(shift.writer.write(FENCES, each) for each in ready), return_exceptions=True
    )
    won = {
        each.preparation.attempt_id: answer
        for each, answer in zip(ready, answers, strict=True)
        if isinstance(answer, int)
    }
    failed = [
        (each, answer)
        for each, answer in zip(ready, answers, strict=True)
        if isinstance(answer, BaseException)
    ]
    if failed:
        await _not_fenced(shift, failed, any_won=bool(won))
    if not won:
        return []
    reach(Point.FENCE_COMMITTED)
    ours = [each for each in ready if each.preparation.attempt_id in won]
    standing: Collection[str] = ()
    try:
        standing = await shift.read(lambda tx: attempts.check_fences(tx, won))
    finally:
        for each in ours:
            if each.preparation.attempt_id in standing:
                shift.leases[each.task.task_id] = won[each.preparation.attempt_id]
            else:
                shift.leases.pop(each.task.task_id, None)
    reach(Point.FENCE_CHECKED)
    until_ms = send_until_ms(asked_ms, lease_ms=shift.pace.lease_ms)
    return [
        (each, _work(each, won[each.preparation.attempt_id]), until_ms)
        for each in ready
        if each.preparation.attempt_id in standing
    ]


async def _not_fenced(shift: Shift, failed: Sequence[tuple[Ready, BaseException]], *, any_won: bool) -> None:
    """A fence that failed by itself holds its own Task and is alarmed; those that were won go on.

    Raises the cause when nothing was won and paid work stands still, or the database is away.
    """
    for ready, error in failed:
        if isinstance(error, SafeModeOn):
            shift.fences.drop()
        if not isinstance(error, Exception) or (not any_won and isinstance(error, SafeModeOn | Outside)):
            raise error
        LOG.error("engine.fence.failed %s %s", ready.task.task_id, describe(error))
        shift.count.errors += 1
        shift.leases.pop(ready.task.task_id, None)
        reason = Reason("fenceFailed", "notSent", {"error": type(error).__name__})
        alert = Alert("engine_error", ready.task.task_id, "A send could not be prepared", reason.to_json())
        hold = (
            NotNow(ready.task.task_id, reason.to_json()),
            ready.worker,
            ready.lease_ms,
            shift.pace.hold_again_ms,
        )
        try:
            await shift.writer.write(NOT_NOW, hold)
            await shift.alarm(alert)
        except ShortdramaError as second:  # the Task is simply due again; those that were won must be sent
            LOG.error("engine.hold.failed %s %s", ready.task.task_id, describe(second))


def _work(ready: Ready, token: int) -> Work:
    held = Held(ready.task.task_id, token, TaskState.RUNNING)
    return Work(ready.task, held, ready.preparation.attempt_id, ready.preparation.channel)


async def carry(
    shift: Shift,
    ready: Ready,
    work: Work,
    until_ms: int,
    *,
    poller: "polling.Poller",
    sent: Callable[[], None],
) -> None:
    """Send once and follow the answer, with further Attempts where TT-6 allows them under this lease."""
    shift.count.submitted += 1
    answer = await send_paid_create(
        ready.request, secret=ready.route.credential.secret, may_send=lambda: monotonic_ms() < until_ms
    )
    reach(Point.POST_ANSWERED)
    sent()
    outcome = _read_answer(ready, answer)
    match outcome:
        case AcceptedJob():
            await _accept_job(shift, ready, work, outcome, poller=poller)
        case AnsweredInline():
            await _accept_inline(shift, ready, work, outcome)
        case Unknown():
            contract = ready.route.adapter.contract
            can_look_up = contract.lookup_by_client_id or contract.lists_jobs
            await _went_silent(shift, work, outcome, can_look_up=can_look_up)
        case Rejected():
            again = await _rejected(shift, ready, work, outcome)
            if again is not None:
                await _send_again(shift, again, poller=poller)
        case _:
            assert_never(outcome)


def _read_answer(ready: Ready, answer: HttpAnswer | NeverSent | Silent) -> CreateOutcome:
    match answer:
        case NeverSent(why=why):
            return Rejected(why, RejectionClass.NEVER_SENT, "")
        case Silent(why=why):
            return Unknown(why)
        case HttpAnswer():
            try:
                return ready.route.adapter.read_create(answer)
            except Exception as error:  # noqa: BLE001 - an adapter that stumbles has proven nothing
                LOG.error("engine.answer.unreadable %s %s", ready.task.task_id, describe(error))
                return Unknown(f"the answer could not be read: {type(error).__name__}")
        case _:
            assert_never(answer)


# --- T4 -----------------------------------------------------------------------------------------------


async def _accept_job(
    shift: Shift, ready: Ready, work: Work, job: AcceptedJob, *, poller: "polling.Poller"
) -> None:
    contract = ready.route.adapter.contract
    change = Change(
        held=work.held,
        task=task_move(work.held, JobAccepted(), after_ms=contract.poll_after_ms),
        attempts=(
            attempt_move(
                work.attempt_id,
                AttemptState.SUBMIT_STARTED,
                Accepted(),
                external_id=job.external_id,
                evidence={"fact": "externalId", "external_id": job.external_id},
            ),
        ),
        new_job=NewJob(
            work.attempt_id, ready.route.binding.id, job.external_id, job.checkpoint, contract.retention_s
        ),
        heard=_heard(shift, work, accepted=True),
    )
    receipt = receipts.Receipt(
        work.attempt_id, work.task_id, job.external_id, dict(job.checkpoint), [], 0, ""
    )
    recorded = await _record_or_receipt(shift, ready, work, change, receipt)
    if recorded is not None:
        poller.add(work.at(recorded.now), checkpoint=dict(job.checkpoint), external_id=job.external_id)


async def _accept_inline(shift: Shift, ready: Ready, work: Work, answer: AnsweredInline) -> None:
    """The answer is the result: its bytes are in the store before its row says so (D-16)."""
    try:
        stored = [await shift.in_thread(store_inline, shift, each) for each in answer.outputs]
    except (ShortdramaError, OSError) as error:
        LOG.error("engine.result.not_stored %s %s", work.task_id, describe(error))
        await _accepted_but_not_stored(shift, work, answer, error)
        return
    reach(Point.INLINE_STORED)
    outputs = [output_json(each, size=size) for each, size in stored]
    contract = ready.route.adapter.contract
    change = Change(
        held=work.held,
        task=task_move(work.held, ResultKnown(), after_ms=shift.pace.lease_ms),
        attempts=(
            attempt_move(
                work.attempt_id,
                AttemptState.SUBMIT_STARTED,
                Accepted(inline=True),
                external_id=answer.external_id,
                evidence={"fact": "answeredInline", "external_id": answer.external_id},
                result={"outputs": outputs},
                cost=(answer.cost_micros, answer.cost_currency),
            ),
            attempt_move(work.attempt_id, AttemptState.ACCEPTED, Concluded()),
        ),
        new_job=NewJob(
            work.attempt_id, ready.route.binding.id, answer.external_id, {}, contract.retention_s, inline=True
        ),
        staged=tuple(StagedFile(str(each.sha256), size, each.media_type) for each, size in stored),
        heard=_heard(shift, work, accepted=True),
    )
    receipt = receipts.Receipt(
        work.attempt_id,
        work.task_id,
        answer.external_id,
        None,
        outputs,
        answer.cost_micros,
        answer.cost_currency,
    )
    recorded = await _record_or_receipt(shift, ready, work, change, receipt)
    if recorded is not None:
        bill = bill_of(work, cost_micros=answer.cost_micros, cost_currency=answer.cost_currency)
        await ingesting.deliver(shift, work.at(recorded.now), outputs, bill=bill)


def _heard(
    shift: Shift, work: Work, *, accepted: bool = False, proof: Proof | None = None, cause: str = ""
) -> Heard:
    """What a create says about its channel (G-302)."""
    channel_id = work.task.binding_id
    binding = shift.studio.bindings.get(channel_id)
    failures_max = FAILURES_MAX if binding is None else binding.failures_max
    return Heard(channel_id, weigh(accepted=accepted, proof=proof), failures_max, cause)


def store_inline(shift: Shift, output: Output) -> tuple[Output, int]:
    """Put inline bytes into the object store and name them by their hash."""
    assert output.data is not None
    sha256, size = shift.studio.objects.put([output.data], bytes_max=INLINE_BYTES_MAX)
    return replace(output, data=None, sha256=sha256), size


async def _record_or_receipt(
    shift: Shift, ready: Ready, work: Work, change: Change, receipt: receipts.Receipt
) -> Recorded | None:
    """T4. A failed write is not a refused job: a receipt keeps what the vendor said (F03, P-6.14)."""
    try:
        answer = await shift.record(change)
        if isinstance(answer, Recorded):
            return answer
        why = "leaseLost"
    except Exception as error:  # noqa: BLE001 - whatever stopped the write, the job exists
        LOG.error("engine.acceptance.not_recorded %s %s", work.task_id, describe(error))
        why = type(error).__name__
    await shift.at_once(_write_receipt, shift, receipt, ready.route.credential.secret)
    await _note_incident(shift, work, why)
    return None


def _write_receipt(shift: Shift, receipt: receipts.Receipt, secret: str) -> None:
    receipts.write_receipt(shift.studio.settings.home, receipt, secrets=(secret,))
    reach(Point.RECEIPT_WRITTEN)


async def _note_incident(shift: Shift, work: Work, why: str) -> None:
    """Tell the database as soon as it listens; if it does not, recovery finds fence and receipt."""
    change = Change(
        held=work.held,
        task=task_move(
            work.held,
            FactsMissing(),
            after_ms=0,
            reason=Reason("acceptanceNotRecorded", "submitStarted", {"receipt": True}).to_json(),
            keep_lease=False,
        ),
        attempts=(
            attempt_move(
                work.attempt_id,
                AttemptState.SUBMIT_STARTED,
                WentSilent(),
                evidence={"fact": "receiptWritten", "error": why},
            ),
        ),
        alert=Alert(
            "acceptance_not_recorded", work.task_id, "A vendor accepted, the database could not take it"
        ),
    )
    try:
        if isinstance(await shift.record(change), Stale):
            await shift.writer.write(CALLS, lambda tx: _tell_of_receipt(tx, work, why))
        else:
            shift.count.reconciling += 1
    except (ShortdramaError, sa.exc.SQLAlchemyError) as error:
        LOG.error("engine.incident.not_recorded %s %s", work.task_id, describe(error))
        shift.leases.pop(work.task_id, None)


def _tell_of_receipt(tx: sa.Connection, work: Work, why: str) -> None:
    """Another took the Task meanwhile. If that one could not learn of the acceptance, a person must."""
    latest = attempts.load_latest(tx, [work.task_id])[work.task_id]
    unknown = {AttemptState.OUTCOME_UNKNOWN, AttemptState.REJECTED_BEFORE_ACCEPTANCE}
    if latest.attempt_id == work.attempt_id and AttemptState(latest.state) in unknown:
        facts = {"error": why, "attempt": str(latest.state)}
        told = "A vendor accepted after its request was given up; the receipt is kept"
        alerts.record_alerts(tx, [Alert("acceptance_not_recorded", work.task_id, told, facts)])


async def _accepted_but_not_stored(
    shift: Shift, work: Work, answer: AnsweredInline, error: ShortdramaError | OSError
) -> None:
    """The vendor delivered and will bill: its id and its price are kept with the open question (D-15)."""
    code = error.code if isinstance(error, ShortdramaError) else type(error).__name__
    change = Change(
        held=work.held,
        task=task_move(
            work.held,
            FactsMissing(),
            after_ms=shift.pace.slow_query_s * 1000,
            reason=Reason("resultNotStored", "accepted", {"error": code}).to_json(),
            keep_lease=False,
        ),
        attempts=(
            attempt_move(
                work.attempt_id,
                AttemptState.SUBMIT_STARTED,
                WentSilent(),
                external_id=answer.external_id,
                evidence={"fact": "answeredInline", "external_id": answer.external_id, "error": code},
                cost=(answer.cost_micros, answer.cost_currency),
            ),
        ),
        alert=Alert("result_not_stored", work.task_id, "A paid answer could not be stored", {"error": code}),
    )
    await shift.record(change)
    shift.count.reconciling += 1


# --- everything else ----------------------------------------------------------------------------------


async def _went_silent(shift: Shift, work: Work, outcome: Unknown, *, can_look_up: bool) -> None:
    pause_ms = shift.pace.lookup_after_ms if can_look_up else shift.pace.slow_query_s * 1000
    change = Change(
        held=work.held,
        task=task_move(
            work.held,
            FactsMissing(),
            after_ms=pause_ms,
            reason=Reason("outcomeUnknown", "submitStarted").to_json(),
            keep_lease=False,
        ),
        attempts=(
            attempt_move(
                work.attempt_id,
                AttemptState.SUBMIT_STARTED,
                WentSilent(),
                evidence={"why": outcome.why[:200]},
            ),
        ),
        alert=Alert(
            "outcome_unknown", work.task_id, "A paid request went unanswered", {"why": outcome.why[:200]}
        ),
        heard=_heard(shift, work, cause=outcome.why),
    )
    await shift.record(change)
    shift.count.reconciling += 1


@dataclass(frozen=True, slots=True)
class _Again:
    ready: Ready
    held: Held
    pause_ms: int


async def _rejected(shift: Shift, ready: Ready, work: Work, outcome: Rejected) -> _Again | None:
    """Read TT-6 and write its row. Returns what to send again under the same lease."""
    proof = Proof(str(outcome.kind))
    earlier, allowance = await shift.read(
        lambda tx: (
            attempts.count_proofs(tx, work.task_id, proof),
            tasks.load_allowance(tx, work.task_id),
        )
    )
    event = ProvenNotAccepted(proof)
    follows = what_follows(event, allowance=allowance, tries=earlier + 1)
    pause_ms = resend_pause_ms(
        earlier + 1, retry_after_s=outcome.retry_after_s, jitter_permille=shift.jitter()
    )
    pause_ms = max(pause_ms * shift.pace.resend_permille // 1000, (outcome.retry_after_s or 0) * 1000)
    rejected = attempt_move(
        work.attempt_id,
        AttemptState.SUBMIT_STARTED,
        event,
        evidence={
            "proof": str(proof),
            "code": outcome.code[:80],
            "fingerprint": ready.route.credential.fingerprint,
        },
    )
    heard = None if outcome.code == LEASE_RUN_OUT else _heard(shift, work, proof=proof, cause=outcome.code)
    change = Change(held=work.held, attempts=(rejected,), heard=heard)
    if outcome.retry_after_s and proof is Proof.CAPACITY:
        change = replace(change, block_ms=(ready.route.binding.id, outcome.retry_after_s * 1000))
    reason = Reason(
        follows.code, "rejectedBeforeAcceptance", {"proof": str(proof), "vendor_code": outcome.code[:80]}
    )
    match follows.task:
        case TaskStep.TRY_AGAIN:
            answer = await shift.record(change)
            return None if isinstance(answer, Stale) else _Again(ready, answer.now, pause_ms)
        case TaskStep.QUEUE | TaskStep.HOLD:
            hold = None
            if follows.task is TaskStep.HOLD:
                hold = reason.to_json() | {"fingerprint": ready.route.credential.fingerprint}
                pause_ms = shift.pace.hold_again_ms
            back = task_move(
                work.held,
                HandedBack(HandBack.PROVEN_REJECTION),
                after_ms=pause_ms,
                reason=reason.to_json() | {"handed_back": str(HandBack.PROVEN_REJECTION)},
                hold_reason=hold,
                keep_lease=False,
            )
            await shift.record(replace(change, task=back))
            shift.count.requeued += 1
        case _:
            ended = task_move(work.held, FailureProven(), after_ms=None, reason=reason.to_json())
            await shift.record(replace(change, task=ended, release=reason.to_json()))
    return None


async def _send_again(shift: Shift, again: _Again, *, poller: "polling.Poller") -> None:
    """Another Attempt under the same lease, after a pause (TT-6, neverSent)."""
    await asyncio.sleep(again.pause_ms / 1000)
    if shift.stopping or again.held.task_id not in shift.leases:
        return  # the lease runs out or is handed back; recovery re-queues, since no fence is open
    found = await shift.read(lambda tx: attempts.load_latest(tx, [again.held.task_id]))
    due = DueTask(again.ready.task, found[again.held.task_id].number, None, None, None)
    ready = await shift.in_thread(lambda: prepare(shift, due, token=again.held.lease_token))
    sendable = await fence_and_check(shift, [ready]) if isinstance(ready, Ready) else []
    if sendable:
        await carry(shift, *sendable[0], poller=poller, sent=_nothing)
        return
    reason = ready.reason if isinstance(ready, NotNow) else Reason("notAllowedNow", "neverSent").to_json()
    back = task_move(
        again.held,
        HandedBack(HandBack.BEFORE_FENCE),
        after_ms=again.pause_ms,
        reason=reason | {"handed_back": str(HandBack.BEFORE_FENCE)},
        keep_lease=False,
    )
    await shift.record(Change(held=again.held, task=back))
    shift.count.requeued += 1


def _nothing() -> None:
    """The hand was freed with the first answer."""


# --- what is not sent ---------------------------------------------------------------------------------


def apply_not_now(tx: sa.Connection, items: Sequence[tuple[NotNow, str, int, int]]) -> list[None]:
    """Hold Tasks with their reason; end those whose Grant allows nothing more, and free the money (D-9)."""
    _, worker, lease_ms, again_ms = items[0]
    held = {each.task_id: each.reason for each, *_ in items if not each.ended}
    tasks.hold(tx, held, again_ms=again_ms)
    ended: Mapping[str, dict[str, Any]] = {each.task_id: each.reason for each, *_ in items if each.ended}
    tokens = tasks.claim_to_end(tx, list(ended), worker=worker, lease_ms=lease_ms) if ended else {}
    changes = []
    for task_id, token in tokens.items():
        running = Held(task_id, token, TaskState.RUNNING)
        changes.append(
            Change(
                held=running,
                task=task_move(running, FailureProven(), after_ms=None, reason=ended[task_id]),
                release=ended[task_id],
            )
        )
    if changes:
        apply_changes(tx, changes)
    return [None] * len(items)


NOT_NOW: Lane[tuple[NotNow, str, int, int], None] = Lane("not now", 12, apply_not_now)
