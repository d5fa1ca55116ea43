"""Safe mode: a database that forgot something, or whose books are broken, pays nothing (D-6, G-204).

Queries, deliveries and reading go on. Who comes first enters it: whoever opens the studio, takes numbers
for fences, or looks at the books. A person ends it with `work resume --note`: what might have been sent
already is then reconciled, never sent again.
"""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from threading import Lock
from typing import Any

import sqlalchemy as sa

from shortdrama_pipeline.errors import CredentialMissing, Fact, Refusal, SafeModeOn, StaleState, UsageError
from shortdrama_pipeline.ids import new_id
from shortdrama_pipeline.providers.credentials import read_credential
from shortdrama_pipeline.rules.actors import require_person
from shortdrama_pipeline.rules.attempts import WentSilent
from shortdrama_pipeline.rules.safety import Finding, Mark, SafeModeKind, compare
from shortdrama_pipeline.rules.states import AttemptState, TaskState
from shortdrama_pipeline.rules.tasks import FactsMissing
from shortdrama_pipeline.rules.times import rfc3339
from shortdrama_pipeline.services.context import Studio
from shortdrama_pipeline.services.health import Clock, Health, process_ms
from shortdrama_pipeline.services.recording import Held, Reason, attempt_move, task_move
from shortdrama_pipeline.services.work import freeze_channel
from shortdrama_pipeline.store import attempts, audit, books, safety, tasks
from shortdrama_pipeline.store.attempts import Preparation
from shortdrama_pipeline.store.safety import SafeMode

RECORD = "fences.json"
BLOCK_SIZE = 1_000
BLOCK_MS = 10_000  # a block is left after this, so that a physical restore is seen to ten seconds
SHOWN_MAX = 200
RECONSTRUCTED = "reconstructed"  # a channel frozen for an Attempt that the database forgot
HINT = (
    "Look at `shortdrama work status` and `shortdrama audit verify`, then: shortdrama work resume --note TEXT"
)


@dataclass(frozen=True, slots=True)
class Fence:
    """One number, and where the block ends that it was taken from."""

    number: int
    upper: int


# --- looking ------------------------------------------------------------------------------------------


def look(studio: Studio) -> list[SafeMode]:
    """Compare the database with the record outside, enter safe mode where it forgot something."""
    with studio.db.read() as tx:
        present = safety.load_present(tx)
        fenced = safety.any_fence(tx)
        standing = safety.find_open(tx)
    finding = compare(_read_record(studio), present, fenced=fenced)
    if finding is None or any(each.kind == finding.kind for each in standing):
        return standing
    return _enter(studio, finding)


def check_books(studio: Studio) -> list[SafeMode]:
    """Look at what was booked and happened lately; broken books stop paid work (G-204)."""
    with studio.db.read() as tx:
        tx.execute(sa.text("set transaction isolation level repeatable read, read only"))
        broken = set(books.find_broken_lately(tx)) - safety.load_accepted(tx)
        due = not broken and books.is_due(tx)
    if broken:
        return stop_for_books(studio, sorted(broken))
    if due:
        _take_checkpoint(studio)
    return find_open(studio)


def stop_for_books(studio: Studio, subjects: Sequence[str]) -> list[SafeMode]:
    """Enter safe mode for facts that no person has accepted yet; an alarm goes with it."""
    with studio.db.begin() as tx:
        fresh = sorted(set(subjects) - safety.load_accepted(tx))
        if fresh:
            why = f"the books or the history were changed behind our back: {', '.join(fresh[:3])}"
            facts = {"subjects": fresh[:SHOWN_MAX], "broken": len(fresh)}
            safety.enter(tx, kind=SafeModeKind.BOOKS_BROKEN, why=why, facts=facts)
        return safety.find_open(tx)


def find_open(studio: Studio) -> list[SafeMode]:
    """Why paid work stands still; nothing when it does not."""
    with studio.db.read() as tx:
        return safety.find_open(tx)


def refusal(standing: Sequence[SafeMode], **facts: int) -> SafeModeOn:
    """What a paid action answers while paid work stands still."""
    return SafeModeOn(
        f"Paid work stands still: {'; '.join(each.why for each in standing) or 'fences were forgotten'}",
        hint=HINT,
        safe_modes=[{"kind": each.kind, "since": rfc3339(each.created_at)} for each in standing],
        tasks=[each for mode in standing for each in mode.facts.get("tasks", ())][:SHOWN_MAX],
        **facts,
    )


def status(studio: Studio) -> list[dict[str, Any]]:
    """Open safe modes for people: why, since when, which Tasks."""
    return [
        {"kind": each.kind, "why": each.why, "since": each.created_at, **each.facts}
        for each in find_open(studio)
    ]


def _enter(studio: Studio, finding: Finding) -> list[SafeMode]:
    with studio.db.begin() as tx:
        window = safety.find_window(tx)
        facts = {
            "known_upto": finding.known_upto,
            "recorded_upto": finding.recorded_upto,
            "tasks": sorted(window),
            "affected": len(window),
        }
        safety.enter(tx, kind=finding.kind, why=finding.why, facts=facts)
        return safety.find_open(tx)


def _take_checkpoint(studio: Studio) -> None:
    with suppress(StaleState):  # somebody was booking for too long: the next look takes it
        with studio.db.begin() as tx:
            seen = books.look_at_rest(tx)
        with studio.db.begin() as tx:
            books.record_checkpoint(tx, seen)


# --- numbers for fences ---------------------------------------------------------------------------------


class Fences:
    """The numbers of one worker. Before it gives one away, the record outside knows its block (D-6)."""

    def __init__(self, studio: Studio, worker: str, *, clock_ms: Clock = process_ms) -> None:
        self._studio = studio
        self._worker = worker
        self._clock_ms = clock_ms
        self._health = Health(studio, clock_ms=clock_ms)
        self._block = range(0)
        self._taken_ms = 0
        self._lock = Lock()

    def take(self, count: int) -> list[Fence]:
        """Numbers for `count` fences. Raises SafeModeOn, and Outside when a result could not be stored."""
        self._health.require_store()
        with self._lock:
            if len(self._block) < count or self._clock_ms() - self._taken_ms > BLOCK_MS:
                self._block = self._new_block(max(count, BLOCK_SIZE))
                self._taken_ms = self._clock_ms()
            given, self._block = self._block[:count], self._block[count:]
            upper = self._block.stop - 1
        return [Fence(each, upper) for each in given]

    def close(self) -> None:
        self._health.close()

    def drop(self) -> None:
        """The database does not know our block: the next number asks the record again."""
        with self._lock:
            self._block = range(0)

    def _new_block(self, size: int) -> range:
        studio = self._studio
        standing = look(studio)
        if standing:
            raise refusal(standing)
        with studio.db.begin() as tx:
            safety.lock_blocks(tx)
            incarnation = safety.load_present(tx).incarnation
            block = safety.take_block(tx, incarnation=incarnation, size=size, worker=self._worker)
        _write_record(studio)
        return block


def _write_record(studio: Studio) -> None:
    """Write what is committed, one writer at a time, so that the record never falls back."""
    with studio.db.begin() as tx:
        safety.lock_blocks(tx)
        present = safety.load_present(tx)
        body = {"schema": 1, "incarnation": present.incarnation, "upper": present.upper}
        studio.objects.write_record(RECORD, json.dumps(body).encode())


def _read_record(studio: Studio) -> Mark | None:
    raw = studio.objects.read_record(RECORD)
    if raw is None:
        return None
    try:
        body: Mapping[str, Any] = json.loads(raw)
        return Mark(str(body["incarnation"]), int(body["upper"]))
    except (ValueError, KeyError, TypeError):
        return Mark("unreadable", 0)  # another identity than any database's: a person looks


# --- a person ends it -----------------------------------------------------------------------------------


def resume(studio: Studio, *, actor: str, note: str) -> dict[str, Any]:
    """End safe mode. What might have been sent already waits for reconciliation; nothing is sent again."""
    require_person(actor, "end safe mode")
    if not note.strip():
        raise UsageError("Ending safe mode needs a note", hint="Say what was found: --note TEXT")
    record = _read_record(studio)
    with studio.db.begin() as tx:
        safety.lock_blocks(tx)
        standing = safety.find_open(tx)
        if not standing:
            raise Refusal("Paid work does not stand still", hint="There is nothing to end")
        kinds = [each.kind for each in standing]
        moved: list[str] = []
        if set(kinds) != {SafeModeKind.BOOKS_BROKEN}:
            moved = _set_aside_window(tx, studio)
            present = safety.load_present(tx)
            above = max(present.upper, 0 if record is None else record.upper)
            safety.take_block(tx, incarnation=present.incarnation, size=1, worker=actor, above=above)
        safety.end(tx, by=actor, note=note.strip()[:500])
        facts: dict[str, Fact] = {"note": note.strip()[:500], "kinds": [*kinds], "tasks": [*moved]}
        audit.record_decision(tx, "work.resume", "safe-mode", actor=actor, facts=facts)
    if set(kinds) != {SafeModeKind.BOOKS_BROKEN}:
        _write_record(studio)
    return {"resumed": kinds, "reconciling": moved}


def _set_aside_window(tx: sa.Connection, studio: Studio) -> list[str]:
    """Let every Task of the window stand as one whose request went out and was never heard of again."""
    window = safety.find_window(tx)
    worker = new_id("resume")
    tokens = tasks.claim_to_end(tx, list(window), worker=worker, lease_ms=60_000)
    running = [task_id for task_id, state in window.items() if state == TaskState.RUNNING]
    tokens |= safety.take_from_workers(tx, running, worker=worker)
    latest = attempts.load_latest(tx, list(tokens))
    new, fenced = [], {}
    for task_id, token in tokens.items():
        before = latest.get(task_id)
        if before is not None and before.state == AttemptState.PREPARED:
            fenced[before.attempt_id] = token
            continue
        attempt = Preparation(
            attempt_id=new_id("attempt"),
            task_id=task_id,
            number=1 if before is None else before.number + 1,
            channel=_channel_of(studio, tasks.load(tx, task_id).binding_id),
            request_digest="forgotten",
            provider_currency="",
        )
        new.append(attempt)
        fenced[attempt.attempt_id] = token
    if not fenced:
        return []
    attempts.prepare(tx, new, tokens, worker=worker)
    attempts.take_fence(tx, fenced, worker=worker, numbers={})
    evidence = {"why": "the database was restored from before its fence"}
    attempts.record_moves(
        tx,
        [attempt_move(each, AttemptState.SUBMIT_STARTED, WentSilent(), evidence=evidence) for each in fenced],
    )
    reason = Reason("databaseRestored", "confirmed").to_json()
    moves = [
        task_move(
            Held(task_id, token, TaskState.RUNNING),
            FactsMissing(),
            after_ms=3_600_000,
            reason=reason,
            keep_lease=False,
        )
        for task_id, token in tokens.items()
    ]
    return sorted(tasks.record_moves(tx, moves))


def _channel_of(studio: Studio, binding_id: str) -> dict[str, Any]:
    """The channel it must have gone to, as far as it is still configured."""
    binding = studio.bindings.get(binding_id)
    adapter = None if binding is None else studio.adapters.get(binding.protocol)
    channel: dict[str, Any] = {"binding_id": binding_id}
    if binding is not None and adapter is not None:
        with suppress(CredentialMissing):  # the key is away: a person resolves the Task by its evidence
            channel = freeze_channel(binding, adapter, read_credential(binding.credential))
    return channel | {RECONSTRUCTED: True}
