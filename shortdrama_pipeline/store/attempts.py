"""Rows of `provider_attempts`: the send right that is taken once, and what came of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from shortdrama_pipeline.rules.states import AttemptState
from shortdrama_pipeline.store.bulk import json_text

Json = Mapping[str, Any]
UNNUMBERED: Mapping[str, int] = {}


@dataclass(frozen=True, slots=True)
class Attempt:
    """One row. `checkpoint` and the job's times come from `provider_jobs`, if the vendor has a job."""

    attempt_id: str
    task_id: str
    number: int
    state: str
    channel: dict[str, Any]
    request_digest: str
    lease_token: int
    external_id: str | None
    evidence: Json | None
    result: Json | None
    provider_cost_micros: int
    provider_currency: str
    submitted_age_s: int
    accepted_age_s: int
    checkpoint: dict[str, Any] | None
    query_failures: int


@dataclass(frozen=True, slots=True)
class Preparation:
    """What a new Attempt freezes (P-5.4)."""

    attempt_id: str
    task_id: str
    number: int
    channel: Json
    request_digest: str
    provider_currency: str


@dataclass(frozen=True, slots=True)
class AttemptMove:
    """One guarded move; None leaves a column as it is."""

    attempt_id: str
    seen: AttemptState
    to: AttemptState
    external_id: str | None = None
    evidence: Json | None = None
    result: Json | None = None
    cost_micros: int | None = None
    cost_currency: str | None = None


_COLUMNS = """
  a.attempt_id, a.task_id, a.number, a.state, a.channel, a.request_digest, a.lease_token, a.external_id,
  a.evidence, a.result, a.provider_cost_micros, a.provider_currency,
  coalesce(extract(epoch from clock_timestamp() - a.submit_started_at), 0)::bigint as submitted_age_s,
  coalesce(extract(epoch from clock_timestamp() - a.accepted_at), 0)::bigint as accepted_age_s,
  j.checkpoint, coalesce(j.query_failures, 0) as query_failures
"""

_PREPARE = sa.text("""
insert into provider_attempts (attempt_id, task_id, number, state, channel, request_digest, lease_token,
  worker, provider_cost_micros, provider_currency)
select n.attempt_id, n.task_id, n.number, 'prepared', n.channel, n.digest, n.token, :worker, 0, n.currency
  from unnest(cast(:attempt_ids as text[]), cast(:task_ids as text[]), cast(:numbers as integer[]),
    cast(:channels as jsonb[]), cast(:digests as text[]), cast(:tokens as bigint[]),
    cast(:currencies as text[]))
    as n(attempt_id, task_id, number, channel, digest, token, currency)
on conflict (attempt_id) do nothing
""")

_TAKE_FENCE = sa.text("""
update provider_attempts a set state = 'submitStarted', submit_started_at = clock_timestamp(),
  lease_token = f.token, worker = :worker, fence_number = f.number
  from unnest(cast(:attempt_ids as text[]), cast(:tokens as bigint[]), cast(:numbers as bigint[]))
    as f(attempt_id, token, number)
 where a.attempt_id = f.attempt_id and a.state = 'prepared' returning a.attempt_id
""")

# P-6.9: right before the send, the lease and the fence are still what they were.
_CHECK_FENCES = sa.text("""
select a.attempt_id
  from unnest(cast(:attempt_ids as text[]), cast(:tokens as bigint[])) as f(attempt_id, token)
  join provider_attempts a on a.attempt_id = f.attempt_id and a.lease_token = f.token
  join tasks t on t.task_id = a.task_id and t.lease_token = f.token
 where a.state = 'submitStarted' and t.state = 'running' and t.expires_at > clock_timestamp()
""")

_MOVE = sa.text("""
update provider_attempts a set state = m.to_state, external_id = coalesce(a.external_id, m.external_id),
  evidence = coalesce(m.evidence, a.evidence), result = coalesce(m.result, a.result),
  provider_cost_micros = coalesce(m.cost, a.provider_cost_micros),
  provider_currency = coalesce(m.currency, a.provider_currency),
  accepted_at = case when m.to_state = 'accepted' then coalesce(a.accepted_at, clock_timestamp())
    else a.accepted_at end,
  completed_at = case when m.to_state = 'completed' then clock_timestamp() else a.completed_at end
  from unnest(cast(:attempt_ids as text[]), cast(:seen as text[]), cast(:to_states as text[]),
    cast(:external_ids as text[]), cast(:evidence as jsonb[]), cast(:results as jsonb[]),
    cast(:costs as bigint[]), cast(:currencies as text[]))
    as m(attempt_id, seen, to_state, external_id, evidence, result, cost, currency)
 where a.attempt_id = m.attempt_id and a.state = m.seen returning a.attempt_id
""")


def prepare(
    tx: sa.Connection, prepared: Sequence[Preparation], tokens: Mapping[str, int], *, worker: str
) -> None:
    """Write new Attempts in `prepared`; one that was left behind under the same id stays as it is."""
    bound = {
        "attempt_ids": [each.attempt_id for each in prepared],
        "task_ids": [each.task_id for each in prepared],
        "numbers": [each.number for each in prepared],
        "channels": [json_text(each.channel) for each in prepared],
        "digests": [each.request_digest for each in prepared],
        "tokens": [tokens[each.task_id] for each in prepared],
        "currencies": [each.provider_currency for each in prepared],
        "worker": worker,
    }
    tx.execute(_PREPARE, bound)


def take_fence(
    tx: sa.Connection, tokens: Mapping[str, int], *, worker: str, numbers: Mapping[str, int] = UNNUMBERED
) -> set[str]:
    """Take the one send right of each Attempt, by attempt id and lease token (P-6.8, D-6)."""
    bound = {
        "attempt_ids": list(tokens),
        "tokens": list(tokens.values()),
        "numbers": [numbers.get(each) for each in tokens],
        "worker": worker,
    }
    return set(tx.execute(_TAKE_FENCE, bound).scalars())


def check_fences(tx: sa.Connection, tokens: Mapping[str, int]) -> set[str]:
    """Of the fences taken under these tokens, those that still stand under a live lease."""
    bound = {"attempt_ids": list(tokens), "tokens": list(tokens.values())}
    return set(tx.execute(_CHECK_FENCES, bound).scalars())


def record_moves(tx: sa.Connection, moves: Sequence[AttemptMove]) -> set[str]:
    """Write decided moves over the state they were decided from. Returns the Attempts that moved."""
    if not moves:
        return set()
    bound = {
        "attempt_ids": [each.attempt_id for each in moves],
        "seen": [str(each.seen) for each in moves],
        "to_states": [str(each.to) for each in moves],
        "external_ids": [each.external_id for each in moves],
        "evidence": [None if each.evidence is None else json_text(each.evidence) for each in moves],
        "results": [None if each.result is None else json_text(each.result) for each in moves],
        "costs": [each.cost_micros for each in moves],
        "currencies": [each.cost_currency for each in moves],
    }
    return set(tx.execute(_MOVE, bound).scalars())


def load_latest(tx: sa.Connection, task_ids: Sequence[str]) -> dict[str, Attempt]:
    """The newest Attempt of each Task, with its job."""
    rows = tx.execute(
        sa.text(
            f"select distinct on (a.task_id) {_COLUMNS} from provider_attempts a"  # noqa: S608
            " left join provider_jobs j using (attempt_id)"
            " where a.task_id = any(cast(:task_ids as text[])) order by a.task_id, a.number desc"
        ),
        {"task_ids": list(task_ids)},
    )
    return {row.task_id: Attempt(*(getattr(row, name) for name in Attempt.__slots__)) for row in rows}


@dataclass(frozen=True, slots=True)
class SilentAttempt:
    """One Attempt without an answer, by what a vendor's list may tell of it."""

    attempt_id: str
    model: str
    submit_started_at: datetime
    seed: int | None


def find_silent(tx: sa.Connection, binding_id: str) -> list[SilentAttempt]:
    """Every Attempt of a channel whose outcome is unknown, the oldest first."""
    rows = tx.execute(
        sa.text(
            "select a.attempt_id, a.channel->>'model' as model, a.submit_started_at,"
            " case when jsonb_typeof(t.request->'params'->'seed') = 'number'"
            " then (t.request->'params'->>'seed')::bigint end as seed"
            " from provider_attempts a join tasks t using (task_id)"
            " where a.state = 'outcomeUnknown' and t.state = 'needsReconciliation'"
            " and t.binding_id = :binding_id order by a.submit_started_at"
        ),
        {"binding_id": binding_id},
    )
    return [SilentAttempt(*row) for row in rows]


def find_known(tx: sa.Connection, binding_id: str, external_ids: Sequence[str]) -> set[str]:
    """Of these ids of a channel's vendor, those an Attempt of ours has already."""
    rows = tx.execute(
        sa.text(
            "select external_id from provider_jobs where channel_id = :binding_id"
            " and external_id = any(cast(:ids as text[])) union"
            " select a.external_id from provider_attempts a join tasks t using (task_id)"
            " where t.binding_id = :binding_id and a.external_id = any(cast(:ids as text[]))"
        ),
        {"binding_id": binding_id, "ids": list(external_ids)},
    )
    return set(rows.scalars())


def count_proofs(tx: sa.Connection, task_id: str, proof: str) -> int:
    """How many Attempts of a Task were rejected with this kind of proof."""
    found = tx.execute(
        sa.text(
            "select count(*) from provider_attempts where task_id = :task_id"
            " and state = 'rejectedBeforeAcceptance' and evidence->>'proof' = :proof"
        ),
        {"task_id": task_id, "proof": proof},
    ).scalar_one()
    return int(found)
