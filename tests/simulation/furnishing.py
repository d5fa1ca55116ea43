"""What a schedule begins with: episodes, prices, money, four channels of three written contracts."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import sqlalchemy as sa

from shortdrama_pipeline.errors import Outside
from shortdrama_pipeline.media.object_store import LocalObjectStore
from shortdrama_pipeline.providers.ports import Binding, Contract, HttpCall, Json, ReadMedia
from shortdrama_pipeline.providers.rehearsal import CONTRACT, RehearsalAdapter
from shortdrama_pipeline.rules.money import Money
from shortdrama_pipeline.services import pricing
from shortdrama_pipeline.services.context import Studio
from shortdrama_pipeline.services.shifts import Pace
from shortdrama_pipeline.services.wallets import top_up
from shortdrama_pipeline.settings import Settings
from tests.simulation.database import Line, SimDatabase
from tests.simulation.loop import Process
from tests.simulation.plan import BINDINGS

PERSON = "person:lin"
EPISODES = tuple(f"2026-W32-{number}" for number in range(12))
PACE = Pace(heartbeat_ms=5_000, scan_ms=8_000, wait_limit_s=120, lookup_after_ms=1_000)
BASE_URL = "http://127.0.0.1:9"
PRICE = """
[[price]]
binding = "{binding}"
kind = "text"
user = {{ currency = "CNY", unit = "request", micros_per_unit = {micros} }}
vendor = {{ currency = "XRH", unit = "request", micros_per_unit = 2_000 }}
delivery_deadline_s = {deadline_s}
source = "the simulator"
dated = "2026-08-03"
"""


_RHYTHM: dict[str, object] = {"poll_after_ms": 1_000, "poll_max_ms": 4_000}


class SimAdapter(RehearsalAdapter):
    """The real adapter under another written contract."""

    def __init__(self, **changes: object) -> None:
        self._contract = replace(CONTRACT, **(_RHYTHM | changes))  # type: ignore[arg-type]

    @property
    def contract(self) -> Contract:
        return self._contract

    def build_create(
        self, binding: Binding, request: Json, *, client_id: str, read_media: ReadMedia
    ) -> HttpCall:
        call = super().build_create(binding, request, client_id=client_id, read_media=read_media)
        return replace(call, timeout_s=25)


ADAPTERS = {
    "rehearsal": SimAdapter(),
    "shy": SimAdapter(protocol="shy", absence_is_proof=False, batch_query_max=1),
    "mute": SimAdapter(
        protocol="mute", lookup_by_client_id=False, absence_is_proof=False, callback_signed=False
    ),
}
PROTOCOLS = {"steady": "rehearsal", "shy": "shy", "mute": "mute", "hurried": "rehearsal"}


class SimStore(LocalObjectStore):
    """The real store, on a disk that may be full, of a process that may be dead."""

    def __init__(self, root: Path, process: Process, is_full: Callable[[], bool]) -> None:
        super().__init__(root)
        self._process = process
        self._is_full = is_full

    def put(self, chunks: Iterable[bytes], *, bytes_max: int) -> tuple[str, int]:
        self._process.check()
        if self._is_full():
            raise Outside("No space left", hint="Free some space")
        return super().put(chunks, bytes_max=bytes_max)


def furnish(line: Line, home: Path) -> None:
    """What every schedule begins with: episodes, prices, money. Committed once."""
    process = Process("furnisher")
    database = SimDatabase(line, process, meets=lambda _: "", committed=lambda _: None)
    bindings = {each: binding_of(each, home) for each in BINDINGS}
    studio = Studio(
        settings=Settings(home=home), db=database, objects=LocalObjectStore(home / "media"),
        bindings=bindings, adapters=ADAPTERS,
    )  # fmt: skip
    file = home / "prices.toml"
    file.write_text(
        "".join(
            PRICE.format(binding=each, micros=200_000, deadline_s=12 if each == "hurried" else 86_400)
            for each in BINDINGS
        )
    )
    line.command("begin")
    line.set_clock()
    for number, episode in enumerate(EPISODES):
        line.connection.execute(
            sa.text(
                "insert into episodes (episode_id, kind, week_id, sequence, allocation_key, time_zone,"
                " scheduled_for, state, actor) values (:id, 'episode', '2026-W32', :n, :id,"
                " 'Asia/Shanghai', now(), 'live', 'person:lin')"
            ),
            {"id": episode, "n": number},
        )
    pricing.publish_file(studio, file, actor=PERSON)
    top_up(studio, Money(1_000_000_000, "CNY"), key="first", actor=PERSON)
    line.command("commit")


def binding_of(name: str, home: Path) -> Binding:
    return Binding(
        id=name,
        kind="text",
        protocol=PROTOCOLS[name],
        model="animatic-1",
        base_url=BASE_URL,
        credential=f"file:{home}/key",
        egress=(),
        allow_private=True,
        requests_per_minute=600,
        in_flight_max=16,
    )
