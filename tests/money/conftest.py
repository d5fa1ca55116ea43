"""What money tests share: a studio with prices, a filled wallet and an episode to plan for."""

from collections.abc import Sequence
from dataclasses import dataclass

import pytest
import sqlalchemy as sa

from shortdrama_pipeline.rules.money import Money
from shortdrama_pipeline.rules.plans import ItemRequest, Use
from shortdrama_pipeline.rules.states import MediaKind, Stage
from shortdrama_pipeline.services.context import Studio
from shortdrama_pipeline.services.planning import Planned, plan_items
from shortdrama_pipeline.services.pricing import ensure_published
from shortdrama_pipeline.services.wallets import top_up
from shortdrama_pipeline.store.database import Database

EPISODE = "2026-W32-0"
PERSON = "person:lin"
IMAGE_MICROS = 40_000


@dataclass(frozen=True, slots=True)
class Rich:
    """A studio with 100 CNY, four priced bindings and the episodes 2026-W32-0 to -2."""

    studio: Studio

    @property
    def db(self) -> Database:
        return self.studio.db

    def count(self, table: str) -> int:
        with self.db.read() as tx:
            return int(tx.execute(sa.text(f"select count(*) from {table}")).scalar_one())

    def rows(self, query: str, **bound: object) -> list[dict[str, object]]:
        with self.db.read() as tx:
            return [dict(each) for each in tx.execute(sa.text(query), bound).mappings()]

    def run(self, statement: str, **bound: object) -> None:
        with self.db.begin() as tx:
            tx.execute(sa.text(statement), bound)

    def plan(self, requests: Sequence[ItemRequest] | None = None, **options: object) -> Planned:
        wanted = list(requests) if requests is not None else [image(1), image(2), image(3)]
        return plan_items(
            self.studio,
            Stage.STORYBOARD,
            wanted,
            actor=str(options.pop("actor", PERSON)),
            **options,  # type: ignore[arg-type]
        )

    def t1_rows(self) -> dict[str, int]:
        """How many of each row that a confirm makes."""
        tables = ("executions", "tasks", "reservations", "outbox", "grants")
        with self.db.read() as tx:
            counts = tx.execute(
                sa.text("select " + ", ".join(f"(select count(*) from {each}) as {each}" for each in tables)),
            ).one()
        return dict(zip(tables, (int(each) for each in counts), strict=True))


def image(
    number: int, *, episode_id: str = EPISODE, uses: tuple[Use, ...] = (), **params: object
) -> ItemRequest:
    """A storyboard frame of 0.04 CNY."""
    return ItemRequest(
        episode_id=episode_id,
        subject=f"shot:s1-{number:02d}",
        role="frame",
        kind=MediaKind.IMAGE,
        params={"prompt": f"shot {number}", "width": 1080, "height": 1920, "seed": number, **params},
        uses=uses,
    )


def script_version(studio: Studio, version_id: str, number: int, digest: str) -> Use:
    """Store a script version and return it as something used."""
    with studio.db.begin() as tx:
        tx.execute(
            sa.text(
                "insert into versions (version_id, kind, episode_id, subject, role, number, digest, content,"
                " provenance, actor) values (:id, 'ScriptVersion', :episode, 'script', 'content', :number,"
                " :digest, '{}', '{}', 'person:lin')"
            ),
            {"id": version_id, "episode": EPISODE, "number": number, "digest": digest},
        )
    return Use(purpose="script", version_id=version_id, digest=digest)


def select_version(studio: Studio, version_id: str) -> None:
    with studio.db.begin() as tx:
        tx.execute(
            sa.text(
                "insert into selections (episode_id, subject, role, version_id, actor)"
                " select episode_id, subject, role, version_id, 'person:lin' from versions"
                " where version_id = :id"
                " on conflict (episode_id, subject, role) do update set version_id = excluded.version_id"
            ),
            {"id": version_id},
        )


def deliver(rich: Rich, task_id: str) -> str:
    """Register a result of a task, as far as money looks at it; returns the attempt's id."""
    attempt_id = f"attempt_{task_id}"
    rich.run(
        "insert into provider_attempts (attempt_id, task_id, number, state, channel, request_digest,"
        " lease_token, worker, provider_cost_micros, provider_currency)"
        " values (:attempt, :task, 1, 'prepared', '{}', '', 1, 'w', 0, 'XRH')",
        attempt=attempt_id,
        task=task_id,
    )
    rich.run(
        "insert into versions (version_id, kind, episode_id, subject, role, number, digest, content,"
        " attempt_id, slot, provenance, actor)"
        " select 'ver_' || task_id, 'AssetVersion', episode_id, subject, role, 1, '', '{}', :attempt, 0,"
        " '{}', actor from tasks join executions using (execution_id) where task_id = :task",
        attempt=attempt_id,
        task=task_id,
    )
    return attempt_id


@pytest.fixture
def rich(studio: Studio) -> Rich:
    with studio.db.begin() as tx:
        for sequence in range(3):
            tx.execute(
                sa.text(
                    "insert into episodes (episode_id, kind, week_id, sequence, allocation_key, time_zone,"
                    " scheduled_for, state, actor) values (:id, 'episode', '2026-W32', :sequence, :key,"
                    " 'Asia/Shanghai', now(), 'live', 'person:lin')"
                ),
                {"id": f"2026-W32-{sequence}", "sequence": sequence, "key": f"key-{sequence}"},
            )
    ensure_published(studio)
    top_up(studio, Money(100_000_000, "CNY"), key="first", actor=PERSON)
    return Rich(studio)
