"""When a gate can be passed, and that any change of what it covers asks again (P-2.1 to P-2.9)."""

from dataclasses import replace

import pytest

from shortdrama_pipeline.errors import GateClosed
from shortdrama_pipeline.rules.gates import Cover, Standing, check_passable, closed, gate_digest, stand
from shortdrama_pipeline.rules.stages import ORDER, RIGHTS, before, until
from shortdrama_pipeline.rules.states import Stage

ONE = Cover("shot:s1-01", "video", "ver_1", "sha256:1")
TWO = Cover("shot:s1-02", "video", "ver_2", "sha256:2")
STANDING = Standing(Stage.SHOTS, (ONE, TWO), (), ())


def test_the_digest_does_not_depend_on_the_order_of_the_covers() -> None:
    assert gate_digest(Stage.SHOTS, [ONE, TWO]) == gate_digest(Stage.SHOTS, [TWO, ONE])


@pytest.mark.parametrize(
    "changed",
    [
        [ONE],
        [ONE, replace(TWO, version_id="ver_3")],
        [ONE, replace(TWO, digest="sha256:3")],
        [ONE, replace(TWO, subject="shot:s1-03")],
        [ONE, replace(TWO, role="frame")],
    ],
)
def test_any_change_of_what_is_covered_is_another_digest(changed: list[Cover]) -> None:
    assert gate_digest(Stage.SHOTS, changed) != STANDING.digest


def test_the_same_covers_of_another_stage_are_another_digest() -> None:
    assert gate_digest(Stage.PILOT, [ONE, TWO]) != STANDING.digest


def test_a_standing_sorts_what_is_owed_into_chosen_missing_and_rejected() -> None:
    chosen = {("shot:s1-01", "video"): ("ver_1", "sha256:1"), ("shot:s9-01", "video"): ("ver_9", "sha256:9")}
    owed = [("shot:s1-01", "video"), ("shot:s1-02", "video")]
    standing = stand(Stage.SHOTS, owed, chosen, frozenset({"ver_1"}))
    assert standing.covers == (ONE,)
    assert standing.missing == (("shot:s1-02", "video"),)
    assert standing.rejected == (("shot:s1-01", "video"),)
    assert standing.digest == ""


def test_a_complete_stage_can_be_passed() -> None:
    check_passable(STANDING, rights=False, seen_digest=STANDING.digest)


@pytest.mark.parametrize(
    ("standing", "why"),
    [
        (replace(STANDING, missing=(("shot:s1-03", "video"),)), "missing"),
        (replace(STANDING, rejected=(("shot:s1-01", "video"),)), "rejected"),
    ],
)
def test_a_gate_with_something_missing_or_rejected_stays_shut(standing: Standing, why: str) -> None:
    with pytest.raises(GateClosed) as refused:
        check_passable(standing, rights=True)
    assert why in refused.value.facts


def test_a_gate_that_changed_since_it_was_looked_at_stays_shut() -> None:
    with pytest.raises(GateClosed, match="changed since"):
        check_passable(STANDING, rights=False, seen_digest="sha256:other")


@pytest.mark.parametrize("stage", Stage)
def test_only_story_and_voices_ask_for_the_rights(stage: Stage) -> None:
    standing = replace(STANDING, stage=stage)
    assert {Stage.OUTLINE, Stage.AUDIO} == RIGHTS
    if stage in RIGHTS:
        with pytest.raises(GateClosed, match="rights"):
            check_passable(standing, rights=False)
    else:
        check_passable(standing, rights=False)


def test_every_stage_stands_behind_all_gates_before_it() -> None:
    assert before(Stage.OUTLINE) == ()
    assert before(Stage.EXPORT) == ORDER[:-1]
    assert until(Stage.PILOT) == (*before(Stage.PILOT), Stage.PILOT)
    assert until(None) == ORDER
    assert closed(Stage.SHOTS, Stage.PILOT).facts == {"stage": "shots", "gate": "pilot"}
