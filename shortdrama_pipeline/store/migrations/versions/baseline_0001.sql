-- Frozen: written once by pg_dump --schema-only, never changed. Later changes are later revisions.

CREATE FUNCTION guard_batches() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
    if to_jsonb(new) - 'backfilled_at' is distinct from to_jsonb(old) - 'backfilled_at' then
        raise exception 'a batch covers what it was planned for'
            using errcode = 'integrity_constraint_violation', constraint = 'batch_fixed', table = 'batches';
    end if;
    return new;
end $$;

CREATE FUNCTION guard_grants() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
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
end $$;

CREATE FUNCTION guard_media_files_birth() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
  if new.state <> 'staging' then
    raise exception 'media_files: a row is born staging, not %', new.state
      using errcode = 'check_violation', constraint = 'guard_birth';
  end if;

  return new;
end $$;

CREATE FUNCTION guard_media_files_history() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
declare before text; last_seq integer; last_digest text;
begin
  if tg_op = 'UPDATE' then
    if old.state = new.state then return null; end if;
    before := old.state;
  end if;

  select e.seq, e.digest into last_seq, last_digest from events e
  where e.entity = 'media' and e.entity_id = new.sha256 order by e.seq desc limit 1;
  last_seq := coalesce(last_seq, 0) + 1;
  insert into events (entity, entity_id, seq, from_state, to_state, facts, digest, created_at)
  values ('media', new.sha256, last_seq, before, new.state, jsonb_build_object('reason', new.reason, 'bytes', new.bytes, 'media_type', new.media_type), shortdrama_event_digest(
    coalesce(last_digest, ''), 'media', new.sha256, last_seq, before, new.state, jsonb_build_object('reason', new.reason, 'bytes', new.bytes, 'media_type', new.media_type), now()), now());

  return null;
end $$;

CREATE FUNCTION guard_media_files_kept() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
  raise exception 'media_files: rows are never removed'
    using errcode = 'check_violation', constraint = 'guard_kept';
end $$;

CREATE FUNCTION guard_media_files_move() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
  if old.state in ('quarantined', 'ready') and old is distinct from new then
    raise exception 'media_files: % is media % for good and never changes again', old.sha256, old.state
      using errcode = 'check_violation', constraint = 'guard_terminal';
  end if;
  if old.sha256 is distinct from new.sha256 or old.bytes is distinct from new.bytes or old.created_at is distinct from new.created_at then
    raise exception 'media_files: what was frozen of % cannot change', old.sha256
      using errcode = 'check_violation', constraint = 'guard_frozen';
  end if;

  if old.state = new.state then

    return new;
  end if;
  if (old.state, new.state) not in (('staging', 'quarantined'), ('staging', 'ready')) then
    raise exception 'media_files: % cannot go from % to %', old.sha256, old.state, new.state
      using errcode = 'check_violation', constraint = 'guard_transition';
  end if;

  return new;
end $$;

CREATE FUNCTION guard_provider_attempts_birth() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
  if new.state <> 'prepared' then
    raise exception 'provider_attempts: a row is born prepared, not %', new.state
      using errcode = 'check_violation', constraint = 'guard_birth';
  end if;

  new.version := 1;
  new.event_digest := shortdrama_event_digest(
    '', 'attempt', new.attempt_id, 1, null, new.state, jsonb_build_object('external_id', new.external_id, 'evidence', new.evidence, 'worker', new.worker, 'lease_token', new.lease_token, 'request_digest', new.request_digest), now());

  return new;
end $$;

CREATE FUNCTION guard_provider_attempts_history() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
declare before text; last_seq integer; last_digest text;
begin
  if tg_op = 'UPDATE' then
    if old.state = new.state then return null; end if;
    before := old.state;
  end if;

  insert into events (entity, entity_id, seq, from_state, to_state, facts, digest, created_at)
  values ('attempt', new.attempt_id, new.version, before, new.state, jsonb_build_object('external_id', new.external_id, 'evidence', new.evidence, 'worker', new.worker, 'lease_token', new.lease_token, 'request_digest', new.request_digest), new.event_digest, now());

  return null;
end $$;

CREATE FUNCTION guard_provider_attempts_kept() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
  raise exception 'provider_attempts: rows are never removed'
    using errcode = 'check_violation', constraint = 'guard_kept';
end $$;

CREATE FUNCTION guard_provider_attempts_move() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
  if old.state in ('completed', 'rejectedBeforeAcceptance') and old is distinct from new then
    raise exception 'provider_attempts: % is attempt % for good and never changes again', old.attempt_id, old.state
      using errcode = 'check_violation', constraint = 'guard_terminal';
  end if;
  if old.attempt_id is distinct from new.attempt_id or old.task_id is distinct from new.task_id or old.number is distinct from new.number or old.channel is distinct from new.channel or old.request_digest is distinct from new.request_digest or old.created_at is distinct from new.created_at then
    raise exception 'provider_attempts: what was frozen of % cannot change', old.attempt_id
      using errcode = 'check_violation', constraint = 'guard_frozen';
  end if;

  if old.external_id is not null and new.external_id is distinct from old.external_id then
    raise exception 'provider_attempts: external_id of % is written once', old.attempt_id
      using errcode = 'check_violation', constraint = 'guard_write_once';
  end if;

  if old.submit_started_at is not null and new.submit_started_at is distinct from old.submit_started_at then
    raise exception 'provider_attempts: submit_started_at of % is written once', old.attempt_id
      using errcode = 'check_violation', constraint = 'guard_write_once';
  end if;

  if old.accepted_at is not null and new.accepted_at is distinct from old.accepted_at then
    raise exception 'provider_attempts: accepted_at of % is written once', old.attempt_id
      using errcode = 'check_violation', constraint = 'guard_write_once';
  end if;

  if old.completed_at is not null and new.completed_at is distinct from old.completed_at then
    raise exception 'provider_attempts: completed_at of % is written once', old.attempt_id
      using errcode = 'check_violation', constraint = 'guard_write_once';
  end if;

  if new.lease_token < old.lease_token then
    raise exception 'provider_attempts: lease_token of % never decreases (V-12)', old.attempt_id
      using errcode = 'check_violation', constraint = 'guard_rising';
  end if;

  if old.state = new.state then
     if new.version <> old.version or new.event_digest <> old.event_digest then raise exception 'provider_attempts: version and event_digest are counted here' using errcode = 'check_violation', constraint = 'guard_version'; end if;
    return new;
  end if;
  if (old.state, new.state) not in (('accepted', 'completed'), ('outcomeUnknown', 'accepted'), ('outcomeUnknown', 'completed'), ('outcomeUnknown', 'rejectedBeforeAcceptance'), ('prepared', 'submitStarted'), ('submitStarted', 'accepted'), ('submitStarted', 'outcomeUnknown'), ('submitStarted', 'rejectedBeforeAcceptance')) then
    raise exception 'provider_attempts: % cannot go from % to %', old.attempt_id, old.state, new.state
      using errcode = 'check_violation', constraint = 'guard_transition';
  end if;

  new.version := old.version + 1;
  new.event_digest := shortdrama_event_digest(
    old.event_digest, 'attempt', new.attempt_id, new.version, old.state, new.state, jsonb_build_object('external_id', new.external_id, 'evidence', new.evidence, 'worker', new.worker, 'lease_token', new.lease_token, 'request_digest', new.request_digest), now());

  return new;
end $$;

CREATE FUNCTION guard_quotes() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
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
end $$;

CREATE FUNCTION guard_reservations_birth() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
  if new.state <> 'reserved' then
    raise exception 'reservations: a row is born reserved, not %', new.state
      using errcode = 'check_violation', constraint = 'guard_birth';
  end if;

  new.version := 1;
  new.event_digest := shortdrama_event_digest(
    '', 'reservation', new.reservation_id, 1, null, new.state, jsonb_build_object('reason', new.reason, 'task_id', new.task_id, 'amount_micros', new.amount_micros, 'settled_micros', new.settled_micros), now());

  return new;
end $$;

CREATE FUNCTION guard_reservations_history() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
declare before text; last_seq integer; last_digest text;
begin
  if tg_op = 'UPDATE' then
    if old.state = new.state then return null; end if;
    before := old.state;
  end if;

  insert into events (entity, entity_id, seq, from_state, to_state, facts, digest, created_at)
  values ('reservation', new.reservation_id, new.version, before, new.state, jsonb_build_object('reason', new.reason, 'task_id', new.task_id, 'amount_micros', new.amount_micros, 'settled_micros', new.settled_micros), new.event_digest, now());

  return null;
end $$;

CREATE FUNCTION guard_reservations_kept() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
  raise exception 'reservations: rows are never removed'
    using errcode = 'check_violation', constraint = 'guard_kept';
end $$;

CREATE FUNCTION guard_reservations_move() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
  if old.state in ('released', 'settled') and old is distinct from new then
    raise exception 'reservations: % is reservation % for good and never changes again', old.reservation_id, old.state
      using errcode = 'check_violation', constraint = 'guard_terminal';
  end if;
  if old.reservation_id is distinct from new.reservation_id or old.task_id is distinct from new.task_id or old.amount_micros is distinct from new.amount_micros or old.currency is distinct from new.currency or old.created_at is distinct from new.created_at then
    raise exception 'reservations: what was frozen of % cannot change', old.reservation_id
      using errcode = 'check_violation', constraint = 'guard_frozen';
  end if;

  if old.resolved_at is not null and new.resolved_at is distinct from old.resolved_at then
    raise exception 'reservations: resolved_at of % is written once', old.reservation_id
      using errcode = 'check_violation', constraint = 'guard_write_once';
  end if;

  if old.state = new.state then
     if new.version <> old.version or new.event_digest <> old.event_digest then raise exception 'reservations: version and event_digest are counted here' using errcode = 'check_violation', constraint = 'guard_version'; end if;
    return new;
  end if;
  if (old.state, new.state) not in (('reserved', 'released'), ('reserved', 'settled'), ('reserved', 'settlementPending'), ('settlementPending', 'settled')) then
    raise exception 'reservations: % cannot go from % to %', old.reservation_id, old.state, new.state
      using errcode = 'check_violation', constraint = 'guard_transition';
  end if;

  new.version := old.version + 1;
  new.event_digest := shortdrama_event_digest(
    old.event_digest, 'reservation', new.reservation_id, new.version, old.state, new.state, jsonb_build_object('reason', new.reason, 'task_id', new.task_id, 'amount_micros', new.amount_micros, 'settled_micros', new.settled_micros), now());

  return new;
end $$;

CREATE FUNCTION guard_tasks_birth() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
  if new.state <> 'queued' then
    raise exception 'tasks: a row is born queued, not %', new.state
      using errcode = 'check_violation', constraint = 'guard_birth';
  end if;

  new.version := 1;
  new.event_digest := shortdrama_event_digest(
    '', 'task', new.task_id, 1, null, new.state, jsonb_build_object('reason', new.reason, 'owner', new.owner, 'lease_token', new.lease_token, 'hold_reason', new.hold_reason), now());

  return new;
end $$;

CREATE FUNCTION guard_tasks_history() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
declare before text; last_seq integer; last_digest text;
begin
  if tg_op = 'UPDATE' then
    if old.state = new.state then return null; end if;
    before := old.state;
  end if;

  insert into events (entity, entity_id, seq, from_state, to_state, facts, digest, created_at)
  values ('task', new.task_id, new.version, before, new.state, jsonb_build_object('reason', new.reason, 'owner', new.owner, 'lease_token', new.lease_token, 'hold_reason', new.hold_reason), new.event_digest, now());

  return null;
end $$;

CREATE FUNCTION guard_tasks_kept() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
  raise exception 'tasks: rows are never removed'
    using errcode = 'check_violation', constraint = 'guard_kept';
end $$;

CREATE FUNCTION guard_tasks_move() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
  if old.state in ('cancelled', 'failed', 'succeeded') and old is distinct from new then
    raise exception 'tasks: % is task % for good and never changes again', old.task_id, old.state
      using errcode = 'check_violation', constraint = 'guard_terminal';
  end if;
  if old.task_id is distinct from new.task_id or old.execution_id is distinct from new.execution_id or old.grant_id is distinct from new.grant_id or old.item_id is distinct from new.item_id or old.episode_id is distinct from new.episode_id or old.stage is distinct from new.stage or old.subject is distinct from new.subject or old.role is distinct from new.role or old.kind is distinct from new.kind or old.binding_id is distinct from new.binding_id or old.request is distinct from new.request or old.input_hash is distinct from new.input_hash or old.created_at is distinct from new.created_at then
    raise exception 'tasks: what was frozen of % cannot change', old.task_id
      using errcode = 'check_violation', constraint = 'guard_frozen';
  end if;

  if new.lease_token < old.lease_token then
    raise exception 'tasks: lease_token of % never decreases (V-12)', old.task_id
      using errcode = 'check_violation', constraint = 'guard_rising';
  end if;

  if old.state = new.state then
     if new.version <> old.version or new.event_digest <> old.event_digest then raise exception 'tasks: version and event_digest are counted here' using errcode = 'check_violation', constraint = 'guard_version'; end if;
    return new;
  end if;
  if (old.state, new.state) not in (('ingesting', 'needsReconciliation'), ('ingesting', 'succeeded'), ('needsReconciliation', 'failed'), ('needsReconciliation', 'ingesting'), ('needsReconciliation', 'succeeded'), ('needsReconciliation', 'waitingProvider'), ('queued', 'cancelled'), ('queued', 'running'), ('running', 'failed'), ('running', 'ingesting'), ('running', 'needsReconciliation'), ('running', 'queued'), ('running', 'waitingProvider'), ('waitingProvider', 'failed'), ('waitingProvider', 'ingesting'), ('waitingProvider', 'needsReconciliation')) then
    raise exception 'tasks: % cannot go from % to %', old.task_id, old.state, new.state
      using errcode = 'check_violation', constraint = 'guard_transition';
  end if;

  if old.state = 'running' and new.state = 'queued' and exists (
      select 1 from provider_attempts a where a.task_id = old.task_id
      and a.state in ('submitStarted', 'accepted', 'outcomeUnknown')) then
    raise exception 'tasks: % has an open fence and cannot return to the queue (D-1)', old.task_id
      using errcode = 'check_violation', constraint = 'guard_open_fence';
  end if;

  new.version := old.version + 1;
  new.event_digest := shortdrama_event_digest(
    old.event_digest, 'task', new.task_id, new.version, old.state, new.state, jsonb_build_object('reason', new.reason, 'owner', new.owner, 'lease_token', new.lease_token, 'hold_reason', new.hold_reason), now());

  return new;
end $$;

CREATE FUNCTION refuse_change() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
    raise exception '% is append-only: % refused', tg_table_name, lower(tg_op)
        using errcode = 'integrity_constraint_violation', constraint = 'append_only', table = tg_table_name;
end $$;

CREATE FUNCTION shortdrama_event_digest(previous text, entity text, entity_id text, seq integer, from_state text, to_state text, facts jsonb, at timestamp with time zone) RETURNS text
    LANGUAGE sql STABLE
    AS $$
  select encode(sha256(convert_to(jsonb_build_array(
    previous, entity, entity_id, seq, from_state, to_state, facts,
    to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US')
  )::text, 'UTF8')), 'hex')
$$;

CREATE TABLE alerts (
    alert_id text NOT NULL,
    kind text NOT NULL,
    entity_id text NOT NULL,
    message text NOT NULL,
    facts jsonb NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    closed_at timestamp with time zone,
    closed_by text
);

CREATE TABLE audit_log (
    audit_id bigint NOT NULL,
    action text NOT NULL,
    subject_id text NOT NULL,
    facts jsonb NOT NULL,
    actor text NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);

ALTER TABLE audit_log ALTER COLUMN audit_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME audit_log_audit_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE balances (
    account text NOT NULL,
    currency text NOT NULL,
    balance_micros bigint NOT NULL,
    CONSTRAINT ck_balances_wallet_never_negative CHECK (((account !~~ 'wallet:%'::text) OR (balance_micros >= 0)))
)
WITH (fillfactor='50');

CREATE TABLE batches (
    batch_id text NOT NULL,
    stage text NOT NULL,
    plan_id text NOT NULL,
    quote_id text NOT NULL,
    ceiling_micros bigint NOT NULL,
    currency text NOT NULL,
    episode_ids jsonb NOT NULL,
    actor text NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    backfilled_at timestamp with time zone
);

CREATE TABLE callbacks (
    channel_id text NOT NULL,
    event_id text NOT NULL,
    external_id text NOT NULL,
    verified boolean NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);

CREATE TABLE decisions (
    decision_id text NOT NULL,
    version_id text NOT NULL,
    digest text NOT NULL,
    verdict text NOT NULL,
    rights boolean DEFAULT false NOT NULL,
    note text NOT NULL,
    actor text NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT ck_decisions_verdict_known CHECK ((verdict = ANY (ARRAY['confirmed'::text, 'rejected'::text])))
);

CREATE TABLE edges (
    version_id text NOT NULL,
    used_version_id text NOT NULL,
    purpose text NOT NULL
);

CREATE TABLE episodes (
    episode_id text NOT NULL,
    kind text NOT NULL,
    week_id text NOT NULL,
    sequence integer NOT NULL,
    allocation_key text NOT NULL,
    series_id text,
    time_zone text NOT NULL,
    scheduled_for timestamp with time zone NOT NULL,
    state text NOT NULL,
    actor text NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    completed_at timestamp with time zone,
    CONSTRAINT ck_episodes_key_given CHECK ((allocation_key <> ''::text)),
    CONSTRAINT ck_episodes_sequence_from_zero CHECK ((sequence >= 0)),
    CONSTRAINT ck_episodes_state_known CHECK ((state = ANY (ARRAY['live'::text, 'completed'::text])))
);

CREATE TABLE events (
    event_id bigint NOT NULL,
    entity text NOT NULL,
    entity_id text NOT NULL,
    seq integer NOT NULL,
    from_state text,
    to_state text NOT NULL,
    facts jsonb NOT NULL,
    digest text NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);

ALTER TABLE events ALTER COLUMN event_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME events_event_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE executions (
    execution_id text NOT NULL,
    quote_id text NOT NULL,
    grant_id text NOT NULL,
    idempotency_key text NOT NULL,
    request_hash text NOT NULL,
    answer jsonb NOT NULL,
    actor text NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);

CREATE TABLE gates (
    gate_id text NOT NULL,
    episode_id text NOT NULL,
    stage text NOT NULL,
    digest text NOT NULL,
    covers jsonb NOT NULL,
    rights boolean DEFAULT false NOT NULL,
    note text NOT NULL,
    actor text NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT ck_gates_stage_known CHECK ((stage = ANY (ARRAY['outline'::text, 'script'::text, 'assets'::text, 'storyboard'::text, 'pilot'::text, 'shots'::text, 'audio'::text, 'timeline'::text, 'export'::text])))
);

CREATE TABLE grants (
    grant_id text NOT NULL,
    kind text NOT NULL,
    quote_id text,
    input_hash text,
    limit_micros bigint NOT NULL,
    used_micros bigint NOT NULL,
    currency text NOT NULL,
    uses integer DEFAULT 0 NOT NULL,
    uses_max integer,
    scope jsonb NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    revoked_at timestamp with time zone,
    actor text NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT ck_grants_bound CHECK (((kind = 'budget'::text) OR ((quote_id IS NOT NULL) AND (input_hash IS NOT NULL)))),
    CONSTRAINT ck_grants_kind_known CHECK ((kind = ANY (ARRAY['operation'::text, 'batch'::text, 'budget'::text]))),
    CONSTRAINT ck_grants_within_limit CHECK (((used_micros >= 0) AND (used_micros <= limit_micros))),
    CONSTRAINT ck_grants_within_uses CHECK (((uses_max IS NULL) OR (uses <= uses_max)))
);

CREATE TABLE ledger_entries (
    entry_id bigint NOT NULL,
    business_key text NOT NULL,
    debit_account text NOT NULL,
    credit_account text NOT NULL,
    amount_micros bigint NOT NULL,
    currency text NOT NULL,
    task_id text,
    facts jsonb NOT NULL,
    actor text NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT ck_ledger_entries_amount_positive CHECK ((amount_micros > 0)),
    CONSTRAINT ck_ledger_entries_two_accounts CHECK ((debit_account <> credit_account))
);

ALTER TABLE ledger_entries ALTER COLUMN entry_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME ledger_entries_entry_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE media_files (
    sha256 text NOT NULL,
    bytes bigint NOT NULL,
    media_type text NOT NULL,
    state text NOT NULL,
    probe jsonb NOT NULL,
    reason jsonb,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT ck_media_files_not_empty CHECK ((bytes > 0)),
    CONSTRAINT ck_media_files_state_known CHECK ((state = ANY (ARRAY['staging'::text, 'ready'::text, 'quarantined'::text])))
);

CREATE TABLE outbox (
    outbox_id text NOT NULL,
    execution_id text NOT NULL,
    topic text NOT NULL,
    payload jsonb NOT NULL,
    deliveries integer DEFAULT 0 NOT NULL,
    sent_at timestamp with time zone,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);

CREATE TABLE plans (
    plan_id text NOT NULL,
    kind text NOT NULL,
    stage text NOT NULL,
    body jsonb NOT NULL,
    input_hash text NOT NULL,
    actor text NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT ck_plans_kind_known CHECK ((kind = ANY (ARRAY['operation'::text, 'batch'::text]))),
    CONSTRAINT ck_plans_stage_known CHECK ((stage = ANY (ARRAY['outline'::text, 'script'::text, 'assets'::text, 'storyboard'::text, 'pilot'::text, 'shots'::text, 'audio'::text, 'timeline'::text, 'export'::text])))
);

CREATE TABLE price_versions (
    price_version_id text NOT NULL,
    binding_id text NOT NULL,
    digest text NOT NULL,
    body jsonb NOT NULL,
    actor text NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);

CREATE TABLE provider_attempts (
    attempt_id text NOT NULL,
    task_id text NOT NULL,
    number integer NOT NULL,
    state text NOT NULL,
    version integer DEFAULT 1 NOT NULL,
    reason jsonb,
    event_digest text DEFAULT ''::text NOT NULL,
    channel jsonb NOT NULL,
    request_digest text NOT NULL,
    lease_token bigint NOT NULL,
    worker text NOT NULL,
    submit_started_at timestamp with time zone,
    accepted_at timestamp with time zone,
    completed_at timestamp with time zone,
    external_id text,
    evidence jsonb,
    result jsonb,
    provider_cost_micros bigint NOT NULL,
    provider_currency text NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT ck_provider_attempts_accepted_has_time CHECK (((state <> 'accepted'::text) OR (accepted_at IS NOT NULL))),
    CONSTRAINT ck_provider_attempts_fence_has_time CHECK (((state = 'prepared'::text) OR (submit_started_at IS NOT NULL))),
    CONSTRAINT ck_provider_attempts_state_known CHECK ((state = ANY (ARRAY['prepared'::text, 'submitStarted'::text, 'accepted'::text, 'rejectedBeforeAcceptance'::text, 'outcomeUnknown'::text, 'completed'::text])))
)
WITH (fillfactor='60');

CREATE TABLE provider_jobs (
    attempt_id text NOT NULL,
    channel_id text NOT NULL,
    external_id text NOT NULL,
    checkpoint jsonb NOT NULL,
    last_status text NOT NULL,
    query_failures integer DEFAULT 0 NOT NULL,
    asked_at timestamp with time zone,
    provider_finished_at timestamp with time zone,
    downloadable_at timestamp with time zone,
    transferred_at timestamp with time zone,
    registered_at timestamp with time zone,
    retention_until timestamp with time zone,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);

CREATE TABLE quotes (
    quote_id text NOT NULL,
    plan_id text NOT NULL,
    input_hash text NOT NULL,
    total_micros bigint NOT NULL,
    currency text NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    state text NOT NULL,
    superseded_by text,
    actor text NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT ck_quotes_state_known CHECK ((state = ANY (ARRAY['open'::text, 'confirmed'::text, 'superseded'::text]))),
    CONSTRAINT ck_quotes_total_not_negative CHECK ((total_micros >= 0))
);

CREATE TABLE rate_limits (
    channel_id text NOT NULL,
    tokens_milli bigint NOT NULL,
    refilled_at timestamp with time zone NOT NULL,
    blocked_until timestamp with time zone
);

CREATE TABLE render_jobs (
    render_job_id text NOT NULL,
    render_plan_id text NOT NULL,
    state text NOT NULL,
    owner text,
    lease_token bigint DEFAULT '0'::bigint NOT NULL,
    expires_at timestamp with time zone,
    reason jsonb,
    version_id text,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT ck_render_jobs_state_known CHECK ((state = ANY (ARRAY['queued'::text, 'running'::text, 'succeeded'::text, 'failed'::text])))
);

CREATE TABLE render_plans (
    render_plan_id text NOT NULL,
    episode_id text NOT NULL,
    timeline_version_id text NOT NULL,
    digest text NOT NULL,
    body jsonb NOT NULL,
    actor text NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);

CREATE TABLE reservations (
    reservation_id text NOT NULL,
    task_id text NOT NULL,
    amount_micros bigint NOT NULL,
    currency text NOT NULL,
    state text NOT NULL,
    version integer DEFAULT 1 NOT NULL,
    reason jsonb,
    event_digest text DEFAULT ''::text NOT NULL,
    settled_micros bigint NOT NULL,
    resolved_at timestamp with time zone,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT ck_reservations_amount_not_negative CHECK ((amount_micros >= 0)),
    CONSTRAINT ck_reservations_settled_within CHECK (((settled_micros >= 0) AND (settled_micros <= amount_micros))),
    CONSTRAINT ck_reservations_state_known CHECK ((state = ANY (ARRAY['reserved'::text, 'settlementPending'::text, 'settled'::text, 'released'::text])))
)
WITH (fillfactor='60');

CREATE TABLE selections (
    episode_id text NOT NULL,
    subject text NOT NULL,
    role text NOT NULL,
    version_id text NOT NULL,
    actor text NOT NULL,
    at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);

CREATE TABLE series (
    series_id text NOT NULL,
    title text NOT NULL,
    brief jsonb NOT NULL,
    actor text NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);

CREATE TABLE tasks (
    task_id text NOT NULL,
    execution_id text NOT NULL,
    grant_id text NOT NULL,
    item_id text NOT NULL,
    episode_id text NOT NULL,
    stage text NOT NULL,
    subject text NOT NULL,
    role text NOT NULL,
    kind text NOT NULL,
    binding_id text NOT NULL,
    request jsonb NOT NULL,
    input_hash text NOT NULL,
    state text NOT NULL,
    version integer DEFAULT 1 NOT NULL,
    reason jsonb,
    event_digest text DEFAULT ''::text NOT NULL,
    owner text,
    lease_token bigint DEFAULT '0'::bigint NOT NULL,
    expires_at timestamp with time zone,
    heartbeat timestamp with time zone,
    next_action_at timestamp with time zone,
    hold_reason jsonb,
    deadline_at timestamp with time zone,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    updated_at timestamp with time zone,
    CONSTRAINT ck_tasks_failed_has_reason CHECK (((state <> 'failed'::text) OR (reason IS NOT NULL))),
    CONSTRAINT ck_tasks_open_has_next_action CHECK (((state = ANY (ARRAY['succeeded'::text, 'failed'::text, 'cancelled'::text])) OR (next_action_at IS NOT NULL))),
    CONSTRAINT ck_tasks_stage_known CHECK ((stage = ANY (ARRAY['outline'::text, 'script'::text, 'assets'::text, 'storyboard'::text, 'pilot'::text, 'shots'::text, 'audio'::text, 'timeline'::text, 'export'::text]))),
    CONSTRAINT ck_tasks_state_known CHECK ((state = ANY (ARRAY['queued'::text, 'running'::text, 'waitingProvider'::text, 'ingesting'::text, 'needsReconciliation'::text, 'succeeded'::text, 'failed'::text, 'cancelled'::text])))
)
WITH (fillfactor='60');

CREATE TABLE versions (
    version_id text NOT NULL,
    kind text NOT NULL,
    episode_id text NOT NULL,
    subject text NOT NULL,
    role text NOT NULL,
    number integer NOT NULL,
    digest text NOT NULL,
    content jsonb NOT NULL,
    sha256 text,
    parent_id text,
    attempt_id text,
    slot integer,
    provenance jsonb NOT NULL,
    actor text NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT ck_versions_kind_known CHECK ((kind = ANY (ARRAY['StoryOutlineVersion'::text, 'ScriptVersion'::text, 'AssetVersion'::text, 'ProjectBibleVersion'::text, 'ShotVersion'::text, 'AudioVersion'::text, 'TimelineVersion'::text, 'ExportVersion'::text])))
);

ALTER TABLE ONLY alerts
    ADD CONSTRAINT pk_alerts PRIMARY KEY (alert_id);

ALTER TABLE ONLY audit_log
    ADD CONSTRAINT pk_audit_log PRIMARY KEY (audit_id);

ALTER TABLE ONLY balances
    ADD CONSTRAINT pk_balances PRIMARY KEY (account, currency);

ALTER TABLE ONLY batches
    ADD CONSTRAINT pk_batches PRIMARY KEY (batch_id);

ALTER TABLE ONLY callbacks
    ADD CONSTRAINT pk_callbacks PRIMARY KEY (channel_id, event_id);

ALTER TABLE ONLY decisions
    ADD CONSTRAINT pk_decisions PRIMARY KEY (decision_id);

ALTER TABLE ONLY edges
    ADD CONSTRAINT pk_edges PRIMARY KEY (version_id, used_version_id, purpose);

ALTER TABLE ONLY episodes
    ADD CONSTRAINT pk_episodes PRIMARY KEY (episode_id);

ALTER TABLE ONLY events
    ADD CONSTRAINT pk_events PRIMARY KEY (event_id);

ALTER TABLE ONLY executions
    ADD CONSTRAINT pk_executions PRIMARY KEY (execution_id);

ALTER TABLE ONLY gates
    ADD CONSTRAINT pk_gates PRIMARY KEY (gate_id);

ALTER TABLE ONLY grants
    ADD CONSTRAINT pk_grants PRIMARY KEY (grant_id);

ALTER TABLE ONLY ledger_entries
    ADD CONSTRAINT pk_ledger_entries PRIMARY KEY (entry_id);

ALTER TABLE ONLY media_files
    ADD CONSTRAINT pk_media_files PRIMARY KEY (sha256);

ALTER TABLE ONLY outbox
    ADD CONSTRAINT pk_outbox PRIMARY KEY (outbox_id);

ALTER TABLE ONLY plans
    ADD CONSTRAINT pk_plans PRIMARY KEY (plan_id);

ALTER TABLE ONLY price_versions
    ADD CONSTRAINT pk_price_versions PRIMARY KEY (price_version_id);

ALTER TABLE ONLY provider_attempts
    ADD CONSTRAINT pk_provider_attempts PRIMARY KEY (attempt_id);

ALTER TABLE ONLY provider_jobs
    ADD CONSTRAINT pk_provider_jobs PRIMARY KEY (attempt_id);

ALTER TABLE ONLY quotes
    ADD CONSTRAINT pk_quotes PRIMARY KEY (quote_id);

ALTER TABLE ONLY rate_limits
    ADD CONSTRAINT pk_rate_limits PRIMARY KEY (channel_id);

ALTER TABLE ONLY render_jobs
    ADD CONSTRAINT pk_render_jobs PRIMARY KEY (render_job_id);

ALTER TABLE ONLY render_plans
    ADD CONSTRAINT pk_render_plans PRIMARY KEY (render_plan_id);

ALTER TABLE ONLY reservations
    ADD CONSTRAINT pk_reservations PRIMARY KEY (reservation_id);

ALTER TABLE ONLY selections
    ADD CONSTRAINT pk_selections PRIMARY KEY (episode_id, subject, role);

ALTER TABLE ONLY series
    ADD CONSTRAINT pk_series PRIMARY KEY (series_id);

ALTER TABLE ONLY tasks
    ADD CONSTRAINT pk_tasks PRIMARY KEY (task_id);

ALTER TABLE ONLY versions
    ADD CONSTRAINT pk_versions PRIMARY KEY (version_id);

ALTER TABLE ONLY episodes
    ADD CONSTRAINT uq_episodes_kind_allocation_key UNIQUE (kind, allocation_key);

ALTER TABLE ONLY episodes
    ADD CONSTRAINT uq_episodes_kind_week_id_sequence UNIQUE (kind, week_id, sequence);

ALTER TABLE ONLY events
    ADD CONSTRAINT uq_events_entity_entity_id_seq UNIQUE (entity, entity_id, seq);

ALTER TABLE ONLY executions
    ADD CONSTRAINT uq_executions_idempotency_key UNIQUE (idempotency_key);

ALTER TABLE ONLY executions
    ADD CONSTRAINT uq_executions_quote_id UNIQUE (quote_id);

ALTER TABLE ONLY gates
    ADD CONSTRAINT uq_gates_episode_id_stage_digest UNIQUE (episode_id, stage, digest);

ALTER TABLE ONLY ledger_entries
    ADD CONSTRAINT uq_ledger_entries_business_key UNIQUE (business_key);

ALTER TABLE ONLY outbox
    ADD CONSTRAINT uq_outbox_execution_id UNIQUE (execution_id);

ALTER TABLE ONLY price_versions
    ADD CONSTRAINT uq_price_versions_binding_id_digest UNIQUE (binding_id, digest);

ALTER TABLE ONLY provider_attempts
    ADD CONSTRAINT uq_provider_attempts_task_id_number UNIQUE (task_id, number);

ALTER TABLE ONLY provider_jobs
    ADD CONSTRAINT uq_provider_jobs_channel_id_external_id UNIQUE (channel_id, external_id);

ALTER TABLE ONLY render_jobs
    ADD CONSTRAINT uq_render_jobs_render_plan_id UNIQUE (render_plan_id);

ALTER TABLE ONLY render_plans
    ADD CONSTRAINT uq_render_plans_digest UNIQUE (digest);

ALTER TABLE ONLY reservations
    ADD CONSTRAINT uq_reservations_task_id UNIQUE (task_id);

ALTER TABLE ONLY tasks
    ADD CONSTRAINT uq_tasks_execution_id_item_id UNIQUE (execution_id, item_id);

ALTER TABLE ONLY versions
    ADD CONSTRAINT uq_versions_attempt_id_slot UNIQUE (attempt_id, slot);

ALTER TABLE ONLY versions
    ADD CONSTRAINT uq_versions_episode_id_subject_role_number UNIQUE (episode_id, subject, role, number);

CREATE INDEX ix_decisions_version ON decisions USING btree (version_id);

CREATE INDEX ix_edges_used ON edges USING btree (used_version_id);

CREATE INDEX ix_ledger_task ON ledger_entries USING btree (task_id);

CREATE INDEX ix_outbox_unsent ON outbox USING btree (created_at) WHERE (sent_at IS NULL);

CREATE INDEX ix_reservations_pending ON reservations USING btree (created_at) WHERE (state = 'settlementPending'::text);

CREATE INDEX ix_tasks_due_open ON tasks USING btree (next_action_at) WHERE (state = ANY (ARRAY['running'::text, 'waitingProvider'::text, 'ingesting'::text, 'needsReconciliation'::text]));

CREATE INDEX ix_tasks_due_queued ON tasks USING btree (binding_id, next_action_at) WHERE (state = 'queued'::text);

CREATE INDEX ix_tasks_episode ON tasks USING btree (episode_id, stage);

CREATE INDEX ix_tasks_in_flight ON tasks USING btree (binding_id) WHERE (state = ANY (ARRAY['running'::text, 'waitingProvider'::text]));

CREATE UNIQUE INDEX uq_alerts_open ON alerts USING btree (kind, entity_id) WHERE (closed_at IS NULL);

CREATE UNIQUE INDEX uq_attempts_one_open_fence ON provider_attempts USING btree (task_id) WHERE (state = ANY (ARRAY['prepared'::text, 'submitStarted'::text, 'accepted'::text, 'outcomeUnknown'::text]));

CREATE TRIGGER audit_log_append_only BEFORE DELETE OR UPDATE ON audit_log FOR EACH ROW EXECUTE FUNCTION refuse_change();

CREATE TRIGGER audit_log_no_truncate BEFORE TRUNCATE ON audit_log FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE TRIGGER batches_guard BEFORE UPDATE ON batches FOR EACH ROW EXECUTE FUNCTION guard_batches();

CREATE TRIGGER batches_no_delete BEFORE DELETE ON batches FOR EACH ROW EXECUTE FUNCTION refuse_change();

CREATE TRIGGER batches_no_truncate BEFORE TRUNCATE ON batches FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE TRIGGER callbacks_append_only BEFORE DELETE OR UPDATE ON callbacks FOR EACH ROW EXECUTE FUNCTION refuse_change();

CREATE TRIGGER callbacks_no_truncate BEFORE TRUNCATE ON callbacks FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE TRIGGER decisions_append_only BEFORE DELETE OR UPDATE ON decisions FOR EACH ROW EXECUTE FUNCTION refuse_change();

CREATE TRIGGER decisions_no_truncate BEFORE TRUNCATE ON decisions FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE TRIGGER edges_append_only BEFORE DELETE OR UPDATE ON edges FOR EACH ROW EXECUTE FUNCTION refuse_change();

CREATE TRIGGER edges_no_truncate BEFORE TRUNCATE ON edges FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE TRIGGER events_append_only BEFORE DELETE OR UPDATE ON events FOR EACH ROW EXECUTE FUNCTION refuse_change();

CREATE TRIGGER events_no_truncate BEFORE TRUNCATE ON events FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE TRIGGER executions_append_only BEFORE DELETE OR UPDATE ON executions FOR EACH ROW EXECUTE FUNCTION refuse_change();

CREATE TRIGGER executions_no_truncate BEFORE TRUNCATE ON executions FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE TRIGGER gates_append_only BEFORE DELETE OR UPDATE ON gates FOR EACH ROW EXECUTE FUNCTION refuse_change();

CREATE TRIGGER gates_no_truncate BEFORE TRUNCATE ON gates FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE TRIGGER grants_guard BEFORE UPDATE ON grants FOR EACH ROW EXECUTE FUNCTION guard_grants();

CREATE TRIGGER grants_no_delete BEFORE DELETE ON grants FOR EACH ROW EXECUTE FUNCTION refuse_change();

CREATE TRIGGER grants_no_truncate BEFORE TRUNCATE ON grants FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE TRIGGER guard_birth BEFORE INSERT ON media_files FOR EACH ROW EXECUTE FUNCTION guard_media_files_birth();

CREATE TRIGGER guard_birth BEFORE INSERT ON provider_attempts FOR EACH ROW EXECUTE FUNCTION guard_provider_attempts_birth();

CREATE TRIGGER guard_birth BEFORE INSERT ON reservations FOR EACH ROW EXECUTE FUNCTION guard_reservations_birth();

CREATE TRIGGER guard_birth BEFORE INSERT ON tasks FOR EACH ROW EXECUTE FUNCTION guard_tasks_birth();

CREATE TRIGGER guard_history AFTER INSERT OR UPDATE OF state ON media_files FOR EACH ROW EXECUTE FUNCTION guard_media_files_history();

CREATE TRIGGER guard_history AFTER INSERT OR UPDATE OF state ON provider_attempts FOR EACH ROW EXECUTE FUNCTION guard_provider_attempts_history();

CREATE TRIGGER guard_history AFTER INSERT OR UPDATE OF state ON reservations FOR EACH ROW EXECUTE FUNCTION guard_reservations_history();

CREATE TRIGGER guard_history AFTER INSERT OR UPDATE OF state ON tasks FOR EACH ROW EXECUTE FUNCTION guard_tasks_history();

CREATE TRIGGER guard_kept BEFORE DELETE ON media_files FOR EACH ROW EXECUTE FUNCTION guard_media_files_kept();

CREATE TRIGGER guard_kept BEFORE DELETE ON provider_attempts FOR EACH ROW EXECUTE FUNCTION guard_provider_attempts_kept();

CREATE TRIGGER guard_kept BEFORE DELETE ON reservations FOR EACH ROW EXECUTE FUNCTION guard_reservations_kept();

CREATE TRIGGER guard_kept BEFORE DELETE ON tasks FOR EACH ROW EXECUTE FUNCTION guard_tasks_kept();

CREATE TRIGGER guard_move BEFORE UPDATE ON media_files FOR EACH ROW EXECUTE FUNCTION guard_media_files_move();

CREATE TRIGGER guard_move BEFORE UPDATE ON provider_attempts FOR EACH ROW EXECUTE FUNCTION guard_provider_attempts_move();

CREATE TRIGGER guard_move BEFORE UPDATE ON reservations FOR EACH ROW EXECUTE FUNCTION guard_reservations_move();

CREATE TRIGGER guard_move BEFORE UPDATE ON tasks FOR EACH ROW EXECUTE FUNCTION guard_tasks_move();

CREATE TRIGGER ledger_entries_append_only BEFORE DELETE OR UPDATE ON ledger_entries FOR EACH ROW EXECUTE FUNCTION refuse_change();

CREATE TRIGGER ledger_entries_no_truncate BEFORE TRUNCATE ON ledger_entries FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE TRIGGER plans_append_only BEFORE DELETE OR UPDATE ON plans FOR EACH ROW EXECUTE FUNCTION refuse_change();

CREATE TRIGGER plans_no_truncate BEFORE TRUNCATE ON plans FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE TRIGGER price_versions_append_only BEFORE DELETE OR UPDATE ON price_versions FOR EACH ROW EXECUTE FUNCTION refuse_change();

CREATE TRIGGER price_versions_no_truncate BEFORE TRUNCATE ON price_versions FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE TRIGGER quotes_guard BEFORE UPDATE ON quotes FOR EACH ROW EXECUTE FUNCTION guard_quotes();

CREATE TRIGGER quotes_no_delete BEFORE DELETE ON quotes FOR EACH ROW EXECUTE FUNCTION refuse_change();

CREATE TRIGGER quotes_no_truncate BEFORE TRUNCATE ON quotes FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE TRIGGER render_plans_append_only BEFORE DELETE OR UPDATE ON render_plans FOR EACH ROW EXECUTE FUNCTION refuse_change();

CREATE TRIGGER render_plans_no_truncate BEFORE TRUNCATE ON render_plans FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE TRIGGER versions_append_only BEFORE DELETE OR UPDATE ON versions FOR EACH ROW EXECUTE FUNCTION refuse_change();

CREATE TRIGGER versions_no_truncate BEFORE TRUNCATE ON versions FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

ALTER TABLE ONLY batches
    ADD CONSTRAINT fk_batches_plan_id FOREIGN KEY (plan_id) REFERENCES plans(plan_id);

ALTER TABLE ONLY batches
    ADD CONSTRAINT fk_batches_quote_id FOREIGN KEY (quote_id) REFERENCES quotes(quote_id);

ALTER TABLE ONLY decisions
    ADD CONSTRAINT fk_decisions_version_id FOREIGN KEY (version_id) REFERENCES versions(version_id);

ALTER TABLE ONLY edges
    ADD CONSTRAINT fk_edges_used_version_id FOREIGN KEY (used_version_id) REFERENCES versions(version_id);

ALTER TABLE ONLY edges
    ADD CONSTRAINT fk_edges_version_id FOREIGN KEY (version_id) REFERENCES versions(version_id);

ALTER TABLE ONLY episodes
    ADD CONSTRAINT fk_episodes_series_id FOREIGN KEY (series_id) REFERENCES series(series_id);

ALTER TABLE ONLY executions
    ADD CONSTRAINT fk_executions_grant_id FOREIGN KEY (grant_id) REFERENCES grants(grant_id);

ALTER TABLE ONLY executions
    ADD CONSTRAINT fk_executions_quote_id FOREIGN KEY (quote_id) REFERENCES quotes(quote_id);

ALTER TABLE ONLY gates
    ADD CONSTRAINT fk_gates_episode_id FOREIGN KEY (episode_id) REFERENCES episodes(episode_id);

ALTER TABLE ONLY grants
    ADD CONSTRAINT fk_grants_quote_id FOREIGN KEY (quote_id) REFERENCES quotes(quote_id);

ALTER TABLE ONLY outbox
    ADD CONSTRAINT fk_outbox_execution_id FOREIGN KEY (execution_id) REFERENCES executions(execution_id);

ALTER TABLE ONLY provider_attempts
    ADD CONSTRAINT fk_provider_attempts_task_id FOREIGN KEY (task_id) REFERENCES tasks(task_id);

ALTER TABLE ONLY provider_jobs
    ADD CONSTRAINT fk_provider_jobs_attempt_id FOREIGN KEY (attempt_id) REFERENCES provider_attempts(attempt_id);

ALTER TABLE ONLY quotes
    ADD CONSTRAINT fk_quotes_plan_id FOREIGN KEY (plan_id) REFERENCES plans(plan_id);

ALTER TABLE ONLY render_jobs
    ADD CONSTRAINT fk_render_jobs_render_plan_id FOREIGN KEY (render_plan_id) REFERENCES render_plans(render_plan_id);

ALTER TABLE ONLY render_plans
    ADD CONSTRAINT fk_render_plans_episode_id FOREIGN KEY (episode_id) REFERENCES episodes(episode_id);

ALTER TABLE ONLY render_plans
    ADD CONSTRAINT fk_render_plans_timeline_version_id FOREIGN KEY (timeline_version_id) REFERENCES versions(version_id);

ALTER TABLE ONLY reservations
    ADD CONSTRAINT fk_reservations_task_id FOREIGN KEY (task_id) REFERENCES tasks(task_id);

ALTER TABLE ONLY selections
    ADD CONSTRAINT fk_selections_episode_id FOREIGN KEY (episode_id) REFERENCES episodes(episode_id);

ALTER TABLE ONLY selections
    ADD CONSTRAINT fk_selections_version_id FOREIGN KEY (version_id) REFERENCES versions(version_id);

ALTER TABLE ONLY tasks
    ADD CONSTRAINT fk_tasks_episode_id FOREIGN KEY (episode_id) REFERENCES episodes(episode_id);

ALTER TABLE ONLY tasks
    ADD CONSTRAINT fk_tasks_execution_id FOREIGN KEY (execution_id) REFERENCES executions(execution_id);

ALTER TABLE ONLY tasks
    ADD CONSTRAINT fk_tasks_grant_id FOREIGN KEY (grant_id) REFERENCES grants(grant_id);

ALTER TABLE ONLY versions
    ADD CONSTRAINT fk_versions_episode_id FOREIGN KEY (episode_id) REFERENCES episodes(episode_id);

ALTER TABLE ONLY versions
    ADD CONSTRAINT fk_versions_parent_id FOREIGN KEY (parent_id) REFERENCES versions(version_id);

ALTER TABLE ONLY versions
    ADD CONSTRAINT fk_versions_sha256 FOREIGN KEY (sha256) REFERENCES media_files(sha256);
