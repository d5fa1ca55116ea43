"""Rows of `alerts`: what a person must see, one open alert per kind and thing (G-107)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from shortdrama_pipeline.ids import new_id
from shortdrama_pipeline.store.bulk import json_text

UNREADABLE = "episodeUnreadable"  # one episode's content cannot be read; the others go on


@dataclass(frozen=True, slots=True)
class Alert:
    """`facts` hold no secret and no media."""

    kind: str
    entity_id: str
    message: str
    facts: Mapping[str, Any] = field(default_factory=dict)


_RAISE = sa.text("""
insert into alerts (alert_id, kind, entity_id, message, facts)
select * from unnest(cast(:ids as text[]), cast(:kinds as text[]), cast(:entities as text[]),
  cast(:messages as text[]), cast(:facts as jsonb[]))
on conflict (kind, entity_id) where closed_at is null do nothing
""")


def record_alerts(tx: sa.Connection, alerts: Sequence[Alert]) -> None:
    """Raise alerts; one that is open already stays as it is."""
    if not alerts:
        return
    bound = {
        "ids": [new_id("alert") for _ in alerts],
        "kinds": [each.kind for each in alerts],
        "entities": [each.entity_id for each in alerts],
        "messages": [each.message for each in alerts],
        "facts": [json_text(each.facts) for each in alerts],
    }
    tx.execute(_RAISE, bound)


def close_alerts(tx: sa.Connection, entity_ids: Sequence[str], *, by: str) -> None:
    """Close what was open about these things, so that the same trouble raises a new alert next time."""
    if not entity_ids:
        return
    statement = sa.text(
        "update alerts set closed_at = clock_timestamp(), closed_by = :by"
        " where entity_id = any(cast(:entity_ids as text[])) and closed_at is null"
    )
    tx.execute(statement, {"entity_ids": list(entity_ids), "by": by})
