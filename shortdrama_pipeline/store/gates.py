"""Passed gates: who let which versions through, and when (§2). Append-only."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from shortdrama_pipeline.ids import new_id
from shortdrama_pipeline.store.tables import gates


@dataclass(frozen=True, slots=True)
class PassedGate:
    """`covers` lists {"subject", "role", "version_id", "digest"}; `digest` is over all of them."""

    gate_id: str
    episode_id: str
    stage: str
    digest: str
    covers: list[dict[str, str]]
    rights: bool
    note: str
    actor: str
    created_at: datetime


def record_gate(
    tx: sa.Connection,
    *,
    episode_id: str,
    stage: str,
    digest: str,
    covers: Sequence[dict[str, str]],
    rights: bool,
    note: str,
    actor: str,
) -> None:
    """Write that the gate is passed for this digest; the same decision again changes nothing."""
    tx.execute(
        insert(gates)
        .values(
            gate_id=new_id("gate"),
            episode_id=episode_id,
            stage=stage,
            digest=digest,
            covers=list(covers),
            rights=rights,
            note=note,
            actor=actor,
        )
        .on_conflict_do_nothing(index_elements=[gates.c.episode_id, gates.c.stage, gates.c.digest])
    )


def find_gate(tx: sa.Connection, episode_id: str, stage: str, digest: str) -> PassedGate | None:
    """Return the decision over exactly these versions, or None."""
    row = tx.execute(
        sa.select(gates).where(
            gates.c.episode_id == episode_id, gates.c.stage == stage, gates.c.digest == digest
        )
    ).one_or_none()
    return None if row is None else _read(row)


def find_gates(tx: sa.Connection, episode_id: str) -> list[PassedGate]:
    """Return every gate decision of the episode, oldest first; some may be re-opened since."""
    rows = tx.execute(
        sa.select(gates).where(gates.c.episode_id == episode_id).order_by(gates.c.created_at, gates.c.gate_id)
    )
    return [_read(row) for row in rows]


def find_stage_gates(tx: sa.Connection, stage: str) -> list[PassedGate]:
    """Return every decision on one stage over all episodes, newest first (D-24 looks for a pilot)."""
    query = sa.select(gates).where(gates.c.stage == stage)
    return [_read(row) for row in tx.execute(query.order_by(gates.c.created_at.desc()))]


def _read(row: sa.Row[tuple[object, ...]]) -> PassedGate:
    fields = row._mapping  # noqa: SLF001 the documented way to read by column
    return PassedGate(**{name: fields[name] for name in PassedGate.__dataclass_fields__})
