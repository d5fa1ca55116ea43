"""Many processes at one lock: nothing is lost, doubled or skipped (A-02, A-14)."""

import threading
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa

from shortdrama_pipeline.services.allocating import allocate
from shortdrama_pipeline.store import episodes
from shortdrama_pipeline.store.database import Database
from tests.allocation.racing import allocate_and_die, bare_studio, race

FRIDAY = datetime(2026, 8, 7, 1, 0, tzinfo=UTC)
RACERS = 64


def test_concurrent_allocation_is_serialised_by_the_lock(db: Database, db_url: str, home: Path) -> None:
    ids = race(db_url, home, [(f"run-{each}", FRIDAY) for each in range(RACERS)])
    assert sorted(ids) == sorted(f"2026-W32-{each}" for each in range(RACERS))


def test_64_processes_with_one_key_get_one_id(db: Database, db_url: str, home: Path) -> None:
    assert set(race(db_url, home, [("the run", FRIDAY)] * RACERS)) == {"2026-W32-0"}
    with db.read() as tx:
        assert episodes.load_ids(tx) == ["2026-W32-0"]


def test_64_processes_with_mixed_keys_get_one_id_per_key_without_holes(
    db: Database, db_url: str, home: Path
) -> None:
    runs = [(f"run-{each % 16}", FRIDAY) for each in range(RACERS)]
    ids = race(db_url, home, runs)
    by_key = {(key, episode_id) for (key, _), episode_id in zip(runs, ids, strict=True)}
    assert len(by_key) == 16
    assert {episode_id for _, episode_id in by_key} == {f"2026-W32-{each}" for each in range(16)}


def test_processes_that_disagree_on_the_week_get_one_id_and_conflicts(
    db: Database, db_url: str, home: Path
) -> None:
    runs = [("the run", FRIDAY + timedelta(weeks=each % 2)) for each in range(16)]
    assert sorted(Counter(race(db_url, home, runs)).values()) == [8, 8]
    with db.read() as tx:
        assert len(episodes.load_ids(tx)) == 1


def test_a_kill_after_the_write_and_before_the_answer_uses_up_no_number(
    db: Database, db_url: str, home: Path
) -> None:
    assert allocate_and_die(db_url, home, ("the run", FRIDAY)) == -9
    studio = bare_studio(db, home)
    again = allocate(studio, key="the run", at=FRIDAY, actor="person:test")
    assert (again.episode_id, again.created) == ("2026-W32-0", False)
    assert allocate(studio, key="next", at=FRIDAY, actor="person:test").episode_id == "2026-W32-1"


@pytest.mark.parametrize("times", [1, 3])
def test_any_number_of_kills_gives_one_id(db: Database, db_url: str, home: Path, times: int) -> None:
    for _ in range(times):
        allocate_and_die(db_url, home, ("the run", FRIDAY))
    with db.read() as tx:
        assert episodes.load_ids(tx) == ["2026-W32-0"]


def test_a_pause_between_read_and_write_blocks_the_others(db: Database, home: Path) -> None:
    """The pause is the database's own: the insert waits for a lock that the test holds."""
    with db.begin() as tx:
        tx.execute(sa.text(PAUSE))
    studio = bare_studio(db, home)
    found: dict[str, str] = {}

    def ask(key: str) -> None:
        found[key] = allocate(studio, key=key, at=FRIDAY, actor="person:test").episode_id

    with db.begin() as gate:
        gate.execute(sa.text("select pg_advisory_xact_lock(4711)"))
        threads = [threading.Thread(target=ask, args=(key,)) for key in ("paused", "other", "third")]
        threads[0].start()
        _await_waiters(db, 1)
        threads[1].start()
        threads[2].start()
        _await_waiters(db, 3)
        assert found == {}
    for each in threads:
        each.join(timeout=30)
    assert found["paused"] == "2026-W32-0"
    assert sorted(found.values()) == ["2026-W32-0", "2026-W32-1", "2026-W32-2"]


def test_an_abandoned_transaction_takes_no_number(db: Database, home: Path) -> None:
    with db.begin() as tx:
        tx.execute(sa.text(PAUSE.replace("perform pg_advisory_xact_lock(4711)", "raise exception 'no room'")))
    studio = bare_studio(db, home)
    with pytest.raises(Exception, match="no room"):
        allocate(studio, key="a", at=FRIDAY, actor="person:test")
    with db.begin() as tx:
        tx.execute(sa.text("drop trigger pause on episodes"))
    assert allocate(studio, key="b", at=FRIDAY, actor="person:test").episode_id == "2026-W32-0"


PAUSE = """
    create function pause_before_write() returns trigger language plpgsql as $$
    begin perform pg_advisory_xact_lock(4711); return new; end $$;
    create trigger pause before insert on episodes for each row execute function pause_before_write();
"""


def _await_waiters(db: Database, count: int) -> None:
    """Wait until `count` sessions stand before an advisory lock."""
    asked = threading.Event()
    for _ in range(600):
        with db.read() as tx:
            waiting = tx.execute(
                sa.text(
                    "select count(*) from pg_locks where locktype = 'advisory' and not granted"
                    " and database = (select oid from pg_database where datname = current_database())"
                )
            ).scalar_one()
        if waiting >= count:
            return
        asked.wait(0.05)
    raise AssertionError(f"never {count} waiters")
