"""The engine tests' shop, and 64 racers with a connection each."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from shortdrama_pipeline.store.database import Database
from tests.engine.conftest import Shop, base_url, fake_vendor, shop
from tests.racing.racers import RACERS, Racers

__all__ = ["base_url", "fake_vendor", "racers", "shop"]


@pytest.fixture
def racers(shop: Shop, db_url: str) -> Iterator[Racers]:
    """Every racer's statements go over a connection of its own."""
    db = Database(db_url, pool_size=RACERS)
    with Racers(replace(shop.studio, db=db)) as found:
        yield found
    db.close()
