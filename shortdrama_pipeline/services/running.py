"""Drives one episode from where it stands to the next word a person must give (`episode run`, `demo`).

The driver makes what is free, plans what is missing, and lets a `Decider` answer quotes and gates. It
holds no power of its own: a quote is confirmed and a gate passed by the services, which check again.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from shortdrama_pipeline.errors import NotReady, QuoteNotConfirmable, StageIncomplete
from shortdrama_pipeline.ids import new_id
from shortdrama_pipeline.rules.gates import Cover
from shortdrama_pipeline.rules.money import Money
from shortdrama_pipeline.rules.stages import RIGHTS, until
from shortdrama_pipeline.rules.states import Stage
from shortdrama_pipeline.services.channels import channels_of
from shortdrama_pipeline.services.confirming import confirm_quote
from shortdrama_pipeline.services.context import Studio
from shortdrama_pipeline.services.draining import drain
from shortdrama_pipeline.services.exporting import build_export
from shortdrama_pipeline.services.gates import bring_up_to, gate_state, pass_gate
from shortdrama_pipeline.services.planning import plan_items
from shortdrama_pipeline.services.stage_planning import check_ready
from shortdrama_pipeline.stages import wanting
from shortdrama_pipeline.stages.catalogue import CATALOGUE
from shortdrama_pipeline.stages.view import View, load_view
from shortdrama_pipeline.stages.wanting import Progress
from shortdrama_pipeline.store import orders, quotes

SLICE_S = 3  # of draining, between two reports
ROUNDS_MAX = 6  # plan, order and deliver, per stage; more means that something does not converge

Report = Callable[[str, int, int], None]  # what is being done, how many are done, of how many


@dataclass(frozen=True, slots=True)
class QuoteAsked:
    """A Quote somebody must confirm before the stage goes on."""

    episode_id: str
    stage: Stage
    quote_id: str
    total: Money
    items: int


@dataclass(frozen=True, slots=True)
class GateAsked:
    """A gate somebody must pass before the next stage starts. `digest` is over `covers`."""

    episode_id: str
    stage: Stage
    digest: str
    covers: tuple[Cover, ...]
    rights_asked: bool


@dataclass(frozen=True, slots=True)
class Consent:
    """A yes, and whose. `grant_id` names the budget a quote is confirmed under; `rights` are the gate's."""

    actor: str
    grant_id: str | None = None
    rights: bool = False
    note: str = ""


class Decider(Protocol):
    """Answers for a person, or for a budget; None is "not now", and the run stops there."""

    def quote(self, asked: QuoteAsked) -> Consent | None: ...

    def gate(self, asked: GateAsked) -> Consent | None: ...


@dataclass(frozen=True, slots=True)
class Budget:
    """Confirms quotes under one budget Grant (P-3.7), or not at all; gates always wait for a person."""

    actor: str
    grant_id: str | None = None

    def quote(self, asked: QuoteAsked) -> Consent | None:  # noqa: ARG002 the Grant itself limits
        return None if self.grant_id is None else Consent(self.actor, grant_id=self.grant_id)

    def gate(self, asked: GateAsked) -> Consent | None:  # noqa: ARG002
        return None


ATTENTION = "attention"


@dataclass(frozen=True, slots=True)
class Stop:
    """Where a run ended: `why` is gate, quote, attention or done."""

    stage: Stage
    why: str
    quote_id: str | None = None
    total: Money | None = None
    digest: str | None = None
    task_ids: tuple[str, ...] = ()

    def next_command(self, episode_id: str) -> str:
        """What a person types to let it go on; a gate's digest binds the word to what was seen."""
        match self.why:
            case "quote":
                return f"shortdrama quote confirm {self.quote_id} --idempotency-key KEY"
            case "gate":
                rights = " --rights" if self.stage in RIGHTS else ""
                return (
                    f"shortdrama version confirm {episode_id} --stage {self.stage} --digest {self.digest}"
                    f"{rights}"
                )
            case "attention":
                return f"shortdrama task show {self.task_ids[0]}" if self.task_ids else "shortdrama task list"
            case _:
                return f"shortdrama export show {episode_id}"

    def to_json(self, episode_id: str) -> dict[str, object]:
        document: dict[str, object] = {
            "stage": str(self.stage),
            "why": self.why,
            "next": self.next_command(episode_id),
        }
        if self.quote_id is not None:
            document |= {
                "quote_id": self.quote_id,
                "total": None if self.total is None else self.total.to_json(),
            }
        if self.digest is not None:
            document["digest"] = self.digest
        if self.task_ids:
            document["task_ids"] = list(self.task_ids)
        return document


def run_episode(
    studio: Studio,
    episode_id: str,
    *,
    until: Stage | str | None = None,
    grant_id: str | None = None,
    actor: str,
    progress: Report | None = None,
) -> dict[str, object]:
    """Drive an episode to the next gate or quote; a budget Grant confirms quotes on the way.

    Returns {"episode_id", "stopped_at": {"stage", "why", …}}.
    """
    stop = drive(
        studio,
        episode_id,
        decide=Budget(actor, grant_id),
        actor=actor,
        last=None if until is None else Stage(until),
        progress=progress,
    )
    return {"episode_id": episode_id, "stopped_at": stop.to_json(episode_id)}


def drive(
    studio: Studio,
    episode_id: str,
    *,
    decide: Decider,
    actor: str,
    last: Stage | None = None,
    progress: Report | None = None,
) -> Stop:
    """Take the episode through its stages until `decide` says no, something needs a person, or all is done.

    With `last`, stops before the gate after that stage's own gate. Blocks while the engine works.
    """
    stages = until(last)
    for stage in stages:
        stop = _finish(studio, episode_id, stage, decide=decide, actor=actor, progress=progress)
        if stop is not None:
            return stop
        if progress is not None:
            progress("stages", stages.index(stage) + 1, len(stages))
        with studio.db.read() as tx:
            gate = gate_state(tx, episode_id, stage)
        if gate.passed is not None:
            continue
        asked = GateAsked(
            episode_id, stage, gate.standing.digest, gate.standing.covers, rights_asked=stage in RIGHTS
        )
        consent = decide.gate(asked)
        if consent is None:
            return Stop(stage, "gate", digest=asked.digest)
        pass_gate(
            studio,
            episode_id,
            stage,
            actor=consent.actor,
            rights=consent.rights,
            note=consent.note,
            seen_digest=asked.digest,
        )
    return Stop(stages[-1], "done")


def _finish(
    studio: Studio, episode_id: str, stage: Stage, *, decide: Decider, actor: str, progress: Report | None
) -> Stop | None:
    """Bring one stage to completeness, or return where it stopped."""
    if stage is Stage.EXPORT:
        build_export(studio, episode_id, actor=actor, progress=progress)
        return None
    work = CATALOGUE[stage]
    for _ in range(ROUNDS_MAX):
        view = bring_up_to(studio, episode_id, stage)
        now = wanting.progress(view, work)
        _tell(progress, stage, now)
        if now.working:
            now = _wait(studio, episode_id, stage, progress)
        if now.attention or now.failed or now.working:
            keys = (*now.attention, *now.failed, *now.working)
            newest = _orders(studio, episode_id)
            return Stop(stage, ATTENTION, task_ids=tuple(newest[key] for key in keys))
        if now.complete:
            return None
        stop = _order(studio, bring_up_to(studio, episode_id, stage), stage, decide=decide, actor=actor)
        if stop is not None:
            return stop
    raise StageIncomplete(
        f"{stage} of {episode_id} is not complete after {ROUNDS_MAX} orders",
        hint=f"See what is missing: `shortdrama stage show {episode_id} {stage}`",
        episode_id=episode_id,
        stage=str(stage),
    )


def _order(studio: Studio, view: View, stage: Stage, *, decide: Decider, actor: str) -> Stop | None:
    """Quote what is missing, or take up the Quote that stands, and confirm it if somebody says yes."""
    requests = wanting.wanted(view, CATALOGUE[stage])
    if not requests:
        now = wanting.progress(view, CATALOGUE[stage])
        raise NotReady(
            f"{stage} of {view.episode_id} cannot be made: {now.of - now.done} of {now.of} missing",
            hint="Look at the stages before it: `shortdrama episode show EPISODE`",
            episode_id=view.episode_id,
            missing=[f"{subject}#{role}" for subject, role in now.missing],
        )
    check_ready(view, requests)
    asked = _standing_quote(studio, view, stage, {each.item_id for each in requests})
    if asked is None:
        planned = plan_items(studio, stage, requests, actor=actor)
        asked = QuoteAsked(view.episode_id, stage, planned.quote_id, planned.total, len(planned.items))
    consent = decide.quote(asked)
    if consent is None:
        return Stop(stage, "quote", quote_id=asked.quote_id, total=asked.total)
    try:
        confirm_quote(
            studio,
            asked.quote_id,
            idempotency_key=f"run:{asked.quote_id}",
            actor=consent.actor,
            grant_id=consent.grant_id,
        )
    except QuoteNotConfirmable as error:
        if not error.facts.get("new_quote_id"):
            raise
    return None  # confirmed, or a new Quote stands in its place: look again


def _standing_quote(studio: Studio, view: View, stage: Stage, item_ids: set[str]) -> QuoteAsked | None:
    """Return the open Quote over exactly these items, so that a second run shows the same one."""
    with studio.db.read() as tx:
        quote_id = orders.find_open_quotes(tx, view.episode_id, now=orders.clock(tx)).get(stage)
        if quote_id is None:
            return None
        quote = quotes.load_quote(tx, quote_id)
    if {item.item_id for item in quote.items} != item_ids:
        return None
    return QuoteAsked(view.episode_id, stage, quote_id, quote.total, len(item_ids))


def _wait(studio: Studio, episode_id: str, stage: Stage, progress: Report | None) -> Progress:
    """Let the engine work until nothing of the stage is on its way, or nothing moves by itself any more."""
    worker = new_id("run")
    while True:
        report = drain(studio, worker=worker, until_idle=True, seconds_max=SLICE_S)
        if report.interrupted:
            raise KeyboardInterrupt
        with studio.db.read() as tx:  # only a look: what is free is made once, when the bought is in
            now = wanting.progress(load_view(tx, episode_id, channels=channels_of(studio)), CATALOGUE[stage])
        _tell(progress, stage, now)
        if not now.working or report.idle:
            now = wanting.progress(bring_up_to(studio, episode_id, stage), CATALOGUE[stage])
            _tell(progress, stage, now)
            return now


def _orders(studio: Studio, episode_id: str) -> dict[tuple[str, str], str]:
    with studio.db.read() as tx:
        found = orders.find_newest_orders(tx, episode_id)
    return {key: order.task_id for key, order in found.items()}


def _tell(progress: Report | None, stage: Stage, now: Progress) -> None:
    if progress is not None and now.of:
        progress(str(stage), now.done, now.of)
