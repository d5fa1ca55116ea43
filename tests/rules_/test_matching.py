"""Which listed job is ours: by our reference, or by facts the contract has verified; never by a guess."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shortdrama_pipeline.rules.matching import (
    BY_FACTS,
    SKEW_S,
    Candidates,
    Identified,
    ListedJob,
    MatchingFact,
    NotListed,
    Silent,
    match,
)

NOON = datetime(2026, 8, 3, 12, tzinfo=UTC)
ALL = frozenset(MatchingFact)
OURS = Silent("att_1", "model-1", NOON, seed=7, timeout_s=60)


def job(external_id: str = "j1", *, after_s: int = 1, **facts: object) -> ListedJob:
    told: dict[str, object] = {"model": "model-1", "seed": 7} | facts
    return ListedJob(external_id, NOON + timedelta(seconds=after_s), **told)  # type: ignore[arg-type]


def found(*jobs: ListedJob, **options: object) -> object:
    asked: dict[str, object] = {"known": frozenset(), "verified": ALL} | options
    return match(OURS, [OURS], jobs, **asked)  # type: ignore[arg-type]


def test_our_own_reference_is_beyond_doubt() -> None:
    ours = job(client_reference="att_1", model="renamed", seed=None, after_s=10**6)
    assert found(ours, job("j2")) == Identified(ours, (MatchingFact.CLIENT_REFERENCE,))


def test_a_reference_the_contract_has_not_verified_is_shown_to_a_person() -> None:
    assert isinstance(found(job(client_reference="att_1"), verified=BY_FACTS), Candidates)


def test_two_jobs_with_our_reference_are_for_a_person() -> None:
    assert isinstance(found(job(client_reference="att_1"), job("j2", client_reference="att_1")), Candidates)


def test_another_s_reference_is_not_ours_however_well_it_fits() -> None:
    assert found(job(client_reference="att_2")) == NotListed()


def test_model_time_and_seed_together_are_enough_when_verified() -> None:
    assert found(job()) == Identified(job(), tuple(sorted(BY_FACTS)))


@pytest.mark.parametrize("missing", sorted(BY_FACTS))
def test_one_fact_less_in_the_contract_and_a_person_decides(missing: MatchingFact) -> None:
    assert isinstance(found(job(), verified=ALL - {missing}), Candidates)


@pytest.mark.parametrize("facts", [{"seed": None}, {"model": None}])
def test_what_the_list_does_not_tell_is_not_taken_for_true(facts: dict[str, Any]) -> None:
    assert isinstance(found(job(**facts)), Candidates)


@pytest.mark.parametrize(
    "other", [{"model": "model-2"}, {"seed": 8}, {"after_s": 60 + SKEW_S + 1}, {"after_s": -SKEW_S - 1}]
)
def test_a_job_that_differs_in_one_fact_is_not_ours(other: dict[str, Any]) -> None:
    assert found(job(**other)) == NotListed()


@pytest.mark.parametrize("edge", [-SKEW_S, 60 + SKEW_S])
def test_the_window_includes_its_ends(edge: int) -> None:
    assert isinstance(found(job(after_s=edge)), Identified)


def test_a_job_an_attempt_has_already_is_nobody_s() -> None:
    assert found(job(), known={"j1"}) == NotListed()
    assert isinstance(found(job(), job("j2"), known={"j2"}), Identified)


def test_two_fitting_jobs_are_candidates_in_their_order() -> None:
    answer = found(job("j2", after_s=9), job("j1", after_s=3))
    assert isinstance(answer, Candidates)
    assert [each.external_id for each in answer.jobs] == ["j1", "j2"]


def test_one_job_for_two_waiting_requests_is_a_candidate() -> None:
    twin = Silent("att_2", "model-1", NOON + timedelta(seconds=5), seed=7, timeout_s=60)
    assert isinstance(match(OURS, [OURS, twin], [job()], known=(), verified=ALL), Candidates)


def test_a_list_that_was_not_read_to_its_end_proves_nothing_alone() -> None:
    assert isinstance(found(job(), complete=False), Candidates)


JOBS = st.lists(
    st.builds(
        ListedJob,
        st.sampled_from(["j1", "j2", "j3"]),
        st.integers(-500, 500).map(lambda s: NOON + timedelta(seconds=s)),
        st.sampled_from([None, "model-1", "model-2"]),
        st.sampled_from([None, 7, 8]),
        st.sampled_from([None, "att_1", "att_2"]),
    ),
    max_size=5,
    unique_by=lambda each: each.external_id,
)


@given(JOBS, st.sets(st.sampled_from(sorted(MatchingFact))), st.sets(st.sampled_from(["j1", "j2"])))
def test_nothing_is_identified_that_is_known_or_somebody_else_s(
    jobs: list[ListedJob], verified: set[MatchingFact], known: set[str]
) -> None:
    answer = match(OURS, [OURS], jobs, known=known, verified=frozenset(verified))
    if isinstance(answer, Identified):
        assert answer.job.external_id not in known
        assert answer.job.client_reference in {None, "att_1"}
        assert set(answer.by) <= verified
        rest = [each for each in jobs if each != answer.job]
        assert isinstance(
            match(OURS, [OURS], rest, known=known, verified=frozenset(verified)), NotListed
        ) or (answer.by == (MatchingFact.CLIENT_REFERENCE,))
