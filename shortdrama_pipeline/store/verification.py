"""Does the database still say what it must? Each invariant of Part IV is one check, callable by itself.

    CHECKS["V-5"].find(tx)                          everything
    CHECKS["V-1"].find(tx, task_ids=[...])          what concerns these Tasks
    CHECKS["V-15"].find(tx, at_rest=True)           no worker is running: nothing may be due

Nothing is written here. Checks by SQL stand in `invariants.py`; what needs a rule is asked here.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB

from shortdrama_pipeline.rules.states import AttemptState, ReservationState, TaskState
from shortdrama_pipeline.rules.task_actions import Standing, allowed_actions
from shortdrama_pipeline.store import tables
from shortdrama_pipeline.store.books import find_broken_checkpoints
from shortdrama_pipeline.store.guards import find_broken_chains
from shortdrama_pipeline.store.invariants import QUERIES, RESTORE, Query, expand

PROBLEMS_PER_QUERY_MAX = 20
_COUNTED = (
    tables.ledger_entries,
    tables.balances,
    tables.reservations,
    tables.executions,
    tables.tasks,
    tables.provider_attempts,
    tables.events,
    tables.grants,
    tables.plans,
    tables.versions,
)


@dataclass(frozen=True, slots=True)
class Problem:
    """One broken fact. `invariant` is the row of requirements.md, `subject` the row of the database."""

    invariant: str
    subject: str
    what: str
    hint: str

    def to_json(self) -> dict[str, object]:
        return {
            "invariant": self.invariant,
            "subject": self.subject,
            "what": self.what,
            "hint": self.hint,
        }


Ask = Callable[[sa.Connection, Sequence[str] | None], list[Problem]]


@dataclass(frozen=True, slots=True)
class Check:
    """One invariant, by its queries and, where a rule decides, by `ask`."""

    invariant: str
    queries: tuple[Query, ...]
    ask: tuple[Ask, ...] = ()

    def find(
        self, tx: sa.Connection, task_ids: Sequence[str] | None = None, *, at_rest: bool = False
    ) -> list[Problem]:
        """What breaks the invariant, at most PROBLEMS_PER_QUERY_MAX of a kind."""
        bound = {"task_ids": None if task_ids is None else list(task_ids), "at_rest": at_rest}
        found = []
        for query in self.queries:
            sql = expand(query.sql)
            rows = tx.execute(
                sa.text(f"select * from ({sql}) found limit {PROBLEMS_PER_QUERY_MAX}"),  # noqa: S608
                {name: value for name, value in bound.items() if f":{name}" in sql},
            )
            found += [
                Problem(self.invariant, str(row[0]), f"{query.wrong}: {row[1]}", query.hint) for row in rows
            ]
        return found + [problem for ask in self.ask for problem in ask(tx, task_ids)]


def _without_actions(tx: sa.Connection, task_ids: Sequence[str] | None) -> list[Problem]:
    """V-10: a Task that waits for a person lets that person do something."""
    rows = tx.execute(_STANDINGS, {"task_ids": None if task_ids is None else list(task_ids)})
    return [
        Problem(
            "V-10",
            task_id,
            f"a Task that waits for a person allows no action: {row.state}, attempt {row.attempt or 'none'}",
            "Report this: a program error; look at it with `shortdrama task show`",
        )
        for row in rows
        if not allowed_actions(_standing(row))
        for task_id in row.task_ids[:PROBLEMS_PER_QUERY_MAX]
    ]


_STANDINGS = sa.text("""
select t.state, a.state as attempt, r.state as money, t.hold_reason is not null as held,
  coalesce(a.result, '{}') <> '{}' as has_result, array_agg(t.task_id order by t.task_id) as task_ids
  from tasks t join reservations r using (task_id) left join lateral (select p.state, p.result
    from provider_attempts p where p.task_id = t.task_id order by p.number desc limit 1) a on true
 where t.state = 'needsReconciliation'
   and (cast(:task_ids as text[]) is null or t.task_id = any(cast(:task_ids as text[])))
 group by 1, 2, 3, 4, 5
""")


def _standing(row: sa.Row[tuple[object, ...]]) -> Standing:
    return Standing(
        task=TaskState(row.state),
        attempt=None if row.attempt is None else AttemptState(row.attempt),
        money=ReservationState(row.money),
        held=bool(row.held),
        has_result=bool(row.has_result),
    )


def _broken_chains(tx: sa.Connection, task_ids: Sequence[str] | None) -> list[Problem]:
    return [
        Problem("G-204", f"{entity} {entity_id}", f"event {seq} does not follow from the one before", RESTORE)
        for entity, entity_id, seq in find_broken_chains(tx, task_ids)
    ]


def _broken_checkpoints(tx: sa.Connection, _task_ids: Sequence[str] | None) -> list[Problem]:
    return [
        Problem("G-204", f"checkpoint {number}", "it does not follow from what was booked below it", RESTORE)
        for number in find_broken_checkpoints(tx)
    ]


def _base64(tx: sa.Connection, task_ids: Sequence[str] | None) -> list[Problem]:
    """V-14: text columns hold no encoded media. In a scope, the tables that name their Task."""
    found = []
    for table in tables.metadata.sorted_tables:
        scope = "" if task_ids is None else " and task_id = any(cast(:task_ids as text[]))"
        if task_ids is not None and "task_id" not in table.c:
            continue
        text = " || ' ' || ".join(
            f"coalesce({each.name}::text, '')"
            for each in table.columns
            if isinstance(each.type, sa.Text | JSONB)
        )
        key = " || ' ' || ".join(f"{each.name}::text" for each in table.primary_key)
        rows = tx.execute(
            sa.text(
                f"select {key} from {table.name} where ({text}) ~ :blob{scope}"  # noqa: S608 - names of our tables
                f" limit {PROBLEMS_PER_QUERY_MAX}"
            ),
            {"blob": BLOB} | ({} if task_ids is None else {"task_ids": list(task_ids)}),
        )
        found += [
            Problem(
                "V-14",
                f"{table.name} {row[0]}",
                "it holds what looks like encoded media",
                "Find out which adapter wrote it; media belong in the object store",
            )
            for row in rows
        ]
    return found


BLOB = "([A-Za-z0-9+/]{240}){4}"  # longer than any digest, id or address

CHECKS: Mapping[str, Check] = {
    **{
        invariant: Check(invariant, queries, (_without_actions,) if invariant == "V-10" else ())
        for invariant, queries in QUERIES.items()
    },
    "V-14": Check("V-14", (), (_base64,)),
    "G-204": Check("G-204", (), (_broken_chains, _broken_checkpoints)),
}
LEDGER = ("V-4", "V-5", "V-6", "V-7", "V-16")


def count_facts(tx: sa.Connection) -> dict[str, int]:
    """How many rows the checks look over."""
    return {
        table.name: tx.execute(sa.select(sa.func.count()).select_from(table)).scalar_one()
        for table in _COUNTED
    }


def each_plan(tx: sa.Connection) -> Iterator[tuple[str, Mapping[str, object], str]]:
    """Every PlanSnapshot with the hash it was stored under."""
    for row in tx.execute(sa.text("select plan_id, body, input_hash from plans order by plan_id")):
        yield row.plan_id, row.body, row.input_hash


def each_price(tx: sa.Connection) -> Iterator[tuple[str, Mapping[str, object], str]]:
    """Every published price with its digest."""
    for row in tx.execute(sa.text("select price_version_id, body, digest from price_versions")):
        yield row.price_version_id, row.body, row.digest


def each_text(tx: sa.Connection) -> Iterator[tuple[str, str]]:
    """Every row of every table as text, with its place."""
    for table in tables.metadata.sorted_tables:
        key = " || ' ' || ".join(f"r.{each.name}::text" for each in table.primary_key)
        rows = tx.execute(
            sa.text(f"select {key}, r::text from {table.name} r"),  # noqa: S608 - names of our tables
            execution_options={"yield_per": 1000},
        )
        for row in rows:
            yield f"{table.name} {row[0]}", str(row[1])


def each_version(tx: sa.Connection) -> Iterator[tuple[str, dict[str, object], str]]:
    """What the digest of every version covers, and the digest it was stored under (P-11.4)."""
    for row in tx.execute(_VERSIONS, execution_options={"yield_per": 500}):
        yield row.version_id, dict(row.covered), row.digest


_VERSIONS = sa.text("""
select v.version_id, v.digest, jsonb_build_object('kind', v.kind, 'subject', v.subject, 'role', v.role,
    'content', v.content, 'sha256', v.sha256, 'uses', coalesce(u.uses, '[]')) as covered
  from versions v left join lateral (select jsonb_agg(jsonb_build_array(e.used_version_id, e.purpose)
    order by e.used_version_id collate "C", e.purpose collate "C") as uses
    from edges e where e.version_id = v.version_id) u on true order by v.version_id
""")


def each_file(tx: sa.Connection) -> Iterator[tuple[str, int, str]]:
    """Every stored file with its size and state."""
    for row in tx.execute(sa.text("select sha256, bytes, state from media_files order by sha256")):
        yield row.sha256, row.bytes, row.state
