"""One cell's world: a database of its own, a vendor that counts, and workers that are real processes."""

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from signal import SIGKILL
from typing import Any

import sqlalchemy as sa

from shortdrama_pipeline.ids import new_id
from shortdrama_pipeline.services.auditing import verify_all
from shortdrama_pipeline.services.task_actions import show_task
from shortdrama_pipeline.store.tables import metadata
from tests.engine.conftest import Shop
from tests.fake_vendor import FakeVendor
from tests.faults import jobs
from tests.faults.zygote import WAIT_S, Worker, Zygote

# Long enough for the slowest machine: that time has passed is told to the database, and not waited for.
PACE = {
    "lease_ms": 20_000, "heartbeat_ms": 3_000, "scan_ms": 100, "slow_query_s": 3600, "lookup_after_ms": 20,
    "resend_permille": 20,
}  # fmt: skip
# Where the clock itself is what is tried: the lease of the dead runs out by itself, as does a local deadline.
NATURAL = PACE | {"lease_ms": 2_000, "heartbeat_ms": 300}
_OPEN = "state in ('running', 'waitingProvider', 'ingesting', 'needsReconciliation')"


class Vendor:
    """A FakeVendor that can go away and come back on the same port."""

    def __init__(self) -> None:
        self.fake = FakeVendor()
        self._stack = ExitStack()
        self.open()

    def open(self) -> None:
        self._stack.enter_context(self.fake.serving())

    def close(self) -> None:
        self._stack.close()


class Scene:
    """What a cell acts with. Workers are named w1, w2, … in the order they are started."""

    def __init__(self, shop: Shop, vendor: Vendor, zygote: Zygote, folder: Path) -> None:
        self.shop = shop
        self.line = vendor
        self.vendor = vendor.fake
        self._zygote = zygote
        self._folder = folder
        self.contract: dict[str, object] = {}
        self.binding_changes: dict[str, object] = {}
        self.extra: dict[str, object] = {}
        self.names: dict[int, str] = {}
        self.pace: Mapping[str, int] = PACE
        self.tasks: list[str] = []
        self.messages: list[dict[str, object]] = []  # what a callback process hears
        self.beside: Worker | None = None  # a worker that runs while others are cut
        self._url = shop.studio.db.engine.url.render_as_string(hide_password=False)

    # --- processes --------------------------------------------------------------------------------------

    @property
    def fired_log(self) -> Path:
        return self._folder / "fired"

    @property
    def key(self) -> Path:
        return self.shop.studio.settings.home / "rehearsal" / "key"

    def fired(self) -> list[str]:
        """The points that acted, in their order."""
        if not self.fired_log.exists():
            return []
        return [line.split()[0] for line in self.fired_log.read_text().splitlines()]

    def start(self, job: str = "drain", *, crash: str = "", once: bool = False, **more: object) -> Worker:
        """Fork a worker; `crash` as in SHORTDRAMA_CRASH, `once`: only the first process there acts."""
        name = f"w{len(self.names) + 1}"
        order: dict[str, Any] = {
            "job": job, "worker": name, "url": self._url, "home": str(self.shop.studio.settings.home),
            "bindings": [jobs.binding_json(each, **self.binding_changes)
                         for each in self.shop.studio.bindings.values()],
            "contract": self.contract, "pace": self.pace, "messages": self.messages,
            "crash": crash, "fired": str(self.fired_log),
            "once": str(self._folder / "once") if once else None, "log": str(self._folder / f"{name}.log"),
            "answer": str(self._folder / f"{name}.json"), **self.extra, **more,
        }  # fmt: skip
        worker = self._zygote.fork(order)
        self.names[worker.pid] = name
        return worker

    def run(self, job: str = "drain", **more: object) -> dict[str, Any]:
        """Run one worker to its own end; returns its answer."""
        worker = self.start(job, **more)  # type: ignore[arg-type]
        self.end_well(worker)
        return self.answer(worker)

    def answer(self, worker: Worker) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self._folder / f"{self.names[worker.pid]}.json").read_text())
        return found

    def end_well(self, worker: Worker) -> None:
        code = worker.wait()
        assert code == 0, f"{self.names[worker.pid]} ended with {code}: {self.log(worker)}"

    def end_killed(self, worker: Worker) -> None:
        code = worker.wait()
        assert code == -9, f"{self.names[worker.pid]} ended with {code}, not killed: {self.log(worker)}"

    def first_killed(self, workers: Sequence[Worker]) -> Worker:
        """Wait until one of them is dead by a signal."""
        self.wait_for(lambda: any(each.code == -SIGKILL for each in workers), seconds=WAIT_S)
        return next(each for each in workers if each.code == -SIGKILL)

    def log(self, worker: Worker) -> str:
        return self._read(self.names[worker.pid])

    # --- time and trouble -------------------------------------------------------------------------------

    def expire(self, *gone: Worker) -> None:
        """Let time pass for those who hold a lease, all or the named; they are dead or stand still."""
        names = [self.names[each.pid] for each in gone] or list(self.names.values())
        self.shop.run(
            "update tasks set expires_at = clock_timestamp() - interval '1 second',"
            " next_action_at = clock_timestamp() - interval '1 second'"
            f" where expires_at is not null and {_OPEN} and owner = any(:names)",
            names=names,
        )

    def end_idle_sessions(self) -> None:
        """What the server does by itself to a process that stands still in a transaction."""
        self.shop.rows(
            "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database()"
            " and state = 'idle in transaction' and pid <> pg_backend_pid()"
        )

    def end_sessions(self) -> None:
        """The database restarts, as far as its clients can tell."""
        self.shop.studio.db.close()
        self.shop.rows(
            "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database()"
            " and pid <> pg_backend_pid()"
        )
        self.shop.studio.db.close()

    def wait_for(self, what: Callable[[], bool], *, seconds: float = 120) -> None:
        pause = threading.Event()
        for _ in range(int(seconds * 50)):
            if what():
                return
            pause.wait(0.02)
        raise AssertionError("it did not come to be")

    def restart_everything(self) -> None:
        """The vendor's server and every session of the database; the workers are dead already."""
        self.line.close()
        self.line.open()
        self.end_sessions()

    # --- looking ----------------------------------------------------------------------------------------

    def posts(self) -> int:
        return len(self.vendor.posts())

    def dump(self, *, without: frozenset[str] = frozenset()) -> dict[str, list[str]]:
        """Every row of every table."""
        with self.shop.studio.db.read() as tx:
            return {
                table.name: sorted(
                    tx.execute(sa.text(f'select to_jsonb(t)::text from "{table.name}" t')).scalars()
                )
                for table in metadata.sorted_tables
                if table.name not in without
            }

    def problems(self) -> list[str]:
        return [str(each.to_json()) for each in verify_all(self.shop.studio).problems]

    def settlements(self) -> list[str]:
        return [each["k"] for each in self.shop.rows(
            "select business_key as k from ledger_entries where business_key like 'settle:%'"
            " or business_key like 'release:%' order by 1")]  # fmt: skip

    def versions(self) -> int:
        return len(self.shop.rows("select 1 from versions where attempt_id is not null"))

    def story(self, task_id: str) -> str:
        """Everything one wants to read when a cell does not hold."""
        logs = {name: self._read(name) for name in self.names.values()}
        return json.dumps(
            {"shown": self.show(task_id), "fired": self.fired(), "logs": logs}, indent=1, default=str
        )

    def _read(self, name: str) -> str:
        place = self._folder / f"{name}.log"
        return place.read_text()[-2000:] if place.exists() else ""

    def show(self, task_id: str) -> Mapping[str, Any]:
        return show_task(self.shop.studio, task_id)


def make_scene(shop: Shop, vendor: Vendor, zygote: Zygote, folder: Path) -> Scene:
    bindings = {
        name: replace(each, base_url=vendor.fake.base_url) for name, each in shop.studio.bindings.items()
    }
    shop.studio = replace(shop.studio, bindings=bindings)
    folder.mkdir(exist_ok=True)
    return Scene(shop, vendor, zygote, folder)


def fresh_key() -> str:
    return new_id("key")
