"""`decide`: one table of what is held and what follows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shortdrama_pipeline.errors import Conflict, UsageError
from shortdrama_pipeline.rules import allocation
from shortdrama_pipeline.rules.allocation import Held, Reuse, Take

ZERO = Held("2026-W32-0", "episode", "2026-W32", 0, "Asia/Shanghai")
ONE = Held("2026-W32-1", "episode", "2026-W32", 1, "Asia/Shanghai")


def decide(
    matches: list[Held], *, week_id: str = "2026-W32", highest: int | None = None, kind: str = "episode"
) -> Reuse | Take:
    return allocation.decide(
        matches, key="k", kind=kind, week_id=week_id, time_zone="Asia/Shanghai", highest=highest
    )


@pytest.mark.parametrize(("highest", "taken"), [(None, 0), (0, 1), (1, 2), (2, 3), (99, 100)])
def test_without_a_match_the_next_number_is_taken(highest: int | None, taken: int) -> None:
    decision = decide([], highest=highest)
    assert decision == Take(Held(f"2026-W32-{taken}", "episode", "2026-W32", taken, "Asia/Shanghai"))


@pytest.mark.parametrize("highest", [0, 7])
def test_one_match_in_the_week_is_reused_whatever_came_after(highest: int) -> None:
    assert decide([ZERO], highest=highest) == Reuse(ZERO)


@pytest.mark.parametrize("week_id", ["2026-W31", "2026-W33", "2027-W32"])
def test_a_match_in_another_week_is_a_conflict_that_names_both(week_id: str) -> None:
    with pytest.raises(Conflict) as refused:
        decide([ZERO], week_id=week_id)
    assert "2026-W32-0" in refused.value.message
    assert week_id in refused.value.message
    assert refused.value.exit_code == 5


def test_several_matches_are_a_conflict_that_names_all() -> None:
    with pytest.raises(Conflict) as refused:
        decide([ZERO, ONE])
    assert refused.value.facts["episode_ids"] == ["2026-W32-0", "2026-W32-1"]


def test_a_match_of_another_kind_is_a_conflict() -> None:
    with pytest.raises(Conflict, match="a report"):
        decide([Held("report-2026-W32-0", "report", "2026-W32", 0, "UTC")])


def test_other_kinds_of_work_carry_their_name_in_the_id() -> None:
    taken = decide([], kind="report")
    assert taken.row.episode_id == "report-2026-W32-0"


@pytest.mark.parametrize("key", ["", " ", "\t", "a\nb", "\x00", "k" * 201])
def test_a_key_that_identifies_nothing_is_refused(key: str) -> None:
    with pytest.raises(UsageError):
        allocation.checked_key(key)


@pytest.mark.parametrize("key", ["scheduled-run:2026-08-07", "demo:2026-W32", "任意", "a b", "x" * 200])
def test_the_format_of_a_key_is_free(key: str) -> None:
    assert allocation.checked_key(key) == key


@pytest.mark.parametrize("kind", ["", "Report", "a/b", "-a", "a b", "x" * 33])
def test_a_kind_that_cannot_stand_in_an_id_is_refused(kind: str) -> None:
    with pytest.raises(UsageError):
        allocation.checked_kind(kind)


@given(st.lists(st.sampled_from("abcdefgh"), max_size=60))
def test_any_order_of_keys_and_retries_numbers_a_week_without_holes(keys: list[str]) -> None:
    held: dict[str, Held] = {}
    for key in keys:
        decision = decide([held[key]] if key in held else [], highest=len(held) - 1 if held else None)
        assert isinstance(decision, Reuse) == (key in held)
        held.setdefault(key, decision.row)
    assert sorted(each.sequence for each in held.values()) == list(range(len(held)))
