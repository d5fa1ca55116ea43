"""Every table, in one place. What races can break, the database refuses (see also `guards.py`).

Conventions: ids are text with a prefix; money is bigint micro-units beside a currency; times are
timestamptz and set by the database clock; JSON is jsonb; `actor` is who decided (D-22).
Machine tables (tasks, provider_attempts, reservations) carry `state`, `version`, `reason` and
`event_digest`; a trigger refuses unlisted moves, counts `version` and writes `events`.
"""

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB

from shortdrama_pipeline.rules.compensations import CompensationState, OpType
from shortdrama_pipeline.rules.states import (
    AttemptState,
    MediaState,
    ReservationState,
    Stage,
    TaskState,
    VersionKind,
)

metadata = sa.MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def _id(name: str) -> sa.Column[str]:
    return sa.Column(name, sa.Text, primary_key=True)


def _ref(target: str, name: str | None = None, *, nullable: bool = False) -> sa.Column[str]:
    return sa.Column(name or target.split(".")[1], sa.Text, sa.ForeignKey(target), nullable=nullable)


def _at(name: str, *, nullable: bool = True) -> sa.Column[object]:
    return sa.Column(name, sa.DateTime(timezone=True), nullable=nullable)


def _created() -> sa.Column[object]:
    return sa.Column(
        "created_at", sa.DateTime(timezone=True), nullable=False, server_default=sa.func.clock_timestamp()
    )


def _text(name: str, *, nullable: bool = False) -> sa.Column[str]:
    return sa.Column(name, sa.Text, nullable=nullable)


def _json(name: str, *, nullable: bool = False) -> sa.Column[object]:
    return sa.Column(name, JSONB, nullable=nullable)


def _micros(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger, nullable=False)


def _one_of(column: str, words: type) -> sa.CheckConstraint:
    listed = ", ".join(f"'{word}'" for word in words)  # type: ignore[attr-defined]
    return sa.CheckConstraint(f"{column} in ({listed})", name=f"{column}_known")


def _machine() -> list[sa.Column[object]]:
    return [
        sa.Column("version", sa.Integer, nullable=False, server_default="1"),
        sa.Column("reason", JSONB),
        sa.Column("event_digest", sa.Text, nullable=False, server_default=""),
    ]


# --- what is made -------------------------------------------------------------------------------

series = sa.Table(
    "series", metadata,
    _id("series_id"), _text("title"), _json("brief"), _text("actor"), _created(),
)

# Allocation (Part I). One row per logical run, never deleted; `state` says live or completed.
episodes = sa.Table(
    "episodes", metadata,
    _id("episode_id"),  # <week_id>-<sequence>
    _text("kind"),  # "episode", or another kind of periodic work
    _text("week_id"), sa.Column("sequence", sa.Integer, nullable=False),
    _text("allocation_key"), _ref("series.series_id", nullable=True),
    _text("time_zone"),  # the declared zone the week was computed in
    _at("scheduled_for", nullable=False), _text("state"), _text("actor"), _created(), _at("completed_at"),
    sa.UniqueConstraint("kind", "week_id", "sequence"),
    sa.UniqueConstraint("kind", "allocation_key"),  # A-12, V-13
    sa.CheckConstraint("sequence >= 0", name="sequence_from_zero"),
    sa.CheckConstraint("state in ('live', 'completed')", name="state_known"),
    sa.CheckConstraint("allocation_key <> ''", name="key_given"),
)

# Stored bytes, content-addressed (TT-4). `probe` is what the server measured, never what was claimed.
media_files = sa.Table(
    "media_files", metadata,
    _id("sha256"), sa.Column("bytes", sa.BigInteger, nullable=False), _text("media_type"),
    _text("state"), _json("probe"), _json("reason", nullable=True), _created(),
    _one_of("state", MediaState), sa.CheckConstraint("bytes > 0", name="not_empty"),
)

# One immutable row per version of anything. `subject` names what within the episode:
# "outline", "script", "character:c1", "place:…", "prop:…", "bible", "shot:s1-03", "line:s1-l2",
# "timeline", "export". `role` is what kind of thing about it: "content", "reference", "frame",
# "video", "speech", "cover", … `content` is its JSON, `sha256` its file, `digest` covers both.
versions = sa.Table(
    "versions", metadata,
    _id("version_id"), _text("kind"), _ref("episodes.episode_id"), _text("subject"), _text("role"),
    sa.Column("number", sa.Integer, nullable=False),  # 1, 2, … within (episode, subject, role)
    _text("digest"), _json("content"), _ref("media_files.sha256", nullable=True),
    _ref("versions.version_id", "parent_id", nullable=True),
    sa.Column("attempt_id", sa.Text), sa.Column("slot", sa.Integer),  # provenance: the paid result it is
    _json("provenance"), _text("actor"), _created(),
    sa.UniqueConstraint("episode_id", "subject", "role", "number"),
    sa.UniqueConstraint("attempt_id", "slot"),  # V-8: one version per external result and output slot
    _one_of("kind", VersionKind),
)

# What a version was made from, and for what (P-11.5).
edges = sa.Table(
    "edges", metadata,
    sa.Column("version_id", sa.Text, sa.ForeignKey("versions.version_id"), primary_key=True),
    sa.Column("used_version_id", sa.Text, sa.ForeignKey("versions.version_id"), primary_key=True),
    sa.Column("purpose", sa.Text, primary_key=True),
    sa.Index("ix_edges_used", "used_version_id"),
)

# Which version of (episode, subject, role) is the current choice. The only mutable fact about versions.
selections = sa.Table(
    "selections", metadata,
    sa.Column("episode_id", sa.Text, sa.ForeignKey("episodes.episode_id"), primary_key=True),
    sa.Column("subject", sa.Text, primary_key=True), sa.Column("role", sa.Text, primary_key=True),
    _ref("versions.version_id"), _text("actor"),
    sa.Column("at", sa.DateTime(timezone=True), nullable=False, server_default=sa.func.clock_timestamp()),
)

# A person's word on one version's digest: confirm or reject (P-1.2). Append-only.
decisions = sa.Table(
    "decisions", metadata,
    _id("decision_id"), _ref("versions.version_id"), _text("digest"), _text("verdict"),
    sa.Column("rights", sa.Boolean, nullable=False, server_default=sa.false()),
    _text("note"), _text("actor"), _created(),
    sa.CheckConstraint("verdict in ('confirmed', 'rejected')", name="verdict_known"),
    sa.Index("ix_decisions_version", "version_id"),
)

# A passed gate: which versions it covered. `digest` is over all of them, so any change re-opens it.
gates = sa.Table(
    "gates", metadata,
    _id("gate_id"), _ref("episodes.episode_id"), _text("stage"), _text("digest"), _json("covers"),
    sa.Column("rights", sa.Boolean, nullable=False, server_default=sa.false()),
    _text("note"), _text("actor"), _created(),
    sa.UniqueConstraint("episode_id", "stage", "digest"), _one_of("stage", Stage),
)

# --- what may be bought ---------------------------------------------------------------------------

# A published price (D-13, D-23). Append-only; the newest row of a binding is in force.
price_versions = sa.Table(
    "price_versions", metadata,
    _id("price_version_id"), _text("binding_id"), _text("digest"), _json("body"), _text("actor"), _created(),
    sa.UniqueConstraint("binding_id", "digest"),
)

plans = sa.Table(  # PlanSnapshot, immutable (P-3.1)
    "plans", metadata,
    _id("plan_id"), _text("kind"), _text("stage"), _json("body"), _text("input_hash"), _text("actor"), _created(),
    sa.CheckConstraint("kind in ('operation', 'batch')", name="kind_known"), _one_of("stage", Stage),
)

quotes = sa.Table(
    "quotes", metadata,
    _id("quote_id"), _ref("plans.plan_id"), _text("input_hash"), _micros("total_micros"), _text("currency"),
    _at("expires_at", nullable=False), _text("state"),
    sa.Column("superseded_by", sa.Text), _text("actor"), _created(),
    sa.CheckConstraint("total_micros >= 0", name="total_not_negative"),
    sa.CheckConstraint("state in ('open', 'confirmed', 'superseded')", name="state_known"),
)

grants = sa.Table(  # D-19, P-2.12, P-3.7
    "grants", metadata,
    _id("grant_id"), _text("kind"), sa.Column("quote_id", sa.Text, sa.ForeignKey("quotes.quote_id")),
    sa.Column("input_hash", sa.Text), _micros("limit_micros"), _micros("used_micros"), _text("currency"),
    sa.Column("uses", sa.Integer, nullable=False, server_default="0"), sa.Column("uses_max", sa.Integer),
    _json("scope"), _at("expires_at", nullable=False), _at("revoked_at"), _text("actor"), _created(),
    sa.CheckConstraint("kind in ('operation', 'batch', 'budget')", name="kind_known"),
    sa.CheckConstraint("used_micros >= 0 and used_micros <= limit_micros", name="within_limit"),
    sa.CheckConstraint("uses_max is null or uses <= uses_max", name="within_uses"),
    sa.CheckConstraint("kind = 'budget' or (quote_id is not null and input_hash is not null)", name="bound"),
)

# --- what was bought ------------------------------------------------------------------------------

executions = sa.Table(
    "executions", metadata,
    _id("execution_id"), _ref("quotes.quote_id"), _ref("grants.grant_id"), _text("idempotency_key"),
    _text("request_hash"), _json("answer"), _text("actor"), _created(),
    sa.UniqueConstraint("quote_id"),  # P-6.3: a Quote confirms at most once whatever the key
    sa.UniqueConstraint("idempotency_key"),  # D-5: never expires
)

outbox = sa.Table(  # T2; `outbox_id` is the stable job id
    "outbox", metadata,
    _id("outbox_id"), _ref("executions.execution_id"), _text("topic"), _json("payload"),
    sa.Column("deliveries", sa.Integer, nullable=False, server_default="0"), _at("sent_at"), _created(),
    sa.UniqueConstraint("execution_id"),
    sa.Index("ix_outbox_unsent", "created_at", postgresql_where=sa.text("sent_at is null")),
)

batches = sa.Table(
    "batches", metadata,
    _id("batch_id"), _text("stage"), _ref("plans.plan_id"), _ref("quotes.quote_id"),
    _micros("ceiling_micros"), _text("currency"), _json("episode_ids"), _text("actor"), _created(),
    _at("backfilled_at"),
)

tasks = sa.Table(
    "tasks", metadata,
    _id("task_id"), _ref("executions.execution_id"), _ref("grants.grant_id"), _text("item_id"),
    _ref("episodes.episode_id"), _text("stage"), _text("subject"), _text("role"), _text("kind"), _text("binding_id"),
    _json("request"),  # the item of the PlanSnapshot, whole: params, uses, price, constraints
    _text("input_hash"),  # the plan's; must equal the Grant's at the fence (V-2)
    _text("state"), *_machine(),
    sa.Column("owner", sa.Text), sa.Column("lease_token", sa.BigInteger, nullable=False, server_default="0"),
    _at("expires_at"), _at("heartbeat"),
    _at("next_action_at"),  # when somebody must look again; null only in terminal states
    sa.Column("hold_reason", JSONB),  # queued but held: D-1 b, D-9
    _at("deadline_at"),  # published delivery deadline (D-13)
    _created(), _at("updated_at"),
    sa.UniqueConstraint("execution_id", "item_id"),
    _one_of("state", TaskState), _one_of("stage", Stage),
    sa.CheckConstraint(
        "state in ('succeeded', 'failed', 'cancelled') or next_action_at is not null", name="open_has_next_action"
    ),  # V-10
    sa.CheckConstraint("state <> 'failed' or reason is not null", name="failed_has_reason"),  # P-4.5
    # Per binding, so that one saturated channel never hides the due work of another.
    sa.Index("ix_tasks_due_queued", "binding_id", "next_action_at", postgresql_where=sa.text("state = 'queued'")),
    sa.Index(  # what counts against `in_flight_max`
        "ix_tasks_in_flight", "binding_id", postgresql_where=sa.text("state in ('running', 'waitingProvider')")
    ),
    sa.Index(
        "ix_tasks_due_open", "next_action_at",
        postgresql_where=sa.text("state in ('running', 'waitingProvider', 'ingesting', 'needsReconciliation')"),
    ),
    sa.Index(  # whose delivery deadline may have passed (P-8.5)
        "ix_tasks_deadline", "deadline_at",
        postgresql_where=sa.text("state in ('waitingProvider', 'needsReconciliation')"),
    ),
    sa.Index("ix_tasks_episode", "episode_id", "stage"),
    postgresql_with={"fillfactor": "60"},
)

provider_attempts = sa.Table(
    "provider_attempts", metadata,
    _id("attempt_id"), _ref("tasks.task_id"), sa.Column("number", sa.Integer, nullable=False),
    _text("state"), *_machine(),
    _json("channel"),  # frozen: binding, protocol, contract version, model, base_url, credential ref + fingerprint
    _text("request_digest"),  # of the exact request bytes without credentials
    sa.Column("lease_token", sa.BigInteger, nullable=False), _text("worker"),
    _at("submit_started_at"), _at("accepted_at"), _at("completed_at"),
    sa.Column("external_id", sa.Text),  # write-once (trigger)
    _json("evidence", nullable=True),  # what proves the present state
    _json("result", nullable=True),  # outputs: [{slot, url?, sha256?, media_type, facts}]
    _micros("provider_cost_micros"), _text("provider_currency"), _created(),
    sa.Column("fence_number", sa.BigInteger),  # of a block (D-6); written once, with the fence
    sa.UniqueConstraint("task_id", "number"), sa.UniqueConstraint("fence_number"),
    _one_of("state", AttemptState),
    # One open fence per task: the row that can be won once (T3).
    sa.Index(
        "uq_attempts_one_open_fence", "task_id", unique=True,
        postgresql_where=sa.text("state in ('prepared', 'submitStarted', 'accepted', 'outcomeUnknown')"),
    ),
    sa.CheckConstraint("state = 'prepared' or submit_started_at is not null", name="fence_has_time"),
    sa.CheckConstraint("state <> 'accepted' or accepted_at is not null", name="accepted_has_time"),
    postgresql_with={"fillfactor": "60"},
)

# What a vendor is making for us, known by its own id (P-6.13, P-8.1: four separate facts).
provider_jobs = sa.Table(
    "provider_jobs", metadata,
    _id("attempt_id"),
    sa.Column("channel_id", sa.Text, nullable=False), _text("external_id"),
    _json("checkpoint"),  # what a query needs: enough to ask again from another machine
    _text("last_status"), sa.Column("query_failures", sa.Integer, nullable=False, server_default="0"),
    _at("asked_at"), _at("provider_finished_at"), _at("downloadable_at"), _at("transferred_at"), _at("registered_at"),
    _at("retention_until"), _created(),
    sa.ForeignKeyConstraint(["attempt_id"], ["provider_attempts.attempt_id"]),
    sa.UniqueConstraint("channel_id", "external_id"),
)

# A job that goes on at its vendor after its Task ended: asked about slowly, kept free of charge (D-10, F14).
late_results = sa.Table(
    "late_results", metadata,
    sa.Column("attempt_id", sa.Text, sa.ForeignKey("provider_attempts.attempt_id"), primary_key=True),
    _ref("tasks.task_id"), _at("next_action_at", nullable=False), _at("until", nullable=False), _created(),
    _at("ended_at"), sa.Column("outcome", sa.Text), _json("facts", nullable=True),  # both sides of the money
    sa.Index("ix_late_results_due", "next_action_at", postgresql_where=sa.text("ended_at is null")),
    sa.CheckConstraint("(ended_at is null) = (outcome is null)", name="end_has_outcome"),
)

# A person's word that a new key belongs to the same account of a vendor (F13).
credential_successions = sa.Table(
    "credential_successions", metadata,
    sa.Column("binding_id", sa.Text, primary_key=True), sa.Column("fingerprint", sa.Text, primary_key=True),
    sa.Column("successor", sa.Text, primary_key=True), _text("evidence"), _text("actor"), _created(),
)

reservations = sa.Table(
    "reservations", metadata,
    _id("reservation_id"), _ref("tasks.task_id"), _micros("amount_micros"), _text("currency"),
    _text("state"), *_machine(), _micros("settled_micros"), _at("resolved_at"), _created(),
    sa.UniqueConstraint("task_id"), _one_of("state", ReservationState),
    sa.CheckConstraint("amount_micros >= 0", name="amount_not_negative"),
    sa.CheckConstraint("settled_micros >= 0 and settled_micros <= amount_micros", name="settled_within"),  # V-6
    sa.Index("ix_reservations_pending", "created_at", postgresql_where=sa.text("state = 'settlementPending'")),
    postgresql_with={"fillfactor": "60"},
)

# --- money ------------------------------------------------------------------------------------------

# Double entry: one row moves one amount from one account to another. Append-only.
ledger_entries = sa.Table(
    "ledger_entries", metadata,
    sa.Column("entry_id", sa.BigInteger, sa.Identity(always=True), primary_key=True),
    _text("business_key"), _text("debit_account"), _text("credit_account"), _micros("amount_micros"),
    _text("currency"), sa.Column("task_id", sa.Text), _json("facts"), _text("actor"), _created(),
    sa.UniqueConstraint("business_key"),  # V-7
    sa.CheckConstraint("amount_micros > 0", name="amount_positive"),
    sa.CheckConstraint("debit_account <> credit_account", name="two_accounts"),
    sa.Index("ix_ledger_task", "task_id"),
)

# Derived checkpoint of the ledger, moved in the same transaction. Verified by `audit verify`.
balances = sa.Table(
    "balances", metadata,
    sa.Column("account", sa.Text, primary_key=True), sa.Column("currency", sa.Text, primary_key=True),
    _micros("balance_micros"),  # credits minus debits
    sa.CheckConstraint("account not like 'wallet:%' or balance_micros >= 0", name="wallet_never_negative"),  # V-5
    postgresql_with={"fillfactor": "50"},
)

# Offline compensation (G-304). Every change leaves an `audit_log` row with before and after (G-306).
compensation = sa.Table(
    "compensation", metadata,
    _id("compensation_id"), _text("source_order_id"),  # an execution or a task of ours
    _text("op_type"), _text("reason"),
    sa.Column("triggered_at", sa.DateTime(timezone=True), nullable=False, server_default=sa.func.clock_timestamp()),
    sa.Column("retry_count", sa.Integer, nullable=False, server_default="0"), _text("state"),
    sa.Column("amount_micros", sa.BigInteger),  # a refund of less than the whole; null is the whole
    _ref("quotes.quote_id", nullable=True), _ref("executions.execution_id", nullable=True),  # of a reissue
    _json("last_error", nullable=True), _text("actor"),
    sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False, server_default=sa.func.clock_timestamp()),
    _one_of("op_type", OpType), _one_of("state", CompensationState),
    sa.CheckConstraint("retry_count >= 0", name="retries_counted"),
    sa.CheckConstraint("amount_micros > 0", name="amount_positive"),
    sa.Index(
        "ix_compensation_open", "state", "triggered_at", postgresql_where=sa.text("state not in ('done', 'rejected')")
    ),
)

# Audit tokens that acted: each acts once (G-305).
audit_tokens_used = sa.Table(
    "audit_tokens_used", metadata,
    _id("jti"), _text("operator_id"), _ref("compensation.compensation_id"), _created(),
)

# --- what happened ----------------------------------------------------------------------------------

# Chained per entity; written by triggers for the machines. Append-only (G-204).
events = sa.Table(
    "events", metadata,
    sa.Column("event_id", sa.BigInteger, sa.Identity(always=True), primary_key=True),
    _text("entity"), _text("entity_id"), sa.Column("seq", sa.Integer, nullable=False),
    sa.Column("from_state", sa.Text), _text("to_state"), _json("facts"), _text("digest"), _created(),
    sa.UniqueConstraint("entity", "entity_id", "seq"),
)

audit_log = sa.Table(  # decisions of people, agents and schedules; append-only
    "audit_log", metadata,
    sa.Column("audit_id", sa.BigInteger, sa.Identity(always=True), primary_key=True),
    _text("action"), _text("subject_id"), _json("facts"), _text("actor"), _created(),
    # Which transaction wrote it: what moves compensation money is refused without a row of its own (G-306).
    sa.Column("xact", sa.BigInteger, server_default=sa.text("(pg_current_xact_id()::text)::bigint")),
    sa.Index("ix_audit_log_subject", "subject_id"),
)

callbacks = sa.Table(
    "callbacks", metadata,
    sa.Column("channel_id", sa.Text, primary_key=True), sa.Column("event_id", sa.Text, primary_key=True),
    _text("external_id"), sa.Column("verified", sa.Boolean, nullable=False), _created(),
)

alerts = sa.Table(
    "alerts", metadata,
    _id("alert_id"), _text("kind"), _text("entity_id"), _text("message"), _json("facts"), _created(),
    _at("closed_at"), sa.Column("closed_by", sa.Text),
    sa.Index("uq_alerts_open", "kind", "entity_id", unique=True, postgresql_where=sa.text("closed_at is null")),
)

# Shared rate limit, one row per channel: a token bucket on the database clock.
rate_limits = sa.Table(
    "rate_limits", metadata,
    _id("channel_id"), sa.Column("tokens_milli", sa.BigInteger, nullable=False),
    sa.Column("refilled_at", sa.DateTime(timezone=True), nullable=False),
    _at("blocked_until"),  # a vendor said Retry-After
)

# One breaker per channel (G-302), shared by all workers like its rate. No row: nothing ever failed in a row.
breakers = sa.Table(
    "breakers", metadata,
    _id("channel_id"), sa.Column("failures", sa.Integer, nullable=False, server_default="0"),  # in a row
    _at("opened_at"), _at("try_at"),  # null: closed. From `try_at` one item may try
    _text("cause", nullable=True),
)

# --- safety -----------------------------------------------------------------------------------------

# Fence numbers are taken in blocks; the object store's record knows the highest (D-6). Append-only.
fence_blocks = sa.Table(
    "fence_blocks", metadata,
    sa.Column("upper", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("lower", sa.BigInteger, nullable=False),
    _text("incarnation"),  # the database this block was taken in; a restored one is another
    _text("worker"), _created(),
    sa.CheckConstraint("lower > 0 and lower <= upper", name="block_not_empty"),
)

# While one is open, no paid action: no confirm, no fence (D-6, G-204). A person ends it.
safe_modes = sa.Table(
    "safe_modes", metadata,
    _id("safe_mode_id"), _text("kind"), _text("why"), _json("facts"), _created(),
    _at("ended_at"), sa.Column("ended_by", sa.Text), sa.Column("note", sa.Text),
    sa.CheckConstraint("kind in ('databaseRestored', 'recordMissing', 'booksBroken')", name="kind_known"),
    sa.CheckConstraint("(ended_at is null) = (ended_by is null)", name="end_has_actor"),
    sa.Index("uq_safe_modes_open", "kind", unique=True, postgresql_where=sa.text("ended_at is null")),
)

# Balances as they were at an entry, and the digest of all that was booked and happened since the one
# before: what lies below is not read again but piece by piece (G-204). Append-only.
checkpoints = sa.Table(
    "checkpoints", metadata,
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("upto_entry", sa.BigInteger, nullable=False), sa.Column("upto_event", sa.BigInteger, nullable=False),
    _json("balances"), _text("digest"), _created(),
)

# --- the cut ------------------------------------------------------------------------------------------

render_plans = sa.Table(
    "render_plans", metadata,
    _id("render_plan_id"), _ref("episodes.episode_id"), _ref("versions.version_id", "timeline_version_id"),
    _text("digest"), _json("body"), _text("actor"), _created(), sa.UniqueConstraint("digest"),
)

render_jobs = sa.Table(
    "render_jobs", metadata,
    _id("render_job_id"), _ref("render_plans.render_plan_id"), _text("state"),
    sa.Column("owner", sa.Text), sa.Column("lease_token", sa.BigInteger, nullable=False, server_default="0"),
    _at("expires_at"), _json("reason", nullable=True), sa.Column("version_id", sa.Text), _created(),
    sa.UniqueConstraint("render_plan_id"),  # P-12.5: the same export again is the same job
    sa.CheckConstraint("state in ('queued', 'running', 'succeeded', 'failed')", name="state_known"),
)
