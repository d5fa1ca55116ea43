"""What tests share: a real PostgreSQL of their own, a clone of the migrated database per test, a studio.

No socket goes anywhere but to this machine.
"""

import os
import shutil
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from shortdrama_pipeline.ids import new_id
from shortdrama_pipeline.media.object_store import LocalObjectStore
from shortdrama_pipeline.providers.ports import Binding
from shortdrama_pipeline.providers.registry import ADAPTERS
from shortdrama_pipeline.services.context import Studio
from shortdrama_pipeline.settings import Settings
from shortdrama_pipeline.store import guards, server
from shortdrama_pipeline.store.database import Database
from shortdrama_pipeline.store.migrations import HEAD
from shortdrama_pipeline.store.tables import metadata

HOMES = Path(tempfile.gettempdir()) / f"shortdrama-tests-{os.getuid()}"


@pytest.fixture(autouse=True, scope="session")
def _only_loopback() -> Iterator[None]:
    """Refuse every connection that would leave this machine."""
    connect, connect_ex = socket.socket.connect, socket.socket.connect_ex

    def check(address: object) -> None:
        host = address[0] if isinstance(address, tuple) else None
        if host is not None and host not in {"127.0.0.1", "::1", "localhost"}:
            raise AssertionError(f"A test tried to reach {address}")

    def guarded(self: socket.socket, address: object) -> None:
        check(address)
        connect(self, address)  # type: ignore[arg-type]

    def guarded_ex(self: socket.socket, address: object) -> int:
        check(address)
        return connect_ex(self, address)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", guarded)
        patch.setattr(socket.socket, "connect_ex", guarded_ex)
        yield


@pytest.fixture(scope="session")
def pg_server() -> Iterator[server.Server]:
    """Give this process a server of its own: same programs as the product's, but nothing waits for a disk."""
    _remove_homes_of_the_dead()
    home = HOMES / str(os.getpid())
    fast = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", "max_wal_size": "256MB"}
    # Its workers belong to the superuser: a clone they look at can be neither dropped nor copied by our role.
    fast["autovacuum"] = "off"
    try:
        yield server.start(home, settings=fast)
    finally:
        _remove_home(home)


@pytest.fixture(scope="session")
def template_db(pg_server: server.Server) -> str:
    """Name a database of the present schema with nobody connected, to clone from."""
    with _maintenance(pg_server) as connection:
        connection.execute(sa.text("create database migrated"))
    engine = sa.create_engine(pg_server.url("migrated"), poolclass=sa.NullPool)
    with engine.begin() as connection:  # what a test of the migrations holds equal to them
        metadata.create_all(connection)
        guards.install(connection)
        connection.execute(sa.text("create table alembic_version (version_num varchar(32) primary key)"))
        connection.execute(sa.text(f"insert into alembic_version values ('{HEAD}')"))
    return "migrated"


@pytest.fixture
def db_url(pg_server: server.Server, template_db: str) -> Iterator[str]:
    """Clone the migrated database for one test; copying files is twice as fast as writing its log."""
    name = new_id("test")
    with _maintenance(pg_server) as connection:
        connection.execute(sa.text(f"create database {name} template {template_db} strategy file_copy"))
    yield pg_server.url(name)
    with _maintenance(pg_server) as connection:
        connection.execute(sa.text(f"drop database {name} with (force)"))


@pytest.fixture
def db(db_url: str) -> Iterator[Database]:
    database = Database(db_url)
    yield database
    database.close()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir(mode=0o700)
    return folder


@pytest.fixture
def base_url() -> str:
    """Where the rehearsal bindings point. Override it with a vendor; this port refuses."""
    return "http://127.0.0.1:9"


@pytest.fixture
def studio(db: Database, home: Path, base_url: str) -> Studio:
    """A studio on `db`: yuan, Shanghai, four rehearsal bindings at `base_url`."""
    key = home / "rehearsal" / "key"
    key.parent.mkdir()
    key.write_text("rehearsal-key-of-tests")
    key.chmod(0o600)
    bindings = {
        f"rehearsal-{kind}": Binding(
            id=f"rehearsal-{kind}",
            kind=kind,
            protocol="rehearsal",
            model="animatic-1",
            base_url=base_url,
            credential=f"file:{key}",
            egress=(),
            allow_private=True,
            requests_per_minute=6000,
            in_flight_max=64,
        )
        for kind in ("text", "image", "video", "speech")
    }
    return Studio(
        settings=Settings(home=home),
        db=db,
        objects=LocalObjectStore(home / "media"),
        bindings=bindings,
        adapters=ADAPTERS,
    )


def _maintenance(running: server.Server) -> sa.Connection:
    """Connect as one who may make databases, each statement by itself."""
    engine = sa.create_engine(running.url("postgres"), poolclass=sa.NullPool, isolation_level="AUTOCOMMIT")
    return engine.connect()


def _remove_home(home: Path) -> None:
    found = server.find(home)
    if found:
        server.stop(home)
        shutil.rmtree(found.place, ignore_errors=True)
    shutil.rmtree(home, ignore_errors=True)


def _remove_homes_of_the_dead() -> None:
    """Stop the servers of test processes that were killed before they could."""
    HOMES.mkdir(mode=0o700, exist_ok=True)
    for home in HOMES.iterdir():
        if not Path("/proc", home.name).exists():
            _remove_home(home)
