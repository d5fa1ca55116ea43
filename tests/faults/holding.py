"""What must hold at the end of every cell, whatever was cut."""

from tests.fake_vendor import COST
from tests.faults.catalogue import End
from tests.faults.scene import Scene

MAY_COST = {"regenerate"}


def check(scene: Scene, expected: End) -> None:
    """Task, Attempts, money, POSTs and assets as the row says; the view names reason and actions."""
    (task_id,) = scene.tasks
    task, attempts, money = scene.shop.states(task_id)
    found = (task, tuple(attempts), money, scene.posts(), scene.versions())
    wanted = (expected.task, expected.attempts, expected.money, expected.posts, expected.assets)
    assert found == wanted, scene.story(task_id)
    shown = scene.show(task_id)
    reason = shown["reason"] or shown["hold_reason"] or {}
    if expected.code:
        assert reason["code"] == expected.code
        assert reason["last_proven_fact"]
    assert set(expected.actions) <= set(shown["actions"]), shown["actions"]
    assert set(shown["actions_that_may_cost"]) == MAY_COST & set(shown["actions"])
    assert shown["text"]


def check_the_books(scene: Scene, expected: End) -> None:
    """Every effect once, every account whole, every delivered job paid to its vendor, nothing else."""
    (task_id,) = scene.tasks
    ends = {"settled": [f"settle:{task_id}"], "released": [f"release:{task_id}"]}
    assert scene.settlements() == ends.get(expected.money, [])
    balances = scene.shop.balances()
    assert sum(value for key, value in balances.items() if key.endswith("CNY")) == 0
    (held,) = scene.shop.rows("select amount_micros, settled_micros from reservations")
    reserved = held["amount_micros"] if expected.money in {"reserved", "settlementPending"} else 0
    assert balances["wallet:studio:reserved CNY"] == reserved
    assert balances.get("studio:revenue CNY", 0) == held["settled_micros"]
    assert held["settled_micros"] == (held["amount_micros"] if expected.money == "settled" else 0)
    if expected.assets:
        owed = sum(value for key, value in balances.items() if key.startswith("vendor:"))
        assert owed == sum(COST[job.kind] for job in scene.vendor.jobs.values())
        borne = 0 if expected.money in {"settled", "settlementPending"} else owed  # by the platform (P-8.5)
        assert -balances.get("platform:compensation XRH", 0) == borne
    assert scene.problems() == []


def check_a_second_recovery_changes_nothing(scene: Scene) -> None:
    """V-15: over all tables, and at the vendor."""
    scene.expire()
    scene.shop.make_due()
    scene.run("recover")
    before, posts = scene.dump(), scene.posts()
    scene.run("recover")
    assert scene.dump() == before
    assert scene.posts() == posts
