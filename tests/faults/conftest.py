"""A zygote per test process, a stocked database to clone per cell."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa

from shortdrama_pipeline.ids import new_id
from shortdrama_pipeline.media.object_store import LocalObjectStore
from shortdrama_pipeline.providers.ports import Binding
from shortdrama_pipeline.providers.registry import ADAPTERS
from shortdrama_pipeline.rules.money import Money
from shortdrama_pipeline.services.context import Studio
from shortdrama_pipeline.services.pricing import ensure_published
from shortdrama_pipeline.services.wallets import top_up
from shortdrama_pipeline.settings import Settings
from shortdrama_pipeline.store import server
from shortdrama_pipeline.store.database import Database
from tests.conftest import _maintenance
from tests.engine.conftest import EPISODE, PERSON, QuickAdapter, Shop
from tests.faults.scene import Scene, Vendor, make_scene
from tests.faults.zygote import Zygote

STOCK = (
    "insert into episodes (episode_id, kind, week_id, sequence, allocation_key, time_zone, scheduled_for,"
    " state, actor) values (:id, 'episode', '2026-W32', 0, 'key', 'Asia/Shanghai', now(), 'live',"
    " 'person:lin')"
)


@pytest.fixture(scope="session")
def zygote() -> Iterator[Zygote]:
    found = Zygote()
    yield found
    found.close()


@pytest.fixture
def vendor() -> Iterator[Vendor]:
    line = Vendor()
    yield line
    line.close()


@pytest.fixture
def base_url(vendor: Vendor) -> str:
    return vendor.fake.base_url


@pytest.fixture(scope="session")
def stocked_db(pg_server: server.Server, template_db: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Name a database with an episode, prices and 1,000 CNY in the wallet; every cell gets a clone."""
    with _maintenance(pg_server) as connection:
        connection.execute(sa.text(f"create database stocked template {template_db} strategy file_copy"))
    home = tmp_path_factory.mktemp("stock")
    db = Database(pg_server.url("stocked"))
    bindings = {
        f"rehearsal-{kind}": Binding(
            f"rehearsal-{kind}", kind, "rehearsal", "animatic-1", "http://127.0.0.1:9", "env:NONE", (),
            allow_private=True, requests_per_minute=6000, in_flight_max=64,
        )
        for kind in ("text", "image", "video", "speech")
    }  # fmt: skip
    studio = Studio(Settings(home=home), db, LocalObjectStore(home / "media"), bindings, ADAPTERS)
    with db.begin() as tx:
        tx.execute(sa.text(STOCK), {"id": EPISODE})
    ensure_published(studio)
    top_up(studio, Money(1_000_000_000, "CNY"), key="first", actor=PERSON)
    db.close()
    return "stocked"


@pytest.fixture
def db_url(pg_server: server.Server, stocked_db: str) -> Iterator[str]:
    name = new_id("cell")
    with _maintenance(pg_server) as connection:
        connection.execute(sa.text(f"create database {name} template {stocked_db} strategy file_copy"))
    yield pg_server.url(name)
    with _maintenance(pg_server) as connection:
        connection.execute(sa.text(f"drop database {name} with (force)"))


@pytest.fixture
def scene(studio: Studio, vendor: Vendor, zygote: Zygote, tmp_path: Path) -> Scene:
    studio = replace(studio, adapters={"rehearsal": QuickAdapter()})
    return make_scene(Shop(studio, vendor.fake), vendor, zygote, tmp_path / "cell")
