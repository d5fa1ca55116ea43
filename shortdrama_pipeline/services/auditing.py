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
from shortdrama_pipeline.media.object_store import RESTORE_MEDIA, ObjectStore
from shortdrama_pipeline.rules.plans import input_hash
from shortdrama_pipeline.rules.versions import digest_of
from shortdrama_pipeline.services import safety
from shortdrama_pipeline.services.context import Studio
from shortdrama_pipeline.services.leaks import find_leaks
from shortdrama_pipeline.store import audit, verification
from shortdrama_pipeline.store.invariants import RESTORE
from shortdrama_pipeline.store.verification import CHECKS, LEDGER, Problem

LOG_SHOWN_MAX = 10_000
# What of it means that money or history cannot be trusted.
STOPPING = frozenset({"V-1", "V-2", "V-4", "V-5", "V-6", "V-7", "V-9", "G-204"})
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
        problems = [each for name in LEDGER for each in CHECKS[name].find(tx)]
    return Verified(
        counted["ledger_entries"] + counted["balances"] + counted["reservations"], tuple(problems)
    )


def verify_all(studio: Studio, *, files: bool = True, at_rest: bool = False) -> Verified:
    """Every invariant, every event chain, every frozen hash and, with `files`, every stored byte.

    `at_rest`: no worker is running, so nothing may be due either (V-15).
    """
    with _snapshot(studio) as tx:
        counted = verification.count_facts(tx)
        problems = [each for check in CHECKS.values() for each in check.find(tx, at_rest=at_rest)]
        problems += _frozen(tx)
        problems += find_leaks(studio, tx)
        stored = (
            [(str(row[0]), int(row[1]), str(row[2])) for row in verification.each_file(tx)] if files else []
        )
    problems += [
        each for sha256, size, state in stored for each in _file(studio.objects, sha256, size, state)
    ]
    return Verified(sum(counted.values()) + len(stored), tuple(problems))


def stop_if_broken(studio: Studio, verified: Verified) -> bool:
    """Let broken books and histories stop paid work until a person has looked (G-204)."""
    subjects = [each.subject for each in verified.problems if each.invariant in STOPPING]
    return bool(subjects and safety.stop_for_books(studio, subjects))


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


def _frozen(tx: sa.Connection) -> Iterator[Problem]:
    """Recompute what was hashed when it was frozen."""
    for plan_id, body, stored in verification.each_plan(tx):
        if input_hash(body) != stored:
            yield Problem("P-3.1", plan_id, "the PlanSnapshot is not what was hashed", RESTORE)
    for price_version_id, body, stored in verification.each_price(tx):
        if input_hash(body) != stored:
            yield Problem("D-23", price_version_id, "the price is not what was published", RESTORE)
    for version_id, content, stored in verification.each_version(tx):
        if digest_of(content) != stored:
            yield Problem("P-11.4", version_id, "the version is not what its digest says", RESTORE)


def _file(objects: ObjectStore, sha256: str, size: int, state: str) -> Iterator[Problem]:
    try:
        with objects.open(sha256) as opened:
            found, read = _hash(opened)
    except ShortdramaError as error:
        yield Problem("TT-4", sha256, f"a {state} file cannot be read: {error.message}", RESTORE_MEDIA)
        return
    if (found, read) != (sha256, size):
        yield Problem(
            "TT-4", sha256, f"a {state} file holds other bytes: {read} of {size}, {found}", RESTORE_MEDIA
        )


def _hash(opened: BinaryIO) -> tuple[str, int]:
    digest, read = hashlib.sha256(), 0
    while chunk := opened.read(READ_BYTES):
        digest.update(chunk)
        read += len(chunk)
    return digest.hexdigest(), read
