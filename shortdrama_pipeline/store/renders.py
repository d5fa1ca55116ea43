"""RenderPlans and their one RenderJob each: frozen by digest, worked on under a lease (P-12.1, P-12.5)."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from shortdrama_pipeline.ids import new_id
from shortdrama_pipeline.rules.money import Money
from shortdrama_pipeline.store.tables import render_jobs, render_plans, reservations, tasks

_CLAIM = sa.text("""
update render_jobs set state = 'running', owner = :owner, lease_token = lease_token + 1, reason = null,
  expires_at = clock_timestamp() + make_interval(secs => :lease_ms / 1000.0)
where render_job_id = :job and (state in ('queued', 'failed')
  or (state = 'running' and expires_at < clock_timestamp()))
returning lease_token
""")
_RENEW = sa.text("""
update render_jobs set expires_at = clock_timestamp() + make_interval(secs => :lease_ms / 1000.0)
where render_job_id = :job and lease_token = :token and state = 'running'
""")


@dataclass(frozen=True, slots=True)
class RenderJob:
    """`version_id` is the ExportVersion once `state` is succeeded."""

    render_job_id: str
    render_plan_id: str
    state: str
    owner: str | None
    lease_token: int
    expires_at: datetime | None
    reason: dict[str, Any] | None
    version_id: str | None


def record_plan(
    tx: sa.Connection,
    *,
    episode_id: str,
    timeline_version_id: str,
    digest: str,
    body: Mapping[str, object],
    actor: str,
) -> str:
    """Freeze a plan with its job, or find the equal one; returns the plan's id."""
    tx.execute(
        insert(render_plans)
        .values(
            render_plan_id=new_id("rplan"),
            episode_id=episode_id,
            timeline_version_id=timeline_version_id,
            digest=digest,
            body=dict(body),
            actor=actor,
        )
        .on_conflict_do_nothing(index_elements=[render_plans.c.digest])
    )
    plan_id = tx.execute(
        sa.select(render_plans.c.render_plan_id).where(render_plans.c.digest == digest)
    ).scalar_one()
    tx.execute(
        insert(render_jobs)
        .values(render_job_id=new_id("render"), render_plan_id=plan_id, state="queued")
        .on_conflict_do_nothing(index_elements=[render_jobs.c.render_plan_id])
    )
    return str(plan_id)


def load_job(tx: sa.Connection, render_plan_id: str) -> RenderJob:
    row = tx.execute(sa.select(render_jobs).where(render_jobs.c.render_plan_id == render_plan_id)).one()
    fields = row._mapping  # noqa: SLF001 the documented way to read by column
    return RenderJob(**{name: fields[name] for name in RenderJob.__dataclass_fields__})


def claim_job(tx: sa.Connection, render_job_id: str, *, owner: str, lease_ms: int) -> int | None:
    """Take a job that is free, failed or whose owner fell silent; returns the lease token, or None."""
    found = tx.execute(_CLAIM, {"job": render_job_id, "owner": owner, "lease_ms": lease_ms})
    token: int | None = found.scalar_one_or_none()
    return token


def renew_job(tx: sa.Connection, render_job_id: str, token: int, *, lease_ms: int) -> bool:
    """Prolong one's own lease; False when somebody else took over."""
    renewed = tx.execute(_RENEW, {"job": render_job_id, "token": token, "lease_ms": lease_ms})
    return renewed.rowcount == 1


def finish_job(tx: sa.Connection, render_job_id: str, token: int, *, version_id: str) -> bool:
    """Record the result, only under one's own lease."""
    return _end(tx, render_job_id, token, state="succeeded", version_id=version_id)


def fail_job(tx: sa.Connection, render_job_id: str, token: int, *, reason: Mapping[str, object]) -> bool:
    """Record why it failed, only under one's own lease; the job may be claimed again."""
    return _end(tx, render_job_id, token, state="failed", reason=dict(reason))


def find_plan_body(tx: sa.Connection, render_plan_id: str) -> dict[str, Any]:
    body: dict[str, Any] = tx.execute(
        sa.select(render_plans.c.body).where(render_plans.c.render_plan_id == render_plan_id)
    ).scalar_one()
    return body


def find_spent(tx: sa.Connection, episode_id: str) -> list[tuple[str, str, Money]]:
    """Return what was settled, as (stage, subject, money), one row per currency."""
    rows = tx.execute(
        sa.select(
            tasks.c.stage,
            tasks.c.subject,
            reservations.c.currency,
            sa.func.sum(reservations.c.settled_micros),
        )
        .join(tasks, tasks.c.task_id == reservations.c.task_id)
        .where(tasks.c.episode_id == episode_id)
        .group_by(tasks.c.stage, tasks.c.subject, reservations.c.currency)
        .order_by(tasks.c.stage, tasks.c.subject, reservations.c.currency)
    )
    return [(stage, subject, Money(int(micros), currency)) for stage, subject, currency, micros in rows]


def _end(tx: sa.Connection, render_job_id: str, token: int, **values: object) -> bool:
    ended = tx.execute(
        sa.update(render_jobs)
        .where(
            render_jobs.c.render_job_id == render_job_id,
            render_jobs.c.lease_token == token,
            render_jobs.c.state == "running",
        )
        .values(**values, expires_at=None)
    )
    return ended.rowcount == 1
