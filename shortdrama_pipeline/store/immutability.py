"""What the database refuses to change: append-only tables, and the few facts that may move one way.

`install(connection)` is called once by the schema, after the tables exist. It may be repeated.
Grants and Quotes can only be used up, shortened, revoked or closed: never enlarged or re-opened.
"""

import sqlalchemy as sa

from shortdrama_pipeline.rules import compensations

APPEND_ONLY = (
    "plans",
    "price_versions",
    "executions",
    "ledger_entries",
    "events",
    "audit_log",
    "versions",
    "edges",
    "decisions",
    "gates",
    "callbacks",
    "render_plans",
    "fence_blocks",
    "checkpoints",
    "audit_tokens_used",
    "credential_successions",
)

_REFUSE = """
create or replace function refuse_change() returns trigger language plpgsql as $$
begin
    raise exception '% is append-only: % refused', tg_table_name, lower(tg_op)
        using errcode = 'integrity_constraint_violation', constraint = 'append_only', table = tg_table_name;
end $$
"""

_GRANTS = """
create or replace function guard_grants() returns trigger language plpgsql as $$
begin
    if to_jsonb(new) - array['used_micros', 'uses', 'expires_at', 'revoked_at']
       is distinct from to_jsonb(old) - array['used_micros', 'uses', 'expires_at', 'revoked_at']
       or new.used_micros < old.used_micros or new.uses < old.uses or new.expires_at > old.expires_at
       or (old.revoked_at is not null and new.revoked_at is distinct from old.revoked_at)
    then
        raise exception 'a Grant can be used, shortened or revoked, nothing else'
            using errcode = 'integrity_constraint_violation', constraint = 'grant_never_grows',
                  table = 'grants';
    end if;
    return new;
end $$
"""

_QUOTES = """
create or replace function guard_quotes() returns trigger language plpgsql as $$
begin
    if row(new.quote_id, new.plan_id, new.input_hash, new.total_micros, new.currency, new.actor)
       is distinct from
       row(old.quote_id, old.plan_id, old.input_hash, old.total_micros, old.currency, old.actor)
       or new.expires_at > old.expires_at
       or (old.state <> 'open' and row(new.state, new.superseded_by)
                                   is distinct from row(old.state, old.superseded_by))
    then
        raise exception 'a Quote can be confirmed or superseded once, nothing else'
            using errcode = 'integrity_constraint_violation', constraint = 'quote_closes_once',
                  table = 'quotes';
    end if;
    return new;
end $$
"""

_BATCHES = """
create or replace function guard_batches() returns trigger language plpgsql as $$
begin
    if to_jsonb(new) - 'backfilled_at' is distinct from to_jsonb(old) - 'backfilled_at' then
        raise exception 'a batch covers what it was planned for'
            using errcode = 'integrity_constraint_violation', constraint = 'batch_fixed', table = 'batches';
    end if;
    return new;
end $$
"""

_SAFE_MODES = """
create or replace function guard_safe_modes() returns trigger language plpgsql as $$
begin
    if old.ended_at is not null or to_jsonb(new) - array['ended_at', 'ended_by', 'note']
       is distinct from to_jsonb(old) - array['ended_at', 'ended_by', 'note']
    then
        raise exception 'a safe mode is ended once, nothing else'
            using errcode = 'integrity_constraint_violation', constraint = 'safe_mode_ends_once',
                  table = 'safe_modes';
    end if;
    return new;
end $$
"""

_COMPENSATION = """
create or replace function guard_compensation() returns trigger language plpgsql as $$
begin
    if tg_op = 'INSERT' then
        if new.state <> 'pending' then
            raise exception 'a compensation begins pending, not %', new.state
                using errcode = 'check_violation', constraint = 'compensation_birth', table = 'compensation';
        end if;
        return new;
    end if;
    if row(new.compensation_id, new.source_order_id, new.triggered_at, new.actor)
       is distinct from row(old.compensation_id, old.source_order_id, old.triggered_at, old.actor)
       or new.retry_count < old.retry_count
       or (old.state <> new.state and (old.state, new.state) not in (MOVES))
       or (old.state in ('done', 'rejected') and old is distinct from new)
    then
        raise exception 'compensation %: % cannot become %', old.compensation_id, old.state, new.state
            using errcode = 'check_violation', constraint = 'compensation_moves', table = 'compensation';
    end if;
    return new;
end $$
"""

# At the commit: an action without its audit row in the same transaction cannot be (G-306).
_AUDITED = """
create or replace function require_audit_row() returns trigger language plpgsql as $$
declare subject text := case tg_table_name when 'compensation' then to_jsonb(new)->>'compensation_id'
    else to_jsonb(new)->>'task_id' end;
begin
    if not exists (select 1 from audit_log a where a.subject_id = subject
                   and a.xact = (pg_current_xact_id()::text)::bigint) then
        raise exception '% of % has no audit row of its transaction', tg_table_name, subject
            using errcode = 'integrity_constraint_violation', constraint = 'action_has_audit_row',
                  table = tg_table_name;
    end if;
    return null;
end $$
"""

_AUDITED_TABLES = {
    "compensation": "insert or update on compensation deferrable initially deferred for each row",
    "ledger_entries": "insert on ledger_entries deferrable initially deferred for each row"
    " when (new.business_key like 'compensate:%%')",
}


def install(connection: sa.Connection) -> None:
    """Create the guarding functions and triggers."""
    moves = ", ".join(f"('{before}', '{after}')" for before, after in sorted(compensations.moves()))
    for function in (
        _REFUSE,
        _GRANTS,
        _QUOTES,
        _BATCHES,
        _SAFE_MODES,
        _COMPENSATION.replace("MOVES", moves),
        _AUDITED,
    ):
        connection.exec_driver_sql(function.replace("%", "%%"))
    for table in APPEND_ONLY:
        _trigger(connection, table, "append_only", "before update or delete", "for each row", "refuse_change")
        _trigger(connection, table, "no_truncate", "before truncate", "for each statement", "refuse_change")
    for table in ("grants", "quotes", "batches", "safe_modes"):
        _trigger(connection, table, "guard", "before update", "for each row", f"guard_{table}")
        _trigger(connection, table, "no_delete", "before delete", "for each row", "refuse_change")
        _trigger(connection, table, "no_truncate", "before truncate", "for each statement", "refuse_change")
    _trigger(
        connection, "compensation", "guard", "before insert or update", "for each row", "guard_compensation"
    )
    _trigger(connection, "compensation", "no_delete", "before delete", "for each row", "refuse_change")
    _trigger(
        connection, "compensation", "no_truncate", "before truncate", "for each statement", "refuse_change"
    )
    for table, when in _AUDITED_TABLES.items():
        connection.exec_driver_sql(f"drop trigger if exists {table}_audited on {table}")
        connection.exec_driver_sql(
            f"create constraint trigger {table}_audited after {when} execute function require_audit_row()"
        )


def _trigger(connection: sa.Connection, table: str, name: str, when: str, each: str, function: str) -> None:
    connection.exec_driver_sql(
        f"create or replace trigger {table}_{name} {when} on {table} {each} execute function {function}()"
    )
