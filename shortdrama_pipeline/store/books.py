"""Checkpoints of the books, and the cheap look at what came since the last one (G-204).

A checkpoint holds the balances as they were at an entry, and a digest over the one before it and over
every entry and event since. So a look costs what happened lately, not all that ever happened; what lies
below a checkpoint is read again one checkpoint at a time.
"""

import sqlalchemy as sa

EVENTS_BETWEEN = 2_000
_ENTRY = (
    "jsonb_build_array(entry_id, business_key, debit_account, credit_account, amount_micros, currency,"
    " task_id, facts, actor, extract(epoch from created_at))::text"
)
# The digest that checkpoint n must have, from the rows of its range and from the digest of n - 1.
_DIGEST = f"""
encode(sha256(convert_to(jsonb_build_array(c.number, c.upto_entry, c.upto_event, c.balances,
  coalesce((select p.digest from checkpoints p where p.number = c.number - 1), ''),
  (select encode(sha256(convert_to(coalesce(string_agg({_ENTRY}, ',' order by entry_id), ''), 'UTF8')), 'hex')
     from ledger_entries where entry_id <= c.upto_entry and entry_id > coalesce(
       (select p.upto_entry from checkpoints p where p.number = c.number - 1), 0)),
  (select encode(sha256(convert_to(coalesce(string_agg(event_id || digest, ',' order by event_id), ''),
       'UTF8')), 'hex')
     from events where event_id <= c.upto_event and event_id > coalesce(
       (select p.upto_event from checkpoints p where p.number = c.number - 1), 0))
)::text, 'UTF8')), 'hex')
"""  # noqa: S608 - names of our columns
_INSERT = sa.text(f"""
insert into checkpoints (number, upto_entry, upto_event, balances, digest)
select c.number, c.upto_entry, c.upto_event, c.balances, {_DIGEST}
  from (select cast(:number as integer) as number, cast(:upto_entry as bigint) as upto_entry,
    cast(:upto_event as bigint) as upto_event, cast(:balances as jsonb) as balances) c
on conflict (number) do nothing
""")  # noqa: S608
_BROKEN = f"""
select c.number from checkpoints c where c.digest <> {_DIGEST}
"""  # noqa: S608
_LAST = "(select * from checkpoints order by number desc limit 1)"
_BALANCES = f"""
with last as {_LAST}, moved as (
  select credit_account as account, currency, amount_micros as delta, entry_id from ledger_entries
  union all select debit_account, currency, -amount_micros, entry_id from ledger_entries
), replayed as (
  select account, currency, sum(micros) as micros from (
    select b->>0 as account, b->>1 as currency, (b->>2)::bigint as micros
      from last cross join jsonb_array_elements(last.balances) b
    union all select account, currency, delta from moved
      where entry_id > coalesce((select upto_entry from last), 0)) each group by account, currency
)
select account || ' ' || currency from balances b full join replayed using (account, currency)
 where coalesce(b.balance_micros, 0) <> coalesce(micros, 0)
"""  # noqa: S608
_CHAIN = f"""
with last as {_LAST}, fresh as (
  select e.*, p.digest as before, p.to_state as came_from from events e
    left join events p on p.entity = e.entity and p.entity_id = e.entity_id and p.seq = e.seq - 1
   where e.event_id > coalesce((select upto_event from last), 0)
), ends as (
  select distinct on (entity, entity_id) entity, entity_id, seq, to_state, digest from fresh
   order by entity, entity_id, seq desc
), heads as (
  select 'task' as entity, task_id as entity_id, version, state, event_digest from tasks
   where task_id in (select entity_id from ends)
  union all select 'attempt', attempt_id, version, state, event_digest from provider_attempts
   where attempt_id in (select entity_id from ends)
  union all select 'reservation', reservation_id, version, state, event_digest from reservations
   where reservation_id in (select entity_id from ends)
)
select entity || ' ' || entity_id from fresh
 where (seq > 1 and before is null) or from_state is distinct from came_from
   or digest <> shortdrama_event_digest(coalesce(before, ''), entity, entity_id, seq, from_state, to_state,
     facts, created_at)
union
select h.entity || ' ' || h.entity_id from heads h join ends e using (entity, entity_id)
 where e.digest <> h.event_digest or e.seq <> h.version or e.to_state <> h.state
"""  # noqa: S608


def find_broken_lately(tx: sa.Connection) -> list[str]:
    """Balances and histories that do not follow from what was booked and happened since the checkpoint.

    Besides, the last checkpoint and one older one are computed again.
    """
    found = [f"balance {each}" for each in tx.execute(sa.text(_BALANCES)).scalars()]
    found += tx.execute(sa.text(_CHAIN)).scalars()
    some = (
        " and c.number in ((select max(number) from checkpoints), (select 1 + floor(random() * max(number))"
        "::integer from checkpoints))"
    )
    return found + [f"checkpoint {each}" for each in tx.execute(sa.text(_BROKEN + some)).scalars()]


def find_broken_checkpoints(tx: sa.Connection) -> list[int]:
    """Every checkpoint that does not follow from the entries and events below it."""
    return [int(each) for each in tx.execute(sa.text(_BROKEN + " order by c.number")).scalars()]


def is_due(tx: sa.Connection) -> bool:
    """Has so much happened since the last checkpoint that the next is worth it?"""
    found = tx.execute(
        sa.text(
            "select coalesce((select max(event_id) from events), 0) - coalesce("
            "(select max(upto_event) from checkpoints), 0)"
        )
    ).scalar_one()
    return int(found) > EVENTS_BETWEEN


def look_at_rest(tx: sa.Connection) -> tuple[int, int, int, str]:
    """The next checkpoint's number, last entry, last event and balances, with nobody booking meanwhile.

    The lock is held for this look alone. Whoever books waits for it as long as a commit takes; a look that
    would have to wait longer gives up (`lock_timeout`), and the next one tries again.
    """
    tx.execute(sa.text("set local lock_timeout = '300ms'"))
    tx.execute(sa.text("lock table ledger_entries, events in share mode"))
    row = tx.execute(
        sa.text(
            "select coalesce((select max(number) from checkpoints), 0) + 1,"
            " coalesce((select max(entry_id) from ledger_entries), 0),"
            " coalesce((select max(event_id) from events), 0),"
            " coalesce((select jsonb_agg(jsonb_build_array(account, currency, balance_micros)"
            " order by account, currency) from balances), '[]')::text"
        )
    ).one()
    return int(row[0]), int(row[1]), int(row[2]), str(row[3])


def record_checkpoint(tx: sa.Connection, seen: tuple[int, int, int, str]) -> None:
    """Write a checkpoint that was looked at; another worker's of the same number stays."""
    number, upto_entry, upto_event, balances = seen
    bound = {"number": number, "upto_entry": upto_entry, "upto_event": upto_event, "balances": balances}
    tx.execute(_INSERT, bound)
