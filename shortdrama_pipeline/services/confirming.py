"""T1: a click becomes a Grant, an Execution, Tasks, Reservations and an Outbox row, or nothing (P-6.1).

One transaction locks Quotes, budgets and the wallet, decides, and writes all rows set-based. A repeat
is answered from the stored Execution: by key for ever (D-5), and by Quote whatever the key (P-6.3).
What can no longer be confirmed as quoted comes back as a new Quote, with nothing reserved (P-3.4).
Clicks that arrive while a transaction runs share the next one.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import NoReturn, TypeAlias
from weakref import WeakKeyDictionary, ref

import rfc8785
import sqlalchemy as sa

from shortdrama_pipeline.crashpoints import Point, reach
from shortdrama_pipeline.errors import (
    Conflict,
    InsufficientFunds,
    QuoteNotConfirmable,
    ShortdramaError,
    UsageError,
)
from shortdrama_pipeline.rules import ledger as accounts
from shortdrama_pipeline.rules.actors import require_confirmer
from shortdrama_pipeline.rules.grants import GRANT_VALID_S, Grant, GrantKind, check_budget, scope_of
from shortdrama_pipeline.rules.money import Money
from shortdrama_pipeline.rules.quotes import Present, QuoteState, Reason, Route, objections
from shortdrama_pipeline.services.combining import Combiner
from shortdrama_pipeline.services.context import Studio
from shortdrama_pipeline.services.replanning import StageRequests, ask_stage, requote, successor
from shortdrama_pipeline.services.safety import refusal as stands_still
from shortdrama_pipeline.services.waking import wake
from shortdrama_pipeline.store import audit, quotes, safety
from shortdrama_pipeline.store import grants as grant_rows
from shortdrama_pipeline.store.database import Database
from shortdrama_pipeline.store.executions import (
    Execution,
    NewExecution,
    NewItem,
    find_executions,
    record_executions,
)
from shortdrama_pipeline.store.ledger import lock_balance
from shortdrama_pipeline.store.prices import price_ids_in_force
from shortdrama_pipeline.store.quotes import Quote
from shortdrama_pipeline.store.safety import SafeMode

KEY_CHARACTERS_MAX = 200
REASONS_SHOWN_MAX = 3
TRIES_MAX = 3  # two clicks with one key on two Quotes: the loser looks again and finds the winner
_UNIQUE = ("uq_executions_idempotency_key", "uq_executions_quote_id")


@dataclass(frozen=True, slots=True)
class Confirmed:
    """`created` is false when an earlier confirm is answered again."""

    execution_id: str
    task_ids: tuple[str, ...]
    created: bool


@dataclass(frozen=True, slots=True)
class Confirmation:
    """A click. `grant_id` names a budget to confirm under; without one the actor confirms in person."""

    quote_id: str
    idempotency_key: str
    actor: str
    grant_id: str | None = None

    @property
    def request_hash(self) -> str:
        """What the key stands for (G-201)."""
        body = {"quote_id": self.quote_id, "grant_id": self.grant_id}
        return "sha256:" + hashlib.sha256(rfc8785.dumps(body)).hexdigest()


@dataclass(frozen=True, slots=True)
class _Outdated:
    quote: Quote
    reasons: tuple[Reason, ...]


_Answer: TypeAlias = Confirmed | _Outdated | ShortdramaError
_Asked: TypeAlias = tuple[Studio, Confirmation]
_combiners: WeakKeyDictionary[Database, Combiner[_Asked, _Answer]] = WeakKeyDictionary()


def confirm_quote(
    studio: Studio,
    quote_id: str,
    *,
    idempotency_key: str,
    actor: str,
    grant_id: str | None = None,
    stage_requests: StageRequests = ask_stage,
) -> Confirmed:
    """Confirm a Quote once, in person or under a budget Grant (P-6.1 to P-6.3).

    Raises QuoteNotConfirmable with `new_quote_id`, GrantRefused, InsufficientFunds, Conflict (same key,
    other content) or UnknownId; then nothing was reserved. `stage_requests` asks anew when inputs changed.
    """
    require_confirmer(actor, under_budget=grant_id is not None)
    if not 0 < len(idempotency_key.strip()) <= KEY_CHARACTERS_MAX:
        raise UsageError(
            "A confirm needs an idempotency key",
            hint=f"Give --idempotency-key with 1 to {KEY_CHARACTERS_MAX} characters; it is kept for ever",
        )
    asked = (studio, Confirmation(quote_id, idempotency_key, actor, grant_id))
    answer = _combiner(studio.db).ask(asked)
    if isinstance(answer, _Outdated):
        _refuse_with_new_quote(studio, answer, actor, stage_requests)
    if isinstance(answer, ShortdramaError):
        raise answer
    return answer


def _combiner(db: Database) -> Combiner[_Asked, _Answer]:
    found = _combiners.get(db)
    if found is None:
        found = _combiners.setdefault(db, Combiner(_confirm_together, _wake_if_created(ref(db))))
    return found


def _wake_if_created(db: ref[Database]) -> Callable[[Sequence[_Answer]], None]:
    """One wake-up per transaction, by whoever led it. The weak reference lets a closed studio go."""

    def after(answers: Sequence[_Answer]) -> None:
        alive = db()
        if alive is not None and any(isinstance(each, Confirmed) and each.created for each in answers):
            wake(alive)

    return after


def _confirm_together(asked: Sequence[_Asked]) -> list[_Answer]:
    studio = asked[0][0]
    clicks = [click for _, click in asked]
    for tries in range(1, TRIES_MAX + 1):
        try:
            with studio.db.begin() as tx:
                answers = _Confirming.look(tx, studio, clicks).confirm(clicks)
        except sa.exc.IntegrityError as error:
            if tries == TRIES_MAX or not any(name in str(error.orig) for name in _UNIQUE):
                raise
        else:
            reach(Point.CONFIRM_COMMITTED)
            return answers
    raise AssertionError


@dataclass(slots=True)
class _Confirming:
    """One T1 transaction: what was locked and seen, and what has been decided so far."""

    tx: sa.Connection
    quotes: Mapping[str, Quote]
    by_key: dict[str, Execution]
    by_quote: dict[str, Execution]
    budgets: dict[str, Grant]
    available: dict[str, Money]
    present: Mapping[str, Present]
    deadlines: Mapping[str, int]
    standing: Sequence[SafeMode]
    created: list[NewExecution]
    spent: dict[str, tuple[int, int]]  # budget -> (micros, uses)

    @classmethod
    def look(cls, tx: sa.Connection, studio: Studio, clicks: Sequence[Confirmation]) -> "_Confirming":
        """Lock in one order everywhere: Quotes, budgets, wallet. Whatever is seen is seen under the locks."""
        locked = quotes.lock_quotes(tx, [each.quote_id for each in clicks])
        known = find_executions(tx, keys=[each.idempotency_key for each in clicks], quote_ids=list(locked))
        by_quote = {each.quote_id: each for each in known}
        open_now = [
            each
            for each in locked.values()
            if each.state is QuoteState.OPEN and each.quote_id not in by_quote
        ]
        budgets = grant_rows.lock_grants(tx, [each.grant_id for each in clicks if each.grant_id is not None])
        available = {
            currency: lock_balance(tx, accounts.AVAILABLE, currency)
            for currency in sorted({each.total.currency for each in open_now})
        }
        present, deadlines = _see(tx, studio, open_now)
        reach(Point.CONFIRM_LOCKED)
        return cls(
            tx=tx,
            quotes=locked,
            by_key={each.idempotency_key: each for each in known},
            by_quote=by_quote,
            budgets=budgets,
            available=available,
            present=present,
            deadlines=deadlines,
            standing=safety.find_open(tx) if open_now else (),
            created=[],
            spent={},
        )

    def confirm(self, clicks: Sequence[Confirmation]) -> list[_Answer]:
        """Decide click by click, then write everything at once."""
        answers = [self._decide(each) for each in clicks]
        if self.created:
            record_executions(self.tx, self.created)
            for grant_id, (micros, uses) in self.spent.items():
                grant_rows.consume(self.tx, grant_id, micros=micros, uses=uses)
            quotes.record_confirmed(self.tx, [each.quote_id for each in self.created])
            audit.record_decisions(self.tx, [_decision(each) for each in self.created])
            reach(Point.CONFIRM_BEFORE_COMMIT)
        return answers

    def _decide(self, click: Confirmation) -> _Answer:
        earlier = self.by_key.get(click.idempotency_key)
        if earlier is not None and earlier.request_hash != click.request_hash:
            return Conflict(
                f"The key '{click.idempotency_key}' already confirmed something else",
                hint="Use a new idempotency key for another Quote",
                execution_id=earlier.execution_id,
            )
        earlier = earlier or self.by_quote.get(click.quote_id)
        if earlier is not None:
            return Confirmed(earlier.execution_id, earlier.task_ids, created=False)
        quote = self.quotes.get(click.quote_id)
        if quote is None:
            return quotes.unknown_quote(click.quote_id)
        if self.standing and quote.state is QuoteState.OPEN:
            return stands_still(self.standing)
        if quote.state is not QuoteState.OPEN:
            return _Outdated(quote, (Reason("superseded", "a new Quote stands in its place"),))
        reasons = objections(quote.items, expires_at=quote.expires_at, present=self.present[quote.quote_id])
        if reasons:
            return _Outdated(quote, tuple(reasons))
        try:
            budget = self._check_budget(click, quote)
            self._check_funds(quote)
        except ShortdramaError as refusal:
            return refusal
        return self._accept(click, quote, budget)

    def _check_budget(self, click: Confirmation, quote: Quote) -> Grant | None:
        if click.grant_id is None:
            return None
        budget = self.budgets.get(click.grant_id)
        if budget is None:
            raise grant_rows.unknown_grant(click.grant_id)
        check_budget(budget, wanted=scope_of(quote.stage, quote.items), total=quote.total, now=quote.now)
        return budget

    def _check_funds(self, quote: Quote) -> None:
        available = self.available[quote.total.currency]
        if quote.total.micros > available.micros:
            raise InsufficientFunds(
                f"The wallet holds {available}, the Quote is {quote.total}",
                hint="Top it up: shortdrama wallet top-up AMOUNT --key KEY",
                available=dict(available.to_json()),
                total=dict(quote.total.to_json()),
                missing=dict((quote.total - available).to_json()),
            )

    def _accept(self, click: Confirmation, quote: Quote, budget: Grant | None) -> Confirmed:
        """After the last refusal the rest must succeed."""
        expires_at = quote.now + timedelta(seconds=GRANT_VALID_S)
        new = NewExecution(
            quote_id=quote.quote_id,
            plan_id=quote.plan_id,
            input_hash=quote.input_hash,
            kind=GrantKind(quote.kind),
            total=quote.total,
            ceiling_micros=quote.ceiling_micros,
            scope=scope_of(
                quote.stage, quote.items, budget_grant_id=None if budget is None else budget.grant_id
            ),
            expires_at=expires_at if budget is None else min(expires_at, budget.expires_at),
            idempotency_key=click.idempotency_key,
            request_hash=click.request_hash,
            actor=click.actor,
            items=tuple(
                NewItem(
                    item_id=each.item_id,
                    price=Money(each.price_micros, quote.total.currency),
                    deadline_s=self.deadlines[each.binding_id],
                )
                for each in quote.items
            ),
        )
        self._count(new, budget)
        return Confirmed(new.execution_id, new.task_ids, created=True)

    def _count(self, new: NewExecution, budget: Grant | None) -> None:
        """Let later clicks of this transaction see what this one took."""
        self.created.append(new)
        self.available[new.total.currency] -= new.total
        execution = Execution(
            new.execution_id, new.quote_id, new.idempotency_key, new.request_hash, new.task_ids
        )
        self.by_key[new.idempotency_key] = self.by_quote[new.quote_id] = execution
        if budget is not None:
            micros, uses = self.spent.get(budget.grant_id, (0, 0))
            self.spent[budget.grant_id] = (micros + new.total.micros, uses + 1)
            self.budgets[budget.grant_id] = replace(
                budget, used_micros=budget.used_micros + new.total.micros, uses=budget.uses + 1
            )
        taken = frozenset(each.item_id for each in new.items)
        self.present = {
            quote_id: replace(each, ordered=each.ordered | taken) for quote_id, each in self.present.items()
        }


def _see(
    tx: sa.Connection, studio: Studio, open_now: Sequence[Quote]
) -> tuple[dict[str, Present], dict[str, int]]:
    if not open_now:
        return {}, {}
    items = [item for quote in open_now for item in quote.items]
    in_force = price_ids_in_force(tx, sorted({each.binding_id for each in items}))
    used = sorted({version_id for each in items for version_id, _ in each.used})
    chosen = quotes.find_chosen(tx, used) if used else {}
    ordered = quotes.find_ordered(tx, open_now)
    routes = {each.id: Route(each.kind, each.model) for each in studio.bindings.values()}
    present = {
        quote.quote_id: Present(
            now=quote.now,
            routes=routes,
            prices={binding_id: version for binding_id, (version, _) in in_force.items()},
            chosen=chosen,
            ordered=ordered.get(quote.quote_id, frozenset()),
        )
        for quote in open_now
    }
    return present, {binding_id: deadline_s for binding_id, (_, deadline_s) in in_force.items()}


def _refuse_with_new_quote(
    studio: Studio, outdated: _Outdated, actor: str, stage_requests: StageRequests
) -> NoReturn:
    if outdated.quote.state is QuoteState.OPEN:
        new = requote(studio, outdated.quote, outdated.reasons, actor=actor, stage_requests=stage_requests)
    else:
        new = successor(studio, outdated.quote)
    shown = [each.sentence for each in outdated.reasons[:REASONS_SHOWN_MAX]]
    why = "; ".join(shown) + (" and more" if len(outdated.reasons) > len(shown) else "")
    raise QuoteNotConfirmable(
        f"The Quote {outdated.quote.quote_id} cannot be confirmed: {why}",
        hint=f"Look at the new Quote and confirm it: shortdrama quote show {new.quote_id}"
        if new.quote_id
        else f"There is no new Quote ({new.why_none}); plan the stage again",
        quote_id=outdated.quote.quote_id,
        new_quote_id=new.quote_id,
        new_batch_id=new.batch_id,
        reasons=[*dict.fromkeys(each.code for each in outdated.reasons)],
    )


def _decision(new: NewExecution) -> dict[str, object]:
    return {
        "action": "quote.confirm",
        "subject_id": new.quote_id,
        "facts": {
            "execution_id": new.execution_id,
            "grant_id": new.grant_id,
            "budget_grant_id": new.scope.budget_grant_id,
            "total": new.total.to_json(),
            "items": len(new.items),
        },
        "actor": new.actor,
    }
