"""Rows of `rate_limits`: one token bucket per channel, shared by all workers, on the database clock.

In any 60 seconds at most `requests_per_minute` sends start: a tenth of it may come at once, the rest
flows in evenly; what is less than a thousandth of a send waits in `refilled_at`. The row's lock also
makes counting against `in_flight_max` exact.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import sqlalchemy as sa

ONE_A_MINUTE_MILLI = 980


@dataclass(frozen=True, slots=True)
class Wanted:
    """How many sends of a channel are asked for, and what it allows."""

    count: int
    requests_per_minute: int
    in_flight_max: int

    @property
    def burst(self) -> int:
        return max(1, self.requests_per_minute // 10)

    @property
    def refill_milli(self) -> int:
        """Thousandths of a send that flow in per minute. One a minute is one in more than 60 seconds."""
        return (self.requests_per_minute - self.burst) * 1000 or ONE_A_MINUTE_MILLI


_OPEN = sa.text("""
insert into rate_limits (channel_id, tokens_milli, refilled_at)
select w.channel_id, w.burst * 1000, clock_timestamp()
  from unnest(cast(:channels as text[]), cast(:bursts as bigint[])) as w(channel_id, burst)
 order by w.channel_id on conflict (channel_id) do nothing
""")
_TAKE = sa.text("""
with wanted as (
  select * from unnest(cast(:channels as text[]), cast(:counts as integer[]), cast(:refills as bigint[]),
    cast(:bursts as bigint[]), cast(:in_flight as integer[])) as w(channel_id, count, refill, burst, most)
), locked as (
  select r.channel_id, r.tokens_milli, r.refilled_at, w.count, w.most, w.refill, w.burst * 1000 as full,
    floor(greatest(extract(epoch from clock_timestamp() - r.refilled_at), 0) * w.refill / 60)::bigint as gain,
    coalesce(r.blocked_until > clock_timestamp(), false) as blocked
    from rate_limits r join wanted w using (channel_id) order by r.channel_id for update of r
), taken as (
  select l.*, least(l.full, l.tokens_milli + l.gain) as tokens, case when l.blocked then 0 else
    greatest(0, least(l.count, least(l.full, l.tokens_milli + l.gain) / 1000, l.most -
      (select count(*) from tasks t
        where t.binding_id = l.channel_id and t.state in ('running', 'waitingProvider')))) end as take
    from locked l
)
update rate_limits r set tokens_milli = taken.tokens - taken.take * 1000,
    refilled_at = case when taken.tokens_milli + taken.gain >= taken.full then clock_timestamp() else
      taken.refilled_at + ceil(taken.gain * 60000000.0 / taken.refill) * interval '1 microsecond' end
  from taken where r.channel_id = taken.channel_id returning r.channel_id, taken.take
""")
_LOOK = sa.text("""
select w.channel_id, case when coalesce(r.blocked_until > clock_timestamp(), false) then 0 else
    greatest(0, least(w.count, least(w.burst * 1000, coalesce(r.tokens_milli, w.burst * 1000) + coalesce(
        floor(greatest(extract(epoch from clock_timestamp() - r.refilled_at), 0) * w.refill / 60), 0
      )::bigint) / 1000, w.most - (select count(*) from tasks t
      where t.binding_id = w.channel_id and t.state in ('running', 'waitingProvider')))) end as room
  from unnest(cast(:channels as text[]), cast(:counts as integer[]), cast(:refills as bigint[]),
    cast(:bursts as bigint[]), cast(:in_flight as integer[])) as w(channel_id, count, refill, burst, most)
  left join rate_limits r using (channel_id)
""")


def look(tx: sa.Connection, wanted: Mapping[str, Wanted]) -> dict[str, int]:
    """How many of each channel could start now, without taking anything; `take` decides under the lock."""
    return {row.channel_id: int(row.room) for row in tx.execute(_LOOK, _bound(wanted))} if wanted else {}


def take(tx: sa.Connection, wanted: Mapping[str, Wanted]) -> dict[str, int]:
    """Take send tokens; returns how many of each channel may start now."""
    found = _take(tx, wanted)
    missing = [each for each in wanted if each not in found]
    if missing:
        bound = {"channels": missing, "bursts": [wanted[each].burst for each in missing]}
        tx.execute(_OPEN, bound)
        found |= _take(tx, {each: wanted[each] for each in missing})
    return found


def block(tx: sa.Connection, channel_id: str, *, pause_ms: int) -> None:
    """A vendor said Retry-After: nobody sends on this channel before then."""
    tx.execute(
        sa.text(
            "insert into rate_limits (channel_id, tokens_milli, refilled_at, blocked_until)"
            " values (:channel_id, 0, clock_timestamp(),"
            " clock_timestamp() + :pause_ms * interval '1 millisecond')"
            " on conflict (channel_id) do update"
            " set blocked_until = greatest(rate_limits.blocked_until, excluded.blocked_until)"
        ),
        {"channel_id": channel_id, "pause_ms": pause_ms},
    )


def _take(tx: sa.Connection, wanted: Mapping[str, Wanted]) -> dict[str, int]:
    if not wanted:
        return {}
    return {row.channel_id: int(row.take) for row in tx.execute(_TAKE, _bound(wanted))}


def _bound(wanted: Mapping[str, Wanted]) -> dict[str, object]:
    return {
        "channels": list(wanted),
        "counts": [each.count for each in wanted.values()],
        "refills": [each.refill_milli for each in wanted.values()],
        "bursts": [each.burst for each in wanted.values()],
        "in_flight": [each.in_flight_max for each in wanted.values()],
    }
