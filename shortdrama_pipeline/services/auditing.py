"""Read-only verification: does the database, and the media folder, still say what it must? (Part IV)

Nothing is mended here. A problem names the check, the row and what is wrong with it.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import BinaryIO

import sqlalchemy as sa

from shortdrama_pipeline.errors import ShortdramaError
from shortdrama_pipeline.media.object_store import ObjectStore
from shortdrama_pipeline.rules.plans import input_hash
from shortdrama_pipeline.services.context import Studio
from shortdrama_pipeline.store import audit, verification
from shortdrama_pipeline.store.guards import find_broken_chains
from shortdrama_pipeline.store.verification import FACTS, LEDGER, Check, Problem

LOG_SHOWN_MAX = 10_000
READ_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Verified:
    """`checked` counts the rows and files looked at."""

    checked: int
    problems: tuple[Problem, ...]

    @property
    def ok(self) -> bool:
        return not self.problems

    def to_json(self) -> dict[str, object]:
        return {
            "ok": self.ok,
            "checked": self.checked,
            "problems": [each.to_json() for each in self.problems],
        }


def verify_ledger(studio: Studio) -> Verified:
    """Replay the ledger against balances, reservations and vendors' charges (V-4 to V-7, V-16)."""
    with _snapshot(studio) as tx:
        counted = verification.count_facts(tx)
        problems = _run(tx, LEDGER)
    return Verified(
        counted["ledger_entries"] + counted["balances"] + counted["reservations"], tuple(problems)
    )


def verify_all(studio: Studio, *, files: bool = True) -> Verified:
    """The ledger, the facts, every event chain, every frozen hash and, with `files`, every stored byte."""
    with _snapshot(studio) as tx:
        counted = verification.count_facts(tx)
        problems = _run(tx, (*LEDGER, *FACTS))
        problems += [
            Problem(
                "event_chain", f"{entity} {entity_id}", f"event {seq} does not follow from the one before"
            )
            for entity, entity_id, seq in find_broken_chains(tx)
        ]
        problems += _frozen(tx)
        stored = (
            [(str(row[0]), int(row[1]), str(row[2])) for row in verification.each_file(tx)] if files else []
        )
    problems += [
        each for sha256, size, state in stored for each in _file(studio.objects, sha256, size, state)
    ]
    return Verified(sum(counted.values()) + len(stored), tuple(problems))


def list_decisions(
    studio: Studio, *, limit: int = 100, subject_id: str | None = None
) -> Sequence[Mapping[str, object]]:
    """Who decided what, the newest first."""
    with studio.db.read() as tx:
        return audit.list_decisions(tx, limit=min(limit, LOG_SHOWN_MAX), subject_id=subject_id)


@contextmanager
def _snapshot(studio: Studio) -> Iterator[sa.Connection]:
    """One instant for all checks: what is being written meanwhile is seen wholly or not at all."""
    with studio.db.read() as tx:
        tx.execute(sa.text("set transaction isolation level repeatable read, read only"))
        yield tx


def _run(tx: sa.Connection, checks: Sequence[Check]) -> list[Problem]:
    return [problem for check in checks for problem in verification.find_problems(tx, check)]


def _frozen(tx: sa.Connection) -> list[Problem]:
    """Recompute what was hashed when it was frozen."""
    found = [
        Problem("plan_hash", str(plan_id), "the PlanSnapshot is not what was hashed (P-3.1)")
        for plan_id, body, stored in verification.each_plan(tx)
        if input_hash(body) != stored
    ]
    return found + [
        Problem("price_digest", str(price_version_id), "the price is not what was published (D-23)")
        for price_version_id, body, stored in verification.each_price(tx)
        if input_hash(body) != stored
    ]


def _file(objects: ObjectStore, sha256: str, size: int, state: str) -> Iterator[Problem]:
    try:
        with objects.open(sha256) as opened:
            found, read = _hash(opened)
    except ShortdramaError as error:
        yield Problem("stored_file", sha256, f"a {state} file cannot be read: {error.message}")
        return
    if (found, read) != (sha256, size):
        yield Problem("stored_file", sha256, f"a {state} file holds other bytes: {read} of {size}, {found}")


def _hash(opened: BinaryIO) -> tuple[str, int]:
    digest, read = hashlib.sha256(), 0
    while chunk := opened.read(READ_BYTES):
        digest.update(chunk)
        read += len(chunk)
    return digest.hexdigest(), read
