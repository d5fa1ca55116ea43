"""Rows of `breakers`: one per channel that failed, shared by all workers, on the database clock (G-302)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa

from shortdrama_pipeline.rules.breaker import TRIAL_S, Standing, Verdict, admits, pause_s
from shortdrama_pipeline.store import alerts
from shortdrama_pipeline.store.alerts import Alert


@dataclass(frozen=True, slots=True)
class Heard:
    """What one create said about its channel. `failures_max` is the channel's own limit."""

    channel_id: str
    verdict: Verdict
    failures_max: int
    cause: str = ""


@dataclass(frozen=True, slots=True)
class OpenBreaker:
    """`due`: one item may try now."""

    channel_id: str
    failures: int
    cause: str
    opened_at: datetime
    try_at: datetime
    due: bool

    def to_json(self) -> dict[str, object]:
        return {
            "channel": self.channel_id,
            "failures": self.failures,
            "cause": self.cause,
            "opened_at": self.opened_at,
            "try_at": self.try_at,
        }


_OPEN = (
    "select channel_id, failures, coalesce(cause, '') as cause, opened_at, try_at,"
    " try_at <= clock_timestamp() as due from breakers where opened_at is not null"
)
_LOCK = sa.text(
    "select channel_id, try_at <= clock_timestamp() as due from breakers where opened_at is not null"
    " and channel_id = any(cast(:channels as text[])) order by channel_id for update"
)
_TRY = sa.text(
    "update breakers set try_at = clock_timestamp() + :trial_s * interval '1 second'"
    " where channel_id = any(cast(:channels as text[]))"
)
_CLOSE = sa.text(
    "update breakers set failures = 0, opened_at = null, try_at = null, cause = null"
    " where channel_id = any(cast(:channels as text[])) and failures > 0"
    " returning channel_id"
)
_COUNT = sa.text(
    "insert into breakers (channel_id, failures, cause) values (:channel_id, :failures, :cause)"
    " on conflict (channel_id) do update set failures = breakers.failures + excluded.failures,"
    " cause = excluded.cause returning failures"
)
_REST = sa.text(
    "update breakers set opened_at = coalesce(opened_at, clock_timestamp()),"
    " try_at = clock_timestamp() + :pause_s * interval '1 second' where channel_id = :channel_id"
)


def admit(tx: sa.Connection, wanted: Mapping[str, int]) -> dict[str, int]:
    """How many sends of each channel its breaker lets start; a trial is taken under the row's lock."""
    found = {
        row.channel_id: Standing(open=True, due=bool(row.due))
        for row in tx.execute(_LOCK, {"channels": sorted(wanted)})
    }
    if not found:
        return dict(wanted)
    allowed = {
        channel: admits(found.get(channel, Standing(open=False)), count) for channel, count in wanted.items()
    }
    trying = [channel for channel in found if allowed[channel]]
    if trying:
        tx.execute(_TRY, {"channels": trying, "trial_s": TRIAL_S})
    return allowed


def record(tx: sa.Connection, heard: Sequence[Heard]) -> None:
    """Count what was heard, in this order. A healthy channel costs one look that finds nothing."""
    failed: dict[str, tuple[int, Heard]] = {}
    answered: set[str] = set()
    for each in heard:
        match each.verdict:
            case Verdict.ANSWERED:
                answered.add(each.channel_id)
                failed.pop(each.channel_id, None)
            case Verdict.FAILED:
                failed[each.channel_id] = (failed.get(each.channel_id, (0, each))[0] + 1, each)
            case Verdict.NEITHER:
                continue
    if answered:
        closed = tx.execute(_CLOSE, {"channels": sorted(answered)}).scalars().all()
        alerts.close_alerts(tx, closed, by="engine")
    for channel_id, (count, last) in sorted(failed.items()):
        bound = {"channel_id": channel_id, "failures": count, "cause": last.cause[:200]}
        failures = int(tx.execute(_COUNT, bound).scalar_one())
        rest = pause_s(failures, failures_max=last.failures_max)
        if rest is not None:
            tx.execute(_REST, {"channel_id": channel_id, "pause_s": rest})
            message = f"{channel_id} failed {failures} times in a row; nothing more is sent there for now"
            alerts.record_alerts(
                tx, [Alert("breaker_open", channel_id, message, {"cause": last.cause[:200]})]
            )


def find_open(tx: sa.Connection) -> list[OpenBreaker]:
    """The channels that rest, by name."""
    rows = tx.execute(sa.text(f"{_OPEN} order by channel_id"))
    return [OpenBreaker(*row) for row in rows]
