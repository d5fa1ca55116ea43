"""What a forked process does: opens the same studio by itself and works like the command line would."""

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx

from shortdrama_pipeline import crashpoints
from shortdrama_pipeline.crashpoints import Point
from shortdrama_pipeline.errors import ShortdramaError
from shortdrama_pipeline.media.object_store import LocalObjectStore
from shortdrama_pipeline.providers.ports import Binding
from shortdrama_pipeline.services import watching
from shortdrama_pipeline.services.allocating import allocate
from shortdrama_pipeline.services.callbacks import receive
from shortdrama_pipeline.services.compensating import run_compensations
from shortdrama_pipeline.services.confirming import confirm_quote
from shortdrama_pipeline.services.context import Studio
from shortdrama_pipeline.services.draining import drain
from shortdrama_pipeline.services.recovering import recover
from shortdrama_pipeline.services.shifts import Pace
from shortdrama_pipeline.settings import Settings
from shortdrama_pipeline.store.database import Database
from tests.engine.conftest import ImpatientAdapter, QuickAdapter

Order = Mapping[str, Any]


def warm_up() -> None:
    """Do once what every worker would do by itself: imports inside functions, caches, one TLS context."""
    from shortdrama_pipeline.media import probe  # noqa: F401
    from shortdrama_pipeline.providers.transport import _unused_context

    _unused_context()
    httpx.AsyncHTTPTransport(verify=False)
    Database("postgresql+psycopg://nobody@127.0.0.1:9/none").close()


def run(order: Order) -> None:
    """Run one order in this process; its answer goes to the file the order names."""
    if order.get("crash"):
        _arm(order)
    studio = _open(order)
    try:
        answer = JOBS[order["job"]](studio, order)
    except ShortdramaError as error:
        answer = {"error": error.code}
    finally:
        studio.db.close()
    Path(order["answer"]).write_text(json.dumps(answer))


def _open(order: Order) -> Studio:
    home = Path(order["home"])
    adapter = QuickAdapter(**order.get("contract", {}))
    if order.get("impatient"):
        adapter = ImpatientAdapter(adapter.contract)
    bindings = {
        each["id"]: Binding(**{**each, "egress": tuple(each["egress"])}) for each in order["bindings"]
    }
    return Studio(
        Settings(home=home),
        Database(order["url"], pool_size=3),
        LocalObjectStore(home / "media"),
        bindings,
        {"rehearsal": adapter},
    )


def _arm(order: Order) -> None:
    """Read the plan as a process does at import; with `once` only the first of several processes acts."""
    os.environ[crashpoints.ENVIRONMENT] = order["crash"]
    os.environ[crashpoints.FIRED_LOG] = order["fired"]
    if order["crash"].startswith("any@"):
        crashpoints.arm(_at_boundary(int(order["crash"].removeprefix("any@"))))
        return
    crashpoints.arm(_at_point(order["crash"], order.get("once")))


def _at_point(plan: str, once: str | None) -> Callable[[Point], None]:
    """Act at the nth time; with `once` only where no other process has acted."""
    name, _, rest = plan.partition("=")
    action, _, nth = rest.partition("@")
    due, left = Point(name), [int(nth or "1")]
    perform = crashpoints._plan_from_environment(f"{name}={action}")

    def act(point: Point) -> None:
        if point is not due:
            return
        left[0] -= 1
        if left[0] == 0 and (once is None or _first(once)):
            perform(point)

    return act


def _first(place: str) -> bool:
    try:
        os.close(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


def _at_boundary(number: int) -> Callable[[Point], None]:
    """Die at the boundary of that number, whichever it is."""
    left = [number]

    def act(point: Point) -> None:
        left[0] -= 1
        if left[0] == 0:
            crashpoints._plan_from_environment(f"{point}=kill")(point)

    return act


# --- jobs -----------------------------------------------------------------------------------------------


def _drain(studio: Studio, order: Order) -> object:
    report = drain(
        studio,
        worker=order["worker"],
        pace=Pace(**order["pace"]),
        seconds_max=order.get("seconds_max", 40),
        limit=order.get("limit", 64),
    )
    return report.to_json()


def _recover(studio: Studio, order: Order) -> object:
    return recover(studio, worker=order["worker"], pace=Pace(**order["pace"])).to_json()


def _confirm(studio: Studio, order: Order) -> object:
    made = confirm_quote(studio, order["quote_id"], idempotency_key=order["key"], actor="person:lin")
    return {"execution_id": made.execution_id, "task_ids": list(made.task_ids)}


def _allocate(studio: Studio, order: Order) -> object:
    at = datetime.fromisoformat(order["at"])
    return {"episode_id": allocate(studio, key=order["key"], at=at, actor="person:lin").episode_id}


def _deliver(studio: Studio, _order: Order) -> object:
    """What the sensor does: ask what is due, start runs, mark it (the run itself is another order)."""
    found = watching.deliveries(studio)
    watching.mark_delivered(studio, [each.outbox_id for each in found])
    return {"delivered": [each.outbox_id for each in found]}


def _compensations(studio: Studio, _order: Order) -> object:
    return asdict(run_compensations(studio, actor="person:lin"))


def _callback(studio: Studio, order: Order) -> object:
    verdicts = [
        receive(
            studio,
            each["channel"],
            headers=each["headers"],
            raw_body=each["body"].encode(),
            now_s=each["now_s"],
        )
        for each in order["messages"]
    ]
    return [str(each.verdict) for each in verdicts]


JOBS: Mapping[str, Callable[[Studio, Order], object]] = {
    "drain": _drain,
    "recover": _recover,
    "confirm": _confirm,
    "allocate": _allocate,
    "deliver": _deliver,
    "callback": _callback,
    "compensations": _compensations,
}


def binding_json(binding: Binding, **changes: object) -> dict[str, Any]:
    """A binding as an order carries it."""
    changed = replace(binding, **changes)  # type: ignore[arg-type]
    return {name: getattr(changed, name) for name in Binding.__slots__} | {"egress": list(changed.egress)}
