"""What engine tests share: a studio whose vendor is on loopback, money in the wallet, and orders."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
import sqlalchemy as sa

from shortdrama_pipeline.ids import new_id
from shortdrama_pipeline.providers.ports import Binding, Contract, HttpCall, Json, ReadMedia
from shortdrama_pipeline.providers.rehearsal import CONTRACT, RehearsalAdapter
from shortdrama_pipeline.rules.money import Money
from shortdrama_pipeline.rules.plans import Canonical, ItemRequest
from shortdrama_pipeline.rules.states import MediaKind, Stage
from shortdrama_pipeline.services.confirming import confirm_quote
from shortdrama_pipeline.services.context import Studio
from shortdrama_pipeline.services.draining import DrainReport, drain
from shortdrama_pipeline.services.planning import plan_items
from shortdrama_pipeline.services.pricing import ensure_published
from shortdrama_pipeline.services.shifts import Pace
from shortdrama_pipeline.services.wallets import top_up
from tests.fake_vendor import FRAMES, HEIGHT, WIDTH, FakeVendor

EPISODE = "2026-W32-0"
PERSON = "person:lin"
QUICK = Pace(
    lease_ms=3_000, heartbeat_ms=400, scan_ms=150, slow_query_s=3600, lookup_after_ms=20, resend_permille=20
)
STAGES = {
    MediaKind.TEXT: Stage.OUTLINE,
    MediaKind.IMAGE: Stage.STORYBOARD,
    MediaKind.VIDEO: Stage.SHOTS,
    MediaKind.SPEECH: Stage.AUDIO,
}


class QuickAdapter(RehearsalAdapter):
    """The real adapter under a contract a test may vary: polls come soon."""

    def __init__(self, **changes: object) -> None:
        if not changes.get("lookup_by_client_id", True):
            changes = {"lists_jobs": False} | changes  # a vendor that offers neither, unless a test says so
        self._contract = replace(CONTRACT, **({"poll_after_ms": 15, "poll_max_ms": 40} | changes))  # type: ignore[arg-type]

    @property
    def contract(self) -> Contract:
        return self._contract


class ImpatientAdapter(QuickAdapter):
    """Waits one second for an answer to a create."""

    def __init__(self, contract: Contract) -> None:
        self._contract = contract

    def build_create(
        self, binding: Binding, request: Json, *, client_id: str, read_media: ReadMedia
    ) -> HttpCall:
        call = super().build_create(binding, request, client_id=client_id, read_media=read_media)
        return replace(call, timeout_s=1)


@dataclass(slots=True)
class Shop:
    """A studio with a vendor, an episode and 1,000 CNY."""

    studio: Studio
    vendor: FakeVendor
    workers: int = field(default=0)

    def order(self, *kinds: MediaKind, confirm: bool = True) -> list[str]:
        """Plan, quote and confirm one item per kind; returns the task ids in that order."""
        found: list[str] = []
        for kind in dict.fromkeys(kinds):
            wanted = [item(kind, number) for number in range(sum(1 for each in kinds if each is kind))]
            planned = plan_items(self.studio, STAGES[kind], wanted, actor=PERSON)
            assert planned.quote_id is not None
            if confirm:
                key = new_id("key")
                found += confirm_quote(
                    self.studio, planned.quote_id, idempotency_key=key, actor=PERSON
                ).task_ids
        return found

    def drain(self, *, pace: Pace = QUICK, seconds_max: int = 90, limit: int = 64) -> DrainReport:
        self.workers += 1
        return drain(
            self.studio, worker=f"worker-{self.workers}", pace=pace, seconds_max=seconds_max, limit=limit
        )

    def with_contract(self, **changes: object) -> None:
        """Let the vendor's written contract say something else."""
        adapters = {"rehearsal": QuickAdapter(**changes)}
        self.studio = replace(self.studio, adapters=adapters)

    def shorten_create_timeout(self) -> None:
        """Give up on a silent vendor after a second."""
        contract = self.studio.adapters["rehearsal"].contract
        self.studio = replace(self.studio, adapters={"rehearsal": ImpatientAdapter(contract)})

    def with_binding(self, kind: MediaKind, **changes: object) -> None:
        name = f"rehearsal-{kind}"
        changed = replace(self.studio.bindings[name], **changes)  # type: ignore[arg-type]
        bindings = {**self.studio.bindings, name: changed}
        self.studio = replace(self.studio, bindings=bindings)

    def rows(self, query: str, **bound: object) -> list[dict[str, Any]]:
        with self.studio.db.read() as tx:
            return [dict(each) for each in tx.execute(sa.text(query), bound).mappings()]

    def run(self, statement: str, **bound: object) -> None:
        with self.studio.db.begin() as tx:
            tx.execute(sa.text(statement), bound)

    def states(self, task_id: str) -> tuple[str, list[str], str]:
        """Task, its Attempts in order, its money."""
        task = self.rows("select state from tasks where task_id = :id", id=task_id)[0]["state"]
        attempts = self.rows(
            "select state from provider_attempts where task_id = :id order by number", id=task_id
        )
        money = self.rows("select state from reservations where task_id = :id", id=task_id)[0]["state"]
        return task, [each["state"] for each in attempts], money

    def task(self, task_id: str) -> dict[str, Any]:
        return self.rows("select * from tasks where task_id = :id", id=task_id)[0]

    def history(self, entity: str, entity_id: str) -> list[str]:
        found = self.rows(
            "select to_state from events where entity = :entity and entity_id = :id order by seq",
            entity=entity,
            id=entity_id,
        )
        return [each["to_state"] for each in found]

    def balances(self) -> dict[str, int]:
        return {
            f"{each['account']} {each['currency']}": each["balance_micros"]
            for each in self.rows("select * from balances")
        }

    def snapshot(self) -> dict[str, list[dict[str, Any]]]:
        """Every row that a recovery could touch."""
        tables = {
            "tasks": "task_id", "provider_attempts": "attempt_id", "reservations": "reservation_id",
            "ledger_entries": "entry_id", "events": "event_id", "versions": "version_id",
            "media_files": "sha256", "balances": "account, currency", "alerts": "alert_id",
            "provider_jobs": "attempt_id", "outbox": "outbox_id",
        }  # fmt: skip
        return {name: self.rows(f"select * from {name} order by {key}") for name, key in tables.items()}

    def expire_leases(self) -> None:
        """Let time pass: whoever held a lease is dead."""
        self.run(
            "update tasks set expires_at = clock_timestamp() - interval '1 second',"
            " next_action_at = clock_timestamp() - interval '1 second'"
            " where state in ('running', 'waitingProvider', 'ingesting', 'needsReconciliation')"
        )

    def make_due(self) -> None:
        """Let the next slow look come now."""
        self.run(
            "update tasks set next_action_at = clock_timestamp() where next_action_at > clock_timestamp()"
            " and state not in ('succeeded', 'failed', 'cancelled')"
        )


def item(kind: MediaKind, number: int = 0) -> ItemRequest:
    """One small item of a kind, each with its own picture, sound or film."""
    small: dict[MediaKind, tuple[str, str, dict[str, Canonical]]] = {
        MediaKind.TEXT: ("outline", "content", {"task": "outline", "language": "zh-CN", "brief": {}}),
        MediaKind.IMAGE: (
            f"shot:s{number}",
            "frame",
            {"prompt": f"shot {number}", "width": WIDTH, "height": HEIGHT},
        ),
        MediaKind.VIDEO: (
            f"shot:s{number}",
            "video",
            {
                "prompt": "p",
                "width": WIDTH,
                "height": HEIGHT,
                "frame_rate": [24, 1],
                "duration_frames": FRAMES,
            },
        ),
        MediaKind.SPEECH: (
            f"line:l{number}",
            "speech",
            {"text": "你好", "voice": "v", "language": "zh-CN", "kind": "dialogue"},
        ),
    }
    subject, role, params = small[kind]
    return ItemRequest(
        episode_id=EPISODE, subject=subject, role=role, kind=kind, params={**params, "seed": number}
    )


@pytest.fixture
def fake_vendor() -> Iterator[FakeVendor]:
    vendor = FakeVendor()
    with vendor.serving():
        yield vendor


@pytest.fixture
def base_url(fake_vendor: FakeVendor) -> str:
    return fake_vendor.base_url


@pytest.fixture
def shop(studio: Studio, fake_vendor: FakeVendor) -> Shop:
    studio = replace(studio, adapters={"rehearsal": QuickAdapter()})
    with studio.db.begin() as tx:
        tx.execute(
            sa.text(
                "insert into episodes (episode_id, kind, week_id, sequence, allocation_key, time_zone,"
                " scheduled_for, state, actor) values (:id, 'episode', '2026-W32', 0, 'key', 'Asia/Shanghai',"
                " now(), 'live', 'person:lin')"
            ),
            {"id": EPISODE},
        )
    ensure_published(studio)
    top_up(studio, Money(1_000_000_000, "CNY"), key="first", actor=PERSON)
    return Shop(studio, fake_vendor)
