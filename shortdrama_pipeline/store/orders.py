"""Tasks as the production flow sees them: the newest order of each subject and role. Plain reads."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import distinct_on

from shortdrama_pipeline.rules.money import Money
from shortdrama_pipeline.rules.states import TaskState
from shortdrama_pipeline.store.tables import (
    plans,
    price_versions,
    provider_attempts,
    quotes,
    reservations,
    tasks,
)

Key = tuple[str, str]  # (subject, role)

_OPEN = ("queued", "running", "waitingProvider", "ingesting", "needsReconciliation")


@dataclass(frozen=True, slots=True)
class Order:
    """The newest task for one subject and role."""

    task_id: str
    stage: str
    subject: str
    role: str
    state: str
    reason: dict[str, object] | None
    hold_reason: dict[str, object] | None

    @property
    def open(self) -> bool:
        return self.state in _OPEN

    @property
    def needs_person(self) -> bool:
        return self.state == TaskState.NEEDS_RECONCILIATION or self.hold_reason is not None


def find_newest_orders(tx: sa.Connection, episode_id: str) -> dict[Key, Order]:
    """Return the newest task of each (subject, role) of the episode."""
    columns = [tasks.c[name] for name in Order.__dataclass_fields__]
    rows = tx.execute(
        sa.select(*columns)
        .where(tasks.c.episode_id == episode_id)
        .ext(distinct_on(tasks.c.subject, tasks.c.role))
        .order_by(tasks.c.subject, tasks.c.role, tasks.c.created_at.desc(), tasks.c.task_id.desc())
    )
    orders = [Order(**row._mapping) for row in rows]  # noqa: SLF001 the documented way to read by column
    return {(order.subject, order.role): order for order in orders}


def count_states(tx: sa.Connection, episode_id: str) -> dict[str, dict[str, int]]:
    """Return how many tasks, attempts and reservations stand in each state (P-1.5 to P-1.7)."""
    owned = tasks.c.episode_id == episode_id
    queries: Mapping[str, sa.Select[str, int]] = {
        "task": sa.select(tasks.c.state, sa.func.count()).where(owned).group_by(tasks.c.state),
        "remote_submission": sa.select(provider_attempts.c.state, sa.func.count())
        .join(tasks, tasks.c.task_id == provider_attempts.c.task_id)
        .where(owned)
        .group_by(provider_attempts.c.state),
        "money": sa.select(reservations.c.state, sa.func.count())
        .join(tasks, tasks.c.task_id == reservations.c.task_id)
        .where(owned)
        .group_by(reservations.c.state),
    }
    return {domain: {row[0]: row[1] for row in tx.execute(query)} for domain, query in queries.items()}


def count_media(tx: sa.Connection, episode_id: str) -> dict[str, int]:
    """Count the files of the episode's versions and of its attempts' results by state (P-1.8)."""
    rows = tx.execute(
        sa.text(
            """
            with hashes as (
                select sha256 from versions where episode_id = :episode_id and sha256 is not null
                union
                select result.value #>> '{}'
                from tasks
                join provider_attempts using (task_id)
                cross join lateral jsonb_path_query(provider_attempts.result, '$.**.sha256') as result (value)
                where tasks.episode_id = :episode_id
            )
            select state, count(*) from media_files join hashes using (sha256) group by state order by state
            """
        ),
        {"episode_id": episode_id},
    )
    return {row[0]: row[1] for row in rows}


def sum_spent(tx: sa.Connection, episode_id: str) -> dict[str, Money]:
    """Return what was settled per stage, in the currency of its reservations."""
    rows = tx.execute(
        sa.select(tasks.c.stage, reservations.c.currency, sa.func.sum(reservations.c.settled_micros))
        .join(tasks, tasks.c.task_id == reservations.c.task_id)
        .where(tasks.c.episode_id == episode_id)
        .group_by(tasks.c.stage, reservations.c.currency)
        .order_by(tasks.c.stage, reservations.c.currency)
    )
    return {stage: Money(int(micros), currency) for stage, currency, micros in rows}


def find_open_quotes(tx: sa.Connection, episode_id: str, *, now: datetime) -> dict[str, str]:
    """Return the newest unconfirmed, unexpired Quote per stage that plans something of the episode."""
    item = sa.func.jsonb_build_array(sa.func.jsonb_build_object("episode_id", episode_id))
    rows = tx.execute(
        sa.select(plans.c.stage, quotes.c.quote_id)
        .join(plans, plans.c.plan_id == quotes.c.plan_id)
        .where(
            quotes.c.state == "open",
            quotes.c.expires_at > now,
            plans.c.body["items"].contains(item),
        )
        .order_by(quotes.c.created_at)
    )
    return {row.stage: row.quote_id for row in rows}


def clock(tx: sa.Connection) -> datetime:
    """Return the database's time."""
    now: datetime = tx.execute(sa.select(sa.func.clock_timestamp())).scalar_one()
    return now


def find_priced_bindings(tx: sa.Connection) -> frozenset[str]:
    """Return the bindings that have a published price."""
    return frozenset(tx.execute(sa.select(price_versions.c.binding_id).distinct()).scalars())
