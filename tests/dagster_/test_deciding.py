"""What sensors decide, without Dagster and without a database."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest

from sensors import deciding
from sensors.deciding import Mark, Sweep
from shortdrama_pipeline.store.watching import Delivery

NOON = datetime(2026, 8, 7, 12, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Row:
    row_id: str
    created_at: datetime


def delivery(outbox_id: str, *, batch_id: str | None = None) -> Delivery:
    return Delivery(outbox_id, "shots", ("2026-W32-0",), 0, batch_id)


def test_a_mark_survives_being_written_down() -> None:
    mark = Mark((NOON, "a"), ((NOON, "b"), (NOON, "c")))
    assert Mark.read(mark.write()) == mark
    assert Mark.read(None) == Mark.read("") == Mark() == Mark.read(Mark().write())
    sweep = Sweep((NOON, "2026-W32-0"), NOON)
    assert Sweep.read(sweep.write()) == sweep
    assert Sweep.read(None) == Sweep() == Sweep.read(Sweep().write())


def test_a_cursor_of_an_earlier_edition_is_begun_anew() -> None:
    old = '{"at": "2026-08-07T12:00:00+00:00", "seen": ["gate_1"]}'
    assert (Mark.read(old), Sweep.read(old)) == (Mark(), Sweep())


def test_a_row_that_commits_late_is_still_seen_once() -> None:
    late, early = Row("late", NOON - timedelta(seconds=5)), Row("early", NOON)
    mark = Mark().after([early])
    assert mark.unseen([late, early]) == [late]
    assert mark.after([late, early]).unseen([late, early]) == []


def test_a_mark_never_goes_back() -> None:
    first = Mark().after([Row("a", NOON)])
    later = first.after([Row("b", NOON - timedelta(seconds=50))])
    assert first.behind is not None
    assert later.behind == first.behind
    assert later.seen_ids == ["b", "a"]


def test_a_mark_forgets_only_what_is_behind_it_for_good() -> None:
    rows = [Row(f"r{each:05}", NOON + timedelta(milliseconds=each)) for each in range(deciding.SEEN_MAX + 5)]
    mark = Mark().after(rows)
    assert len(mark.seen) == deciding.SEEN_MAX
    assert mark.behind == (rows[4].created_at, rows[4].row_id)
    assert mark.unseen(rows[5:]) == []


@pytest.mark.parametrize("apart_ms", [0, 1, 200])
def test_any_number_of_rows_at_once_is_looked_at_once_each(apart_ms: int) -> None:
    rows = [
        Row(f"r{each:05}", NOON + timedelta(milliseconds=apart_ms * each))
        for each in range(3 * deciding.SEEN_MAX)
    ]
    mark, looked_at = Mark(), list[Row]()
    for _ in range(len(rows)):
        behind = mark.behind or deciding.NOWHERE
        known = set(mark.seen_ids)
        left = [row for row in rows if (row.created_at, row.row_id) > behind and row.row_id not in known]
        if not left:
            break
        looked_at += left[:200]
        mark = Mark.read(mark.after(left[:200]).write())
    assert looked_at == rows


def test_a_sweep_reaches_every_change_and_begins_again_near_the_end() -> None:
    places = [(NOON, f"2026-W32-{each}") for each in range(5)]
    sweep = Sweep().next(places[1], more=True)
    assert sweep.after == places[1]
    ended = sweep.next(places[4], more=False)
    assert ended.after == (NOON - deciding.OVERLAP, "")
    assert ended.next(None, more=False) == ended
    assert Sweep().next(None, more=False) == Sweep()


def test_a_batch_goes_by_its_backfill_and_what_was_just_asked_for_waits() -> None:
    rows = [delivery("a"), delivery("b", batch_id="batch_1"), delivery("c")]
    assert [each.outbox_id for each in deciding.to_run(rows, asked=frozenset({"c"}))] == ["a"]


@pytest.mark.parametrize(("due", "active", "turns"), [(0, 0, 0), (0, 1, 0), (5, 0, 1), (5, 1, 0), (1, 3, 0)])
def test_one_turn_at_the_engine_at_a_time(due: int, active: int, turns: int) -> None:
    assert deciding.turns_to_start(due, active=active, most=1) == turns


def test_a_cursor_that_remembers_nothing_is_not_empty() -> None:
    assert deciding.write_asked([]) != ""
    assert deciding.read_asked(deciding.write_asked([])) == deciding.read_asked(None) == frozenset()
    assert deciding.read_asked(deciding.write_asked([delivery("a"), delivery("b")])) == {"a", "b"}


def test_a_lost_run_is_asked_for_again_after_growing_pauses_and_a_found_one_never() -> None:
    def ended(seconds: int, *, lost: bool = True, product: str = "film") -> deciding.Ended:
        return deciding.Ended(product, "2026-W32-0", lost, NOON - timedelta(seconds=seconds))

    def due(*runs: deciding.Ended) -> dict[str, int]:
        return deciding.lost_products(runs, now=NOON)

    assert due(ended(29)) == {}
    assert due(ended(30)) == {"film": 1}
    assert due(ended(59), ended(99)) == {}
    assert due(ended(60), ended(99)) == {"film": 2}
    assert due(ended(30), ended(99, lost=False)) == {"film": 1}
    assert due(ended(99), ended(30, lost=False)) == {}
    assert due(*(ended(99_999 + each) for each in range(deciding.TURNS_MAX))) == {}
    assert due(ended(30), ended(30, product="cut", lost=False)) == {"film": 1}
