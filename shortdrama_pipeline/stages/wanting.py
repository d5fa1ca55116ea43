"""Which paid items of a stage are to be asked for: missing, stale, failed, or named ones."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from shortdrama_pipeline.errors import UnknownId, UsageError
from shortdrama_pipeline.rules.plans import ItemRequest
from shortdrama_pipeline.rules.readiness import Readiness, check_item
from shortdrama_pipeline.rules.script import Script
from shortdrama_pipeline.rules.states import TaskState
from shortdrama_pipeline.stages.view import Key, View
from shortdrama_pipeline.stages.work import StageWork

ONLY = ("missing", "stale", "failed")


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a stage's products are. `done` of `of` are chosen; the rest by what they wait for."""

    done: int
    of: int
    missing: tuple[Key, ...]
    working: tuple[Key, ...]
    failed: tuple[Key, ...]
    attention: tuple[Key, ...]
    stale: tuple[Key, ...]

    @property
    def complete(self) -> bool:
        return self.done == self.of


def progress(view: View, work: StageWork) -> Progress:
    """Sort what a stage owes by where it stands."""
    owed = work.owed(view)
    absent = [key for key in owed if key not in view.chosen]
    orders = {key: view.orders[key] for key in owed if key in view.orders}
    open_keys = [key for key, order in orders.items() if order.open]
    failed = [key for key in absent if key in orders and orders[key].state == TaskState.FAILED]
    return Progress(
        done=len(owed) - len(absent),
        of=len(owed),
        missing=tuple(key for key in absent if key not in open_keys and key not in failed),
        working=tuple(key for key in open_keys if not orders[key].needs_person),
        failed=tuple(failed),
        attention=tuple(key for key in open_keys if orders[key].needs_person),
        stale=tuple(key for key in owed if key in view.chosen and view.stale(view.chosen[key])),
    )


def wanted(
    view: View, work: StageWork, *, only: str = "missing", items: Sequence[str] | None = None
) -> list[ItemRequest]:
    """Return the items to ask for. Never one that is already being made: its result is on the way.

    `only` is missing, stale or failed. `items` names them instead, by item id, subject or subject#role:
    then also what is there already is made again, as a further candidate. An order that redoes a stale
    choice says so (`constraints.replaces`), so that its result may take that choice's place.
    """
    if only not in ONLY:
        raise UsageError(f"--only {only} is not known", hint=f"Use one of: {', '.join(ONLY)}")
    possible = [each for each in work.requests(view) if not _ordered(view, each)]
    if items is not None:
        return [_redo(view, each) for each in _named(possible, items, work)]
    now = progress(view, work)
    keys = {"missing": now.missing, "stale": now.stale, "failed": now.failed}[only]
    return [_redo(view, each) for each in possible if (each.subject, each.role) in keys]


def readiness(view: View, request: ItemRequest) -> Readiness:
    """Return whether an item could be asked for now, and what stands against it (P-1.3)."""
    chosen = view.version(request.subject, request.role)
    return check_item(
        request,
        view.channels,
        priced=view.priced,
        stale=chosen is not None and view.stale(chosen),
    )


def shown_texts(script: Script) -> list[tuple[str, str]]:
    """Return (place, text) of all that a film will show in letters; each must have its glyphs (P-12.2)."""
    texts = [(f"the name of {each.id}", each.name) for each in script.characters]
    texts += [
        (f"line {line.source_line} of the script", line.text)
        for scene in script.scenes
        for line in scene.lines
    ]
    return [("the title", script.title), *texts]


def _ordered(view: View, request: ItemRequest) -> bool:
    order = view.orders.get((request.subject, request.role))
    return order is not None and order.open


def _redo(view: View, request: ItemRequest) -> ItemRequest:
    chosen = view.version(request.subject, request.role)
    if chosen is None or not view.stale(chosen):
        return request
    return replace(request, constraints={**request.constraints, "replaces": chosen.version_id})


def _named(possible: Sequence[ItemRequest], items: Sequence[str], work: StageWork) -> list[ItemRequest]:
    found: list[ItemRequest] = []
    for name in dict.fromkeys(items):
        hits = [
            each for each in possible if name in (each.item_id, each.subject, f"{each.subject}#{each.role}")
        ]
        if not hits:
            raise UnknownId(
                f"The stage {work.stage} has no item {name} that can be ordered now",
                hint="See `shortdrama stage show EPISODE STAGE`; what is on its way is not ordered again",
                item=name,
            )
        found += hits
    return list({each.item_id: each for each in found}.values())
