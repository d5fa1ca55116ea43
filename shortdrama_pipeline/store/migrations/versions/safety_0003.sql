-- Frozen: what lies between revision 0002 and 0003. Later changes are later revisions.

alter table provider_attempts add column fence_number bigint;
alter table provider_attempts add constraint uq_provider_attempts_fence_number unique (fence_number);

CREATE TABLE breakers (
    channel_id TEXT NOT NULL,
    failures INTEGER DEFAULT '0' NOT NULL,
    opened_at TIMESTAMP WITH TIME ZONE,
    try_at TIMESTAMP WITH TIME ZONE,
    cause TEXT,
    CONSTRAINT pk_breakers PRIMARY KEY (channel_id)
);

CREATE TABLE fence_blocks (
    upper BIGINT NOT NULL,
    lower BIGINT NOT NULL,
    incarnation TEXT NOT NULL,
    worker TEXT NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT pk_fence_blocks PRIMARY KEY (upper),
    CONSTRAINT ck_fence_blocks_block_not_empty CHECK (lower > 0 and lower <= upper)
);

CREATE TABLE safe_modes (
    safe_mode_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    why TEXT NOT NULL,
    facts JSONB NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT clock_timestamp() NOT NULL,
    ended_at TIMESTAMP WITH TIME ZONE,
    ended_by TEXT,
    note TEXT,
    CONSTRAINT pk_safe_modes PRIMARY KEY (safe_mode_id),
    CONSTRAINT ck_safe_modes_kind_known CHECK (kind in ('databaseRestored', 'recordMissing', 'booksBroken')),
    CONSTRAINT ck_safe_modes_end_has_actor CHECK ((ended_at is null) = (ended_by is null))
);

CREATE UNIQUE INDEX uq_safe_modes_open ON safe_modes (kind) WHERE ended_at is null;

CREATE TABLE checkpoints (
    number INTEGER NOT NULL,
    upto_entry BIGINT NOT NULL,
    upto_event BIGINT NOT NULL,
    balances JSONB NOT NULL,
    digest TEXT NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT pk_checkpoints PRIMARY KEY (number)
);

create or replace function guard_provider_attempts_move() returns trigger language plpgsql as $$
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

  if old.fence_number is not null and new.fence_number is distinct from old.fence_number then
    raise exception 'provider_attempts: fence_number of % is written once', old.attempt_id
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
end $$;

create or replace trigger fence_blocks_append_only before update or delete on fence_blocks for each row execute function refuse_change();
create or replace trigger fence_blocks_no_truncate before truncate on fence_blocks for each statement execute function refuse_change();
create or replace trigger checkpoints_append_only before update or delete on checkpoints for each row execute function refuse_change();
create or replace trigger checkpoints_no_truncate before truncate on checkpoints for each statement execute function refuse_change();
create or replace trigger safe_modes_guard before update on safe_modes for each row execute function guard_safe_modes();
create or replace trigger safe_modes_no_delete before delete on safe_modes for each row execute function refuse_change();
create or replace trigger safe_modes_no_truncate before truncate on safe_modes for each statement execute function refuse_change();
