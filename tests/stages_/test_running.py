"""The driver stops at what a person must say, and pays under no power of its own."""

from dataclasses import dataclass, field

import pytest

from shortdrama_pipeline.errors import (
    GateClosed,
    GrantRefused,
    InsufficientFunds,
    NotReady,
    StageIncomplete,
    UnknownId,
)
from shortdrama_pipeline.rules.money import Money
from shortdrama_pipeline.rules.states import Stage
from shortdrama_pipeline.services.confirming import confirm_quote
from shortdrama_pipeline.services.context import Studio
from shortdrama_pipeline.services.episode_views import episode_status, show_stage
from shortdrama_pipeline.services.running import Budget, Consent, GateAsked, QuoteAsked, drive, run_episode
from shortdrama_pipeline.services.stage_planning import plan_stage
from shortdrama_pipeline.services.stage_runs import advance_stage, order_stage
from shortdrama_pipeline.services.task_actions import cancel_task
from shortdrama_pipeline.services.wallets import top_up
from shortdrama_pipeline.store import selections
from shortdrama_pipeline.store.tables import quotes, tasks
from tests.stages_.flow import AGENT, PERSON, count, drive_to, episode_with_script

EPISODE = "2026-W32-0"


@dataclass(slots=True)
class Answers:
    """Says what the test wants, and remembers what it was asked."""

    gates: Consent | None = None
    quotes: Consent | None = None
    asked: list[QuoteAsked | GateAsked] = field(default_factory=list)

    def quote(self, asked: QuoteAsked) -> Consent | None:
        self.asked.append(asked)
        return self.quotes

    def gate(self, asked: GateAsked) -> Consent | None:
        self.asked.append(asked)
        return self.gates


def stages_of(studio: Studio, episode_id: str) -> dict[str, dict[str, object]]:
    listed = episode_status(studio, episode_id)["stages"]
    assert isinstance(listed, list)
    return {each["stage"]: each for each in listed}


def test_a_run_stops_at_the_first_gate_and_passes_none(priced: Studio) -> None:
    episode_id = episode_with_script(priced)
    for _ in range(2):
        stopped = run_episode(priced, episode_id, actor=PERSON)["stopped_at"]
        assert isinstance(stopped, dict)
        assert (stopped["stage"], stopped["why"]) == ("outline", "gate")
    assert stages_of(priced, episode_id)["outline"]["state"] == "gate"
    assert stages_of(priced, episode_id)["script"]["state"] == "blocked"


def test_a_run_stops_at_a_quote_and_shows_the_same_one_again(priced: Studio) -> None:
    episode_id = episode_with_script(priced)
    drive_to(priced, episode_id, Stage.ASSETS)
    assert stages_of(priced, episode_id)["assets"]["state"] == "ready"
    first, second = (run_episode(priced, episode_id, actor=AGENT)["stopped_at"] for _ in range(2))
    assert isinstance(first, dict)
    assert first == second
    assert (first["stage"], first["why"], first["total"]["currency"]) == ("assets", "quote", "CNY")
    assert count(priced.db, quotes) == 1
    assert count(priced.db, tasks) == 0
    assert stages_of(priced, episode_id)["assets"]["waits_for"] == f"quote:{first['quote_id']}"


def test_a_run_up_to_a_stage_ends_behind_its_gate(priced: Studio) -> None:
    episode_id = episode_with_script(priced)
    stop = drive(
        priced,
        episode_id,
        decide=Answers(gates=Consent(PERSON, rights=True)),
        actor=PERSON,
        last=Stage.SCRIPT,
    )
    assert (stop.stage, stop.why) == (Stage.SCRIPT, "done")


def test_a_decider_is_asked_about_exactly_what_is_there(priced: Studio) -> None:
    episode_id = episode_with_script(priced)
    answers = Answers(gates=Consent(PERSON, rights=True))
    stop = drive(priced, episode_id, decide=answers, actor=PERSON)
    assert stop.why == "quote"
    outline, script, quote = answers.asked
    assert isinstance(outline, GateAsked)
    assert isinstance(script, GateAsked)
    assert isinstance(quote, QuoteAsked)
    assert (outline.stage, outline.rights_asked) == (Stage.OUTLINE, True)
    assert (script.stage, script.rights_asked) == (Stage.SCRIPT, False)
    assert (quote.stage, quote.items, quote.quote_id) == (Stage.ASSETS, 5, stop.quote_id)


def test_a_yes_in_an_agents_name_confirms_nothing(priced: Studio) -> None:
    episode_id = episode_with_script(priced)
    with pytest.raises(GrantRefused):
        drive(priced, episode_id, decide=Answers(gates=Consent(AGENT, rights=True)), actor=AGENT)
    drive_to(priced, episode_id, Stage.ASSETS)
    with pytest.raises(GrantRefused):
        drive(priced, episode_id, decide=Answers(quotes=Consent(AGENT)), actor=AGENT)
    assert count(priced.db, tasks) == 0


def test_a_yes_without_money_orders_nothing(priced: Studio) -> None:
    episode_id = episode_with_script(priced)
    drive_to(priced, episode_id, Stage.ASSETS)
    with pytest.raises(InsufficientFunds):
        drive(priced, episode_id, decide=Answers(quotes=Consent(PERSON)), actor=PERSON)
    assert count(priced.db, tasks) == 0


def test_a_yes_without_the_rights_does_not_pass_the_story(priced: Studio) -> None:
    episode_id = episode_with_script(priced)
    with pytest.raises(GateClosed, match="rights"):
        drive(priced, episode_id, decide=Answers(gates=Consent(PERSON)), actor=PERSON)


def test_a_budget_answers_quotes_and_never_a_gate(priced: Studio) -> None:
    asked = QuoteAsked("2026-W32-0", Stage.ASSETS, "quote_1", None, 1)  # type: ignore[arg-type]
    assert Budget(PERSON).quote(asked) is None
    assert Budget(PERSON, "grant_1").quote(asked) == Consent(PERSON, grant_id="grant_1")
    gate = GateAsked("2026-W32-0", Stage.OUTLINE, "sha256:1", (), rights_asked=True)
    assert Budget(PERSON, "grant_1").gate(gate) is None


def test_an_incomplete_stage_says_waiting_for_n_of_m(priced: Studio) -> None:
    episode_id = episode_with_script(priced)
    drive_to(priced, episode_id, Stage.ASSETS)
    with pytest.raises(StageIncomplete, match="waiting for 6 of 6") as refused:
        advance_stage(priced, episode_id, Stage.ASSETS, actor=PERSON)
    assert "stage plan" in refused.value.hint
    with pytest.raises(StageIncomplete, match="5 of 6 items of assets are not ordered"):
        order_stage(priced, episode_id, Stage.ASSETS, actor=PERSON)


def test_a_complete_stage_is_reported_as_ordered_and_done(filmed: Studio) -> None:
    assert order_stage(filmed, EPISODE, "shots", actor=PERSON).ordered > 0
    report = advance_stage(filmed, EPISODE, "storyboard", actor=PERSON)
    with filmed.db.read() as tx:
        frame = selections.load_selected(tx, EPISODE, "shot:s1-01", "frame")
    assert report.thumbnail_sha256 == frame.sha256
    assert report.spent == []  # registered by the test, not bought


def test_the_word_of_the_run_follows_the_gates(priced: Studio) -> None:
    episode_id = episode_with_script(priced)
    words = []
    for stage in Stage:
        drive_to(priced, episode_id, stage)
        words.append(episode_status(priced, episode_id)["stage_run"])
    assert words == ["script", "script", "assets", "shots", "shots", "shots", "audio", "edit", "edit"]


def test_the_status_has_seven_domains_that_stand_apart(filmed: Studio) -> None:
    status = episode_status(filmed, EPISODE)
    domains = {
        "stage_run",
        "content_confirmation",
        "generation_readiness",
        "task",
        "remote_submission",
        "money",
        "asset",
    }
    assert domains <= set(status)
    assert status["task"] == status["remote_submission"] == status["money"] == {}
    assert status["asset"]["ready"] > 0  # type: ignore[index]
    states = {name: each["state"] for name, each in stages_of(filmed, EPISODE).items()}
    assert states.pop("export") == "ready"
    assert set(states.values()) == {"done"}


def test_a_stage_shows_its_gate_and_every_item(filmed: Studio) -> None:
    shown = show_stage(filmed, EPISODE, Stage.AUDIO)
    gate, items = shown["gate"], shown["items"]
    assert isinstance(gate, dict)
    assert isinstance(items, list)
    assert (gate["passed"], gate["passed_by"], gate["rights"]) == (True, PERSON, True)
    assert {each["readiness"] for each in items} == {"ready"}
    assert all(each["version_id"] and each["task_id"] is None for each in items)


def test_what_is_ordered_is_not_ordered_again_until_it_is_cancelled(priced: Studio) -> None:
    episode_id = episode_with_script(priced)
    drive_to(priced, episode_id, Stage.ASSETS)
    planned = plan_stage(priced, episode_id, "assets", actor=PERSON)
    top_up(priced, Money(10_000_000, "CNY"), key="t", actor=PERSON)
    confirmed = confirm_quote(priced, planned.quote_id, idempotency_key="k", actor=PERSON)
    assert stages_of(priced, episode_id)["assets"]["state"] == "working"
    assert order_stage(priced, episode_id, "assets", actor=PERSON).of == 6
    with pytest.raises(NotReady, match="Nothing of assets is missing"):
        plan_stage(priced, episode_id, "assets", actor=PERSON)
    with pytest.raises(UnknownId, match="can be ordered now"):
        plan_stage(priced, episode_id, "assets", items=["character:c1"], actor=PERSON)
    with pytest.raises(StageIncomplete, match="waiting for 6 of 6") as refused:
        advance_stage(priced, episode_id, "assets", actor=PERSON)
    assert refused.value.facts["working"] == 5
    cancel_task(priced, confirmed.task_ids[0], actor=PERSON)
    assert len(plan_stage(priced, episode_id, "assets", actor=PERSON).items) == 1
