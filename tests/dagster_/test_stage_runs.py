"""Stages run as Dagster runs them, through the real services, against a fake vendor."""

from pathlib import Path

import dagster as dg
import pytest

from assets.showing import show_gates, show_stage
from resources import studio as studio_module
from resources.failing import refusals
from shortdrama_pipeline.errors import GateClosed
from shortdrama_pipeline.providers import credentials
from shortdrama_pipeline.rules.states import Stage
from shortdrama_pipeline.services.draining import drain
from shortdrama_pipeline.services.gates import pass_gate
from tests.dagster_.conftest import PERSON, World


def failure(result: dg.ExecuteInProcessResult) -> str:
    """Return what a person reads on the failed run."""
    (event,) = [each for each in result.all_events if each.is_step_failure]
    data = event.step_failure_data
    assert data.user_failure_data is not None, data.error
    return str(data.user_failure_data.description)


def to_assets(world: World) -> str:
    """Return an episode whose outline and script are confirmed."""
    episode_id = world.episode()
    for stage in (Stage.OUTLINE, Stage.SCRIPT):
        pass_gate(world.studio, episode_id, stage, actor=PERSON, rights=True)
    return episode_id


def test_a_complete_stage_is_materialised_with_what_a_person_wants_to_see(world: World) -> None:
    episode_id = to_assets(world)
    world.confirm(episode_id, Stage.ASSETS)
    drain(world.studio, worker="test")
    world.complete("assets_ordered", "assets", episode_id=episode_id)
    record = world.instance.get_latest_data_version_record(dg.AssetKey("assets"), partition_key=episode_id)
    assert record is not None
    shown = record.asset_materialization
    assert shown is not None
    assert shown.partition == episode_id
    assert {"items", "digest", "versions", "spent CNY", "picture", "picture file"} <= set(shown.metadata)
    assert shown.tags is not None
    assert shown.tags["dagster/data_version"] == shown.metadata["digest"].value
    assert str(shown.metadata["picture"].value).startswith("![")
    assert Path(str(shown.metadata["picture file"].value)).is_file()


def test_a_confirmed_stage_is_handed_over_and_not_shown_as_finished(world: World) -> None:
    episode_id = to_assets(world)
    world.confirm(episode_id, Stage.ASSETS)
    world.complete("assets_ordered", episode_id=episode_id)
    assert world.instance.get_latest_materialization_event(dg.AssetKey("assets")) is None
    assert world.posts() > 0


def test_an_incomplete_stage_fails_without_retry_and_says_what_it_waits_for(world: World) -> None:
    episode_id = to_assets(world)
    result = world.materialise("assets", episode_id=episode_id)
    assert not result.success
    assert "waiting for" in failure(result)
    assert world.posts() == 0


def test_a_stage_behind_a_closed_gate_fails_and_orders_nothing(world: World) -> None:
    episode_id = world.episode()
    result = world.materialise("storyboard", episode_id=episode_id)
    assert not result.success
    assert "outline" in failure(result)
    assert world.posts() == 0


def test_an_unconfirmed_stage_orders_nothing(world: World) -> None:
    episode_id = to_assets(world)
    result = world.materialise("assets_ordered", episode_id=episode_id)
    assert not result.success
    assert "not ordered" in failure(result)
    assert world.posts() == 0


@pytest.mark.parametrize("key", ["outline", "assets", "assets_ordered", "export"])
def test_an_unknown_episode_fails_before_a_credential_is_read_or_a_client_built(
    world: World, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    read: list[str] = []
    monkeypatch.setattr(credentials, "read_credential", read.append)
    (world.studio.settings.home / "rehearsal" / "key").unlink()
    world.instance.add_dynamic_partitions("episode_id", ["2026-W32-9"])
    result = world.materialise(key, episode_id="2026-W32-9")
    assert not result.success
    assert "Unknown episode" in failure(result)
    assert read == []
    assert world.vendor.seen == []


def test_opening_the_studio_reads_no_credential(world: World) -> None:
    (world.studio.settings.home / "rehearsal" / "key").unlink()
    studio_module.close_opened()
    studio = world.resources["studio"]
    assert isinstance(studio, studio_module.StudioResource)
    assert set(studio.open().bindings) == {
        f"rehearsal-{kind}" for kind in ("text", "image", "video", "speech")
    }


def test_running_everything_again_orders_nothing_more(world: World) -> None:
    episode_id = to_assets(world)
    world.confirm(episode_id, Stage.ASSETS)
    world.complete("assets_ordered", episode_id=episode_id)
    drain(world.studio, worker="test")
    posts = world.posts()
    for _ in range(3):
        world.complete("assets_ordered", "assets", episode_id=episode_id)
    assert world.posts() == posts


def test_run_retries_switched_on_by_hand_order_nothing_more(world: World) -> None:
    """A retried run is this run again with these tags; the daemon that starts it adds nothing else."""
    episode_id = to_assets(world)
    world.confirm(episode_id, Stage.ASSETS)
    failed = world.materialise("assets_ordered", "storyboard", episode_id=episode_id)
    drain(world.studio, worker="test")
    posts = world.posts()
    assert not failed.success
    for number in (1, 2):
        tags = {
            "dagster/parent_run_id": failed.run_id,
            "dagster/root_run_id": failed.run_id,
            "dagster/retry_number": str(number),
        }
        world.materialise("assets_ordered", "storyboard", episode_id=episode_id, tags=tags)
    assert world.posts() == posts


def test_a_retry_policy_switched_on_by_hand_orders_nothing_more(world: World) -> None:
    episode_id = to_assets(world)
    world.confirm(episode_id, Stage.ASSETS)
    drain(world.studio, worker="test")
    posts = world.posts()
    tries: list[int] = []

    @dg.asset(
        key="assets_again",
        partitions_def=dg.DynamicPartitionsDefinition(name="episode_id"),
        retry_policy=dg.RetryPolicy(max_retries=2),
    )
    def again(context: dg.AssetExecutionContext) -> None:
        tries.append(context.retry_number)
        world.materialise("assets_ordered", "assets", episode_id=episode_id)
        raise RuntimeError("the process died after the order")

    dg.materialize([again], partition_key=episode_id, instance=world.instance, raise_on_error=False)
    assert tries == [0, 1, 2]
    assert world.posts() == posts


def test_a_refusal_carries_its_words_and_facts_and_is_never_retried() -> None:
    with pytest.raises(dg.Failure) as failed, refusals():
        raise GateClosed("the gate of script is closed", hint="Pass it first", stage="script")
    assert failed.value.allow_retries is False
    assert failed.value.description == "the gate of script is closed. Pass it first"
    assert {"code", "to do", "stage"} == set(failed.value.metadata)


def test_a_gate_check_waits_for_a_person_as_a_warning_and_then_passes(world: World) -> None:
    episode_id = world.episode()
    show_stage(world.instance, world.studio, episode_id, Stage.OUTLINE)
    waiting = newest_check(world, "outline")
    assert (waiting.passed, waiting.severity) == (False, dg.AssetCheckSeverity.WARN)
    pass_gate(world.studio, episode_id, Stage.OUTLINE, actor=PERSON, rights=True)
    show_gates(world.instance, world.studio, episode_id)
    assert newest_check(world, "outline").passed
    shown = world.instance.get_latest_materialization_event(dg.AssetKey("outline_confirmed"))
    assert shown is not None
    assert shown.asset_materialization is not None
    assert shown.asset_materialization.metadata["passed by"].value == PERSON


def newest_check(world: World, key: str) -> dg.AssetCheckEvaluation:
    check = dg.AssetCheckKey(dg.AssetKey(key), "gate")
    found = world.instance.event_log_storage.get_latest_asset_check_execution_by_key([check])[check]
    assert found.event is not None
    assert found.event.dagster_event is not None
    return found.event.dagster_event.asset_check_evaluation_data
