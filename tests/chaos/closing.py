"""The books after the fire: what was posted, accepted, delivered, explained, and whether all sums agree."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import sqlalchemy as sa

from shortdrama_pipeline.rehearsal.book import Request, read_entries
from shortdrama_pipeline.rehearsal.prices import CURRENCY
from shortdrama_pipeline.services.auditing import verify_all
from shortdrama_pipeline.services.context import Studio

_OPEN = sa.text(
    "select task_id, state, coalesce(reason->>'code', hold_reason->>'code', '') as code from tasks"
    " where state <> 'succeeded' order by task_id"
)


@dataclass(slots=True)
class Closing:
    """Everything counted, and every violation in words; none of them is bearable."""

    items: int = 0
    posts: int = 0
    posts_per_item_max: int = 0
    accepted: int = 0
    delivered: int = 0
    open_by_reason: dict[str, int] = field(default_factory=dict)
    settled_micros: int = 0
    charged_micros: dict[str, int] = field(default_factory=dict)
    verified_rows: int = 0
    violations: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, object]:
        return dict(asdict(self))


def close(studio: Studio, book: Path, *, items: int) -> Closing:
    """Lay our rows beside the account book. Nothing may be running any more."""
    closing = Closing()
    entries = read_entries(book)
    with studio.db.read() as tx:
        of_attempt = {
            str(row.attempt_id): str(row.task_id)
            for row in tx.execute(sa.text("select attempt_id, task_id from provider_attempts"))
        }
        states = {
            str(row.task_id): str(row.state)
            for row in tx.execute(sa.text("select task_id, state from tasks"))
        }
        left = [(row.task_id, row.state, row.code) for row in tx.execute(_OPEN)]
        _close_money(tx, closing, entries)
    closing.items = len(states)
    if len(states) != items:
        closing.violations.append(f"{items} items were ordered, {len(states)} tasks stand in the database")
    _close_posts(closing, entries, of_attempt=of_attempt, states=states, left=left)
    verified = verify_all(studio, at_rest=True)
    closing.verified_rows = verified.checked
    closing.violations += [f"audit verify: {each.to_json()}" for each in verified.problems]
    return closing


def _close_posts(
    closing: Closing,
    entries: Sequence[Request],
    *,
    of_attempt: Mapping[str, str],
    states: Mapping[str, str],
    left: Sequence[tuple[str, str, str]],
) -> None:
    strangers = [each.client_id for each in entries if each.client_id not in of_attempt]
    closing.violations += [f"a POST under {each}, which no attempt knows" for each in strangers]
    posts = Counter(of_attempt[each.client_id] for each in entries if each.client_id in of_attempt)
    closing.posts = len(entries)
    closing.posts_per_item_max = max(posts.values(), default=0)
    closing.violations += [f"{task_id} was posted {n} times" for task_id, n in posts.items() if n > 1]
    accepted = {
        of_attempt[each.client_id] for each in entries if each.accepted and each.client_id in of_attempt
    }
    closing.accepted = len(accepted)
    closing.delivered = sum(1 for each in accepted if states[each] == "succeeded")
    closing.open_by_reason = dict(Counter(f"{state}: {code or 'no reason'}" for _, state, code in left))
    closing.violations += [
        f"{task_id} is {state} without a reason" for task_id, state, code in left if not code
    ]
    closing.violations += [
        f"{task_id} succeeded, and the vendor knows nothing of it"
        for task_id, state in states.items()
        if state == "succeeded" and task_id not in accepted
    ]


def _close_money(tx: sa.Connection, closing: Closing, entries: Sequence[Request]) -> None:
    """Our spend per channel is the book's sum per kind; what users paid is the price of what they have."""
    charged: Counter[str] = Counter()
    for each in entries:
        charged[each.kind] += each.charged_micros
    spent = {
        str(row.account).removeprefix("spend:rehearsal-"): int(row.micros)
        for row in tx.execute(
            sa.text(
                "select debit_account as account, sum(amount_micros) as micros from ledger_entries"
                " where debit_account like 'spend:%' and currency = :currency group by 1"
            ),
            {"currency": CURRENCY},
        )
    }
    closing.charged_micros = dict(charged)
    closing.violations += [
        f"{kind}: the vendor charged {charged[kind]}, our ledger says {spent.get(kind, 0)} micro-{CURRENCY}"
        for kind in sorted({*charged, *spent})
        if charged[kind] != spent.get(kind, 0)
    ]
    settled, owed = tx.execute(
        sa.text(
            "select (select coalesce(sum(amount_micros), 0) from ledger_entries"
            " where business_key like 'settle:%'),"
            " (select coalesce(sum((request->>'price_micros')::bigint), 0) from tasks"
            " where state = 'succeeded')"
        )
    ).one()
    closing.settled_micros = int(settled)
    if int(settled) != int(owed):
        closing.violations.append(f"settled are {settled} micro-CNY, delivered for {owed}")
