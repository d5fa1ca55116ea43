"""Triggers: the database itself refuses what the rules forbid, and writes the history.

Made from the rule tables, so there is one source of truth. For each machine table: rows are born in
the first state, take only listed moves, count `version` by one per move, never change after the end,
never change what was frozen, and each birth and move is an `events` row whose digest covers the
previous one (G-204). `install` is idempotent and runs in the caller's transaction.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

import sqlalchemy as sa

from shortdrama_pipeline.errors import IllegalTransition
from shortdrama_pipeline.rules import attempts, media_files, reservations, tasks
from shortdrama_pipeline.rules.states import AttemptState, MediaState, ReservationState, TaskState
from shortdrama_pipeline.store import immutability


@dataclass(frozen=True, slots=True)
class Guarded:
    """One machine table. `facts` is the SQL of what an event remembers of the row `r`."""

    table: str
    entity: str
    key: str
    first: str
    moves: frozenset[tuple[str, str]]
    terminal: frozenset[str]
    frozen: tuple[str, ...]  # never changes
    write_once: tuple[str, ...]  # from null to a value, then never
    facts: str
    rising: tuple[str, ...] = ()  # never decreases
    counted: bool = True  # has `version` and `event_digest`
    extra: str = ""  # plpgsql of this table alone


def _words(pairs: Iterable[tuple[StrEnum, StrEnum]]) -> frozenset[tuple[str, str]]:
    return frozenset((str(before), str(after)) for before, after in pairs)


def _reservation_moves() -> frozenset[tuple[str, str]]:
    asked = (reservations.SettlementAsked(), reservations.Settled(), reservations.Released())
    found = set()
    for state in ReservationState:
        for event in asked:
            try:
                found.add((state, reservations.advance(state, event)))
            except IllegalTransition:
                continue
    return _words(found)


# D-1: back to the queue only while no fence is open.
_NO_OPEN_FENCE = """
  if old.state = 'running' and new.state = 'queued' and exists (
      select 1 from provider_attempts a where a.task_id = old.task_id
      and a.state in ('submitStarted', 'accepted', 'outcomeUnknown')) then
    raise exception 'tasks: % has an open fence and cannot return to the queue (D-1)', old.task_id
      using errcode = 'check_violation', constraint = 'guard_open_fence';
  end if;
"""

GUARDED = (
    Guarded(
        table="tasks",
        entity="task",
        key="task_id",
        first=TaskState.QUEUED,
        moves=_words(tasks.moves()),
        terminal=frozenset(str(each) for each in tasks.TERMINAL),
        frozen=(
            "execution_id", "grant_id", "item_id", "episode_id", "stage", "subject", "role", "kind",
            "binding_id", "request", "input_hash", "created_at",
        ),
        write_once=(),
        facts="jsonb_build_object('reason', r.reason, 'owner', r.owner, 'lease_token', r.lease_token, "
        "'hold_reason', r.hold_reason)",
        rising=("lease_token",),
        extra=_NO_OPEN_FENCE,
    ),
    Guarded(
        table="provider_attempts",
        entity="attempt",
        key="attempt_id",
        first=AttemptState.PREPARED,
        moves=_words(attempts.moves()),
        terminal=frozenset(str(each) for each in attempts.TERMINAL),
        frozen=("task_id", "number", "channel", "request_digest", "created_at"),
        write_once=("external_id", "submit_started_at", "accepted_at", "completed_at", "fence_number"),
        facts="jsonb_build_object('external_id', r.external_id, 'evidence', r.evidence, 'worker', r.worker, "
        "'lease_token', r.lease_token, 'request_digest', r.request_digest)",
        rising=("lease_token",),
    ),
    Guarded(
        table="reservations",
        entity="reservation",
        key="reservation_id",
        first=ReservationState.RESERVED,
        moves=_reservation_moves(),
        terminal=frozenset({str(ReservationState.SETTLED), str(ReservationState.RELEASED)}),
        frozen=("task_id", "amount_micros", "currency", "created_at"),
        write_once=("resolved_at",),
        facts="jsonb_build_object('reason', r.reason, 'task_id', r.task_id, "
        "'amount_micros', r.amount_micros, 'settled_micros', r.settled_micros)",
    ),
    Guarded(
        table="media_files",
        entity="media",
        key="sha256",
        first=MediaState.STAGING,
        moves=_words(media_files.moves()),
        terminal=frozenset(str(each) for each in media_files.TERMINAL),
        frozen=("bytes", "created_at"),
        write_once=(),
        facts="jsonb_build_object('reason', r.reason, 'bytes', r.bytes, 'media_type', r.media_type)",
        counted=False,
    ),
)  # fmt: skip

# The digest an event must have. `at` is the transaction's time, so that row and event agree on it.
_DIGEST = """
create or replace function shortdrama_event_digest(
  previous text, entity text, entity_id text, seq integer, from_state text, to_state text, facts jsonb,
  at timestamptz
) returns text language sql stable as $$
  select encode(sha256(convert_to(jsonb_build_array(
    previous, entity, entity_id, seq, from_state, to_state, facts,
    to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US')
  )::text, 'UTF8')), 'hex')
$$;
"""


def install(connection: sa.Connection) -> None:
    """Put the guards of every machine table, and the append-only rights, into this database."""
    connection.exec_driver_sql(_DIGEST)
    for guarded in GUARDED:
        connection.exec_driver_sql(_functions(guarded).replace("%", "%%"))
    immutability.install(connection)


def find_broken_chains(
    tx: sa.Connection, task_ids: Sequence[str] | None = None
) -> list[tuple[str, str, int]]:
    """Events whose digest does not follow from what they say and from their forerunner (G-204).

    Returns (entity, entity_id, seq), of everything or of these Tasks. A gap in `seq` counts as broken, and
    so does a row whose stored digest or state is not that of its last event.
    """
    if task_ids is None:
        rows = tx.execute(sa.text(_BROKEN.format(events=_ALL, rows="", media=_MEDIA))).all()
    else:
        query = sa.text(_BROKEN.format(events=_OF_TASKS, rows=_ROWS_OF_TASKS, media=""))
        rows = tx.execute(query, {"task_ids": list(task_ids)}).all()
    return [(str(row[0]), str(row[1]), int(row[2])) for row in rows]


_ALL = "entity in ('task', 'attempt', 'reservation', 'media')"
_MEDIA = "union all select 'media', sha256, null, state, null from media_files"
_ROWS_OF_TASKS = " where task_id = any(cast(:task_ids as text[]))"
_OF_TASKS = f"""
  (entity, entity_id) in (select 'task', each from unnest(cast(:task_ids as text[])) as each
    union all select 'attempt', attempt_id from provider_attempts {_ROWS_OF_TASKS}
    union all select 'reservation', reservation_id from reservations {_ROWS_OF_TASKS})
"""  # noqa: S608 - names of our tables
_BROKEN = """
with chained as (
  select entity, entity_id, seq, from_state, to_state, facts, digest, created_at,
    lag(digest, 1, '') over w as previous, lag(to_state) over w as came_from,
    row_number() over w as place, max(seq) over (partition by entity, entity_id) as last
  from events where {events}
  window w as (partition by entity, entity_id order by seq)
), broken as (
  select entity, entity_id, seq from chained
  where seq <> place or from_state is distinct from came_from or digest <> shortdrama_event_digest(
    previous, entity, entity_id, seq, from_state, to_state, facts, created_at)
), ends as (select entity, entity_id, seq, to_state, digest from chained where seq = last), heads as (
  select 'task' as entity, task_id as entity_id, version, state, event_digest from tasks{rows}
  union all select 'attempt', attempt_id, version, state, event_digest from provider_attempts{rows}
  union all select 'reservation', reservation_id, version, state, event_digest from reservations{rows}
  {media}
)
select entity, entity_id, seq from broken
union all
select h.entity, h.entity_id, coalesce(h.version, e.seq, 0)
  from heads h left join ends e using (entity, entity_id)
where e.digest is distinct from coalesce(h.event_digest, e.digest)
  or e.seq is distinct from coalesce(h.version, e.seq)
  or e.to_state is distinct from h.state
order by 1, 2, 3
"""


def _functions(g: Guarded) -> str:
    pairs = ", ".join(f"('{before}', '{after}')" for before, after in sorted(g.moves))
    ends = ", ".join(f"'{each}'" for each in sorted(g.terminal))
    frozen = " or ".join(f"old.{each} is distinct from new.{each}" for each in (g.key, *g.frozen))
    once = "".join(_ONCE.format(table=g.table, column=each, key=g.key) for each in g.write_once)
    rising = "".join(_RISING.format(table=g.table, column=each, key=g.key) for each in g.rising)
    parts = {
        "table": g.table, "entity": g.entity, "key": g.key, "first": g.first, "pairs": pairs, "ends": ends,
        "frozen": frozen, "once": once, "rising": rising, "extra": g.extra,
        "born": _BORN.format(entity=g.entity, key=g.key, facts=g.facts.replace("r.", "new."))
        if g.counted else "",
        "moved": _MOVED.format(entity=g.entity, key=g.key, facts=g.facts.replace("r.", "new."))
        if g.counted else "",
        "history": (_HISTORY if g.counted else _HISTORY_UNCOUNTED).format(
            table=g.table, entity=g.entity, key=g.key, facts=g.facts
        ),
        "kept": " if new.version <> old.version or new.event_digest <> old.event_digest then "
        f"raise exception '{g.table}: version and event_digest are counted here' "
        "using errcode = 'check_violation', constraint = 'guard_version'; end if;" if g.counted else "",
    }  # fmt: skip
    return _TEMPLATE.format(**parts)


_ONCE = """
  if old.{column} is not null and new.{column} is distinct from old.{column} then
    raise exception '{table}: {column} of % is written once', old.{key}
      using errcode = 'check_violation', constraint = 'guard_write_once';
  end if;
"""
_RISING = """
  if new.{column} < old.{column} then
    raise exception '{table}: {column} of % never decreases (V-12)', old.{key}
      using errcode = 'check_violation', constraint = 'guard_rising';
  end if;
"""
_BORN = """
  new.version := 1;
  new.event_digest := shortdrama_event_digest(
    '', '{entity}', new.{key}, 1, null, new.state, {facts}, now());
"""
_MOVED = """
  new.version := old.version + 1;
  new.event_digest := shortdrama_event_digest(
    old.event_digest, '{entity}', new.{key}, new.version, old.state, new.state, {facts}, now());
"""
# Once per statement, since a confirm writes sixty rows and a batch of moves as many: row by row, history
# cost more than everything else together. The join is never a nested loop: its plan is made once, for as
# few rows as the first statement had, and kept for batches of thousands.
_HISTORY = """
create or replace function guard_{table}_history() returns trigger language plpgsql
set enable_nestloop to off as $$
begin
  if tg_op = 'INSERT' then
    insert into events (entity, entity_id, seq, from_state, to_state, facts, digest, created_at)
    select '{entity}', r.{key}, r.version, null, r.state, {facts}, r.event_digest, now() from born r;
  else
    insert into events (entity, entity_id, seq, from_state, to_state, facts, digest, created_at)
    select '{entity}', r.{key}, r.version, o.state, r.state, {facts}, r.event_digest, now()
      from moved_from o join moved_to r on r.{key} = o.{key} where r.state <> o.state;
  end if;
  return null;
end $$;
"""
_HISTORY_UNCOUNTED = """
create or replace function guard_{table}_history() returns trigger language plpgsql
set enable_nestloop to off as $$
begin
  if tg_op = 'INSERT' then
    insert into events (entity, entity_id, seq, from_state, to_state, facts, digest, created_at)
    select '{entity}', r.{key}, 1, null, r.state, {facts}, shortdrama_event_digest(
        '', '{entity}', r.{key}, 1, null, r.state, {facts}, now()), now()
      from born r;
  else
    insert into events (entity, entity_id, seq, from_state, to_state, facts, digest, created_at)
    select '{entity}', r.{key}, e.seq + 1, o.state, r.state, {facts}, shortdrama_event_digest(
        e.digest, '{entity}', r.{key}, e.seq + 1, o.state, r.state, {facts}, now()), now()
      from moved_from o join moved_to r on r.{key} = o.{key}
      cross join lateral (select coalesce(max(last.seq), 0) as seq, coalesce(max(last.digest), '') as digest
        from (select seq, digest from events where entity = '{entity}' and entity_id = r.{key}
          order by seq desc limit 1) last) e
     where r.state <> o.state;
  end if;
  return null;
end $$;
"""
# Braces of plpgsql do not occur, so `format` is safe. A delete is refused as well.
_TEMPLATE = """
create or replace function guard_{table}_birth() returns trigger language plpgsql as $$
begin
  if new.state <> '{first}' then
    raise exception '{table}: a row is born {first}, not %', new.state
      using errcode = 'check_violation', constraint = 'guard_birth';
  end if;
  {born}
  return new;
end $$;
create or replace function guard_{table}_move() returns trigger language plpgsql as $$
begin
  if old.state in ({ends}) and old is distinct from new then
    raise exception '{table}: % is {entity} % for good and never changes again', old.{key}, old.state
      using errcode = 'check_violation', constraint = 'guard_terminal';
  end if;
  if {frozen} then
    raise exception '{table}: what was frozen of % cannot change', old.{key}
      using errcode = 'check_violation', constraint = 'guard_frozen';
  end if;
  {once}
  {rising}
  if old.state = new.state then
    {kept}
    return new;
  end if;
  if (old.state, new.state) not in ({pairs}) then
    raise exception '{table}: % cannot go from % to %', old.{key}, old.state, new.state
      using errcode = 'check_violation', constraint = 'guard_transition';
  end if;
  {extra}
  {moved}
  return new;
end $$;
{history}
create or replace function guard_{table}_kept() returns trigger language plpgsql as $$
begin
  raise exception '{table}: rows are never removed'
    using errcode = 'check_violation', constraint = 'guard_kept';
end $$;
create or replace trigger guard_birth before insert on {table}
  for each row execute function guard_{table}_birth();
create or replace trigger guard_move before update on {table}
  for each row execute function guard_{table}_move();
create or replace trigger guard_history after insert on {table}
  referencing new table as born for each statement execute function guard_{table}_history();
create or replace trigger guard_history_of_moves after update on {table}
  referencing old table as moved_from new table as moved_to
  for each statement execute function guard_{table}_history();
create or replace trigger guard_kept before delete on {table}
  for each row execute function guard_{table}_kept();
"""
