"""What Dagster's tests share: a configured home on a cloned database, a fake vendor, an instance."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import dagster as dg
import pytest
import sqlalchemy as sa

from assets.building import EPISODES
from resources.studio import StudioResource, close_opened, read_settings, studio_resources
from shortdrama_pipeline.definitions import build_definitions
from shortdrama_pipeline.ids import new_id
from shortdrama_pipeline.rules.money import Money
from shortdrama_pipeline.rules.states import Stage
from shortdrama_pipeline.services.confirming import confirm_quote
from shortdrama_pipeline.services.context import Studio
from shortdrama_pipeline.services.opening import open_studio
from shortdrama_pipeline.services.stage_planning import plan_stage
from shortdrama_pipeline.services.wallets import top_up
from shortdrama_pipeline.settings import Settings, load
from shortdrama_pipeline.stages.visual_assets import SIDE
from shortdrama_pipeline.store import schema, server
from tests.dagster_.living import Living
from tests.fake_vendor import FakeVendor
from tests.stages_ import flow

PERSON = "person:lin"
KINDS = ("text", "image", "video", "speech")
QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
BINDING = """
[[binding]]
id = "rehearsal-{kind}"
kind = "{kind}"
protocol = "rehearsal"
model = "animatic-1"
base_url = "{url}"
credential = "file:{key}"
allow_private = true
requests_per_minute = 6000
"""


@dataclass(slots=True)
class World:
    """A studio as Dagster opens it, its vendor, its definitions and an instance."""

    studio: Studio
    vendor: FakeVendor
    defs: dg.Definitions
    instance: dg.DagsterInstance

    @property
    def resources(self) -> dict[str, object]:
        return studio_resources(self.studio.settings)

    def episode(self, *, number: int = 0) -> str:
        """Return an episode with an imported script, its partition in place."""
        episode_id = flow.episode_with_script(self.studio, number=number)
        self.instance.add_dynamic_partitions(str(EPISODES.name), [episode_id])
        return episode_id

    def confirm(self, episode_id: str, stage: Stage) -> str:
        """Plan, quote and confirm what the stage lacks; return the Execution."""
        planned = plan_stage(self.studio, episode_id, stage, actor=PERSON)
        key = f"test:{planned.quote_id}"
        return confirm_quote(self.studio, planned.quote_id, idempotency_key=key, actor=PERSON).execution_id

    def materialise(
        self, *keys: str, episode_id: str, tags: dict[str, str] | None = None
    ) -> dg.ExecuteInProcessResult:
        """Run assets for one episode as a run of Dagster does, without raising."""
        wanted = {dg.AssetKey(each) for each in keys}
        assets = [each for each in self.defs.assets or [] if isinstance(each, dg.AssetsDefinition)]
        result = dg.materialize(
            [each for each in assets if each.keys & wanted],
            partition_key=episode_id,
            instance=self.instance,
            resources=self.resources,
            run_config=QUIET,
            raise_on_error=False,
            tags=tags,
        )
        for event in result.all_events:
            if event.is_step_failure and event.step_failure_data.user_failure_data is None:
                raise AssertionError(event.step_failure_data.error_display_string)
        return result

    def complete(self, *keys: str, episode_id: str) -> None:
        """Run assets and expect all of them materialised."""
        result = self.materialise(*keys, episode_id=episode_id)
        said = [
            each.step_failure_data.user_failure_data for each in result.all_events if each.is_step_failure
        ]
        assert result.success, said

    def posts(self) -> int:
        return len(self.vendor.posts())


@pytest.fixture(scope="session")
def template_db(pg_server: server.Server) -> str:
    """Name a database that the product itself brought up to date, since Dagster's processes open it so."""
    engine = sa.create_engine(pg_server.url("postgres"), poolclass=sa.NullPool, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(sa.text("create database upgraded"))
    schema.upgrade(pg_server.url("upgraded"))
    return "upgraded"


@pytest.fixture
def vendor() -> Iterator[FakeVendor]:
    with FakeVendor().serving() as serving:
        serving.size = (SIDE, SIDE)
        yield serving


@pytest.fixture
def configured(db_url: str, home: Path, vendor: FakeVendor) -> Settings:
    """Settings that stand in the home's file, as a process of Dagster's reads them."""
    key = home / "rehearsal" / "key"
    key.parent.mkdir(mode=0o700)
    key.write_text("rehearsal-key-of-tests")
    bindings = "".join(BINDING.format(kind=kind, url=vendor.base_url, key=key) for kind in KINDS)
    (home / "shortdrama.toml").write_text(f'[database]\nurl = "{db_url}"\n{bindings}')
    return read_settings(str(home))


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as opened:
        yield opened


@pytest.fixture
def world(configured: Settings, vendor: FakeVendor, instance: dg.DagsterInstance) -> Iterator[World]:
    resource = studio_resources(configured)["studio"]
    assert isinstance(resource, StudioResource)
    studio = resource.open()
    top_up(studio, Money(1_000_000_000, "CNY"), key="test", actor=PERSON)
    yield World(studio, vendor, build_definitions(configured), instance)
    close_opened()


@pytest.fixture(scope="module")
def living(
    pg_server: server.Server, template_db: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Living]:
    """A studio at work; ended by Ctrl-C, leaving nobody behind."""
    home = tmp_path_factory.mktemp("home")
    home.chmod(0o700)
    facts, dagster = new_id("facts"), new_id("dagster")
    main = sa.create_engine(pg_server.url("postgres"), poolclass=sa.NullPool, isolation_level="AUTOCOMMIT")
    with main.connect() as connection:
        connection.execute(sa.text(f"create database {facts} template {template_db}"))
        connection.execute(sa.text(f"create database {dagster}"))
    with FakeVendor().serving() as vendor:
        vendor.as_asked = True
        key = home / "rehearsal" / "key"
        key.parent.mkdir(mode=0o700)
        key.write_text("rehearsal-key-of-tests")
        bindings = "".join(BINDING.format(kind=kind, url=vendor.base_url, key=key) for kind in KINDS)
        (home / "shortdrama.toml").write_text(
            f'[database]\nurl = "{pg_server.url(facts)}"\n{bindings}'
            f'[dagster]\nurl = "{pg_server.url(dagster, driver="psycopg2")}"\n'
        )
        studio = open_studio(load(home, None, environment={}))
        top_up(studio, Money(1_000_000_000, "CNY"), key="test", actor=PERSON)
        at_work = Living(studio, vendor, sa.create_engine(pg_server.url(dagster), poolclass=sa.NullPool))
        try:
            at_work.start()
            yield at_work
        finally:
            at_work.stop()
            studio.db.close()
    with main.connect() as connection:
        for name in (facts, dagster):
            connection.execute(sa.text(f"drop database {name} with (force)"))
