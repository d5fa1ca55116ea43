"""Leaves the rows exactly as a crash at a durable boundary leaves them, without a crash's noise."""

import asyncio
from dataclasses import replace

from shortdrama_pipeline.services.shifts import Shift
from shortdrama_pipeline.services.submitting import Ready, apply_fences, prepare
from shortdrama_pipeline.store import tasks
from tests.engine.conftest import QUICK, Shop


def crash_after_claim(shop: Shop, task_id: str) -> None:
    """T3, first half: claimed, no Attempt yet (F01a)."""
    with shop.studio.db.begin() as tx:
        assert tasks.claim(tx, [task_id], worker="dead", lease_ms=QUICK.lease_ms)
    shop.expire_leases()


def crash_after_fence(shop: Shop, task_ids: list[str]) -> None:
    """T3, whole: the fence is committed, no byte left (F01b)."""
    asyncio.run(_fence(shop, task_ids))
    shop.expire_leases()


async def _fence(shop: Shop, task_ids: list[str]) -> None:
    shift = Shift(shop.studio, worker="dead", pace=QUICK, limit=1)
    try:
        with shop.studio.db.read() as tx:
            due = tasks.find_due(tx, dict.fromkeys(shop.studio.bindings, 100))
        made = [prepare(shift, each) for each in due if each.task.task_id in task_ids]
        ready = [each for each in made if isinstance(each, Ready)]
        assert len(ready) == len(made)
        numbers = shift.fences.take(len(ready))
        ready = [replace(each, fence=number) for each, number in zip(ready, numbers, strict=True)]
        with shop.studio.db.begin() as tx:
            assert all(apply_fences(tx, ready))
    finally:
        await shift.close()
