"""A result that comes after its Task has ended: kept, offered free, never chosen by itself (D-10, F14).

The vendor's job goes on, so it is asked about slowly until the vendor forgets it. Its Task never moves
again and the user pays nothing; what the vendor charged is the platform's. Only GETs are ever sent.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, assert_never

import sqlalchemy as sa

from shortdrama_pipeline.crashpoints import Point, reach
from shortdrama_pipeline.errors import CredentialMissing, EgressRefused, MediaInvalid, Outside
from shortdrama_pipeline.providers.ports import (
    Finished,
    GenerationFailed,
    Output,
    QueryFailed,
    QueryOutcome,
    ResultExpired,
    StillWorking,
    Unrecognised,
)
from shortdrama_pipeline.providers.redaction import redact
from shortdrama_pipeline.providers.transport import ResultGone
from shortdrama_pipeline.rules.attempts import Concluded
from shortdrama_pipeline.rules.ledger import COMPENSATION
from shortdrama_pipeline.rules.money import Money
from shortdrama_pipeline.rules.states import AttemptState, MediaState, TaskState
from shortdrama_pipeline.services import ingesting, polling
from shortdrama_pipeline.services.batching import CALLS
from shortdrama_pipeline.services.ingesting import Measured, OutputJson
from shortdrama_pipeline.services.recording import ENGINE_ACTOR, Held, attempt_move
from shortdrama_pipeline.services.shifts import Shift
from shortdrama_pipeline.services.work import ChannelLost, Work, bill_of, output_json, resolve_channel
from shortdrama_pipeline.stages.registering import Delivered, register_results
from shortdrama_pipeline.store import alerts, attempts, audit, jobs, late_results, media, reservations, tasks
from shortdrama_pipeline.store.alerts import Alert
from shortdrama_pipeline.store.attempts import Attempt
from shortdrama_pipeline.store.jobs import JobNote
from shortdrama_pipeline.store.media import StagedFile

AT_ONCE = 32
Take = Callable[[sa.Connection], dict[str, tuple[str, bool]]]


@dataclass(frozen=True, slots=True)
class Watched:
    """A job without an open Task. `over`: the vendor's retention has ended, this look is the last."""

    work: Work
    attempt: Attempt
    over: bool


@dataclass(frozen=True, slots=True)
class _End:
    """What became of a job, ready to be written."""

    outcome: str  # delivered | quarantined | failed | expired | lost
    cost: tuple[int, str] | None = None
    outputs: tuple[OutputJson, ...] = ()
    measured: tuple[Measured, ...] = ()
    vendor_code: str = ""


async def look_after(shift: Shift) -> int:
    """Ask about every late job that is due. Returns how many were asked about."""
    if not await shift.read(late_results.anything_due):
        return 0
    after_ms = shift.pace.slow_query_s * 1000
    return await _look(shift, lambda tx: late_results.take_due(tx, most=AT_ONCE, after_ms=after_ms))


async def look_at_task(shift: Shift, task_id: str) -> int:
    """Ask about the late jobs of one Task now, because a person wants to know."""
    after_ms = shift.pace.slow_query_s * 1000
    return await _look(shift, lambda tx: late_results.take_task(tx, task_id, after_ms=after_ms))


async def _look(shift: Shift, take: Take) -> int:
    def read() -> list[Watched]:
        with shift.studio.db.begin() as tx:
            taken = take(tx)
            latest = attempts.load_latest(tx, [task_id for task_id, _ in taken.values()])
            return [
                Watched(_work(tx, task_id, latest[task_id]), latest[task_id], over)
                for attempt_id, (task_id, over) in taken.items()
                if latest[task_id].attempt_id == attempt_id
            ]

    found = await shift.in_thread(read)
    for each in found:
        shift.spawn(_watch(shift, each), name="late", task_ids=[])
    return len(found)


def _work(tx: sa.Connection, task_id: str, attempt: Attempt) -> Work:
    task = tasks.load(tx, task_id)
    held = Held(task_id, task.lease_token, TaskState(task.state))
    return Work(task, held, attempt.attempt_id, attempt.channel)


async def _watch(shift: Shift, watched: Watched) -> None:
    outcome = await _ask(shift, watched)
    end = None
    match outcome:
        case Finished():
            end = await _bring_in(shift, watched, outcome)
        case GenerationFailed(code=code):
            cost = (outcome.cost_micros, outcome.cost_currency)
            end = _End("failed", cost, vendor_code=redact(code)[:80])
        case ResultExpired():
            end = _End("expired")
        case StillWorking() | Unrecognised() | QueryFailed():
            pass
        case _:
            assert_never(outcome)
    if end is None and watched.over:
        end = _End("lost")
    if end is not None:
        final = end
        await shift.writer.write(CALLS, lambda tx: _apply_end(tx, watched, final))
        reach(Point.LATE_RESULT_COMMITTED)


async def _ask(shift: Shift, watched: Watched) -> QueryOutcome:
    """Only the original channel is asked; where it cannot be, nothing is known (P-10.8)."""
    checkpoint, external_id = watched.attempt.checkpoint, watched.attempt.external_id
    if not checkpoint or not external_id:
        return QueryFailed("checkpointBroken")
    try:
        route = await shift.in_thread(lambda: resolve_channel(shift.studio, watched.work.channel))
    except CredentialMissing:
        return QueryFailed("credentialMissing", auth=True)
    except ChannelLost:
        return QueryFailed("channelUnresolvable")
    call = route.adapter.build_query(route.binding, [checkpoint])
    answer = await shift.queries.ask(route.binding, call, secret=route.credential.secret)
    shift.count.polled += 1
    return polling.read_answer(route, answer, [external_id])[external_id]


async def _bring_in(shift: Shift, watched: Watched, outcome: Finished) -> _End | None:
    """Fetch and measure as ever; what cannot be fetched now is tried at the next look."""
    cost = (outcome.cost_micros, outcome.cost_currency)
    fetched: list[OutputJson] = []
    try:
        for each in outcome.outputs:
            stored = await shift.in_thread(_store, shift, each) if each.data is not None else each
            fetched.append(await shift.by_porter(ingesting.fetch, shift, watched.work, output_json(stored)))
    except (EgressRefused, MediaInvalid):
        return _End("lost", cost) if watched.over else None
    except (ResultGone, Outside):
        return None
    measured = [await shift.by_porter(ingesting.measure, shift, watched.work, each) for each in fetched]
    whole = bool(measured) and all(judged.state is MediaState.READY for _, judged in measured)
    return _End("delivered" if whole else "quarantined", cost, tuple(fetched), tuple(measured))


def _store(shift: Shift, output: Output) -> Output:
    data = output.data or b""
    sha256, _ = shift.studio.objects.put([data], bytes_max=len(data))
    return replace(output, data=None, sha256=sha256)


def _apply_end(tx: sa.Connection, watched: Watched, end: _End) -> None:
    """One transaction: Attempt, files, version, the platform's bill, the record that explains it all."""
    work = watched.work
    if not late_results.lock_open(tx, work.attempt_id):
        return
    version_ids = _register(tx, work, end)
    if end.outcome in {"delivered", "quarantined", "failed"}:
        evidence = {"fact": "lateResult", "outcome": end.outcome, "code": end.vendor_code}
        move = attempt_move(
            work.attempt_id,
            AttemptState.ACCEPTED,
            Concluded(delivered=end.outcome == "delivered"),
            evidence=evidence,
            result={"outputs": list(end.outputs)} if end.outputs else None,
            cost=end.cost,
        )
        if attempts.record_moves(tx, [move]) != {work.attempt_id}:
            return
        note = JobNote(
            work.attempt_id,
            last_status=f"late: {end.outcome}",
            finished=True,
            transferred=bool(end.outputs),
            registered=bool(version_ids),
        )
        jobs.record_notes(tx, [note])
    facts = _facts(tx, work, end, version_ids)
    late_results.record_end(tx, work.attempt_id, outcome=end.outcome, facts=facts)
    audit.record_decision(tx, "task.late-result", work.task_id, actor=ENGINE_ACTOR, facts=facts)
    alerts.record_alerts(
        tx, [Alert("late_result", work.task_id, "A job went on after its task had ended", facts)]
    )
    reach(Point.LATE_RESULT_BEFORE_COMMIT)


def _register(tx: sa.Connection, work: Work, end: _End) -> list[str]:
    """Versions of a whole result, beside the choice; broken files go to quarantine."""
    media.stage(tx, [StagedFile(each["sha256"], each["bytes"], each["media_type"]) for each in end.outputs])
    media.judge(tx, [judged for _, judged in end.measured])
    if end.outcome != "delivered":
        return []
    outputs = tuple(stored for stored, _ in end.measured if stored is not None)
    return register_results(tx, [Delivered(work.task, work.attempt_id, outputs, may_choose=False)])[0]


def _facts(tx: sa.Connection, work: Work, end: _End, version_ids: Sequence[str]) -> dict[str, Any]:
    """Both sides of the money: what the user owes, which is nothing, and what the vendor took (F14)."""
    micros, currency = end.cost if end.cost is not None else (0, "")
    bill = bill_of(work, cost_micros=micros, cost_currency=currency)
    if bill is not None:
        reservations.book_spend_many(tx, [replace(bill, platform_bears=True)], actor=ENGINE_ACTOR)
    money: Mapping[str, Any] = reservations.load_money(tx, work.task_id)
    return {
        "attempt_id": work.attempt_id,
        "outcome": end.outcome,
        "version_ids": [*version_ids],
        "user": {"money": money["state"], "charged": Money(0, money["currency"]).to_json()},
        "provider": {
            "cost": None if end.cost is None else Money(micros, currency).to_json(),
            "account": None if bill is None else COMPENSATION,
        },
    }
