"""Rows of `media_files`: stored bytes and whether they were found to be media (TT-4)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from shortdrama_pipeline.rules.states import MediaState
from shortdrama_pipeline.store.bulk import json_text


@dataclass(frozen=True, slots=True)
class StagedFile:
    """Bytes that lie in the object store, not judged yet."""

    sha256: str
    size: int
    media_type: str


@dataclass(frozen=True, slots=True)
class Judgement:
    """What measuring found: `ready` with its probe, or `quarantined` with the reason."""

    sha256: str
    state: MediaState
    media_type: str
    probe: Mapping[str, Any]
    reason: Mapping[str, Any] | None = None


_STAGE = sa.text("""
insert into media_files (sha256, bytes, media_type, state, probe)
select f.sha256, f.size, f.media_type, 'staging', '{}'::jsonb
  from (select distinct on (w.sha256) * from unnest(cast(:hashes as text[]), cast(:sizes as bigint[]),
    cast(:types as text[])) as w(sha256, size, media_type) order by w.sha256) f
on conflict (sha256) do nothing
""")
_JUDGE = sa.text("""
update media_files m set state = j.state, media_type = j.media_type, probe = j.probe, reason = j.reason
  from (select distinct on (w.sha256) * from unnest(cast(:hashes as text[]), cast(:states as text[]),
    cast(:types as text[]), cast(:probes as jsonb[]), cast(:reasons as jsonb[]))
    as w(sha256, state, media_type, probe, reason) order by w.sha256) j
 where m.sha256 = j.sha256 and m.state = 'staging'
""")


def stage(tx: sa.Connection, files: Sequence[StagedFile]) -> None:
    """Record stored bytes as `staging`; known bytes keep the state they have."""
    if files:
        bound = {
            "hashes": [each.sha256 for each in files],
            "sizes": [each.size for each in files],
            "types": [each.media_type for each in files],
        }
        tx.execute(_STAGE, bound)


def judge(tx: sa.Connection, judgements: Sequence[Judgement]) -> None:
    """Move staged files to what measuring found; a file judged before keeps its state."""
    if judgements:
        bound = {
            "hashes": [each.sha256 for each in judgements],
            "states": [str(each.state) for each in judgements],
            "types": [each.media_type for each in judgements],
            "probes": [json_text(each.probe) for each in judgements],
            "reasons": [None if each.reason is None else json_text(each.reason) for each in judgements],
        }
        tx.execute(_JUDGE, bound)


def load_states(tx: sa.Connection, hashes: Sequence[str]) -> dict[str, str]:
    rows = tx.execute(
        sa.text("select sha256, state from media_files where sha256 = any(cast(:hashes as text[]))"),
        {"hashes": list(hashes)},
    )
    return {row.sha256: row.state for row in rows}
