"""Rows of `compensation`. Every change has its audit row in the same transaction; the database insists."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from shortdrama_pipeline.errors import Fact, GrantRefused, UnknownId
from shortdrama_pipeline.rules.compensations import CompensationState, OpType
from shortdrama_pipeline.store import audit
from shortdrama_pipeline.store.bulk import json_text
from shortdrama_pipeline.store.tables import audit_tokens_used, compensation

LIST_MAX = 1_000


@dataclass(frozen=True, slots=True)
class Compensation:
    """One row. `amount_micros` None is the whole price; `quote_id` and `execution_id` are a reissue's."""

    compensation_id: str
    source_order_id: str
    op_type: str
    reason: str
    triggered_at: datetime
    retry_count: int
    state: str
    amount_micros: int | None
    quote_id: str | None
    execution_id: str | None
    last_error: Mapping[str, Any] | None
    actor: str

    @property
    def op(self) -> OpType:
        return OpType(self.op_type)

    @property
    def standing(self) -> CompensationState:
        return CompensationState(self.state)

    def snapshot(self) -> dict[str, Fact]:
        """What an audit row keeps of before and after (G-306)."""
        return {
            "op_type": self.op_type,
            "reason": self.reason,
            "state": self.state,
            "retry_count": self.retry_count,
            "amount_micros": self.amount_micros,
            "quote_id": self.quote_id,
            "execution_id": self.execution_id,
            "last_error": None if self.last_error is None else dict(self.last_error),
        }


_COLUMNS = ", ".join(Compensation.__slots__)
_INSERT = sa.text(
    "insert into compensation (compensation_id, source_order_id, op_type, reason, state,"  # noqa: S608
    " amount_micros, actor)"
    " values (:compensation_id, :source_order_id, :op_type, :reason, 'pending', :amount_micros, :actor)"
    f" on conflict (compensation_id) do nothing returning {_COLUMNS}"
)
_UPDATE = sa.text(
    "update compensation set op_type = :op_type, reason = :reason, state = :state,"  # noqa: S608
    " retry_count = :retry_count, amount_micros = :amount_micros, quote_id = :quote_id,"
    " execution_id = :execution_id, last_error = cast(:last_error as jsonb), updated_at = clock_timestamp()"
    f" where compensation_id = :compensation_id and state = :seen returning {_COLUMNS}"
)


def record(
    tx: sa.Connection,
    *,
    compensation_id: str,
    source_order_id: str,
    op_type: OpType,
    reason: str,
    amount_micros: int | None,
    actor: str,
) -> Compensation | None:
    """Insert one with its audit row; None when its id exists."""
    bound = {
        "compensation_id": compensation_id,
        "source_order_id": source_order_id,
        "op_type": str(op_type),
        "reason": reason,
        "amount_micros": amount_micros,
        "actor": actor,
    }
    row = tx.execute(_INSERT, bound).one_or_none()
    if row is None:
        return None
    new = _read(row)
    _audit(tx, "compensation.request", new.compensation_id, before=None, after=new, actor=actor, more={})
    return new


def record_change(
    tx: sa.Connection,
    before: Compensation,
    after: Compensation,
    *,
    action: str,
    actor: str,
    more: Mapping[str, Fact] | None = None,
) -> Compensation:
    """Write a locked row's new content, with the audit row that keeps both (G-306)."""
    bound: dict[str, Any] = {
        "compensation_id": before.compensation_id,
        "op_type": after.op_type,
        "reason": after.reason,
        "state": after.state,
        "retry_count": after.retry_count,
        "amount_micros": after.amount_micros,
        "quote_id": after.quote_id,
        "execution_id": after.execution_id,
        "last_error": None if after.last_error is None else json_text(after.last_error),
        "seen": before.state,
    }
    written = _read(tx.execute(_UPDATE, bound).one())
    _audit(tx, action, before.compensation_id, before=before, after=written, actor=actor, more=more or {})
    return written


def lock(tx: sa.Connection, compensation_id: str) -> Compensation:
    """Lock one until the transaction ends. Raises UnknownId."""
    row = tx.execute(
        sa.text(f"select {_COLUMNS} from compensation where compensation_id = :id for update"),  # noqa: S608
        {"id": compensation_id},
    ).one_or_none()
    if row is None:
        raise unknown(compensation_id)
    return _read(row)


def find(tx: sa.Connection, compensation_id: str) -> Compensation | None:
    row = tx.execute(
        sa.text(f"select {_COLUMNS} from compensation where compensation_id = :id"),  # noqa: S608
        {"id": compensation_id},
    ).one_or_none()
    return None if row is None else _read(row)


def find_all(tx: sa.Connection, *, state: str | None) -> list[Compensation]:
    """The oldest first."""
    rows = tx.execute(
        sa.text(
            f"select {_COLUMNS} from compensation where cast(:state as text) is null or state = :state"  # noqa: S608
            " order by triggered_at, compensation_id limit :most"
        ),
        {"state": state, "most": LIST_MAX},
    )
    return [_read(row) for row in rows]


def find_approver(tx: sa.Connection, compensation_id: str) -> str:
    """Who approved it last: the person in whose name its Quote is confirmed."""
    found = tx.execute(
        sa.text(
            "select actor from audit_log where subject_id = :id and action = 'compensation.approve'"
            " order by audit_id desc limit 1"
        ),
        {"id": compensation_id},
    ).scalar_one()
    return str(found)


def find_runnable(tx: sa.Connection) -> list[str]:
    """What can be tried without a person's further word, the oldest first."""
    rows = tx.execute(
        sa.select(compensation.c.compensation_id)
        .where(compensation.c.state.in_(["pending", "approved"]))
        .order_by(compensation.c.triggered_at, compensation.c.compensation_id)
        .limit(LIST_MAX)
    )
    return list(rows.scalars())


def use_token(tx: sa.Connection, jti: str, *, operator_id: str, compensation_id: str) -> None:
    """Use a token up, in the transaction of its action. Raises GrantRefused for one that was used."""
    try:
        with tx.begin_nested():
            tx.execute(
                sa.insert(audit_tokens_used).values(
                    jti=jti, operator_id=operator_id, compensation_id=compensation_id
                )
            )
    except sa.exc.IntegrityError as error:
        if "pk_audit_tokens_used" not in str(error.orig):
            raise
        raise GrantRefused(
            "The audit token has been used",
            hint="Issue another: shortdrama compensation token issue",
            jti=jti,
        ) from None


def find_orders(tx: sa.Connection, source_order_id: str) -> list[dict[str, Any]]:
    """The Tasks of an execution, or the one Task of this id, with money and request, in their order."""
    rows = tx.execute(
        sa.text(
            "select t.task_id, t.state, t.stage, t.request, r.state as money, r.settled_micros, r.currency"
            " from tasks t join reservations r using (task_id)"
            " where t.execution_id = :id or t.task_id = :id order by t.task_id"
        ),
        {"id": source_order_id},
    )
    return [dict(row) for row in rows.mappings()]


def unknown(compensation_id: str) -> UnknownId:
    return UnknownId(
        f"No compensation {compensation_id}",
        hint="List them: shortdrama compensation list",
        compensation_id=compensation_id,
    )


def _audit(
    tx: sa.Connection,
    action: str,
    compensation_id: str,
    *,
    before: Compensation | None,
    after: Compensation,
    actor: str,
    more: Mapping[str, Fact],
) -> None:
    facts: dict[str, Fact] = {
        "source_order_id": after.source_order_id,
        "before": None if before is None else before.snapshot(),
        "after": after.snapshot(),
        **more,
    }
    audit.record_decision(tx, action, compensation_id, actor=actor, facts=facts)


def _read(row: sa.Row[Any]) -> Compensation:
    return Compensation(*(getattr(row, name) for name in Compensation.__slots__))
