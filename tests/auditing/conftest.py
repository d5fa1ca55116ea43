"""A studio in which everything has happened once: bought, failed, unknown, queued, cancelled."""

from dataclasses import dataclass

import pytest

from shortdrama_pipeline.rules.states import MediaKind
from shortdrama_pipeline.services.task_actions import cancel_task
from tests.engine.conftest import PERSON, Shop, base_url, fake_vendor, shop
from tests.fake_vendor import Fault, Job, Json, error

__all__ = ["base_url", "fake_vendor", "shop"]


@dataclass(frozen=True, slots=True)
class World:
    """Task ids by what became of them."""

    shop: Shop
    done: str
    film: str
    refused: str
    not_made: str
    unknown: str
    cancelled: str
    queued: str


@pytest.fixture
def world(shop: Shop) -> World:
    shop.with_contract(lookup_by_client_id=False)
    done, film = shop.order(MediaKind.IMAGE, MediaKind.VIDEO)
    shop.drain()
    shop.vendor.script("speech", error(422, "content_refused"))
    (refused,) = shop.order(MediaKind.SPEECH)
    shop.vendor.on_query = _cannot
    (not_made,) = shop.order(MediaKind.VIDEO)
    shop.vendor.script("images", Fault(then="drop"))
    (unknown,) = shop.order(MediaKind.IMAGE)
    shop.drain()
    (cancelled,) = shop.order(MediaKind.SPEECH)
    cancel_task(shop.studio, cancelled, actor=PERSON)
    (queued,) = shop.order(MediaKind.TEXT)
    found = [shop.task(each)["state"] for each in (done, film, refused, not_made, unknown, cancelled, queued)]
    assert found == [
        *("succeeded", "succeeded", "failed", "failed"),
        *("needsReconciliation", "cancelled", "queued"),
    ]
    return World(shop, done, film, refused, not_made, unknown, cancelled, queued)


def _cannot(job: Job) -> Json:
    failure = {"code": "cannot_render", "message": "no"}
    return {"id": job.external_id, "status": "failed", "progress": 0, "error": failure}
