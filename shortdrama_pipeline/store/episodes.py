"""Rows of `episodes`: one per logical run, never deleted, ids never reused (A-08, A-10)."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime

import psycopg
import sqlalchemy as sa

from shortdrama_pipeline.errors import Outside, UnknownId
from shortdrama_pipeline.rules.allocation import EPISODE, Held
from shortdrama_pipeline.store.database import Database
from shortdrama_pipeline.store.tables import episodes

# One lock for all allocation of a studio ("the pipeline lock", A-10).
ALLOCATION_LOCK = 0x5D_A1_10C
# The three are sent together and run as one transaction, so the lock is held for the server's own work and
# the commit, never for our way there and back. The lock is a statement of its own, since a statement sees
# the data of the moment it began.
_LOCK = "select pg_advisory_xact_lock(%s)"
_LOOK = """
    select held.episode_id, held.kind, held.week_id, held.sequence, held.time_zone, highest.sequence
    from (
        select max(sequence) as sequence from episodes where kind = %(kind)s and week_id = %(week_id)s
    ) as highest
    left join episodes as held on held.allocation_key = %(key)s
    order by held.created_at, held.episode_id
"""
_TAKE = """
    with next as (
        select coalesce(max(sequence) + 1, 0) as sequence from episodes
        where kind = %(kind)s and week_id = %(week_id)s
    ), born as (
        insert into episodes (episode_id, kind, week_id, sequence, allocation_key, series_id, time_zone,
                              scheduled_for, state, actor)
        select %(id_prefix)s || next.sequence, %(kind)s, %(week_id)s, next.sequence, %(key)s, %(series_id)s,
               %(time_zone)s, %(at)s, 'live', %(actor)s
        from next where not exists (select from episodes where allocation_key = %(key)s)
        returning episode_id, allocation_key, scheduled_for, actor
    )
    insert into audit_log (action, subject_id, facts, actor)
    select 'episode.allocated', episode_id,
           jsonb_build_object('allocation_key', allocation_key, 'scheduled_for',
             to_char(scheduled_for at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')), actor
    from born
"""


@dataclass(frozen=True, slots=True)
class Episode:
    """One row, as it stands."""

    episode_id: str
    kind: str
    week_id: str
    sequence: int
    allocation_key: str
    series_id: str | None
    time_zone: str
    scheduled_for: datetime
    state: str
    actor: str
    created_at: datetime
    completed_at: datetime | None


@dataclass(frozen=True, slots=True)
class Asked:
    """What a run asks for. `id_prefix` and the number make the id."""

    key: str
    kind: str
    week_id: str
    id_prefix: str
    time_zone: str
    at: datetime
    series_id: str | None
    actor: str


@dataclass(frozen=True, slots=True)
class Look:
    """What the lock's holder saw before it wrote: rows that hold the key, the week's highest number."""

    matches: tuple[Held, ...]
    highest: int | None


def look_and_take(db: Database, asked: Asked) -> Look:
    """Under the pipeline lock read live and completed rows alike and, if none holds the key, write the next.

    Read, decision and write are one transaction and one round trip (A-14); it has committed on return.
    """
    values = asdict(asked)
    with db.read() as tx, _autocommit(tx) as connection, connection.cursor() as cursor:
        with connection.pipeline():
            connection.execute(_LOCK, (ALLOCATION_LOCK,), prepare=True)
            cursor.execute(_LOOK, values, prepare=True)
            connection.execute(_TAKE, values, prepare=True)
        rows = cursor.fetchall()
    return Look(tuple(Held(*row[:5]) for row in rows if row[0] is not None), rows[0][5])


@contextmanager
def _autocommit(tx: sa.Connection) -> Iterator[psycopg.Connection]:
    """Lend the driver's connection with the transaction left to the server."""
    connection = tx.connection.driver_connection
    assert isinstance(connection, psycopg.Connection)
    connection.autocommit = True
    try:
        yield connection
    except psycopg.OperationalError as error:
        raise Outside(
            "The database does not answer", hint="Start it again and repeat the command: the key finds its id"
        ) from error
    finally:
        if not connection.closed:
            connection.autocommit = False


def require_episode(tx: sa.Connection, episode_id: str) -> Episode:
    """Return the row, or raise before anybody reads a credential or builds a client (A-16, A-17)."""
    found = find(tx, episode_id)
    if found is None:
        raise UnknownId(
            f"Unknown episode {episode_id!r}",
            hint="`shortdrama episode list` shows the ids; `episode allocate` makes one, at no cost",
            episode_id=episode_id,
        )
    return found


def find(tx: sa.Connection, episode_id: str) -> Episode | None:
    row = tx.execute(sa.select(episodes).where(episodes.c.episode_id == episode_id)).one_or_none()
    return None if row is None else Episode(**row._mapping)  # noqa: SLF001 - the documented way to a row's names


def load_all(tx: sa.Connection, *, kind: str = EPISODE) -> Sequence[Episode]:
    """Return every row of a kind, oldest week first."""
    query = (
        sa.select(episodes).where(episodes.c.kind == kind).order_by(episodes.c.week_id, episodes.c.sequence)
    )
    return [Episode(**row._mapping) for row in tx.execute(query)]  # noqa: SLF001


def load_ids(tx: sa.Connection, *, kind: str = EPISODE) -> list[str]:
    """Return the ids of a kind, oldest week first."""
    query = (
        sa.select(episodes.c.episode_id)
        .where(episodes.c.kind == kind)
        .order_by(episodes.c.week_id, episodes.c.sequence)
    )
    return list(tx.execute(query).scalars())


def find_known(tx: sa.Connection, episode_ids: Iterable[str]) -> set[str]:
    """Return which of these ids are episodes."""
    query = sa.select(episodes.c.episode_id).where(episodes.c.episode_id.in_(sorted(episode_ids)))
    return set(tx.execute(query).scalars())


def load_scheduled(tx: sa.Connection, key_prefix: str) -> dict[str, datetime]:
    """Return allocation key -> scheduled time of the rows whose key starts with `key_prefix`."""
    query = sa.select(episodes.c.allocation_key, episodes.c.scheduled_for).where(
        episodes.c.allocation_key.startswith(key_prefix, autoescape=True)
    )
    return {row.allocation_key: row.scheduled_for for row in tx.execute(query)}
