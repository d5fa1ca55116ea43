-- Frozen: what lies between revision 0001 and 0002. Later changes are later revisions.


alter table audit_log add column xact bigint;
alter table audit_log alter column xact set default (pg_current_xact_id()::text)::bigint;

create index ix_audit_log_subject on audit_log (subject_id);

CREATE INDEX ix_tasks_deadline ON tasks (deadline_at) WHERE state in ('waitingProvider', 'needsReconciliation');

CREATE TABLE compensation (
    compensation_id TEXT NOT NULL,
    source_order_id TEXT NOT NULL,
    op_type TEXT NOT NULL,
    reason TEXT NOT NULL,
    triggered_at TIMESTAMP WITH TIME ZONE DEFAULT clock_timestamp() NOT NULL,
    retry_count INTEGER DEFAULT '0' NOT NULL,
    state TEXT NOT NULL,
    amount_micros BIGINT,
    quote_id TEXT,
    execution_id TEXT,
    last_error JSONB,
    actor TEXT NOT NULL,
    updated_at TIMESTAMP WITH TIME ZONE DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT pk_compensation PRIMARY KEY (compensation_id),
    CONSTRAINT ck_compensation_op_type_known CHECK (op_type in ('refund', 'reissue', 'cancel')),
    CONSTRAINT ck_compensation_state_known CHECK (state in ('pending', 'waitingApproval', 'manualReview', 'approved', 'done', 'rejected')),
    CONSTRAINT ck_compensation_retries_counted CHECK (retry_count >= 0),
    CONSTRAINT ck_compensation_amount_positive CHECK (amount_micros > 0),
    CONSTRAINT fk_compensation_quote_id FOREIGN KEY(quote_id) REFERENCES quotes (quote_id),
    CONSTRAINT fk_compensation_execution_id FOREIGN KEY(execution_id) REFERENCES executions (execution_id)
);

CREATE INDEX ix_compensation_open ON compensation (state, triggered_at) WHERE state not in ('done', 'rejected');

CREATE TABLE audit_tokens_used (
    jti TEXT NOT NULL,
    operator_id TEXT NOT NULL,
    compensation_id TEXT NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT pk_audit_tokens_used PRIMARY KEY (jti),
    CONSTRAINT fk_audit_tokens_used_compensation_id FOREIGN KEY(compensation_id) REFERENCES compensation (compensation_id)
);

CREATE TABLE late_results (
    attempt_id TEXT NOT NULL,
    task_id TEXT NOT NULL,
    next_action_at TIMESTAMP WITH TIME ZONE NOT NULL,
    until TIMESTAMP WITH TIME ZONE NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT clock_timestamp() NOT NULL,
    ended_at TIMESTAMP WITH TIME ZONE,
    outcome TEXT,
    facts JSONB,
    CONSTRAINT pk_late_results PRIMARY KEY (attempt_id),
    CONSTRAINT ck_late_results_end_has_outcome CHECK ((ended_at is null) = (outcome is null)),
    CONSTRAINT fk_late_results_attempt_id FOREIGN KEY(attempt_id) REFERENCES provider_attempts (attempt_id),
    CONSTRAINT fk_late_results_task_id FOREIGN KEY(task_id) REFERENCES tasks (task_id)
);

CREATE INDEX ix_late_results_due ON late_results (next_action_at) WHERE ended_at is null;

CREATE TABLE credential_successions (
    binding_id TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    successor TEXT NOT NULL,
    evidence TEXT NOT NULL,
    actor TEXT NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT pk_credential_successions PRIMARY KEY (binding_id, fingerprint, successor)
);

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
       or (old.state <> new.state and (old.state, new.state) not in (('approved', 'done'), ('approved', 'manualReview'), ('manualReview', 'approved'), ('manualReview', 'done'), ('manualReview', 'pending'), ('manualReview', 'rejected'), ('pending', 'done'), ('pending', 'manualReview'), ('pending', 'rejected'), ('pending', 'waitingApproval'), ('waitingApproval', 'approved'), ('waitingApproval', 'pending'), ('waitingApproval', 'rejected')))
       or (old.state in ('done', 'rejected') and old is distinct from new)
    then
        raise exception 'compensation %: % cannot become %', old.compensation_id, old.state, new.state
            using errcode = 'check_violation', constraint = 'compensation_moves', table = 'compensation';
    end if;
    return new;
end $$;

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
end $$;

create or replace trigger audit_tokens_used_append_only before update or delete on audit_tokens_used for each row execute function refuse_change();

create or replace trigger audit_tokens_used_no_truncate before truncate on audit_tokens_used for each statement execute function refuse_change();

create or replace trigger credential_successions_append_only before update or delete on credential_successions for each row execute function refuse_change();

create or replace trigger credential_successions_no_truncate before truncate on credential_successions for each statement execute function refuse_change();

create or replace trigger compensation_guard before insert or update on compensation for each row execute function guard_compensation();

create or replace trigger compensation_no_delete before delete on compensation for each row execute function refuse_change();

create or replace trigger compensation_no_truncate before truncate on compensation for each statement execute function refuse_change();

create constraint trigger compensation_audited after insert or update on compensation deferrable initially deferred for each row execute function require_audit_row();

create constraint trigger ledger_entries_audited after insert on ledger_entries deferrable initially deferred for each row when (new.business_key like 'compensate:%') execute function require_audit_row();
