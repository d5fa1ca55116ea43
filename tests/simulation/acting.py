"""What people do in a schedule, and what happens to machines, keys and configuration."""

import asyncio
import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from shortdrama_pipeline.errors import Conflict, QuoteNotConfirmable
from shortdrama_pipeline.rules.plans import ItemRequest
from shortdrama_pipeline.rules.states import MediaKind, Stage
from shortdrama_pipeline.services import (
    granting,
    pricing,
    recovering,
    task_actions,
)
from shortdrama_pipeline.services.confirming import confirm_quote
from shortdrama_pipeline.services.context import Studio
from shortdrama_pipeline.services.planning import plan_items
from tests.simulation.furnishing import (
    ADAPTERS,
    PACE,
    PERSON,
    PRICE,
    SimAdapter,
)
from tests.simulation.plan import Entry
from tests.simulation.vendor import KEY
from tests.simulation.world import World


class Scene(World):
    """A world in which things happen."""

    # --- people -------------------------------------------------------------------------------------------

    def order(self, entry: Entry) -> None:
        binding, manner = entry.what.split()
        episodes = [self._episodes.pop(0) for _ in range(min(entry.more, len(self._episodes)))]
        wanted = [
            ItemRequest(
                episode_id=each, subject="outline", role="content", kind=MediaKind.TEXT,
                params={"task": "outline", "language": "zh-CN", "item": f"{binding} {each}",
                        "job": manner == "job", "seed": 1},
                constraints={"binding_id": binding},
            )
            for each in episodes
        ]  # fmt: skip
        if not wanted:
            return
        key = f"key-{entry.at}"

        def click(studio: Studio) -> None:
            planned = plan_items(studio, Stage.OUTLINE, wanted, actor=PERSON)
            self.quotes.append((planned.quote_id, key))
            confirm_quote(studio, planned.quote_id, idempotency_key=key, actor=PERSON)
            self.tell(f"{len(wanted)} of {entry.what} ordered")

        self.run(f"customer {key}", click)

    def confirm_again(self, quote_id: str, key: str) -> None:
        def click(studio: Studio) -> None:
            with suppress(QuoteNotConfirmable, Conflict):
                found = confirm_quote(studio, quote_id, idempotency_key=key, actor=PERSON)
                self.tell(f"{key} confirmed{'' if found.created else ' already'}")

        self.run(f"click {key}", click)

    def person(self, entry: Entry) -> None:
        tasks = self.rows("select task_id, state, grant_id from tasks order by task_id")
        task = tasks[entry.more % len(tasks)] if tasks else None
        quote = self.quotes[entry.more % len(self.quotes)] if self.quotes else None
        self.tell(f"a person: {entry.what}")
        match entry.what:
            case "click-again" if quote:
                self.confirm_again(*quote)
            case "other-key" if quote:
                self.confirm_again(quote[0], f"{quote[1]}-b")
            case "revoke" if task:
                self.run(
                    "revoke", lambda studio: granting.revoke_grant(studio, task["grant_id"], actor=PERSON)
                )
            case "cancel" if task:
                self.run(
                    "cancel", lambda studio: task_actions.cancel_task(studio, task["task_id"], actor=PERSON)
                )
            case "query" if task:
                self.act("query", task["task_id"])
            case "transfer" if task:
                self.act("transfer", task["task_id"])
            case "release-hold" if task:
                self.act("release", task["task_id"])
            case "forged-callback" if self.vendor.book:
                job = list(self.vendor.book.values())[entry.more % len(self.vendor.book)]
                raw = json.dumps(
                    {"id": job.external_id, "status": "succeeded", "result": {"url": "http://evil/"}}
                )
                self._on_callback("forged", {}, raw.encode())
            case "plan-again":
                self.order(Entry("order", entry.at, "steady job", 1))
            case _:
                self.tell("but there is nothing yet")

    def act(self, what: str, task_id: str) -> "asyncio.Future[object]":
        """One of the named actions of the task centre."""
        name = f"{what} {self.started}.{len(self.loop.processes)}"
        verbs: dict[str, Callable[[Studio], object]] = {
            "query": lambda studio: task_actions.query_task(studio, task_id, actor=PERSON, worker=name),
            "transfer": lambda studio: task_actions.transfer_task(studio, task_id, actor=PERSON, worker=name),
            "release": lambda studio: task_actions.release_hold(studio, task_id, actor=PERSON),
            "recover": lambda studio: recovering.recover(studio, worker=name, pace=PACE),
        }
        return self.run(name, verbs[what])

    # --- circumstances ----------------------------------------------------------------------------------

    def happen(self, entry: Entry) -> None:
        if self.healed:
            return
        match entry.kind:
            case "order":
                self.order(entry)
            case "worker":
                self.start_worker(len(self.workers) + 10 * entry.at)
            case "person":
                self.person(entry)
            case "away":
                self.tell(f"the database is away for {entry.more} ms")
                self.away_until_us = self.loop.now_us + entry.more * 1000
            case "kill" | "pause" | "stop":
                self._befall(entry)
            case "recover":
                self.act("recover", "")
            case "key":
                self._lose_key(entry)
            case _:
                self._deploy(entry)

    def _befall(self, entry: Entry) -> None:
        alive = [each for each in self.workers.values() if not each.process.dead]
        if not alive:
            return
        number = entry.more if entry.kind != "pause" else int(entry.what)
        worker = alive[number % len(alive)]
        match entry.kind:
            case "kill":
                self.kill(worker.process, "from outside")
            case "stop":
                self.tell(f"{worker.process.name} is asked to stop")
                self._stop(worker)
            case _:
                self.tell(f"{worker.process.name} stands still for {entry.more} ms")
                worker.process.paused_until = self.loop.now_us + entry.more * 1000

    def _lose_key(self, entry: Entry) -> None:
        self.tell(f"the key is {entry.what} for {entry.more} ms")
        place = self.home / "key"
        match entry.what:
            case "removed":
                place.unlink(missing_ok=True)
            case "changed":
                place.write_text("another")
            case _:
                self.vendor.unrevoked = False
        self._later(entry.more, self._find_key)

    def _find_key(self) -> None:
        (self.home / "key").write_text(KEY)
        self.vendor.unrevoked = True

    def _deploy(self, entry: Entry) -> None:
        """New configuration for processes that start from now on, or a new price for all (F12)."""
        self.tell(f"a release changes the {entry.what}")
        match entry.what:
            case "price":
                file = self.home / "prices.toml"
                file.write_text(PRICE.format(binding="steady", micros=300_000, deadline_s=86_400))
                self.run("publish", lambda studio: pricing.publish_file(studio, file, actor=PERSON))
            case "model":
                changed = replace(self.bindings["steady"], model="animatic-2")
                self.bindings = {**self.bindings, "steady": changed}
            case _:
                self.adapters = {**self.adapters, "shy": SimAdapter(protocol="shy", version="2")}
                self._later(20_000, lambda: self.adapters.update(ADAPTERS))
