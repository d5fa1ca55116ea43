"""A new Quote in place of one that can no longer be confirmed (P-3.2, P-3.4, P-3.6)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from shortdrama_pipeline.errors import Refusal, UnknownId
from shortdrama_pipeline.rules.plans import ItemRequest, Use
from shortdrama_pipeline.rules.quotes import QuoteState, Reason
from shortdrama_pipeline.rules.states import MediaKind, Stage
from shortdrama_pipeline.services.context import Studio
from shortdrama_pipeline.services.planning import Planned, plan_items
from shortdrama_pipeline.store import batches, quotes
from shortdrama_pipeline.store.plans import load_plan
from shortdrama_pipeline.store.quotes import Quote

# How a stage asks for these items of an episode (None: whatever it lacks) from what is selected now.
StageRequests: TypeAlias = Callable[[Studio, str, Stage, Sequence[str] | None], list[ItemRequest]]


def ask_stage(
    studio: Studio, episode_id: str, stage: Stage, item_ids: Sequence[str] | None
) -> list[ItemRequest]:
    """Ask the real stages, loaded only now: an ordinary confirm does without. Raises what they raise."""
    from shortdrama_pipeline.services.stage_planning import requests_for

    return requests_for(studio, episode_id, stage, item_ids)


@dataclass(frozen=True, slots=True)
class Requoted:
    """The Quote that stands now, and its batch if it is one's; `why_none` when none could be made."""

    quote_id: str | None
    batch_id: str | None = None
    why_none: str = ""


def requote(
    studio: Studio, quote: Quote, reasons: Sequence[Reason], *, actor: str, stage_requests: StageRequests
) -> Requoted:
    """Open a new Quote for what an outdated one covered and close the old one in its favour.

    A new price, channel or expiry keeps the frozen requests; changed inputs let the stage ask anew; what
    another confirmation ordered is left out. Whoever comes second gets the Quote of whoever came first.
    """
    with studio.db.read() as tx:
        plan = load_plan(tx, quote.plan_id)
    ordered = {each.item_id for each in reasons if each.code == "ordered"}
    items = [each for each in plan.items if each["item_id"] not in ordered]
    try:
        if any(each.code == "input" for each in reasons):
            requests = _fresh_requests(studio, plan.stage, items, stage_requests)
        else:
            requests = [_request(each) for each in items]
        planned = plan_items(studio, Stage(plan.stage), requests, kind=plan.kind, actor=actor)
    except (Refusal, UnknownId) as error:
        return Requoted(None, why_none=error.message)
    return _supersede(studio, quote, planned, actor)


def successor(studio: Studio, quote: Quote) -> Requoted:
    """The last of the Quotes that took the place of a superseded one."""
    with studio.db.read() as tx:
        seen = quote
        while seen.superseded_by is not None:
            seen = quotes.load_quote(tx, seen.superseded_by)
        batch = batches.find_batch_of_quote(tx, seen.quote_id)
    return Requoted(seen.quote_id, None if batch is None else batch.batch_id)


def _supersede(studio: Studio, quote: Quote, planned: Planned, actor: str) -> Requoted:
    with studio.db.begin() as tx:
        seen = quotes.lock_quotes(tx, [quote.quote_id])[quote.quote_id]
        if seen.state is QuoteState.OPEN:
            quotes.record_superseded(tx, quote.quote_id, by=planned.quote_id)
            old = batches.find_batch_of_quote(tx, quote.quote_id)
            if old is None:
                return Requoted(planned.quote_id)
            return Requoted(
                planned.quote_id,
                batches.record_batch(
                    tx,
                    stage=old.stage,
                    plan_id=planned.plan_id,
                    quote_id=planned.quote_id,
                    ceiling=planned.ceiling,
                    episode_ids=old.episode_ids,
                    actor=actor,
                ),
            )
        standing = seen.superseded_by or seen.quote_id
        quotes.record_superseded(tx, planned.quote_id, by=standing)
    return successor(studio, seen)


def _fresh_requests(
    studio: Studio, stage: str, items: Sequence[Mapping[str, object]], stage_requests: StageRequests
) -> list[ItemRequest]:
    by_episode: dict[str, list[str]] = {}
    for each in items:
        by_episode.setdefault(str(each["episode_id"]), []).append(str(each["item_id"]))
    return [
        request
        for episode_id, item_ids in by_episode.items()
        for request in stage_requests(studio, episode_id, Stage(stage), item_ids)
    ]


def _request(item: Mapping[str, object]) -> ItemRequest:
    params, constraints, uses = item["params"], item["constraints"], item["uses"]
    assert isinstance(params, Mapping)
    assert isinstance(constraints, Mapping)
    assert isinstance(uses, list)
    return ItemRequest(
        episode_id=str(item["episode_id"]),
        subject=str(item["subject"]),
        role=str(item["role"]),
        kind=MediaKind(str(item["kind"])),
        params=params,
        uses=tuple(_use(each) for each in uses),
        constraints=constraints,
    )


def _use(each: Mapping[str, object]) -> Use:
    sha256 = each["sha256"]
    return Use(
        purpose=str(each["purpose"]),
        version_id=str(each["version_id"]),
        digest=str(each["digest"]),
        sha256=None if sha256 is None else str(sha256),
    )
