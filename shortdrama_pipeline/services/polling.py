"""Asking vendors about accepted jobs: short, batched, jittered, and silent while nothing changed.

The due times live with the lease holder; a restart simply asks about everything accepted. A query
that fails, an unknown word or a passed limit never decide about a job (P-7.2, P-7.3, P-7.5).
"""

import asyncio
import heapq
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, assert_never

from shortdrama_pipeline.crashpoints import Point, reach
from shortdrama_pipeline.errors import CredentialMissing, ShortdramaError
from shortdrama_pipeline.providers.ports import (
    Finished,
    GenerationFailed,
    HttpAnswer,
    Output,
    QueryFailed,
    QueryOutcome,
    ResultExpired,
    StillWorking,
    Unrecognised,
)
from shortdrama_pipeline.providers.redaction import redact
from shortdrama_pipeline.providers.transport import Silent
from shortdrama_pipeline.rules.attempts import Concluded
from shortdrama_pipeline.rules.polling import Advice, QueryCase, after_failure_ms, next_poll_ms
from shortdrama_pipeline.rules.states import AttemptState, TaskState
from shortdrama_pipeline.rules.tasks import FactsMissing, FailureProven, JobAccepted, ResultKnown
from shortdrama_pipeline.services import ingesting
from shortdrama_pipeline.services.recording import (
    Change,
    Reason,
    Recorded,
    Stale,
    attempt_move,
    task_move,
)
from shortdrama_pipeline.services.shifts import LOG, Shift, describe, monotonic_ms
from shortdrama_pipeline.services.work import ChannelLost, Route, Work, bill_of, output_json, resolve_channel
from shortdrama_pipeline.store.alerts import Alert
from shortdrama_pipeline.store.attempts import AttemptMove
from shortdrama_pipeline.store.jobs import JobNote

QUERIES_AT_ONCE = 32
FAILURE_NOTES = frozenset({1, 3, 10, 30, 100})


@dataclass(slots=True)
class Waiting:
    """One accepted job. `since_ms` is when it was accepted, on this process's clock."""

    work: Work
    checkpoint: Mapping[str, Any]
    external_id: str
    since_ms: int
    polls: int = 0
    failures: int = 0


class Poller:
    """The due heap of one shift."""

    def __init__(self, shift: Shift) -> None:
        self._shift = shift
        self._waiting: dict[str, Waiting] = {}
        self._due: list[tuple[int, int, str]] = []
        self._order = count()
        self._changed = asyncio.Event()
        self._slots = asyncio.Semaphore(QUERIES_AT_ONCE)
        self._asking: set[str] = set()
        self._resolving: dict[tuple[str, ...], asyncio.Future[Route]] = {}

    @property
    def size(self) -> int:
        return len(self._waiting) + len(self._asking)

    def add(
        self,
        work: Work,
        *,
        checkpoint: Mapping[str, Any],
        external_id: str,
        age_ms: int = 0,
        now: bool = False,
    ) -> None:
        """Take up a job whose handle is stored."""
        waiting = Waiting(work, checkpoint, external_id, monotonic_ms() - age_ms)
        self._waiting[work.task_id] = waiting
        adapter = self._shift.studio.adapters.get(str(work.channel.get("protocol")))
        pause_ms = (
            0
            if now or adapter is None
            else self._pause(waiting, adapter.contract.poll_after_ms, adapter.contract.poll_max_ms)
        )
        self._schedule(work.task_id, pause_ms)

    def wake(self, task_id: str) -> None:
        """Ask about a job now, because somebody said something (P-7.7)."""
        if task_id in self._waiting and task_id not in self._asking:
            self._schedule(task_id, 0)

    def drop(self, task_ids: set[str]) -> None:
        for each in task_ids:
            self._waiting.pop(each, None)

    async def run(self) -> None:
        """Ask whatever is due, until the shift stops."""
        while not self._shift.stopping:
            self._changed.clear()
            pause_ms = self.start_due()
            # Not `wait_for`: in 3.11 it can swallow a cancellation when the event comes in the same moment.
            with suppress(TimeoutError):
                async with asyncio.timeout(None if pause_ms is None else pause_ms / 1000):
                    await self._changed.wait()

    def start_due(self) -> int | None:
        """Start queries for all that is due; returns the pause until the next, None when nothing waits."""
        now = monotonic_ms()
        due: dict[tuple[str, ...], list[Waiting]] = {}
        while self._due and self._due[0][0] <= now:
            _, _, task_id = heapq.heappop(self._due)
            waiting = self._waiting.get(task_id)
            if waiting is not None and task_id not in self._asking:
                self._asking.add(task_id)
                due.setdefault(_channel_key(waiting), []).append(waiting)
        for group in due.values():
            adapter = self._shift.studio.adapters.get(str(group[0].work.channel.get("protocol")))
            most = 1 if adapter is None else max(1, adapter.contract.batch_query_max)
            for start in range(0, len(group), most):
                self._shift.spawn(
                    self._ask(group[start : start + most]),
                    name="query",
                    task_ids=[each.work.task_id for each in group[start : start + most]],
                )
        return max(1, self._due[0][0] - now) if self._due else None

    def _schedule(self, task_id: str, pause_ms: int) -> None:
        heapq.heappush(self._due, (monotonic_ms() + pause_ms, next(self._order), task_id))
        self._changed.set()

    def _pause(self, waiting: Waiting, after_ms: int, max_ms: int, vendor_ms: int | None = None) -> int:
        advice = Advice(after_ms, max_ms, vendor_ms)
        return next_poll_ms(advice, waiting.polls, jitter_permille=self._shift.jitter())

    # --- one query --------------------------------------------------------------------------------------

    async def _ask(self, group: Sequence[Waiting]) -> None:
        """One status request for jobs of one channel, then what each answer means."""
        try:
            route, outcomes = await self._query(group)
        except Exception as error:
            if len(group) == 1:
                self.drop({group[0].work.task_id})
                raise
            LOG.error("engine.query.split %s", describe(error))
            for each in group:
                self._shift.spawn(self._ask([each]), name="query", task_ids=[each.work.task_id])
            return
        finally:
            self._asking -= {each.work.task_id for each in group}
            self._ask_anew(group)
        for each in group:
            if self._waiting.get(each.work.task_id) is each:
                judging = self._judged(each, route, outcomes[each.external_id])
                self._shift.spawn(judging, name="judge", task_ids=[each.work.task_id])

    async def _judged(self, waiting: Waiting, route: Route | None, outcome: QueryOutcome) -> None:
        """Judge; a job whose judging stumbles is let go with its lease, for the next scan to take up."""
        try:
            await self._judge(waiting, route, outcome)
        except Exception:
            self.drop({waiting.work.task_id})
            raise

    def _ask_anew(self, group: Sequence[Waiting]) -> None:
        """A job lost and taken up again meanwhile: its own question was put off until this answer."""
        for each in group:
            if self._waiting.get(each.work.task_id, each) is not each:
                self._schedule(each.work.task_id, 0)

    async def _query(self, group: Sequence[Waiting]) -> tuple[Route | None, dict[str, QueryOutcome]]:
        shift, ids = self._shift, [each.external_id for each in group]
        try:
            route = await self._resolve(group[0])
        except CredentialMissing:
            return None, dict.fromkeys(ids, QueryFailed("credentialMissing", auth=True))
        except ChannelLost:
            return None, dict.fromkeys(ids, Unrecognised("channelUnresolvable"))
        try:
            call = route.adapter.build_query(route.binding, [dict(each.checkpoint) for each in group])
        except (KeyError, TypeError, ValueError) as error:
            if len(group) > 1:
                raise
            LOG.error("engine.checkpoint.broken %s %s", group[0].work.task_id, describe(error))
            return None, dict.fromkeys(ids, Unrecognised("checkpointBroken"))  # P-10.8: nothing is guessed
        async with self._slots:
            answer = await shift.queries.ask(route.binding, call, secret=route.credential.secret)
        reach(Point.POLL_ANSWERED)
        shift.count.polled += 1
        return route, read_answer(route, answer, ids)

    async def _resolve(self, waiting: Waiting) -> Route:
        """Read the key and the channel once for all queries that begin in the same moment."""
        key = _channel_key(waiting)
        if key not in self._resolving:
            shift, channel = self._shift, waiting.work.channel
            under_way = asyncio.ensure_future(shift.in_thread(lambda: resolve_channel(shift.studio, channel)))
            under_way.add_done_callback(lambda _: self._resolving.pop(key))
            self._resolving[key] = under_way
        return await asyncio.shield(self._resolving[key])

    async def _judge(self, waiting: Waiting, route: Route | None, outcome: QueryOutcome) -> None:
        """P-7.3: five cases, five reasons, five actions."""
        if waiting.work.task_id not in self._shift.leases:
            self._waiting.pop(waiting.work.task_id, None)  # taken over by another worker
            return
        match outcome:
            case StillWorking(retry_after_ms=advised):
                await self._still_working(waiting, route, advised)
            case Finished():
                await self._finished(waiting, outcome)
            case GenerationFailed():
                await self._failed(waiting, outcome)
            case ResultExpired():
                await self._reconcile(waiting, QueryCase.RESULT_EXPIRED, "providerFinished")
            case Unrecognised(word=word):
                code = word if route is None else QueryCase.UNRECOGNISED_STATUS
                await self._reconcile(waiting, code, "accepted", word=word)
            case QueryFailed():
                await self._query_failed(waiting, outcome)
            case _:
                assert_never(outcome)

    async def _still_working(self, waiting: Waiting, route: Route | None, advised_ms: int | None) -> None:
        """Nothing changed, so nothing is written (target: no row per unchanged poll)."""
        waiting.polls += 1
        waiting.failures = 0
        overdue = monotonic_ms() - waiting.since_ms > self._shift.pace.wait_limit_s * 1000
        if overdue:
            await self._reconcile(waiting, QueryCase.STILL_WORKING, "accepted")
            return
        if waiting.work.held.state is TaskState.NEEDS_RECONCILIATION:
            change = Change(
                held=waiting.work.held,
                task=task_move(waiting.work.held, JobAccepted(), after_ms=self._shift.pace.lease_ms),
            )
            answer = await self._shift.record(change)
            if isinstance(answer, Stale):
                self._waiting.pop(waiting.work.task_id, None)
                return
            waiting.work = waiting.work.at(answer.now)
        assert route is not None
        contract = route.adapter.contract
        self._schedule(
            waiting.work.task_id,
            self._pause(waiting, contract.poll_after_ms, contract.poll_max_ms, advised_ms),
        )

    async def _query_failed(self, waiting: Waiting, outcome: QueryFailed) -> None:
        """The job is what it was; only the query is repeated, within bounds (F04, F13)."""
        waiting.failures += 1
        if outcome.auth:
            await self._reconcile(waiting, QueryCase.ACCESS_LOST, "accepted")
            return
        if (
            waiting.failures > self._shift.pace.query_failures_max
            or monotonic_ms() - waiting.since_ms > self._shift.pace.wait_limit_s * 1000
        ):
            await self._reconcile(waiting, QueryCase.QUERY_UNANSWERED, "accepted")
            return
        if waiting.failures in FAILURE_NOTES:
            note = JobNote(
                waiting.work.attempt_id,
                last_status=f"query failed: {redact(outcome.why)[:80]}",
                query_failures=waiting.failures,
            )
            if isinstance(await self._shift.record(Change(held=waiting.work.held, job_note=note)), Stale):
                self._waiting.pop(waiting.work.task_id, None)
                return
        pause_ms = after_failure_ms(
            waiting.failures, retry_after_ms=outcome.retry_after_ms, jitter_permille=self._shift.jitter()
        )
        pause_ms = max(pause_ms * self._shift.pace.resend_permille // 1000, outcome.retry_after_ms or 0)
        self._schedule(waiting.work.task_id, pause_ms)

    # --- ends -------------------------------------------------------------------------------------------

    async def _finished(self, waiting: Waiting, outcome: Finished) -> None:
        self._waiting.pop(waiting.work.task_id, None)
        work = waiting.work
        try:
            outputs = [await self._stored(each) for each in outcome.outputs]
        except ShortdramaError as error:
            await self._reconcile(waiting, "resultNotStored", "providerFinished", word=error.code)
            return
        change = Change(
            held=work.held,
            task=task_move(work.held, ResultKnown(), after_ms=self._shift.pace.lease_ms),
            attempts=(
                AttemptMove(
                    work.attempt_id,
                    AttemptState.ACCEPTED,
                    AttemptState.ACCEPTED,
                    result={"outputs": outputs},
                    cost_micros=outcome.cost_micros,
                    cost_currency=outcome.cost_currency,
                ),
            ),
            job_note=JobNote(work.attempt_id, last_status="finished", finished=True),
        )
        answer = await self._shift.record(change)
        if isinstance(answer, Recorded):
            bill = bill_of(work, cost_micros=outcome.cost_micros, cost_currency=outcome.cost_currency)
            await ingesting.transfer(
                self._shift, work.at(answer.now), outputs, bill=bill, refresh=self.refresher(waiting)
            )

    async def _stored(self, output: Output) -> dict[str, Any]:
        if output.data is None:
            return output_json(output)
        data = output.data
        sha256, size = await self._shift.in_thread(
            lambda: self._shift.studio.objects.put([data], bytes_max=len(data))
        )
        return output_json(replace(output, data=None, sha256=sha256), size=size)

    async def _failed(self, waiting: Waiting, outcome: GenerationFailed) -> None:
        """The vendor's final word. It may have charged all the same (D-15)."""
        self._waiting.pop(waiting.work.task_id, None)
        work = waiting.work
        reason = Reason(
            QueryCase.GENERATION_FAILED, "completed", {"vendor_code": redact(outcome.code)[:80]}
        ).to_json()
        change = Change(
            held=work.held,
            task=task_move(work.held, FailureProven(), after_ms=None, reason=reason),
            attempts=(
                attempt_move(
                    work.attempt_id,
                    AttemptState.ACCEPTED,
                    Concluded(delivered=False),
                    evidence={"fact": "generationFailed", "code": redact(outcome.code)[:80]},
                    cost=(outcome.cost_micros, outcome.cost_currency),
                ),
            ),
            job_note=JobNote(work.attempt_id, last_status="failed", finished=True),
            release=reason,
            bill=bill_of(work, cost_micros=outcome.cost_micros, cost_currency=outcome.cost_currency),
        )
        await self._shift.record(change)

    async def _reconcile(self, waiting: Waiting, code: str, fact: str, *, word: str = "") -> None:
        """A person is told; queries go on slowly. A Task that waits for a person already only waits on."""
        self._waiting.pop(waiting.work.task_id, None)
        work, shift = waiting.work, self._shift
        reason = Reason(str(code), fact, {"word": redact(word)[:80]} if word else {}).to_json()
        if work.held.state is TaskState.NEEDS_RECONCILIATION:
            shift.leases.pop(work.task_id, None)
            await shift.release_reconciling(work.held, reason=reason, after_ms=shift.pace.slow_query_s * 1000)
            return
        note = JobNote(work.attempt_id, last_status=f"{code} {redact(word)[:60]}".strip())
        change = Change(
            held=work.held,
            task=task_move(
                work.held,
                FactsMissing(),
                after_ms=shift.pace.slow_query_s * 1000,
                reason=reason,
                keep_lease=False,
            ),
            job_note=note,
            alert=Alert(_alert_kind(str(code)), work.task_id, "A waiting job needs a look", reason),
        )
        if isinstance(await shift.record(change), Recorded):
            shift.count.reconciling += 1

    def refresher_for(
        self, work: Work, *, checkpoint: Mapping[str, Any], external_id: str
    ) -> ingesting.Refresh:
        return self.refresher(Waiting(work, checkpoint, external_id, monotonic_ms()))

    def refresher(self, waiting: Waiting) -> ingesting.Refresh:
        """How a dead result link is replaced: by asking about the same job once more (F07)."""

        async def refresh(_work: Work) -> list[dict[str, Any]] | None:
            _, outcomes = await self._query([waiting])
            found = outcomes[waiting.external_id]
            return [output_json(each) for each in found.outputs] if isinstance(found, Finished) else None

        return refresh


def read_answer(route: Route, answer: HttpAnswer | Silent, ids: list[str]) -> dict[str, QueryOutcome]:
    """One outcome per asked id, whatever came back."""
    if isinstance(answer, Silent):
        return dict.fromkeys(ids, QueryFailed(answer.why))
    try:
        found = route.adapter.read_query(answer, ids)
    except Exception as error:  # noqa: BLE001 - an adapter that stumbles has learnt nothing about the job
        LOG.error("engine.query.unreadable %s", describe(error))
        return dict.fromkeys(ids, QueryFailed(f"the answer could not be read: {type(error).__name__}"))
    return {each: found.get(each, Unrecognised("not in the answer")) for each in ids}


def _channel_key(waiting: Waiting) -> tuple[str, ...]:
    channel = waiting.work.channel
    names = ("binding_id", "base_url", "credential", "fingerprint", "protocol", "contract_version", "model")
    return tuple(str(channel.get(each)) for each in names)


def _alert_kind(code: str) -> str:
    return {
        "channelUnresolvable": "channel_unresolvable",
        "checkpointBroken": "checkpoint_broken",
        "unrecognisedStatus": "unrecognised_status",
    }.get(code, "waiting_needs_person")
