"""The task centre: reading Tasks, and the few things a person may do with one (P-13).

`query` and `transfer` can only ever send GETs; `regenerate` yields a Quote and buys nothing;
`compensate` touches the ledger alone; `cancel` is open only before anybody claimed it.
"""

import asyncio
from collections.abc import Mapping
from typing import Any

from shortdrama_pipeline.errors import Outside, Refusal, UnknownId
from shortdrama_pipeline.rules import ledger as ledger_rules
from shortdrama_pipeline.rules import tasks as task_rules
from shortdrama_pipeline.rules.actors import parse_actor, require_person
from shortdrama_pipeline.rules.money import Money
from shortdrama_pipeline.rules.plans import ItemRequest, Use
from shortdrama_pipeline.rules.states import AttemptState, MediaKind, ReservationState, Stage, TaskState
from shortdrama_pipeline.rules.task_actions import MAY_COST, Standing, TaskAction, allowed_actions, user_text
from shortdrama_pipeline.services import receipts, recovering
from shortdrama_pipeline.services.context import Studio
from shortdrama_pipeline.services.planning import Planned, plan_items
from shortdrama_pipeline.services.polling import Poller
from shortdrama_pipeline.services.shifts import Pace, Shift, worker_name
from shortdrama_pipeline.store import attempts, audit, ledger, reservations, task_views, tasks
from shortdrama_pipeline.store.wakeups import announce

Document = dict[str, Any]
ATTEMPT_TIMES = (
    "submit_started_at", "accepted_at", "completed_at", "provider_finished_at", "downloadable_at",
    "transferred_at", "registered_at", "retention_until",
)  # fmt: skip


# --- reading ------------------------------------------------------------------------------------------


def list_tasks(studio: Studio, *, episode_id: str | None = None, state: str | None = None) -> list[Document]:
    """What the task centre lists (P-13.1): no vendor text, no vendor id."""
    with studio.db.read() as tx:
        rows = task_views.list_tasks(tx, episode_id=episode_id, state=state)
    return [_listed(each) for each in rows]


def show_task(studio: Studio, task_id: str) -> Document:
    """Everything about one Task for the administrator: redacted, with what may be done about it (P-13.3)."""
    with studio.db.read() as tx:
        row = task_views.find_task(tx, task_id)
        if row is None:
            raise _unknown(task_id)
        found = task_views.list_attempts(tx, task_id)
        ids = [task_id, row["reservation_id"], *(each["attempt_id"] for each in found)]
        history = task_views.list_history(tx, ids)
        latest = attempts.load_latest(tx, [task_id]).get(task_id)
    actions = allowed_actions(_standing(row, latest))
    code = str((row["reason"] or row["hold_reason"] or {}).get("code", ""))
    return {
        "task_id": task_id,
        "state": row["state"],
        "reason": row["reason"],
        "hold_reason": row["hold_reason"],
        "text": user_text(TaskState(row["state"]), code),
        "item_id": row["item_id"],
        "episode_id": row["episode_id"],
        "stage": row["stage"],
        "subject": row["subject"],
        "execution_id": row["execution_id"],
        "attempts": [_attempt(each) for each in found],
        "reservation": {
            "state": row["money"],
            "amount": _money(row["amount_micros"], row["currency"]),
            "settled": _money(row["settled_micros"], row["currency"]),
        },
        "version": row["version"],
        "owner": row["owner"],
        "lease_token": row["lease_token"],
        "expires_at": _time(row["expires_at"]),
        "heartbeat": _time(row["heartbeat"]),
        "next_action_at": _time(row["next_action_at"]),
        "deadline_at": _time(row["deadline_at"]),
        "actions": [str(each) for each in actions],
        "actions_that_may_cost": [str(each) for each in actions if each in MAY_COST],
        "history": [each | {"at": _time(each["at"])} for each in history],
    }


# --- acting -------------------------------------------------------------------------------------------


def cancel_task(studio: Studio, task_id: str, *, actor: str) -> Document:
    """Cancel a queued Task, its price comes back; later, stop only what works on from it (P-4.3, P-4.4)."""
    require_person(actor, "cancel a task")
    with studio.db.begin() as tx:
        cancelled = tasks.cancel(tx, [task_id], actor=actor)
        if not cancelled:
            state = TaskState(tasks.load(tx, task_id).state)
            if state in task_rules.TERMINAL:
                raise Refusal(
                    f"Task {task_id} is {state}",
                    hint="It is over; look at it with: shortdrama task show",
                    state=str(state),
                )
            cancelled = tasks.cancel(tx, task_views.find_downstream(tx, task_id), actor=actor)
            if not cancelled:
                raise Refusal(
                    f"Task {task_id} is {state}: it was sent, or is being sent, and its cost cannot be saved",
                    hint="Let it finish; what it makes is yours and need not be used",
                    state=str(state),
                )
        reason = {"code": "cancelled"}
        reservations.release_many(tx, sorted(cancelled), reason=reason, actor=actor)
        for each in sorted(cancelled):
            audit.record_decision(tx, "task.cancel", each, actor=actor, facts={"asked_for": task_id})
        state = TaskState(tasks.load(tx, task_id).state)
    return {"task_id": task_id, "state": str(state), "cancelled": sorted(cancelled)}


def release_hold(studio: Studio, task_id: str, *, actor: str) -> Document:
    """Say that what held a queued Task is mended; it is sent under the confirmation already given."""
    require_person(actor, "release a hold")
    with studio.db.begin() as tx:
        if not tasks.release_hold(tx, task_id):
            task = tasks.load(tx, task_id)
            raise Refusal(
                f"Task {task_id} is {task.state} and not held",
                hint="Look at it with: shortdrama task show",
                state=task.state,
            )
        audit.record_decision(tx, "task.release-hold", task_id, actor=actor)
    announce(studio.db)
    return show_task(studio, task_id)


def query_task(studio: Studio, task_id: str, *, actor: str, worker: str | None = None) -> Document:
    """Ask the vendor about the same request, now. Only GETs; a person also accepts a renewed key (F13)."""
    _require(studio, task_id, TaskAction.QUERY, actor=actor)
    asyncio.run(_resume_one(studio, task_id, worker or worker_name()))
    return show_task(studio, task_id)


def transfer_task(studio: Studio, task_id: str, *, actor: str, worker: str | None = None) -> Document:
    """Fetch the same result again, now. Nobody is asked to make anything."""
    _require(studio, task_id, TaskAction.TRANSFER, actor=actor)
    asyncio.run(_resume_one(studio, task_id, worker or worker_name()))
    return show_task(studio, task_id)


def regenerate_task(studio: Studio, task_id: str, *, actor: str) -> Planned:
    """Quote the same item once more. It may cost: nothing happens before the Quote is confirmed (P-9.7)."""
    _require(studio, task_id, TaskAction.REGENERATE, actor=actor, person=False)
    with studio.db.read() as tx:
        task = tasks.load(tx, task_id)
    return plan_items(studio, Stage(task.stage), [_item_of(task.request)], actor=actor)


def compensate_task(studio: Studio, task_id: str, *, actor: str, note: str) -> Document:
    """Give a settled price back at the platform's cost, once; the product stays (P-8.5, P-13.4)."""
    _require(studio, task_id, TaskAction.COMPENSATE, actor=actor)
    with studio.db.begin() as tx:
        charged = reservations.load_settled(tx, task_id)
        booked = ledger.post(tx, ledger_rules.compensate(task_id, charged), actor=actor)
        if booked:
            audit.record_decision(tx, "task.compensate", task_id, actor=actor, facts={"note": note[:500]})
    return show_task(studio, task_id) | {"compensated": _money(charged.micros, charged.currency)}


def resolve_task(
    studio: Studio,
    task_id: str,
    *,
    actor: str,
    evidence: str,
    external_id: str | None,
    worker: str | None = None,
) -> Document:
    """A person states with evidence what became of a silent request: a vendor id, or absence (TT-6)."""
    _require(studio, task_id, TaskAction.RESOLVE, actor=actor)
    if not evidence.strip():
        raise Refusal("A resolution needs its evidence", hint="Say where it stands, such as a console entry")
    with studio.db.begin() as tx:
        facts: Mapping[str, str | None] = {"evidence": evidence[:500], "external_id": external_id}
        audit.record_decision(tx, "task.resolve", task_id, actor=actor, facts=dict(facts))
    asyncio.run(_resolve_one(studio, task_id, worker or worker_name(), actor, evidence, external_id))
    return show_task(studio, task_id)


# --- parts --------------------------------------------------------------------------------------------


async def _resume_one(studio: Studio, task_id: str, worker: str) -> None:
    shift = Shift(studio, worker=worker, pace=Pace(), limit=1)
    poller = Poller(shift)
    try:
        found = await shift.in_thread(recovering.take_one, shift, task_id)
        if found is None:
            await shift.in_thread(announce, studio.db, task_id)  # a live worker has it: ask that one to ask
            return
        shift.spawn(
            recovering.resume(shift, poller, found, by_person=True), name="resume", task_ids=[task_id]
        )
        await shift.finish()
        poller.start_due()
        await shift.finish()
    finally:
        if shift.leases:
            await shift.give_back(dict(shift.leases), again_ms=1_000)
        await shift.close()
    if shift.count.errors:
        raise Outside(
            "The action did not come to its end", hint="Look at the open alerts: shortdrama work status"
        )


async def _resolve_one(
    studio: Studio, task_id: str, worker: str, actor: str, evidence: str, external_id: str | None
) -> None:
    shift = Shift(studio, worker=worker, pace=Pace(), limit=1)
    poller = Poller(shift)
    try:
        found = await shift.in_thread(recovering.take_one, shift, task_id)
        if found is None or found.attempt is None:
            return
        if external_id is None:
            proof = {"proof": "absence", "by": actor, "evidence": evidence[:500]}
            await recovering.prove_absent(shift, found.work, proof)
            return
        receipt = receipts.Receipt(
            found.attempt.attempt_id, task_id, external_id, {"external_id": external_id}, [], 0, ""
        )
        await recovering.adopt_receipt(shift, poller, found.work, receipt)
        poller.start_due()
        await shift.finish()
    finally:
        if shift.leases:
            await shift.give_back(dict(shift.leases), again_ms=1_000)
        await shift.close()


def _require(studio: Studio, task_id: str, action: TaskAction, *, actor: str, person: bool = True) -> None:
    if person:
        require_person(actor, f"{action} a task")
    else:
        parse_actor(actor)
    with studio.db.read() as tx:
        row = task_views.find_task(tx, task_id)
        latest = attempts.load_latest(tx, [task_id]).get(task_id)
    if row is None:
        raise _unknown(task_id)
    open_now = allowed_actions(_standing(row, latest))
    if action not in open_now:
        raise Refusal(
            f"Task {task_id} is {row['state']}: {action} is not open",
            hint=f"Open now: {', '.join(open_now) or 'nothing'}",
            state=str(row["state"]),
            actions=[str(each) for each in open_now],
        )


def _standing(row: Mapping[str, Any], latest: attempts.Attempt | None) -> Standing:
    return Standing(
        task=TaskState(row["state"]),
        attempt=None if latest is None else AttemptState(latest.state),
        money=ReservationState(row["money"]),
        held=row["hold_reason"] is not None,
        has_result=latest is not None and bool(latest.result),
    )


def _listed(row: Mapping[str, Any]) -> Document:
    state = TaskState(row["state"])
    code = str((row["reason"] or row["hold_reason"] or {}).get("code", ""))
    return {
        "task_id": row["task_id"],
        "item_id": row["item_id"],
        "episode_id": row["episode_id"],
        "stage": row["stage"],
        "subject": row["subject"],
        "state": row["state"],
        "text": user_text(state, code),
        "code": code or None,
        "money": {"state": row["money"], "amount": _money(row["amount_micros"], row["currency"])},
        "started_at": _time(row["created_at"]),
    }


def _attempt(row: Mapping[str, Any]) -> Document:
    return {
        "attempt_id": row["attempt_id"],
        "number": row["number"],
        "state": row["state"],
        "external_id": row["external_id"],
        "binding": row["binding"],
        "channel": row["channel"],
        "request_digest": row["request_digest"],
        "lease_token": row["lease_token"],
        "worker": row["worker"],
        "evidence": row["evidence"],
        "last_status": row["last_status"],
        "query_failures": row["query_failures"],
        "provider_cost": _money(row["provider_cost_micros"], row["provider_currency"]),
        **{name: _time(row[name]) for name in ATTEMPT_TIMES},
    }


def _item_of(request: Mapping[str, Any]) -> ItemRequest:
    uses = tuple(
        Use(each["purpose"], each["version_id"], each["digest"], each.get("sha256"))
        for each in request["uses"]
    )
    return ItemRequest(
        episode_id=request["episode_id"],
        subject=request["subject"],
        role=request["role"],
        kind=MediaKind(request["kind"]),
        params=dict(request["params"]),
        uses=uses,
        constraints=dict(request.get("constraints") or {}),
    )


def _money(micros: int, currency: str) -> dict[str, int | str]:
    return Money(micros, currency).to_json()


def _time(value: Any) -> str | None:  # noqa: ANN401 - a driver's timestamp
    return None if value is None else value.isoformat().replace("+00:00", "Z")


def _unknown(task_id: str) -> UnknownId:
    return UnknownId(f"No task {task_id}", hint="List them: shortdrama task list", task_id=task_id)
