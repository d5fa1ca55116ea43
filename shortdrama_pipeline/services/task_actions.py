"""The task centre: reading Tasks, and the few things a person may do with one (P-13).

`query` and `transfer` can only ever send GETs; `regenerate` yields a Quote and buys nothing;
`compensate` touches the ledger alone; `cancel` is open only before anybody claimed it. Each answer says
what the action may cost, and each decision stands in the audit log with who and when.
"""

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import sqlalchemy as sa

from shortdrama_pipeline.crashpoints import Point, reach
from shortdrama_pipeline.errors import (
    Conflict,
    CredentialMissing,
    Fact,
    Outside,
    Refusal,
    StaleState,
    UnknownId,
    UsageError,
)
from shortdrama_pipeline.providers.credentials import read_credential
from shortdrama_pipeline.rules import ledger as ledger_rules
from shortdrama_pipeline.rules import tasks as task_rules
from shortdrama_pipeline.rules.actors import parse_actor, require_person
from shortdrama_pipeline.rules.attempts import Proof
from shortdrama_pipeline.rules.money import Money
from shortdrama_pipeline.rules.plans import item_request
from shortdrama_pipeline.rules.states import AttemptState, ReservationState, Stage, TaskState
from shortdrama_pipeline.rules.task_actions import (
    MAY_COST,
    Standing,
    TaskAction,
    allowed_actions,
    instead,
    user_text,
)
from shortdrama_pipeline.services import late_results as late_watching
from shortdrama_pipeline.services import proving, recovering
from shortdrama_pipeline.services.context import Studio
from shortdrama_pipeline.services.planning import Planned, plan_items
from shortdrama_pipeline.services.polling import Poller
from shortdrama_pipeline.services.recording import Decision
from shortdrama_pipeline.services.recovering import Found
from shortdrama_pipeline.services.shifts import Pace, Shift, worker_name
from shortdrama_pipeline.store import (
    attempts,
    audit,
    late_results,
    ledger,
    reservations,
    successions,
    task_views,
    tasks,
)
from shortdrama_pipeline.store.wakeups import announce

Document = dict[str, Any]
NOTE_CHARACTERS_MAX = 500
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
        late = late_results.find_of_task(tx, task_id)
    actions = allowed_actions(_standing(row, latest, late))
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
        "late_results": [_late(each) for each in late],
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
                    hint=f"It is over. {instead(TaskAction.CANCEL, _see(tx, task_id), task_id=task_id)}",
                    state=str(state),
                )
            cancelled = tasks.cancel(tx, task_views.find_downstream(tx, task_id), actor=actor)
            if not cancelled:
                raise Refusal(
                    f"Task {task_id} is {state}: it was sent, or is being sent, and its cost cannot be saved",
                    hint="Let it finish; what it makes is yours and need not be used. "
                    + instead(TaskAction.CANCEL, _see(tx, task_id), task_id=task_id),
                    state=str(state),
                )
        reason = {"code": "cancelled"}
        reservations.release_many(tx, sorted(cancelled), reason=reason, actor=actor)
        for each in sorted(cancelled):
            audit.record_decision(tx, "task.cancel", each, actor=actor, facts={"asked_for": task_id})
        state = TaskState(tasks.load(tx, task_id).state)
    cancelling = {"task_id": task_id, "state": str(state), "cancelled": sorted(cancelled)}
    return cancelling | _cost(TaskAction.CANCEL)


def release_hold(studio: Studio, task_id: str, *, actor: str) -> Document:
    """Say that what held a queued Task is mended; it is sent under the confirmation already given."""
    require_person(actor, "release a hold")
    with studio.db.begin() as tx:
        if not tasks.release_hold(tx, task_id):
            task = tasks.load(tx, task_id)
            raise Refusal(
                f"Task {task_id} is {task.state} and not held",
                hint=instead(TaskAction.RELEASE_HOLD, _see(tx, task_id), task_id=task_id),
                state=task.state,
            )
        audit.record_decision(tx, "task.release-hold", task_id, actor=actor)
    announce(studio.db)
    return show_task(studio, task_id) | _cost(TaskAction.RELEASE_HOLD)


def query_task(
    studio: Studio, task_id: str, *, actor: str, same_account: str = "", worker: str | None = None
) -> Document:
    """Ask the vendor about the same request, now. Only GETs (P-13.4).

    With another key than the one it was sent with nothing is asked, unless a person says by
    `same_account`, the evidence, that it belongs to the same account (F13); that word counts from then on.
    """
    require_person(actor, "query a task")
    with studio.db.begin() as tx:
        _refuse_unless_open(_see(tx, task_id), TaskAction.QUERY, task_id)
        latest = attempts.load_latest(tx, [task_id])[task_id]
        renewed = _renewed_key(tx, studio, latest.channel)
        if renewed is not None:
            _accept_key(
                tx, latest.channel, renewed, evidence=same_account.strip(), actor=actor, task_id=task_id
            )
        audit.record_decision(tx, "task.query", task_id, actor=actor)
    asyncio.run(_resume_one(studio, task_id, worker or worker_name()))
    return show_task(studio, task_id) | _cost(TaskAction.QUERY)


def transfer_task(studio: Studio, task_id: str, *, actor: str, worker: str | None = None) -> Document:
    """Fetch the same result again, now. Nobody is asked to make anything."""
    require_person(actor, "transfer a task's result")
    with studio.db.begin() as tx:
        _refuse_unless_open(_see(tx, task_id), TaskAction.TRANSFER, task_id)
        audit.record_decision(tx, "task.transfer", task_id, actor=actor)
    asyncio.run(_resume_one(studio, task_id, worker or worker_name()))
    return show_task(studio, task_id) | _cost(TaskAction.TRANSFER)


def regenerate_task(studio: Studio, task_id: str, *, actor: str) -> Planned:
    """Quote the same item once more. It may cost: nothing happens before the Quote is confirmed (P-9.7)."""
    parse_actor(actor)
    with studio.db.read() as tx:
        _refuse_unless_open(_see(tx, task_id), TaskAction.REGENERATE, task_id)
        task = tasks.load(tx, task_id)
    return plan_items(studio, Stage(task.stage), [item_request(task.request)], actor=actor)


def compensate_task(studio: Studio, task_id: str, *, actor: str, note: str) -> Document:
    """Give a settled price back at the platform's cost, once; the product stays (P-8.5, P-13.4)."""
    require_person(actor, "compensate a task")
    with studio.db.begin() as tx:
        _refuse_unless_open(_see(tx, task_id), TaskAction.COMPENSATE, task_id)
        charged = reservations.load_settled(tx, task_id)
        facts: dict[str, Fact] = {"note": note[:NOTE_CHARACTERS_MAX], "amount": dict(charged.to_json())}
        booked = ledger.post(tx, ledger_rules.compensate(task_id, charged), actor=actor)
        reach(Point.COMPENSATION_BETWEEN)
        if booked:
            audit.record_decision(tx, "task.compensate", task_id, actor=actor, facts=facts)
        reach(Point.COMPENSATION_BEFORE_COMMIT)
    compensated: Document = {"compensated": charged.to_json(), "already": not booked}
    return show_task(studio, task_id) | compensated | _cost(TaskAction.COMPENSATE)


def adopt_task(
    studio: Studio, task_id: str, *, external_id: str, note: str, actor: str, worker: str | None = None
) -> Document:
    """A person says which vendor's job a silent request became; it is then asked about as ever (TT-6)."""
    require_person(actor, "adopt a vendor's job")
    _require_note(note)
    if not external_id.strip():
        raise UsageError("Name the vendor's job", hint="Give --external-id as the vendor's console shows it")
    with studio.db.read() as tx:
        _refuse_unless_open(_see(tx, task_id), TaskAction.RESOLVE, task_id)
        task = tasks.load(tx, task_id)
        known = attempts.find_known(tx, task.binding_id, [external_id])
    _refuse_known(known, external_id)
    binding = studio.bindings.get(task.binding_id)
    adapter = None if binding is None else studio.adapters.get(binding.protocol)
    if adapter is not None and task.kind not in adapter.contract.asynchronous_kinds:
        raise Refusal(
            f"A {task.kind} of {task.binding_id} is answered at once: there is no job to fetch it from",
            hint="Its price comes back by itself at the delivery deadline; "
            f"if it was not accepted: shortdrama task absent {task_id} --note WHERE",
            kind=str(task.kind),
        )
    asyncio.run(_adopt_one(studio, task_id, worker or worker_name(), actor, note.strip(), external_id))
    return show_task(studio, task_id) | _cost(TaskAction.RESOLVE)


def prove_absent_task(
    studio: Studio, task_id: str, *, note: str, actor: str, worker: str | None = None
) -> Document:
    """A person attests, with evidence, that a silent request was never accepted; the price comes back."""
    require_person(actor, "attest absence")
    _require_note(note)
    with studio.db.read() as tx:
        _refuse_unless_open(_see(tx, task_id), TaskAction.RESOLVE, task_id)
    asyncio.run(_absent_one(studio, task_id, worker or worker_name(), actor, note.strip()))
    return show_task(studio, task_id) | _cost(TaskAction.RESOLVE)


# --- parts --------------------------------------------------------------------------------------------


async def _resume_one(studio: Studio, task_id: str, worker: str) -> None:
    shift = Shift(studio, worker=worker, pace=Pace(), limit=1)
    poller = Poller(shift)
    try:
        if await late_watching.look_at_task(shift, task_id):
            await shift.finish()
            return
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


async def _adopt_one(
    studio: Studio, task_id: str, worker: str, actor: str, note: str, external_id: str
) -> None:
    async with _taken(studio, task_id, worker) as (shift, poller, found):
        facts = {"evidence": note[:NOTE_CHARACTERS_MAX], "external_id": external_id}
        evidence = {"fact": "adopted", "by": actor, **facts}
        try:
            done = await proving.adopt_job(
                shift,
                poller,
                found.work,
                external_id,
                {"external_id": external_id},
                evidence=evidence,
                decision=Decision("task.adopt", actor, facts),
            )
        except sa.exc.IntegrityError as error:
            if "uq_provider_jobs" not in str(error.orig):
                raise
            _refuse_known({external_id}, external_id)
        else:
            _refuse_stale(done, task_id)
            poller.start_due()
            await shift.finish()


async def _absent_one(studio: Studio, task_id: str, worker: str, actor: str, note: str) -> None:
    async with _taken(studio, task_id, worker) as (shift, _poller, found):
        facts = {"evidence": note[:NOTE_CHARACTERS_MAX]}
        proof = {"proof": str(Proof.ABSENCE), "by": actor, **facts}
        done = await proving.prove_absent(
            shift, found.work, proof, decision=Decision("task.absent", actor, facts)
        )
        _refuse_stale(done, task_id)


@asynccontextmanager
async def _taken(studio: Studio, task_id: str, worker: str) -> AsyncIterator[tuple[Shift, Poller, Found]]:
    """Hold one Task for a person's action, and give it back whatever comes."""
    shift = Shift(studio, worker=worker, pace=Pace(), limit=1)
    poller = Poller(shift)
    try:
        found = await shift.in_thread(recovering.take_one, shift, task_id)
        if found is None or found.attempt is None or found.attempt.state != AttemptState.OUTCOME_UNKNOWN:
            _refuse_stale(False, task_id)
        else:
            yield shift, poller, found
    finally:
        if shift.leases:
            await shift.give_back(dict(shift.leases), again_ms=1_000)
        await shift.close()


def _refuse_stale(done: bool, task_id: str) -> None:  # noqa: FBT001 - the answer of the write
    if not done:
        raise StaleState(
            f"Task {task_id} was moved by somebody else in this moment; nothing of yours was written",
            hint=f"Look at it again: shortdrama task show {task_id}",
        )


def _refuse_known(known: Collection[str], external_id: str) -> None:
    if external_id in known:
        raise Conflict(
            f"The vendor's job {external_id} already belongs to another request of yours",
            hint="Find it with: shortdrama task list, and name the job of this request",
            external_id=external_id,
        )


def _require_note(note: str) -> None:
    if not note.strip():
        raise Refusal(
            "A person's word needs its evidence", hint="Say where it stands: --note 'console, line 7'"
        )


def _cost(action: TaskAction) -> Document:
    """What an action may cost, in every answer of it (P-13.4)."""
    return {"action": str(action), "may_cost": action in MAY_COST}


def _renewed_key(tx: sa.Connection, studio: Studio, channel: Mapping[str, Any]) -> str | None:
    """The fingerprint of a key that is not the one of this job and that nobody has spoken for."""
    try:
        now = read_credential(str(channel.get("credential", ""))).fingerprint
    except CredentialMissing:
        return None  # nothing can be asked; the query says so
    before, binding_id = str(channel.get("fingerprint", "")), str(channel.get("binding_id", ""))
    if now == before or successions.is_successor(tx, binding_id, fingerprint=before, successor=now):
        return None
    return now if binding_id in studio.bindings else None


def _accept_key(
    tx: sa.Connection, channel: Mapping[str, Any], successor: str, *, evidence: str, actor: str, task_id: str
) -> None:
    binding_id, before = str(channel["binding_id"]), str(channel["fingerprint"])
    if not evidence:
        raise Refusal(
            f"The key of {binding_id} is not the one this job was sent with; nothing is asked with another's",
            hint="Restore that key; if this one is of the same account, say where that stands: "
            f"shortdrama task query {task_id} --same-account WHERE",
            binding_id=binding_id,
        )
    facts = {"fingerprint": before, "successor": successor, "evidence": evidence[:NOTE_CHARACTERS_MAX]}
    successions.record_succession(tx, binding_id, actor=actor, **facts)
    audit.record_decision(tx, "credential.same-account", binding_id, actor=actor, facts=dict(facts))


def _see(tx: sa.Connection, task_id: str) -> Standing:
    row = task_views.find_task(tx, task_id)
    if row is None:
        raise _unknown(task_id)
    latest = attempts.load_latest(tx, [task_id]).get(task_id)
    return _standing(row, latest, late_results.find_of_task(tx, task_id))


def _refuse_unless_open(standing: Standing, action: TaskAction, task_id: str) -> None:
    open_now = allowed_actions(standing)
    if action not in open_now:
        raise Refusal(
            f"Task {task_id} is {standing.task}, its money {standing.money}: {action} is not open",
            hint=instead(action, standing, task_id=task_id),
            state=str(standing.task),
            actions=[str(each) for each in open_now],
        )


def _standing(
    row: Mapping[str, Any], latest: attempts.Attempt | None, late: Sequence[Mapping[str, Any]]
) -> Standing:
    return Standing(
        task=TaskState(row["state"]),
        attempt=None if latest is None else AttemptState(latest.state),
        money=ReservationState(row["money"]),
        held=row["hold_reason"] is not None,
        has_result=latest is not None and bool(latest.result),
        late=any(each["ended_at"] is None for each in late),
    )


def _late(row: Mapping[str, Any]) -> Document:
    return {
        "attempt_id": row["attempt_id"],
        "outcome": row["outcome"],
        "ended_at": _time(row["ended_at"]),
        "until": _time(row["until"]),
        "facts": row["facts"],
    }


def _listed_standing(row: Mapping[str, Any]) -> Standing:
    return Standing(
        task=TaskState(row["state"]),
        attempt=None if row["attempt"] is None else AttemptState(row["attempt"]),
        money=ReservationState(row["money"]),
        held=row["hold_reason"] is not None,
        has_result=bool(row["has_result"]),
        late=bool(row["late"]),
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
        "actions": [str(each) for each in allowed_actions(_listed_standing(row))],
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


def _money(micros: int, currency: str) -> dict[str, int | str]:
    return Money(micros, currency).to_json()


def _time(value: Any) -> str | None:  # noqa: ANN401 - a driver's timestamp
    return None if value is None else value.isoformat().replace("+00:00", "Z")


def _unknown(task_id: str) -> UnknownId:
    return UnknownId(f"No task {task_id}", hint="List them: shortdrama task list", task_id=task_id)
