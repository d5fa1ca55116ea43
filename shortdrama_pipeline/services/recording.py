"""One shape for everything the engine writes, and one transaction that writes many of them.

A `Change` is what was decided for one Task: guarded moves of the Task and its Attempt, what became
known of the vendor's job, files, money given back, an alert. Changes of any kind travel together in
one commit; a Task that someone else moved meanwhile is left out whole (`Stale`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from shortdrama_pipeline.crashpoints import Point, reach
from shortdrama_pipeline.rules import attempts as attempt_rules
from shortdrama_pipeline.rules import tasks as task_rules
from shortdrama_pipeline.rules.attempts import AttemptEvent
from shortdrama_pipeline.rules.ledger import Bill
from shortdrama_pipeline.rules.states import AttemptState, TaskState
from shortdrama_pipeline.rules.tasks import TaskEvent
from shortdrama_pipeline.store import (
    alerts,
    attempts,
    audit,
    breakers,
    jobs,
    media,
    rate_limits,
    reservations,
    tasks,
)
from shortdrama_pipeline.store.alerts import Alert
from shortdrama_pipeline.store.attempts import AttemptMove
from shortdrama_pipeline.store.breakers import Heard
from shortdrama_pipeline.store.bulk import json_text
from shortdrama_pipeline.store.jobs import JobNote, NewJob
from shortdrama_pipeline.store.media import Judgement, StagedFile
from shortdrama_pipeline.store.tasks import TaskMove

ENGINE_ACTOR = "engine"


@dataclass(frozen=True, slots=True)
class Held:
    """A Task under our lease, in the state we last saw or wrote."""

    task_id: str
    lease_token: int
    state: TaskState


@dataclass(frozen=True, slots=True)
class Decision:
    """A person's word behind a Change: written in its transaction, or neither is (D-22)."""

    action: str
    actor: str
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Change:
    """What was decided for one Task. `release` gives the held money back, with its reason."""

    held: Held
    task: TaskMove | None = None
    attempts: tuple[AttemptMove, ...] = ()
    new_job: NewJob | None = None
    job_note: JobNote | None = None
    staged: tuple[StagedFile, ...] = ()
    judged: tuple[Judgement, ...] = ()
    release: Mapping[str, Any] | None = None
    bill: Bill | None = None
    alert: Alert | None = None
    block_ms: tuple[str, int] | None = None  # a channel that asked for a pause
    heard: Heard | None = None  # what a create said about its channel (G-302)
    decision: Decision | None = None


@dataclass(frozen=True, slots=True)
class Recorded:
    """`now` is the Task as it stands after the commit."""

    now: Held


@dataclass(frozen=True, slots=True)
class Stale:
    """Someone else moved the Task, or took it over: read it again, write nothing."""

    task_id: str


def task_move(
    held: Held,
    event: TaskEvent,
    *,
    after_ms: int | None,
    reason: Mapping[str, Any] | None = None,
    hold_reason: Mapping[str, Any] | None = None,
    keep_lease: bool = True,
) -> TaskMove:
    """Decide a Task's move by the rules; raises IllegalTransition."""
    to = task_rules.advance(held.state, event)
    return TaskMove(
        task_id=held.task_id,
        lease_token=held.lease_token,
        seen=held.state,
        to=to,
        after_ms=None if to in task_rules.TERMINAL else after_ms,
        reason=reason,
        hold_reason=hold_reason,
        keep_lease=keep_lease and to not in task_rules.TERMINAL,
    )


def attempt_move(
    attempt_id: str,
    seen: AttemptState,
    event: AttemptEvent,
    *,
    external_id: str | None = None,
    evidence: Mapping[str, Any] | None = None,
    result: Mapping[str, Any] | None = None,
    cost: tuple[int, str] | None = None,
) -> AttemptMove:
    """Decide an Attempt's move by the rules; raises IllegalTransition."""
    to = attempt_rules.advance(seen, event)
    micros, currency = cost if cost is not None else (None, None)
    return AttemptMove(attempt_id, seen, to, external_id, evidence, result, micros, currency)


def apply_changes(tx: sa.Connection, changes: Sequence[Change]) -> list[Recorded | Stale]:
    """Write many decided Changes, set-based. The lease and the state are checked first, under lock."""
    ours = tasks.lock_held(tx, [_seen(each.held) for each in changes])
    valid = [each for each in changes if each.held.task_id in ours]
    moved = _apply_attempts(tx, valid)
    valid = [each for each in valid if each.held.task_id in moved]
    jobs.open_jobs(tx, [each.new_job for each in valid if each.new_job])
    jobs.record_notes(tx, [each.job_note for each in valid if each.job_note])
    media.stage(tx, [file for each in valid for file in each.staged])
    media.judge(tx, [file for each in valid for file in each.judged])
    moves = [each.task for each in valid if each.task]
    tasks.record_moves(tx, moves)
    alerts.close_alerts(tx, [each.task_id for each in moves if goes_on(each)], by=ENGINE_ACTOR)
    alerts.record_alerts(tx, [each.alert for each in valid if each.alert])
    for each in valid:
        if each.block_ms:
            rate_limits.block(tx, each.block_ms[0], pause_ms=each.block_ms[1])
    breakers.record(tx, [each.heard for each in valid if each.heard])
    _apply_money(tx, valid)
    audit.record_decisions(tx, [_decided(each.held, each.decision) for each in valid if each.decision])
    reach(Point.OUTCOME_BEFORE_COMMIT)
    done = {each.held.task_id for each in valid}
    return [_after(each) if each.held.task_id in done else Stale(each.held.task_id) for each in changes]


def goes_on(move: TaskMove) -> bool:
    """Has what people were told about this Task come to an end? Then the next trouble is told anew."""
    waited = move.seen is TaskState.NEEDS_RECONCILIATION and move.to is not move.seen
    return waited or move.to in task_rules.TERMINAL


def _apply_attempts(tx: sa.Connection, changes: Sequence[Change]) -> set[str]:
    """Moves of one Attempt follow each other in order; a Task whose Attempt did not move is stale."""
    good = {each.held.task_id for each in changes}
    for step in range(max((len(each.attempts) for each in changes), default=0)):
        due = {
            each.attempts[step].attempt_id: each
            for each in changes
            if step < len(each.attempts) and each.held.task_id in good
        }
        moved = attempts.record_moves(tx, [each.attempts[step] for each in due.values()])
        good -= {each.held.task_id for attempt_id, each in due.items() if attempt_id not in moved}
    return good


def _apply_money(tx: sa.Connection, changes: Sequence[Change]) -> None:
    by_reason: dict[str, list[Change]] = {}
    for each in changes:
        if each.release is not None:
            by_reason.setdefault(json_text(each.release), []).append(each)
    for group in by_reason.values():
        moved = reservations.release_many(
            tx,
            [each.held.task_id for each in group],
            reason=dict(group[0].release or {}),
            bills=[each.bill for each in group if each.bill],
            actor=ENGINE_ACTOR,
        )
        alerts.record_alerts(
            tx,
            [
                Alert("release_refused", task_id, "Held money could not be given back", {"state": state})
                for task_id, state in moved.refused.items()
            ],
        )
    bills = [each.bill for each in changes if each.bill and each.release is None]
    if bills:
        reservations.book_spend_many(tx, bills, actor=ENGINE_ACTOR)


def _decided(held: Held, decision: Decision) -> dict[str, object]:
    return {
        "action": decision.action,
        "subject_id": held.task_id,
        "facts": dict(decision.facts),
        "actor": decision.actor,
    }


def _seen(held: Held) -> tuple[str, int, TaskState]:
    return held.task_id, held.lease_token, held.state


def _after(change: Change) -> Recorded:
    held = change.held
    return Recorded(held if change.task is None else Held(held.task_id, held.lease_token, change.task.to))


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a Task stands where it stands, for people and machines (P-4.5); never a vendor's text."""

    code: str
    fact: str = ""  # the last proven fact
    more: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        body: dict[str, Any] = {"code": self.code}
        if self.fact:
            body["last_proven_fact"] = self.fact
        return body | dict(self.more)
