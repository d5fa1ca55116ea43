"""Past the published delivery deadline the user owes nothing, once; the platform bears the rest (P-8.5).

`rules/deadlines.py` decides, this writes it: price back, Task ended where nothing of it can be
delivered in time any more, its job watched on (`late_results.py`). Any worker's scan does it; a queued
Task is ended where its send would be allowed (`deadlinePassed` beside a Grant's own end, D-9).
"""

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from shortdrama_pipeline.crashpoints import Point, reach
from shortdrama_pipeline.rules.deadlines import CODE, DeadlineStep, after_deadline
from shortdrama_pipeline.rules.money import Money
from shortdrama_pipeline.rules.states import AttemptState, ReservationState, TaskState
from shortdrama_pipeline.rules.times import rfc3339
from shortdrama_pipeline.services.shifts import Shift
from shortdrama_pipeline.store import alerts, audit, deadlines, late_results, reservations
from shortdrama_pipeline.store.alerts import Alert
from shortdrama_pipeline.store.deadlines import Passed

RULE_ACTOR = "rule:delivery-deadline"
AT_ONCE = 256


async def pass_deadlines(shift: Shift) -> int:
    """Apply the rule to every open Task past its deadline. Returns to how many it did something."""
    if not await shift.read(deadlines.anything_passed):
        return 0

    def apply() -> int:
        with shift.studio.db.begin() as tx:
            return apply_deadlines(tx, deadlines.take_passed(tx, most=AT_ONCE))

    changed = await shift.in_thread(apply)
    reach(Point.DEADLINE_COMMITTED)
    return changed


def apply_deadlines(tx: sa.Connection, passed: Sequence[Passed]) -> int:
    """Write what follows for locked Tasks, all in one transaction: money, ends, watches, who and when."""
    steps = {each.task_id: _step(each) for each in passed}
    ending = [each for each in passed if steps[each.task_id] is DeadlineStep.END]
    acted = [each for each in passed if steps[each.task_id] is not DeadlineStep.NOTHING]
    if not acted:
        return 0
    ended = deadlines.record_ends(tx, {each.task_id: _reason(each) for each in ending})
    assert ended == {each.task_id for each in ending}, "a locked task moved"
    late_results.open_watches(tx, [each.attempt_id for each in ending if each.attempt_id])
    reservations.release_many(tx, [each.task_id for each in acted], reason={"code": CODE}, actor=RULE_ACTOR)
    audit.record_decisions(tx, [_decision(each, steps[each.task_id]) for each in acted])
    alerts.record_alerts(
        tx,
        [
            Alert(
                "deadline_passed",
                each.task_id,
                "Not delivered by the published deadline: the price went back to the user",
                {"step": str(steps[each.task_id]), "attempt_id": each.attempt_id},
            )
            for each in acted
        ],
    )
    reach(Point.DEADLINE_BEFORE_COMMIT)
    return len(acted)


def _step(each: Passed) -> DeadlineStep:
    return after_deadline(
        TaskState(each.state),
        None if each.attempt is None else AttemptState(each.attempt),
        ReservationState(each.money),
        has_result=each.has_result,
    )


def _reason(each: Passed) -> dict[str, Any]:
    """The reason before stays readable: it says why nothing was delivered."""
    before: Mapping[str, Any] = each.reason or {}
    reason: dict[str, Any] = {"code": CODE, "last_proven_fact": before.get("last_proven_fact", "accepted")}
    if before.get("code"):
        reason["before"] = before["code"]
    return reason


def _decision(each: Passed, step: DeadlineStep) -> dict[str, object]:
    released = each.amount_micros if each.money == ReservationState.RESERVED else 0
    return {
        "action": "task.deadline",
        "subject_id": each.task_id,
        "facts": {
            "step": str(step),
            "deadline_at": rfc3339(each.deadline_at),
            "attempt_id": each.attempt_id,
            "attempt": each.attempt,
            "released": Money(released, each.currency).to_json(),
        },
        "actor": RULE_ACTOR,
    }
