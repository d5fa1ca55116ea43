"""What became of a request that went unanswered: by receipt, look-up, list, or a person's word.

Only GETs are sent. What is proven moves Attempt and Task together; what is not proven leaves both where
they are, with the latest reason, and with candidates where a person can tell them apart (P-10.4, TT-6).
"""

from collections.abc import Mapping
from typing import Any

from shortdrama_pipeline.crashpoints import Point, reach
from shortdrama_pipeline.errors import CredentialMissing, ShortdramaError
from shortdrama_pipeline.providers import transport
from shortdrama_pipeline.providers.ports import (
    AcceptedJob,
    AnsweredInline,
    HttpAnswer,
    ListingAdapter,
    ListWindow,
    Unknown,
)
from shortdrama_pipeline.providers.redaction import redact
from shortdrama_pipeline.rules.attempts import Accepted, Concluded, Proof, ProvenNotAccepted
from shortdrama_pipeline.rules.matching import (
    Candidates,
    Identified,
    ListedJob,
    Match,
    NotListed,
    Silent,
    match,
)
from shortdrama_pipeline.rules.polling import look_again_ms
from shortdrama_pipeline.rules.states import AttemptState, TaskState
from shortdrama_pipeline.rules.tasks import FactsMissing, FailureProven, JobAccepted, ResultKnown
from shortdrama_pipeline.rules.times import rfc3339
from shortdrama_pipeline.services import ingesting, receipts
from shortdrama_pipeline.services.polling import Poller
from shortdrama_pipeline.services.receipts import Receipt
from shortdrama_pipeline.services.recording import (
    Change,
    Decision,
    Reason,
    Recorded,
    Stale,
    attempt_move,
    task_move,
)
from shortdrama_pipeline.services.safety import RECONSTRUCTED
from shortdrama_pipeline.services.shifts import Shift
from shortdrama_pipeline.services.submitting import store_inline
from shortdrama_pipeline.services.work import ChannelLost, Route, Work, bill_of, output_json, resolve_channel
from shortdrama_pipeline.store import attempts
from shortdrama_pipeline.store.alerts import Alert
from shortdrama_pipeline.store.attempts import Attempt
from shortdrama_pipeline.store.jobs import JobNote, NewJob
from shortdrama_pipeline.store.media import StagedFile

LIST_PAGES_MAX = 20


async def look_up(shift: Shift, poller: Poller, work: Work, attempt: Attempt | None) -> None:
    """Adopt a receipt, or ask by what the contract has verified: our identity, then its list (P-10.4)."""
    assert attempt is not None
    receipt = await shift.in_thread(receipts.find_receipt, shift.studio.settings.home, attempt.attempt_id)
    if receipt is not None:
        await adopt_receipt(shift, poller, work, receipt)
        return
    try:
        route = await shift.in_thread(lambda: resolve_channel(shift.studio, attempt.channel))
    except CredentialMissing:
        await put_back(shift, work, Reason("accessLost", "submitStarted"))
        return
    except ChannelLost:
        await stop(shift, work, "channelUnresolvable", "submitStarted")
        return
    if attempt.channel.get(RECONSTRUCTED):  # the vendor never heard this id: its absence proves nothing (D-6)
        contract = route.adapter.contract
        if not contract.lists_jobs or work.task.kind not in contract.asynchronous_kinds:
            await put_back(shift, work, Reason("databaseRestored", "confirmed"))
            return
        looked_up: str | None = "forgotten"
    else:
        looked_up = await _by_identity(shift, poller, work, attempt, route)
    if looked_up is not None:
        await _by_list(shift, poller, work, attempt, route, looked_up=looked_up)


async def _by_identity(
    shift: Shift, poller: Poller, work: Work, attempt: Attempt, route: Route
) -> str | None:
    """Ask by our own identity; None when that is the last word for now, else why it was not."""
    contract = route.adapter.contract
    call = route.adapter.build_lookup(route.binding, attempt.attempt_id)
    if not contract.lookup_by_client_id or call is None:
        return "notOffered"
    answer = await shift.queries.ask(route.binding, call, secret=route.credential.secret)
    reach(Point.LOOKUP_ANSWERED)
    match _read_lookup(route, answer):
        case AcceptedJob() as job:
            evidence = {"fact": "lookedUp", "external_id": job.external_id}
            await adopt_job(shift, poller, work, job.external_id, dict(job.checkpoint), evidence=evidence)
        case AnsweredInline() as inline:
            await _adopt_inline(shift, work, inline, route=route)
        case None if contract.absence_is_proof:
            await prove_absent(shift, work, {"proof": str(Proof.ABSENCE), "by": "verified look-up"})
        case None:
            return "notFound"
        case Unknown():
            more = {"look_up": "unanswered"}
            slow_ms = shift.pace.slow_query_s * 1000  # what is being made yet is soon to be had
            after_ms = look_again_ms(attempt.submitted_age_s, slow_ms=slow_ms)
            await put_back(shift, work, Reason("outcomeUnknown", "submitStarted", more), after_ms=after_ms)
    return None


# --- by a vendor's list ---------------------------------------------------------------------------------


async def _by_list(
    shift: Shift, poller: Poller, work: Work, attempt: Attempt, route: Route, *, looked_up: str
) -> None:
    """Take the one job that is ours beyond doubt, or show what may be ours to a person (F02)."""
    contract = route.adapter.contract
    listed = contract.lists_jobs and isinstance(route.adapter, ListingAdapter)
    if not listed or work.task.kind not in contract.asynchronous_kinds:
        await put_back(shift, work, Reason("outcomeUnknown", "submitStarted", {"look_up": looked_up}))
        return
    silent = await shift.read(lambda tx: attempts.find_silent(tx, route.binding.id))
    waiting = [_silent(each, timeout_s=contract.create_timeout_s) for each in silent]
    ours = next((each for each in waiting if each.attempt_id == attempt.attempt_id), None)
    if ours is None:  # somebody proved more meanwhile
        await put_back(shift, work, Reason("outcomeUnknown", "submitStarted"))
        return
    read = await _read_list(shift, route, ours)
    if isinstance(read, Unknown):
        more = {"look_up": "unanswered", "candidates": []}
        await put_back(shift, work, Reason("outcomeUnknown", "submitStarted", more))
        return
    jobs, complete = read
    ids = [each.external_id for each in jobs]
    known = await shift.read(lambda tx: attempts.find_known(tx, route.binding.id, ids))
    matched = match(ours, waiting, jobs, known=known, verified=contract.list_verified, complete=complete)
    await _act_on(shift, poller, work, matched)


async def _act_on(shift: Shift, poller: Poller, work: Work, matched: Match) -> None:
    more: dict[str, Any]
    match matched:
        case Identified(job=job, by=by):
            evidence = {"fact": "listed", "external_id": job.external_id, "by": [str(each) for each in by]}
            await adopt_job(
                shift, poller, work, job.external_id, {"external_id": job.external_id}, evidence=evidence
            )
        case Candidates(jobs=jobs, why=why):
            more = {"look_up": "candidates", "why": why, "candidates": [_shown(each) for each in jobs]}
            alert = Alert(
                "candidates_need_person",
                work.task_id,
                "A vendor lists jobs that may be an unanswered request: `task adopt` or `task absent`",
                {"candidates": len(jobs), "why": why},
            )
            reason = Reason("outcomeUnknown", "submitStarted", more)
            await put_back(shift, work, reason, alert=alert)
        case NotListed():
            more = {"look_up": "notListed", "candidates": []}
            await put_back(shift, work, Reason("outcomeUnknown", "submitStarted", more))


async def _read_list(shift: Shift, route: Route, ours: Silent) -> tuple[list[ListedJob], bool] | Unknown:
    """Read the vendor's list of the time in question, to its end where that is near."""
    adapter = route.adapter
    assert isinstance(adapter, ListingAdapter)
    window = ListWindow(*ours.window)
    found: list[ListedJob] = []
    page: str | None = None
    for _ in range(LIST_PAGES_MAX):
        call = adapter.build_list(route.binding, window, page=page)
        answer = await shift.queries.ask(route.binding, call, secret=route.credential.secret)
        if isinstance(answer, transport.Silent):
            return Unknown(answer.why)
        try:
            read = adapter.read_list(answer)
        except Exception as error:  # noqa: BLE001 - an adapter that stumbles has proven nothing
            return Unknown(type(error).__name__)
        if isinstance(read, Unknown):
            return read
        found += read.jobs
        page = read.next_page
        if page is None:
            return found, True
    return found, False


def _silent(row: attempts.SilentAttempt, *, timeout_s: int) -> Silent:
    return Silent(row.attempt_id, row.model, row.submit_started_at, row.seed, timeout_s)


def _shown(job: ListedJob) -> dict[str, Any]:
    """A candidate as a person compares it; the vendor's words cut and redacted."""
    return {
        "external_id": redact(job.external_id)[:120],
        "created_at": rfc3339(job.created_at),
        "model": None if job.model is None else redact(job.model)[:80],
        "seed": job.seed,
        "client_reference": None if job.client_reference is None else redact(job.client_reference)[:80],
        "status": redact(job.status)[:40],
    }


# --- what was found is written -----------------------------------------------------------------------------


def _read_lookup(
    route: Route, answer: HttpAnswer | transport.Silent
) -> AcceptedJob | AnsweredInline | Unknown | None:
    if isinstance(answer, transport.Silent):
        return Unknown(answer.why)
    try:
        return route.adapter.read_lookup(answer)
    except Exception as error:  # noqa: BLE001 - an adapter that stumbles has proven nothing
        return Unknown(type(error).__name__)


async def adopt_receipt(shift: Shift, poller: Poller, work: Work, receipt: Receipt) -> None:
    """F03: what the vendor said before the database could listen."""
    if receipt.checkpoint is not None:
        evidence = {"fact": "receipt", "external_id": receipt.external_id}
        done = await adopt_job(
            shift, poller, work, receipt.external_id, dict(receipt.checkpoint), evidence=evidence
        )
    else:
        done = await _adopt_stored(
            shift,
            work,
            receipt.external_id,
            receipt.outputs,
            cost=(receipt.cost_micros, receipt.cost_currency),
            fact="receipt",
        )
    if done:
        await shift.in_thread(receipts.put_away, shift.studio.settings.home, receipt.attempt_id)


async def adopt_job(
    shift: Shift,
    poller: Poller,
    work: Work,
    external_id: str,
    checkpoint: dict[str, Any],
    *,
    evidence: Mapping[str, Any],
    decision: Decision | None = None,
) -> bool:
    """Take a vendor's job as that of a silent Attempt, by this evidence; False where someone was first."""
    adapter = shift.studio.adapters.get(str(work.channel.get("protocol")))
    change = Change(
        held=work.held,
        task=task_move(work.held, JobAccepted(), after_ms=shift.pace.lease_ms),
        attempts=(
            attempt_move(
                work.attempt_id,
                AttemptState.OUTCOME_UNKNOWN,
                Accepted(),
                external_id=external_id,
                evidence=evidence,
            ),
        ),
        new_job=NewJob(
            work.attempt_id,
            str(work.channel["binding_id"]),
            external_id,
            checkpoint,
            adapter.contract.retention_s if adapter else 7 * 86_400,
        ),
        decision=decision,
    )
    answer = await shift.record(change)
    if isinstance(answer, Stale):
        return False
    poller.add(work.at(answer.now), checkpoint=checkpoint, external_id=external_id, now=True)
    return True


async def _adopt_inline(shift: Shift, work: Work, inline: AnsweredInline, *, route: Route) -> None:
    try:
        stored = [await shift.in_thread(store_inline, shift, each) for each in inline.outputs]
    except ShortdramaError:
        await put_back(shift, work, Reason("resultNotStored", "accepted", {"channel": route.binding.id}))
        return
    await _adopt_stored(
        shift,
        work,
        inline.external_id,
        [output_json(each, size=size) for each, size in stored],
        cost=(inline.cost_micros, inline.cost_currency),
        fact="lookedUp",
    )


async def _adopt_stored(
    shift: Shift,
    work: Work,
    external_id: str,
    outputs: list[dict[str, Any]],
    *,
    cost: tuple[int, str],
    fact: str,
) -> bool:
    change = Change(
        held=work.held,
        task=task_move(work.held, ResultKnown(), after_ms=shift.pace.lease_ms),
        attempts=(
            attempt_move(
                work.attempt_id,
                AttemptState.OUTCOME_UNKNOWN,
                Accepted(inline=True),
                external_id=external_id,
                evidence={"fact": fact, "external_id": external_id},
                result={"outputs": outputs},
                cost=cost,
            ),
            attempt_move(work.attempt_id, AttemptState.ACCEPTED, Concluded()),
        ),
        new_job=NewJob(
            work.attempt_id, str(work.channel["binding_id"]), external_id, {}, 7 * 86_400, inline=True
        ),
        staged=tuple(StagedFile(each["sha256"], each["bytes"], each["media_type"]) for each in outputs),
    )
    answer = await shift.record(change)
    if isinstance(answer, Stale):
        return False
    bill = bill_of(work, cost_micros=cost[0], cost_currency=cost[1])
    await ingesting.deliver(shift, work.at(answer.now), outputs, bill=bill)
    return True


async def prove_absent(
    shift: Shift, work: Work, evidence: dict[str, Any], *, decision: Decision | None = None
) -> bool:
    """TT-6: absence proven by a verified look-up, or by a person with evidence."""
    reason = Reason("notAccepted", "rejectedBeforeAcceptance", {"by": str(evidence.get("by", ""))}).to_json()
    change = Change(
        held=work.held,
        task=task_move(work.held, FailureProven(), after_ms=None, reason=reason),
        attempts=(
            attempt_move(
                work.attempt_id,
                AttemptState.OUTCOME_UNKNOWN,
                ProvenNotAccepted(Proof.ABSENCE),
                evidence=evidence,
            ),
        ),
        release=reason,
        decision=decision,
    )
    return isinstance(await shift.record(change), Recorded)


# --- where nothing new is proven ---------------------------------------------------------------------------


async def put_back(
    shift: Shift, work: Work, reason: Reason, *, alert: Alert | None = None, after_ms: int | None = None
) -> None:
    """Nothing new is proven: it waits on, with the latest reason, for a slow look or a person."""
    body = reason.to_json()
    after_ms = shift.pace.slow_query_s * 1000 if after_ms is None else after_ms
    if work.task.reason and work.task.reason.get("code") == body["code"]:
        body = {**work.task.reason, **body}
    await shift.release_reconciling(work.held, reason=body, after_ms=after_ms, alert=alert)


async def stop(shift: Shift, work: Work, code: str, fact: str) -> None:
    """P-10.8: stop automatic action, one alarm, wait for a person; nothing is guessed."""
    reason = Reason(code, fact)
    alert = Alert(_kind(code), work.task_id, "Automatic recovery stopped", reason.to_json())
    if work.held.state is TaskState.NEEDS_RECONCILIATION:
        await shift.release_reconciling(
            work.held, reason=reason.to_json(), after_ms=shift.pace.slow_query_s * 1000, alert=alert
        )
        return
    change = Change(
        held=work.held,
        task=task_move(
            work.held,
            FactsMissing(),
            after_ms=shift.pace.slow_query_s * 1000,
            reason=reason.to_json(),
            keep_lease=False,
        ),
        job_note=JobNote(work.attempt_id, last_status=code) if work.attempt_id else None,
        alert=alert,
    )
    await shift.record(change)
    shift.count.reconciling += 1


def _kind(code: str) -> str:
    return {
        "checkpointBroken": "checkpoint_broken",
        "channelUnresolvable": "channel_unresolvable",
    }.get(code, "recovery_stopped")
