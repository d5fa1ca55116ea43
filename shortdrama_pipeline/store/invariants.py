"""The invariants of Part IV as SQL: each query returns what breaks it, and nothing else.

A query has two columns: which row, and what is wrong with it. `in_scope` narrows it to the Tasks
asked for; what is about no Task in particular ignores it. `:at_rest` says that no worker is running.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from shortdrama_pipeline.store.guards import GUARDED, Guarded


@dataclass(frozen=True, slots=True)
class Query:
    """`wrong` is said of each row that `sql` returns, `hint` is what a person should do about it."""

    wrong: str
    hint: str
    sql: str


LOOK = "Stop paid work, look at the row's history (`shortdrama task show`), and at who wrote to the database"
RESTORE = "Somebody wrote past the program: compare with a backup, and restore what was changed"

# Two words of our own in the SQL, written out by `expand`.
_SCOPE = re.compile(r"\b(execution_)?in_scope\(([\w.]+)\)")
_WANTED = "any(cast(:task_ids as text[]))"
_ALL = "cast(:task_ids as text[]) is null"
_EXECUTIONS = "select s.execution_id from tasks s where s.task_id = any(cast(:task_ids as text[]))"


def expand(sql: str) -> str:
    """Write out `in_scope(task id)` and `execution_in_scope(execution id)`."""

    def written(found: re.Match[str]) -> str:
        of_execution, column = found.groups()
        tasks = f"{column} = {_WANTED}"
        executions = f"{column} in ({_EXECUTIONS})"
        return f"({_ALL} or {executions if of_execution else tasks})"

    return _SCOPE.sub(written, sql)


_SENT = Query(
    "not exactly one send right with this request's digest was committed before its request",
    LOOK,
    """
select a.attempt_id, a.state || ', send rights ' || f.taken || ', digest ' || coalesce(f.digest, 'none')
from provider_attempts a left join provider_jobs j using (attempt_id)
cross join lateral (select count(*) as taken, min(e.facts->>'request_digest') as digest from events e
where e.entity = 'attempt' and e.entity_id = a.attempt_id and e.to_state = 'submitStarted') f
where in_scope(a.task_id) and (a.state <> 'prepared' or a.submit_started_at is not null
or a.accepted_at is not null or a.external_id is not null or j.attempt_id is not null)
and (f.taken <> 1 or f.digest is distinct from a.request_digest or a.submit_started_at is null
or a.accepted_at < a.submit_started_at)
""",
)
_SENT_AGAIN = Query(
    "it was sent while an earlier Attempt was not proven rejected",
    LOOK,
    """
select a.attempt_id, 'number ' || a.number || ' after number ' || b.number || ', ' || b.state
from provider_attempts a join provider_attempts b on b.task_id = a.task_id and b.number < a.number
where in_scope(a.task_id) and a.submit_started_at is not null
and (b.state <> 'rejectedBeforeAcceptance' or b.evidence->>'proof' is null or not exists (select 1
from events r join events s on s.entity = 'attempt' and s.entity_id = a.attempt_id
and s.to_state = 'submitStarted' and s.event_id > r.event_id where r.entity = 'attempt'
and r.entity_id = b.attempt_id and r.to_state = 'rejectedBeforeAcceptance'))
""",
)
# Taken from the start of the fence's transaction, so that a revocation which raced with it and lost is none.
_AUTHORISED = Query(
    "it was sent outside a confirmed Quote and a live Grant of the same input hash",
    LOOK,
    """
select attempt_id, why from (select a.attempt_id, case
when q.state <> 'confirmed' then 'Quote ' || q.state
when q.input_hash <> t.input_hash or p.input_hash <> t.input_hash then 'the Quote is for another input'
when g.input_hash is distinct from t.input_hash then 'the Grant is for another input'
when x.grant_id <> t.grant_id then 'the Grant is not that of the Execution'
when g.created_at > a.submit_started_at then 'the Grant came later'
when g.expires_at <= f.at then 'the Grant had expired' when g.revoked_at <= f.at then
'the Grant was revoked before' when not jsonb_exists(g.scope->'items', t.item_id) then
'the Grant does not cover the item' when not jsonb_exists(g.scope->'bindings', t.binding_id) then
'the Grant does not cover the channel' when a.channel->>'binding_id' <> t.binding_id then
'it went to another channel' end as why
from provider_attempts a join tasks t using (task_id) join executions x using (execution_id)
join quotes q using (quote_id) join plans p using (plan_id) join grants g on g.grant_id = t.grant_id
cross join lateral (select coalesce(min(e.created_at), a.submit_started_at) as at from events e
where e.entity = 'attempt' and e.entity_id = a.attempt_id and e.to_state = 'submitStarted') f
where in_scope(a.task_id) and a.submit_started_at is not null
and a.request_digest <> 'forgotten') sent where why is not null
""",
)
_TOGETHER = Query(
    "Execution, Tasks, Reservations and Outbox do not stand together",
    RESTORE,
    """
select e.execution_id, 'items ' || jsonb_array_length(p.body->'items') || ', tasks ' || t.tasks
|| ', reservations ' || t.reservations || ', outbox ' || o.outboxes || ', Quote ' || q.state
from executions e join quotes q using (quote_id) join plans p using (plan_id)
cross join lateral (select count(*) as tasks, count(r.task_id) as reservations from tasks t
left join reservations r using (task_id) where t.execution_id = e.execution_id) t
cross join lateral (select count(*) as outboxes from outbox o
where o.execution_id = e.execution_id) o
where execution_in_scope(e.execution_id)
and (t.tasks <> jsonb_array_length(p.body->'items') or t.reservations <> t.tasks
or o.outboxes <> 1 or q.state <> 'confirmed')
""",
)
_CONFIRMED_NOTHING = Query(
    "a Quote says confirmed without an Execution",
    RESTORE,
    """
select quote_id, plan_id from quotes q where state = 'confirmed'
and not exists (select 1 from executions e where e.quote_id = q.quote_id)
""",
)
_REPLAY = Query(
    "the balance is not the sum of its entries",
    RESTORE,
    """
select account || ' ' || currency, 'stored ' || coalesce(b.balance_micros, 0) || ', replayed '
|| coalesce(micros, 0) from balances b full join (select account, currency, sum(delta) as micros
from (select credit_account as account, currency, amount_micros as delta from ledger_entries
union all select debit_account, currency, -amount_micros from ledger_entries) moved
group by account, currency) replayed using (account, currency)
where coalesce(b.balance_micros, 0) <> coalesce(micros, 0)
""",
)
_ZERO_SUM = Query(
    "the balances of a currency do not sum to zero",
    RESTORE,
    """select currency, sum(balance_micros)::text from balances
group by currency having sum(balance_micros) <> 0""",
)


def _standing(table: str, names: str) -> Query:
    return Query(
        "the database no longer refuses to change it",
        "Put the guard back: enable the trigger as the owner of the table",
        f"select '{table}.' || w.name, coalesce('trigger ' || g.tgenabled::text, 'trigger missing')"  # noqa: S608
        f" from unnest(array[{names}]) as w(name) left join pg_trigger g on g.tgname = w.name"
        f" and g.tgrelid = '{table}'::regclass where coalesce(g.tgenabled::text, 'D') not in ('O', 'A')",
    )


_NOT_NEGATIVE = Query(
    "a wallet is below zero",
    RESTORE,
    """
select account || ' ' || currency, balance_micros::text from balances
where account like 'wallet:%' and balance_micros < 0
""",
)
_OPEN_SUM = Query(
    "open Reservations do not add up to the reserved balance",
    RESTORE,
    """
select currency, 'open ' || coalesce(open, 0) || ', reserved ' || coalesce(balance_micros, 0) from
(select currency, sum(amount_micros) as open from reservations
where state in ('reserved', 'settlementPending') group by currency) r
full join (select currency, balance_micros from balances
where account = 'wallet:studio:reserved') b using (currency)
where coalesce(open, 0) <> coalesce(balance_micros, 0)
""",
)
_CEILING = Query(
    "Reservations exceed the ceiling that was approved",
    LOOK,
    """
select e.execution_id, 'reserved ' || r.micros || ', ceiling ' || (p.body->>'ceiling_micros')
from executions e join quotes q using (quote_id) join plans p using (plan_id)
cross join lateral (select coalesce(sum(amount_micros), 0) as micros from tasks t
join reservations r using (task_id) where t.execution_id = e.execution_id) r
where execution_in_scope(e.execution_id)
and r.micros > (p.body->>'ceiling_micros')::bigint
""",
)
_RESOLVED = Query(
    "its entries do not say what its state says",
    RESTORE,
    """
select r.reservation_id, r.state || ', held ' || coalesce(h, 0) || ', settled ' || coalesce(s, 0)
|| ', given back ' || coalesce(b, 0) from reservations r left join lateral (select
sum(amount_micros) filter (where business_key = 'hold:' || r.task_id) as h,
sum(amount_micros) filter (where business_key = 'settle:' || r.task_id) as s,
sum(amount_micros) filter (where business_key = 'release:' || r.task_id) as b
from ledger_entries l where l.task_id = r.task_id and l.currency = r.currency) e on true
where in_scope(r.task_id) and (coalesce(h, 0) <> r.amount_micros or coalesce(s, 0) <> r.settled_micros
or r.settled_micros > r.amount_micros
or coalesce(b, 0) <> case when r.state = 'released' then r.amount_micros
when r.state = 'settled' then r.amount_micros - r.settled_micros else 0 end)
""",
)
_RESOLVED_TWICE = Query(
    "it was resolved more than once",
    LOOK,
    """
select r.reservation_id, 'resolved ' || count(*) || ' times' from reservations r join events e
on e.entity = 'reservation' and e.entity_id = r.reservation_id and e.to_state in ('settled', 'released')
where in_scope(r.task_id) group by r.reservation_id having count(*) > 1
""",
)
_UNDELIVERED = Query(
    "money was taken without a registered deliverable",
    "Give it back: `shortdrama task compensate`; then find out how it was charged",
    """
select r.reservation_id, r.task_id || ' is ' || r.state from reservations r
where in_scope(r.task_id) and r.state in ('settled', 'settlementPending')
and not exists (select 1 from provider_attempts a join versions v using (attempt_id)
where a.task_id = r.task_id)
""",
)
_CHARGED_TWICE = Query(
    "the user was charged more than once for it",
    "Give the second charge back: `shortdrama task compensate`; then find out how it was booked",
    """
select l.task_id, 'charged ' || count(*) || ' times' from ledger_entries l
where in_scope(l.task_id) and l.task_id is not null and l.debit_account = 'wallet:studio:reserved'
and l.credit_account = 'studio:revenue' group by l.task_id having count(*) > 1
""",
)
_KEY_TWICE = Query(
    "a business key was booked more than once",
    RESTORE,
    """
select l.business_key, count(*) || ' entries' from ledger_entries l
where in_scope(l.task_id) group by l.business_key having count(*) > 1
""",
)
_RESULT_TWICE = Query(
    "one result and slot became several versions",
    "Keep the older one; find out who wrote the other",
    """
select v.attempt_id || ' slot ' || coalesce(v.slot::text, 'none'), count(*) || ' versions'
from versions v left join provider_attempts a using (attempt_id)
where v.attempt_id is not null and in_scope(a.task_id) group by v.attempt_id, v.slot
having count(*) > 1 or v.slot is null or count(a.attempt_id) = 0
""",
)
_VENDOR_ID_TWICE = Query(
    "several Attempts claim one result of a vendor",
    LOOK,
    """
select t.binding_id || ' ' || a.external_id, string_agg(a.attempt_id, ', ' order by a.attempt_id)
from provider_attempts a join tasks t using (task_id) where a.external_id is not null
and (cast(:task_ids as text[]) is null or a.external_id in (select s.external_id from
provider_attempts s where s.task_id = any(cast(:task_ids as text[]))))
group by t.binding_id, a.external_id having count(*) > 1
""",
)
_NEXT_STEP = Query(
    "an open Task has no owner, no next action time or no reason",
    "Run `shortdrama work recover`; if it stays so, report it",
    """
select t.task_id, t.state || ', owner ' || coalesce(t.owner, 'none') || ', next action '
|| coalesce(t.next_action_at::text, 'none') || ', reason ' || coalesce(t.reason->>'code', 'none')
from tasks t where in_scope(t.task_id) and case
when t.state = 'queued' then t.next_action_at is null
or (t.hold_reason is not null and t.hold_reason->>'code' is null)
when t.state in ('running', 'waitingProvider', 'ingesting') then t.owner is null
or t.expires_at is null or t.heartbeat is null or t.next_action_at is null
when t.state = 'needsReconciliation' then t.next_action_at is null or t.reason->>'code' is null
when t.state = 'failed' then t.reason->>'code' is null else false end
""",
)
_KEPT = Query(
    "a vendor finished a job and its result is neither ready, nor open, nor quarantined with a record",
    "Fetch it again: `shortdrama task transfer`; the vendor keeps it until the job's retention ends",
    """
select j.attempt_id, t.state || ', versions ' || v.versions || ', files ' || f.files
from provider_jobs j join provider_attempts a using (attempt_id) join tasks t using (task_id)
cross join lateral (select count(*) as versions from versions v join provider_attempts b
using (attempt_id) where b.task_id = t.task_id) v
cross join lateral (select count(m.sha256) as files, count(*) as outputs
from jsonb_array_elements(case jsonb_typeof(a.result->'outputs') when 'array' then
a.result->'outputs' else '[]' end) o left join media_files m on m.sha256 = o->>'sha256') f
where in_scope(t.task_id) and j.provider_finished_at is not null and case
when t.state in ('queued', 'running', 'cancelled') then true
when t.state = 'succeeded' then v.versions = 0
when t.state = 'failed' then f.outputs > f.files and v.versions = 0 else false end
""",
)
_RECORDED = Query(
    "a quarantined file has no record of why",
    RESTORE,
    """
select sha256, media_type from media_files where state = 'quarantined' and reason is null
and cast(:task_ids as text[]) is null
""",
)
_READY = Query(
    "a version stands on a file that is not ready",
    RESTORE,
    """
select v.version_id, m.state || ' ' || m.sha256 from versions v join media_files m using (sha256)
left join provider_attempts a using (attempt_id)
where m.state <> 'ready' and in_scope(a.task_id)
""",
)
_TOKENS = Query(
    "a lease token is not higher than one written before",
    LOOK,
    """
select entity_id, 'event ' || seq || ', token ' || token || ' after ' || highest from (
select e.entity_id, e.seq, e.to_state, (e.facts->>'lease_token')::bigint as token,
max((e.facts->>'lease_token')::bigint)
over (partition by e.entity_id order by e.seq rows between unbounded preceding and 1 preceding)
as highest from events e where e.entity = 'task' and in_scope(e.entity_id)) h
where token < highest or (to_state = 'running' and token = highest)
""",
)
_OLDER_TOKEN = Query(
    "a row carries an older lease token than one already written",
    LOOK,
    """
select t.task_id, 'task ' || t.lease_token || ', history ' || coalesce(e.highest, 0) || ', attempts '
|| coalesce(a.highest, 0) from tasks t
cross join lateral (select max((facts->>'lease_token')::bigint) as highest from events
where entity = 'task' and entity_id = t.task_id) e
cross join lateral (select max(lease_token) as highest from provider_attempts
where task_id = t.task_id) a
where in_scope(t.task_id) and t.lease_token < greatest(e.highest, a.highest)
""",
)
_HOLES = Query(
    "the sequences of a week are not 0 to n-1",
    RESTORE,
    """
select kind || ' ' || week_id, 'lowest ' || min(sequence) || ', highest ' || max(sequence) || ' of '
|| count(*) from episodes group by kind, week_id
having max(sequence) <> count(*) - 1 or min(sequence) <> 0 or count(distinct sequence) <> count(*)
""",
)
_ONE_KEY = Query(
    "allocation keys and episode ids are not one to one",
    "Decide which row the run owns and repair the other; nothing is guessed (A-12)",
    """
select allocation_key, string_agg(episode_id, ', ' order by episode_id) from episodes
group by allocation_key having count(*) > 1
union all select episode_id, week_id || ', ' || sequence from episodes where episode_id <>
case kind when 'episode' then '' else kind || '-' end || week_id || '-' || sequence
""",
)
# Live: something is due for a quarter of an hour although a worker's heart beats.
_DUE = Query(
    "it is due and nobody holds it",
    "Run `shortdrama work recover`",
    """
select task_id, state || ' since ' || since from (select t.task_id, t.state, t.next_action_at as since
from tasks t where in_scope(t.task_id)
and t.state in ('running', 'waitingProvider', 'ingesting', 'needsReconciliation')
and (t.expires_at is null or t.expires_at <= clock_timestamp())
and t.next_action_at <= clock_timestamp()
union all select t.task_id, r.state, t.updated_at from reservations r join tasks t using (task_id)
where in_scope(t.task_id) and r.state = 'settlementPending') due
where cast(:at_rest as boolean) or (since <= clock_timestamp() - interval '15 minutes' and exists (
select 1 from tasks w where w.heartbeat > clock_timestamp() - interval '1 minute'))
""",
)
_SPEND = Query(
    "what the vendor charged is not what was booked",
    "Compare with the vendor's statement: `shortdrama wallet reconcile --statement FILE`",
    """
select a.attempt_id, 'charged ' || a.provider_cost_micros || ' ' || a.provider_currency || ', booked '
|| coalesce(booked, 0) || ' ' || coalesce(currencies, '') from provider_attempts a
join tasks t using (task_id) join reservations r using (task_id)
left join lateral (select sum(amount_micros) as booked, string_agg(distinct currency, ' ') as currencies
from ledger_entries
where business_key in ('spend:' || a.attempt_id, 'overrun:' || a.attempt_id)) e on true
where in_scope(a.task_id) and t.state in ('succeeded', 'failed') and r.state in ('settled', 'released')
and (a.provider_cost_micros <> coalesce(booked, 0)
or (booked is not null and currencies <> a.provider_currency))
""",
)
_SPEND_OF_NOBODY = Query(
    "a vendor's charge was booked for an Attempt that does not exist",
    RESTORE,
    """
select l.business_key, l.amount_micros || ' ' || l.currency from ledger_entries l
where in_scope(l.task_id) and l.business_key ~ '^(spend|overrun):' and not exists (select 1
from provider_attempts a where a.attempt_id = split_part(l.business_key, ':', 2))
""",
)
_FROZEN_MONEY = Query(
    "a Task has ended and its money is still frozen",
    "Run `shortdrama work recover`; if it stays so, report it",
    """
select t.task_id, t.state || ', ' || r.state from tasks t join reservations r using (task_id)
where in_scope(t.task_id) and t.state in ('failed', 'cancelled') and r.state <> 'released'
""",
)
_BUDGET = Query(
    "a budget's used sum is not that of the Grants minted under it",
    RESTORE,
    """
select b.grant_id, 'used ' || b.used_micros || ', minted ' || coalesce(sum(c.used_micros), 0)
from grants b left join grants c on c.scope->>'budget_grant_id' = b.grant_id
where b.kind = 'budget' group by b.grant_id
having b.used_micros <> coalesce(sum(c.used_micros), 0) or b.uses <> count(c.grant_id)
""",
)


# --- V-9, made of the rule tables -----------------------------------------------------------------------


def _scoped_entity(g: Guarded, column: str) -> str:
    if g.table == "media_files":
        return _ALL
    if g.table == "tasks":
        return f"in_scope({column})"
    owned = f"select s.{g.key} from {g.table} s where s.task_id = {_WANTED}"  # noqa: S608 - names of our tables
    return f"({_ALL} or {column} in ({owned}))"


def _unlisted(g: Guarded) -> str:
    pairs = ", ".join(f"('{before}', '{after}')" for before, after in sorted({*g.moves, ("", g.first)}))
    return (
        f"select e.entity || ' ' || e.entity_id, coalesce(e.from_state, 'nothing') || ' to ' || e.to_state"  # noqa: S608
        f" from events e where e.entity = '{g.entity}' and {_scoped_entity(g, 'e.entity_id')}"
        f" and (coalesce(e.from_state, ''), e.to_state) not in ({pairs})"
    )


def _moved_after_end(g: Guarded) -> str:
    """A row that ended says what its last event says, and its state is that of its history."""
    ends = ", ".join(f"'{each}'" for each in sorted(g.terminal))
    return (
        f"select '{g.entity} ' || r.{g.key}, 'the row says ' || r.state || ', its history '"  # noqa: S608
        f" || coalesce(e.to_state, 'nothing') from {g.table} r"
        f" cross join lateral (select to_state, facts from events where entity = '{g.entity}'"
        f" and entity_id = r.{g.key} order by seq desc limit 1) e"
        f" where {_scoped_entity(g, f'r.{g.key}')} and e.to_state = r.state"
        f" and r.state in ({ends}) and e.facts is distinct from {g.facts}"
    )


_TRANSITIONS = Query(
    "a transition that no rule lists", LOOK, " union all ".join(_unlisted(each) for each in GUARDED)
)
_ENDED = Query(
    "it changed after its end", RESTORE, " union all ".join(_moved_after_end(each) for each in GUARDED)
)
_GUARDS = ", ".join(
    f"'{each}'"
    for each in ("guard_birth", "guard_move", "guard_history", "guard_history_of_moves", "guard_kept")
)

QUERIES: Mapping[str, tuple[Query, ...]] = {
    "V-1": (_SENT, _SENT_AGAIN),
    "V-2": (_AUTHORISED,),
    "V-3": (_TOGETHER, _CONFIRMED_NOTHING),
    "V-4": (
        _REPLAY,
        _ZERO_SUM,
        _standing("ledger_entries", "'ledger_entries_append_only', 'ledger_entries_no_truncate'"),
    ),
    "V-5": (_NOT_NEGATIVE, _OPEN_SUM, _CEILING),
    "V-6": (_RESOLVED, _RESOLVED_TWICE),
    "V-7": (_UNDELIVERED, _CHARGED_TWICE, _KEY_TWICE),
    "V-8": (_RESULT_TWICE, _VENDOR_ID_TWICE),
    "V-9": (_TRANSITIONS, _ENDED, *(_standing(each.table, _GUARDS) for each in GUARDED)),
    "V-10": (_NEXT_STEP,),
    "V-11": (_KEPT, _RECORDED, _READY),
    "V-12": (_TOKENS, _OLDER_TOKEN),
    "V-13": (_HOLES, _ONE_KEY),
    "V-15": (_DUE,),
    "V-16": (_SPEND, _SPEND_OF_NOBODY),
    "P-1.11": (_FROZEN_MONEY,),
    "P-3.7": (_BUDGET,),
}
