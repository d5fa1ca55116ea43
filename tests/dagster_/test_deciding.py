"""What sensors decide, without Dagster and without a database."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest

from sensors import deciding
from sensors.deciding import Mark
from shortdrama_pipeline.store.watching import Delivery

NOON = datetime(2026, 8, 7, 12, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Row:
    row_id: str
    created_at: datetime


def delivery(outbox_id: str, *, batch_id: str | None = None) -> Delivery:
    return Delivery(outbox_id, "shots", ("2026-W32-0",), 0, batch_id)


def test_a_mark_survives_being_written_down() -> None:
    mark = Mark(NOON, ("a", "b"))
    assert Mark.read(mark.write()) == mark
    assert Mark.read(None) == Mark.read("") == Mark()


def test_a_row_that_commits_late_is_still_seen_once() -> None:
    late, early = Row("late", NOON - timedelta(seconds=5)), Row("early", NOON)
    mark = Mark().after([early])
    assert mark.unseen([late, early]) == [late]
    assert mark.after([late, early]).unseen([late, early]) == []


def test_a_mark_never_goes_back() -> None:
    mark = Mark().after([Row("a", NOON)]).after([Row("b", NOON - timedelta(hours=1))])
    assert mark.at == NOON


def test_a_mark_forgets_only_what_is_long_past() -> None:
    rows = [Row(f"r{each}", NOON + timedelta(seconds=each)) for each in range(deciding.SEEN_MAX + 5)]
    mark = Mark().after(rows)
    assert len(mark.seen) == deciding.SEEN_MAX
    assert mark.unseen(rows[-10:]) == []


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
