"""What every measurement stands on: a server with fsync on, a vendor process, a studio, counters."""

import json
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import sqlalchemy as sa
from PIL import Image

from shortdrama_pipeline.ids import new_id
from shortdrama_pipeline.media.object_store import LocalObjectStore
from shortdrama_pipeline.providers.ports import (
    AcceptedJob,
    AnsweredInline,
    Binding,
    CallbackNotice,
    Contract,
    CreateOutcome,
    Finished,
    HttpAnswer,
    HttpCall,
    Json,
    Output,
    QueryFailed,
    QueryOutcome,
    ReadMedia,
    StillWorking,
    Unknown,
)
from shortdrama_pipeline.rules.money import Money
from shortdrama_pipeline.rules.plans import ItemRequest
from shortdrama_pipeline.rules.states import MediaKind, Stage
from shortdrama_pipeline.services.context import Studio
from shortdrama_pipeline.services.planning import Planned, plan_items
from shortdrama_pipeline.services.pricing import ensure_published
from shortdrama_pipeline.services.wallets import top_up
from shortdrama_pipeline.settings import Settings
from shortdrama_pipeline.store import schema, server
from shortdrama_pipeline.store.database import Database

EPISODE = "2026-W32-0"
PERSON = "person:bench"
BINDING = "rehearsal-image"
DROP_TRIES_MAX = 25


class BenchAdapter:
    """Speaks the vendor of `vendor.py`; every result is one picture that is stored already."""

    def __init__(self, sha256: str, *, poll_after_ms: int = 5, batch: int = 50) -> None:
        self.sha256 = sha256
        self._contract = Contract(
            protocol="bench",
            version="1",
            asynchronous_kinds=frozenset({"image"}),
            source="bench/vendor.py",
            batch_query_max=batch,
            poll_after_ms=poll_after_ms,
            poll_max_ms=max(poll_after_ms, 200),
        )

    @property
    def contract(self) -> Contract:
        return self._contract

    def build_create(
        self, binding: Binding, request: Json, *, client_id: str, read_media: ReadMedia
    ) -> HttpCall:
        return HttpCall("POST", "/jobs", {"client_id": client_id, "params": request["params"]}, 30)

    def read_create(self, answer: HttpAnswer) -> CreateOutcome:
        external_id = json.loads(answer.body).get("id")
        return AcceptedJob(external_id, {"external_id": external_id}) if external_id else Unknown("no id")

    def build_query(self, binding: Binding, checkpoints: list[Json]) -> HttpCall:
        return HttpCall(
            "GET", "/jobs?ids=" + ",".join(str(each["external_id"]) for each in checkpoints), None, 20
        )

    def read_query(self, answer: HttpAnswer, external_ids: list[str]) -> dict[str, QueryOutcome]:
        if answer.status != 200:
            return dict.fromkeys(external_ids, QueryFailed(str(answer.status)))
        jobs = json.loads(answer.body)["jobs"]
        done = Finished((Output(0, "image/png", sha256=self.sha256),), 10_000, "XRH")
        return {each: done if jobs[each] == "succeeded" else StillWorking("running") for each in external_ids}

    def build_lookup(self, binding: Binding, client_id: str) -> HttpCall | None:
        return None

    def read_lookup(self, answer: HttpAnswer) -> AcceptedJob | AnsweredInline | Unknown | None:
        return Unknown("not offered")

    def read_callback(
        self, headers: Mapping[str, str], raw_body: bytes, *, secret: bytes | None, now_s: int
    ) -> CallbackNotice | None:
        return None


@dataclass(frozen=True, slots=True)
class Counts:
    """What a database did between two looks."""

    xids: int
    commits: int
    wal_fsyncs: int
    rows: int

    def per(self, tasks: int) -> dict[str, float]:
        return {
            "write_transactions_per_task": round(self.xids / tasks, 3),
            "commits_per_task": round(self.commits / tasks, 3),
            "wal_fsyncs_per_task": round(self.wal_fsyncs / tasks, 3),
            "row_writes_per_task": round(self.rows / tasks, 2),
        }


class Bench:
    """One embedded server for all measurements, a fresh database for each."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.server = server.start(home)

    @contextmanager
    def follower(self, studio: Studio, base_url: str) -> Iterator[None]:
        """`work drain --follow` in a process of its own, its first scan behind it."""
        url = studio.db.engine.url.render_as_string(hide_password=False)
        adapter = studio.adapters["bench"]
        assert isinstance(adapter, BenchAdapter)
        assert isinstance(studio.objects, LocalObjectStore)
        places = [str(self.home), str(studio.objects.root)]
        words = [sys.executable, "-m", "bench.worker", url, *places, base_url, adapter.sha256]
        process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        assert process.stdout.readline().strip() == "ready"
        time.sleep(2)
        try:
            yield
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait()

    @contextmanager
    def vendor(self, *, polls: int = 1) -> Iterator[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "bench.vendor", str(polls)], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        port = process.stdout.readline().strip()
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait()

    @contextmanager
    def studio(
        self, base_url: str, *, poll_after_ms: int = 5, batch: int = 50, pool_size: int = 8
    ) -> Iterator[Studio]:
        name = new_id("bench")
        with self._maintenance() as connection:
            connection.execute(sa.text(f"create database {name} owner {server.ROLE}"))
        schema.upgrade(self.server.url(name))
        objects = LocalObjectStore(self.home / name)  # each database has its own record of fences
        key = self.home / "key"
        key.write_text("bench-key")
        binding = make_binding(base_url, key)
        adapter = BenchAdapter(make_picture(objects, self.home), poll_after_ms=poll_after_ms, batch=batch)
        db = Database(self.server.url(name), pool_size=pool_size)
        studio = Studio(Settings(home=self.home), db, objects, {BINDING: binding}, {"bench": adapter})
        furnish(studio)
        try:
            yield studio
        finally:
            db.close()
            self._drop(name)

    def counts(self, studio: Studio) -> Counts:
        """Read counters after this database's backends have told theirs."""
        name = studio.db.engine.url.database
        studio.db.engine.dispose()
        with self._maintenance() as connection:
            while connection.execute(
                sa.text(
                    "select count(*) from pg_stat_activity where datname = :name"
                    " and backend_type = 'client backend'"
                ),
                {"name": name},
            ).scalar():
                time.sleep(0.02)
            xid = int(connection.execute(sa.text("select pg_current_xact_id()::text")).scalar_one())
            row = connection.execute(
                sa.text(
                    "select xact_commit, tup_inserted + tup_updated + tup_deleted from pg_stat_database"
                    " where datname = :name"
                ),
                {"name": name},
            ).one()
            fsyncs = connection.execute(
                sa.text("select coalesce(sum(fsyncs), 0)::bigint from pg_stat_io where object = 'wal'")
            ).scalar_one()
        return Counts(xid, int(row[0]), int(fsyncs), int(row[1]))

    def stop(self) -> None:
        server.stop(self.home)

    @contextmanager
    def flush_costs_1ms(self) -> Iterator[None]:
        """Every commit of the next connections waits a millisecond for its flush, as on a slow disk."""
        with self._maintenance() as connection:
            connection.execute(sa.text(f"alter role {server.ROLE} set commit_delay = 1000"))
            connection.execute(sa.text(f"alter role {server.ROLE} set commit_siblings = 0"))
        try:
            yield
        finally:
            with self._maintenance() as connection:
                connection.execute(sa.text(f"alter role {server.ROLE} reset all"))

    @contextmanager
    def unguarded(self, studio: Studio) -> Iterator[sa.Connection]:
        """A superuser's transaction without triggers, to lay rows by the hundred thousand."""
        url = self.server.url(str(studio.db.engine.url.database), role="postgres")
        with sa.create_engine(url, poolclass=sa.NullPool).begin() as tx:
            tx.execute(sa.text("set local session_replication_role = replica"))
            yield tx

    def vacuum(self, studio: Studio) -> None:
        url = self.server.url(str(studio.db.engine.url.database), role="postgres")
        engine = sa.create_engine(url, poolclass=sa.NullPool, isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            connection.execute(sa.text("vacuum analyze"))

    def _drop(self, name: str) -> None:
        """As the superuser, and again for a while: an autovacuum worker, which is his, may look at it."""
        for tries in range(DROP_TRIES_MAX):
            try:
                with self._maintenance() as connection:
                    connection.execute(sa.text(f"drop database {name} with (force)"))
            except sa.exc.DBAPIError:
                if tries == DROP_TRIES_MAX - 1:
                    raise
                time.sleep(0.2)
            else:
                return

    def _maintenance(self) -> sa.Connection:
        url = self.server.url("postgres", role="postgres")
        return sa.create_engine(url, poolclass=sa.NullPool, isolation_level="AUTOCOMMIT").connect()


def make_binding(base_url: str, key: Path) -> Binding:
    """A channel without limits of its own."""
    return Binding(BINDING, "image", "bench", "animatic-1", base_url, f"file:{key}", (), True, 10**9, 10**6)


def between(before: Counts, after: Counts) -> Counts:
    """The look itself takes one transaction id."""
    return Counts(
        after.xids - before.xids - 1,
        after.commits - before.commits,
        after.wal_fsyncs - before.wal_fsyncs,
        after.rows - before.rows,
    )


def plan(studio: Studio, count: int, *, start: int = 0) -> Planned:
    wanted = [
        ItemRequest(
            episode_id=EPISODE,
            subject=f"shot:s{start + number}",
            role="frame",
            kind=MediaKind.IMAGE,
            params={"prompt": f"shot {number}", "width": 90, "height": 160, "seed": number},
        )
        for number in range(count)
    ]
    return plan_items(studio, Stage.STORYBOARD, wanted, actor=PERSON)


def vendor_stats(base_url: str) -> dict[str, object]:
    with urllib.request.urlopen(f"{base_url}/stats") as answer:
        found: dict[str, object] = json.load(answer)
        return found


@contextmanager
def opened() -> Iterator[Bench]:
    with tempfile.TemporaryDirectory(prefix="shortdrama-bench-") as folder:
        bench = Bench(Path(folder))
        try:
            yield bench
        finally:
            bench.stop()


def make_picture(objects: LocalObjectStore, home: Path) -> str:
    place = home / "picture.png"
    Image.new("RGB", (90, 160), (20, 90, 160)).save(place)
    return objects.put([place.read_bytes()], bytes_max=10**6)[0]


def furnish(studio: Studio) -> None:
    """An episode, prices and money."""
    with studio.db.begin() as tx:
        tx.execute(
            sa.text(
                "insert into episodes (episode_id, kind, week_id, sequence, allocation_key, time_zone,"
                " scheduled_for, state, actor) values (:id, 'episode', '2026-W32', 0, 'key', 'Asia/Shanghai',"
                " now(), 'live', :actor)"
            ),
            {"id": EPISODE, "actor": PERSON},
        )
    rehearsal = {BINDING: replace(studio.bindings[BINDING], protocol="rehearsal")}
    ensure_published(replace(studio, bindings=rehearsal))
    top_up(studio, Money(10**12, "CNY"), key="bench", actor=PERSON)
