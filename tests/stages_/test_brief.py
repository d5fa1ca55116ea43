"""From a brief to a script: the real rehearsal provider writes, a budget pays, a person passes gates."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from shortdrama_pipeline.errors import GrantRefused
from shortdrama_pipeline.rehearsal import serving
from shortdrama_pipeline.rules import script as scripts
from shortdrama_pipeline.rules.grants import Scope
from shortdrama_pipeline.rules.money import Money
from shortdrama_pipeline.rules.states import Stage
from shortdrama_pipeline.services.allocating import allocate
from shortdrama_pipeline.services.context import Studio
from shortdrama_pipeline.services.gates import pass_gate
from shortdrama_pipeline.services.granting import issue_budget, show_grant
from shortdrama_pipeline.services.running import run_episode
from shortdrama_pipeline.services.series import create_series
from shortdrama_pipeline.services.wallets import top_up
from shortdrama_pipeline.store import selections
from tests.stages_.flow import PERSON

BRIEF = {"genre": "悬疑", "premise": "一封写给二十年前的信", "language": "zh-CN", "length_s": 60}
LIMIT = Money(1_000_000, "CNY")


@pytest.fixture
def briefed(priced: Studio, tmp_path: Path) -> Iterator[tuple[Studio, str]]:
    """A studio with a full wallet beside a real rehearsal server, and an episode of a series with a brief."""
    running = serving.start(tmp_path / "rehearsal")
    try:
        key = tmp_path / "key"
        key.write_text(running.key)
        bindings = {
            name: replace(each, base_url=running.base_url, credential=f"file:{key}", allow_private=True)
            for name, each in priced.bindings.items()
        }
        studio = replace(priced, bindings=bindings)
        top_up(studio, Money(10_000_000, "CNY"), key="first", actor=PERSON)
        series = create_series(studio, "雨夜来信", BRIEF, actor=PERSON)
        episode = allocate(
            studio,
            key="run:1",
            at=datetime(2026, 8, 7, tzinfo=UTC),
            series=str(series["series_id"]),
            actor=PERSON,
        )
        yield studio, episode.episode_id
    finally:
        running.stop()


def test_a_brief_becomes_an_outline_and_a_script_under_a_budget(briefed: tuple[Studio, str]) -> None:
    studio, episode_id = briefed
    grant = issue_budget(studio, LIMIT, actor=PERSON, scope=Scope(episodes=(episode_id,)), uses_max=2)
    for stage in (Stage.OUTLINE, Stage.SCRIPT):
        stopped = run_episode(studio, episode_id, grant_id=grant.grant_id, actor=PERSON)["stopped_at"]
        assert isinstance(stopped, dict)
        assert (stopped["stage"], stopped["why"]) == (stage, "gate")
        pass_gate(studio, episode_id, stage, actor=PERSON, rights=True, seen_digest=str(stopped["digest"]))
    with studio.db.read() as tx:
        written = selections.find_selected(tx, episode_id, "script")
    assert written is not None
    script = scripts.from_json(written.content)
    assert len(script.scenes) >= 3
    assert len({line.speaker for scene in script.scenes for line in scene.lines if line.speaker}) >= 3
    spent = show_grant(studio, grant.grant_id)
    assert (spent.used_micros, spent.uses) == (400_000, 2)
    with pytest.raises(GrantRefused):  # both uses are used up: the next stage wants another word
        run_episode(studio, episode_id, grant_id=grant.grant_id, actor=PERSON)
