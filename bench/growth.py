"""Do the hot statements stay as quick when a studio has a history of a million orders?"""

import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import sqlalchemy as sa

from bench.kit import BINDING, Bench, plan
from bench.scenarios import confirm
from shortdrama_pipeline.services import settling
from shortdrama_pipeline.services.context import Studio
from shortdrama_pipeline.services.draining import drain
from shortdrama_pipeline.services.versioning import stale_versions
from shortdrama_pipeline.store import attempts, tasks

AT_ONCE = 64
ROUNDS = 9
PER_EPISODE = 60
PORTION = 100_000
# One settled order is laid again and again, under ids and episodes of its own. {n} is the number of a copy.
_COPIES = {
    "tasks": "'task_id', 'task_g' || n, 'item_id', 'g' || n, 'episode_id', 'g' || n / 60",
    "provider_attempts": "'attempt_id', 'attempt_g' || n, 'task_id', 'task_g' || n, 'external_id', 'g' || n,"
    " 'fence_number', null",
    "provider_jobs": "'attempt_id', 'attempt_g' || n, 'external_id', 'g' || n",
    "reservations": "'reservation_id', 'res_g' || n, 'task_id', 'task_g' || n",
    "versions": "'version_id', 'version_g' || n, 'episode_id', 'g' || n / 60, 'subject', 'shot:s' || n,"
    " 'attempt_id', 'attempt_g' || n, 'digest', 'sha256:g' || n",
    "selections": "'version_id', 'version_g' || n, 'episode_id', 'g' || n / 60, 'subject', 'shot:s' || n",
    "ledger_entries": "'entry_id', n - 2000000000, 'business_key', 'old:task_g' || n,"
    " 'task_id', 'task_g' || n",
    "events": "'event_id', n - 2000000000, 'entity_id', 'task_g' || n",
}
# Entries and events get numbers below all real ones: books are checked from the first number on.
Figures = dict[str, Any]


def growth(bench: Bench, sizes: Sequence[int]) -> Figures:
    """Median milliseconds of each hot step at each size, and how the largest compares with the smallest."""
    found: dict[str, dict[int, float]] = {}
    with bench.vendor() as base_url, bench.studio(base_url, batch=1) as studio:
        confirm(studio, plan(studio, AT_ONCE).quote_id)
        drain(studio, worker="bench")
        laid = 0
        for size in sizes:
            while laid < size:
                upto = min(size, laid + PORTION)
                _lay(bench, studio, laid, upto)
                laid = upto
            bench.vacuum(studio)
            for name, milliseconds in _steps(bench, studio, size).items():
                found.setdefault(name, {})[size] = milliseconds
    return {
        name: {f"ms_at_{size}": value for size, value in times.items()}
        | {"growth": round(times[sizes[-1]] / times[sizes[0]], 2)}
        for name, times in found.items()
    }


def _lay(bench: Bench, studio: Studio, start: int, upto: int) -> None:
    with bench.unguarded(studio) as tx:
        for table, changes in _COPIES.items():
            tx.execute(
                sa.text(
                    f"insert into {table} overriding system value"
                    f" select r.* from (select to_jsonb(t) as row from {table} t limit 1) s"
                    " cross join generate_series(cast(:start as bigint), :upto - 1) as n cross join lateral"
                    f" jsonb_populate_record(null::{table}, s.row || jsonb_build_object({changes})) as r"
                ),
                {"start": start, "upto": upto},
            )


def _steps(bench: Bench, studio: Studio, size: int) -> dict[str, float]:
    start = 1000 + size
    confirm(studio, plan(studio, AT_ONCE, start=start).quote_id)
    with studio.db.read() as tx:
        known = [each.task.task_id for each in tasks.find_due(tx, {BINDING: AT_ONCE})]

    def claim(tx: sa.Connection) -> None:
        due = tasks.find_due(tx, {BINDING: AT_ONCE})
        won = tasks.claim(tx, [each.task.task_id for each in due], worker="bench", lease_ms=60_000)
        assert len(won) == AT_ONCE

    def poll(tx: sa.Connection) -> None:
        assert not tasks.anything_to_take(tx)
        attempts.load_latest(tx, known)

    found = {"claim_64": _median(studio, claim), "poll_64": _median(studio, poll)}
    laid = [f"task_g{size // 2 + number}" for number in range(AT_ONCE)]
    _set_reservations(bench, studio, laid, "settlementPending")
    found["settle_64"] = _median(studio, lambda tx: _settle(tx, laid))
    _set_reservations(bench, studio, laid, "settled")
    started = time.perf_counter()
    drain(studio, worker="bench")
    found["claim_to_settled_64"] = round(1000 * (time.perf_counter() - started), 1)
    episode_id = _open_episode(bench, studio, size)
    times = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        stale_versions(studio, episode_id)
        times.append(time.perf_counter() - began)
    found["stale_check"] = round(1000 * statistics.median(times), 2)
    return found


def _open_episode(bench: Bench, studio: Studio, size: int) -> str:
    """One episode in the middle of the history, with sixty laid versions."""
    episode_id = f"g{size // PER_EPISODE // 2}"
    with bench.unguarded(studio) as tx:
        tx.execute(
            sa.text(
                "insert into episodes select (jsonb_populate_record(null::episodes, to_jsonb(e) ||"
                " jsonb_build_object('episode_id', cast(:id as text), 'allocation_key', cast(:id as text),"
                " 'sequence', cast(:size as integer)))).* from episodes e limit 1"
            ),
            {"id": episode_id, "size": size},
        )
    return episode_id


def _settle(tx: sa.Connection, task_ids: Sequence[str]) -> None:
    assert all(settling.apply_settlements(tx, [settling.Due(each, None) for each in task_ids]))


def _set_reservations(bench: Bench, studio: Studio, task_ids: Sequence[str], state: str) -> None:
    with bench.unguarded(studio) as tx:
        tx.execute(
            sa.text(
                "update reservations set state = :state, settled_micros = 0,"
                " resolved_at = case when :state = 'settled' then clock_timestamp() end"
                " where task_id = any(cast(:task_ids as text[]))"
            ),
            {"state": state, "task_ids": list(task_ids)},
        )


def _median(studio: Studio, step: Callable[[sa.Connection], None]) -> float:
    """Milliseconds of one transaction that is rolled back."""
    times = []
    for _ in range(ROUNDS):
        with studio.db.read() as tx:
            began = time.perf_counter()
            step(tx)
            times.append(time.perf_counter() - began)
    return round(1000 * statistics.median(times), 2)
