"""Is this database the one that the record outside knows? (D-6)

The record lies in the object store: in which database the newest block of fence numbers was taken, and
where it ends. It is written before the first fence of a block, so a database that has forgotten a fence
is another one than the record names, or ends below it.
"""

from dataclasses import dataclass
from enum import StrEnum


class SafeModeKind(StrEnum):
    """Why paid work stands still."""

    RESTORED = "databaseRestored"
    RECORD_MISSING = "recordMissing"
    BOOKS_BROKEN = "booksBroken"


@dataclass(frozen=True, slots=True)
class Mark:
    """A database by its incarnation (system identifier, database, timeline) and its highest block's end."""

    incarnation: str
    upper: int


@dataclass(frozen=True, slots=True)
class Finding:
    """Why paid work must stop. Fences above `known_upto` may have been taken and forgotten."""

    kind: SafeModeKind
    why: str
    known_upto: int
    recorded_upto: int


def compare(record: Mark | None, present: Mark, *, fenced: bool) -> Finding | None:
    """Decide what the record says about the database; None when nothing is forgotten.

    `fenced`: the database knows of a fence with a number. Without any, a missing record means that the
    first block was taken and its worker died before writing it: nothing was ever sent.
    """
    if record is None:
        if not fenced:
            return None
        why = "the record of fences is missing from the media store"
        return Finding(SafeModeKind.RECORD_MISSING, why, present.upper, present.upper)
    if record.upper > present.upper:
        why = f"fences up to {record.upper} were prepared, the database knows of {present.upper}"
        return Finding(SafeModeKind.RESTORED, why, present.upper, record.upper)
    if record.incarnation != present.incarnation:
        why = "the database is a copy, or was restored: its identity is not the recorded one"
        return Finding(SafeModeKind.RESTORED, why, present.upper, record.upper)
    return None
