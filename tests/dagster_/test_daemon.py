"""The real thing: `shortdrama dev` with Dagster's page and daemon, and what a person can press there.

One `dev` serves all tests of this file, each with episodes of its own. What takes minutes stands in
`faults_with_daemon.py`, for `make dagster-faults`.
"""

from shortdrama_pipeline.rules.states import Stage
from tests.dagster_.living import Living
from tests.stages_ import flow


def test_the_daemon_takes_an_episode_to_a_finished_stage_and_a_kill_orders_nothing_twice(
    living: Living,
) -> None:
    episode_id = living.episode(0, stage=Stage.ASSETS)
    items = living.order(episode_id, Stage.ASSETS)
    living.await_true(
        lambda: "assets_ordered" in living.materialised(episode_id) or bool(living.vendor.posts())
    )
    living.kill_daemon()
    wanted = {"outline", "script", "assets_ordered", "assets", "outline_confirmed", "script_confirmed"}
    living.await_true(lambda: wanted <= living.materialised(episode_id))
    assert len(living.vendor.posts()) == items
    assert living.twice_posted() == []
    assert "FAILURE" not in living.run_states().values()


def test_runs_executed_again_from_failure_and_from_scratch_buy_nothing(living: Living) -> None:
    done = living.run_states()
    posts = len(living.vendor.posts())
    ended = [run_id for run_id, status in done.items() if status in {"SUCCESS", "FAILURE"}]
    handed_over = [
        each for each in ended if _of(living, each, "assets_ordered") or _of(living, each, "shots_ordered")
    ]
    again = [living.reexecute(each, "ALL_STEPS") for each in handed_over[:2]]
    again += [living.reexecute(each, "FROM_FAILURE") for each in ended if done[each] == "FAILURE"][:1]
    assert again
    for each in again:
        living.await_run(each)
    assert len(living.vendor.posts()) == posts
    assert living.twice_posted() == []


def _of(living: Living, run_id: str, asset: str) -> bool:
    """Did this run materialise the asset?"""
    return bool(
        living.rows(
            "select 1 from event_logs where run_id = :run_id and asset_key = :asset"
            " and dagster_event_type = 'ASSET_MATERIALIZATION'",
            run_id=run_id,
            asset=f'["{asset}"]',
        )
    )


def test_what_nobody_approved_buys_nothing_and_says_why_when_materialised_from_the_page(
    living: Living,
) -> None:
    bare, standing = flow.episode_with_script(living.studio, number=3), living.episode(4, stage=Stage.ASSETS)
    for each in (bare, standing):
        living.await_known(each)
    posts = len(living.vendor.posts())
    everything = living.every_asset()
    run = living.materialise(everything, standing)
    assert living.await_run(run) == "FAILURE"
    assert "not ordered" in living.words(run)
    alone = living.materialise(["assets_ordered"], bare)
    assert living.await_run(alone) == "FAILURE"
    assert "gate" in living.words(alone)
    assert len(living.vendor.posts()) == posts
