"""The account book: who asked, what was accepted, what it cost, what became of it. One sqlite file.

An entry is committed (WAL, synchronous=FULL) before any answer leaves, so what the book does not hold
was not accepted. Two POSTs with one client_id are two entries: nothing is de-duplicated here, so that
a second purchase shows.
"""

import json
import os
import sqlite3
import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from shortdrama_pipeline.rehearsal.prices import CURRENCY

Json = dict[str, object]

_SCHEMA = """
CREATE TABLE IF NOT EXISTS requests (
    request_id TEXT PRIMARY KEY,
    client_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    received_at TEXT NOT NULL,
    accepted INTEGER NOT NULL,
    refusal TEXT,                      -- the code by which it was refused, if it was
    charged_micros INTEGER NOT NULL,
    params TEXT NOT NULL,
    callback_url TEXT,
    status TEXT NOT NULL,              -- queued, running, succeeded, failed, expired; refused
    progress INTEGER NOT NULL,
    facts TEXT NOT NULL,               -- what is known of the result, as JSON
    error_code TEXT,
    error_message TEXT,
    fate TEXT,                         -- a scripted end of the job: see faults.py
    delivered INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS requests_by_client ON requests (client_id);
CREATE INDEX IF NOT EXISTS requests_unfinished ON requests (status) WHERE status IN ('queued', 'running');
CREATE TABLE IF NOT EXISTS links (
    token TEXT PRIMARY KEY, request_id TEXT NOT NULL, expires_at_s INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS notices (
    event_id TEXT PRIMARY KEY, url TEXT NOT NULL, body BLOB NOT NULL, sent INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS faults (place INTEGER PRIMARY KEY, rule TEXT NOT NULL, times_left INTEGER);
CREATE TABLE IF NOT EXISTS marks (name TEXT PRIMARY KEY, value TEXT NOT NULL);
"""

_INSERT = """
INSERT INTO requests VALUES (
    :request_id, :client_id, :kind, :received_at, :accepted, :refusal, :charged_micros, :params,
    :callback_url, :status, 0, '{}', NULL, NULL, :fate, 0
)
"""


@dataclass(frozen=True, slots=True)
class Request:
    """One row of the book, as the server works with it."""

    request_id: str
    client_id: str
    kind: str
    received_at: str
    accepted: bool
    refusal: str | None
    charged_micros: int
    params: Json
    callback_url: str | None
    status: str
    progress: int
    facts: Json
    error_code: str | None
    error_message: str | None
    fate: Json | None
    delivered: bool

    def entry(self) -> Json:
        """Return the line `rehearsal book` shows."""
        return {
            "request_id": self.request_id,
            "client_id": self.client_id,
            "kind": self.kind,
            "received_at": self.received_at,
            "accepted": self.accepted,
            "refusal": self.refusal,
            "charged": {"micros": self.charged_micros, "currency": CURRENCY},
            "status": self.status,
            "delivered": self.delivered,
        }


def new_request_id(kind: str) -> str:
    """Return an id that sorts by birth; `rv_` for videos, `rq_` for what is answered at once."""
    prefix = "rv" if kind == "video" else "rq"
    return f"{prefix}_{time.time_ns() // 1_000_000:012x}{os.urandom(8).hex()}"


class Book:
    """The open book of one server. Used from one thread; each method is one transaction."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._db = sqlite3.connect(path, isolation_level=None)
        self._db.row_factory = sqlite3.Row
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=FULL")
        self._db.executescript(_SCHEMA)

    def close(self) -> None:
        self._db.close()

    # --- requests -------------------------------------------------------------------------------

    def record_accepted(
        self,
        *,
        request_id: str,
        client_id: str,
        kind: str,
        params: Json,
        charged_micros: int,
        callback_url: str | None,
        fate: Json | None,
    ) -> Request:
        """Commit an accepted request with its charge."""
        row = {
            "request_id": request_id,
            "client_id": client_id,
            "kind": kind,
            "accepted": 1,
            "refusal": None,
            "charged_micros": charged_micros,
            "params": json.dumps(params, ensure_ascii=False),
            "callback_url": callback_url,
            "status": "queued",
            "fate": None if fate is None else json.dumps(fate),
        }
        self._db.execute(_INSERT, row | {"received_at": _now()})
        return self.load(request_id)

    def record_refused(self, *, client_id: str, kind: str, code: str) -> None:
        """Commit that a request came and was not accepted. It costs nothing; its content is not kept."""
        row = {
            "request_id": new_request_id(kind),
            "client_id": client_id,
            "kind": kind,
            "accepted": 0,
            "refusal": code,
            "charged_micros": 0,
            "params": "{}",
            "callback_url": None,
            "status": "refused",
            "fate": None,
        }
        self._db.execute(_INSERT, row | {"received_at": _now()})

    def find(self, request_id: str) -> Request | None:
        row = self._db.execute("SELECT * FROM requests WHERE request_id = ?", (request_id,)).fetchone()
        return None if row is None else _request(row)

    def load(self, request_id: str) -> Request:
        found = self.find(request_id)
        assert found is not None
        return found

    def accepted_of(self, client_id: str) -> list[Request]:
        """Return every accepted request of a client's identity, oldest first."""
        rows = self._db.execute(
            "SELECT * FROM requests WHERE client_id = ? AND accepted ORDER BY received_at, rowid",
            (client_id,),
        )
        return [_request(each) for each in rows]

    def accepted_between(self, since: str, until: str, *, after: str, most: int) -> list[Request]:
        """Return accepted videos by their time of arrival, both ends included; ids sort by birth."""
        rows = self._db.execute(
            "SELECT * FROM requests WHERE accepted AND kind = 'video' AND received_at >= ?"
            " AND received_at <= ? AND request_id > ? ORDER BY request_id LIMIT ?",
            (since, until, after, most),
        )
        return [_request(each) for each in rows]

    def unfinished(self) -> list[Request]:
        rows = self._db.execute(
            "SELECT * FROM requests WHERE status IN ('queued', 'running') ORDER BY received_at, rowid"
        )
        return [_request(each) for each in rows]

    def entries(self) -> list[Request]:
        return [
            _request(each) for each in self._db.execute("SELECT * FROM requests ORDER BY received_at, rowid")
        ]

    def record_progress(self, request_id: str, *, status: str, progress: int) -> None:
        self._db.execute(
            "UPDATE requests SET status = ?, progress = ? WHERE request_id = ?",
            (status, progress, request_id),
        )

    def record_result(self, request_id: str, facts: Json) -> None:
        self._db.execute(
            "UPDATE requests SET status = 'succeeded', progress = 100, facts = ? WHERE request_id = ?",
            (json.dumps(facts, ensure_ascii=False), request_id),
        )

    def record_failure(self, request_id: str, *, code: str, message: str, charged_micros: int) -> None:
        self._db.execute(
            "UPDATE requests SET status = 'failed', error_code = ?, error_message = ?, charged_micros = ?"
            " WHERE request_id = ?",
            (code, message, charged_micros, request_id),
        )

    def record_delivered(self, request_id: str) -> None:
        self._db.execute("UPDATE requests SET delivered = 1 WHERE request_id = ?", (request_id,))

    # --- links, notices, faults -------------------------------------------------------------------

    def link(self, request_id: str, *, token: str, expires_at_s: int) -> None:
        self._db.execute("INSERT INTO links VALUES (?, ?, ?)", (token, request_id, expires_at_s))

    def find_link(self, token: str) -> tuple[str, int] | None:
        row = self._db.execute(
            "SELECT request_id, expires_at_s FROM links WHERE token = ?", (token,)
        ).fetchone()
        return None if row is None else (row["request_id"], row["expires_at_s"])

    def record_notice(self, *, event_id: str, url: str, body: bytes) -> None:
        self._db.execute("INSERT INTO notices VALUES (?, ?, ?, 0)", (event_id, url, body))

    def record_notice_sent(self, event_id: str) -> None:
        self._db.execute("UPDATE notices SET sent = 1 WHERE event_id = ?", (event_id,))

    def unsent_notices(self) -> list[tuple[str, str, bytes]]:
        rows = self._db.execute("SELECT event_id, url, body FROM notices WHERE NOT sent ORDER BY rowid")
        return [(row["event_id"], row["url"], row["body"]) for row in rows]

    def replace_faults(self, rules: Iterable[tuple[Json, int | None]], *, source: str) -> None:
        """Put these rules in place of all others. `source` says which list they are."""
        self._db.execute("BEGIN")
        self._db.execute("DELETE FROM faults")
        for rule, times in rules:
            self._db.execute("INSERT INTO faults (rule, times_left) VALUES (?, ?)", (json.dumps(rule), times))
        self._db.execute("INSERT OR REPLACE INTO marks VALUES ('faults_source', ?)", (source,))
        self._db.execute("COMMIT")

    def faults_source(self) -> str | None:
        row = self._db.execute("SELECT value FROM marks WHERE name = 'faults_source'").fetchone()
        return None if row is None else str(row["value"])

    def faults(self) -> list[tuple[int, Json, int | None]]:
        rows = self._db.execute("SELECT place, rule, times_left FROM faults ORDER BY place")
        return [(row["place"], json.loads(row["rule"]), row["times_left"]) for row in rows]

    def use_fault(self, place: int) -> None:
        self._db.execute("UPDATE faults SET times_left = times_left - 1 WHERE place = ?", (place,))


def read_entries(path: Path) -> list[Request]:
    """Read the book beside a running server, or after it stopped. No book is an empty one."""
    if not path.exists():
        return []
    db = sqlite3.connect(path)
    try:
        db.row_factory = sqlite3.Row
        db.execute("PRAGMA query_only=ON")
        return [_request(each) for each in db.execute("SELECT * FROM requests ORDER BY received_at, rowid")]
    finally:
        db.close()


def _request(row: sqlite3.Row) -> Request:
    return Request(
        request_id=row["request_id"],
        client_id=row["client_id"],
        kind=row["kind"],
        received_at=row["received_at"],
        accepted=bool(row["accepted"]),
        refusal=row["refusal"],
        charged_micros=row["charged_micros"],
        params=json.loads(row["params"]),
        callback_url=row["callback_url"],
        status=row["status"],
        progress=row["progress"],
        facts=json.loads(row["facts"]),
        error_code=row["error_code"],
        error_message=row["error_message"],
        fate=None if row["fate"] is None else json.loads(row["fate"]),
        delivered=bool(row["delivered"]),
    )


def _now() -> str:
    now = datetime.fromtimestamp(time.time(), UTC)
    return now.isoformat(timespec="milliseconds").replace("+00:00", "Z")
