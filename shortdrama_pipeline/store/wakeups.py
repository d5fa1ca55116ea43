"""LISTEN and NOTIFY: they only wake, they never carry truth. A lost wake-up costs a second."""

import threading
from collections.abc import Callable
from typing import Self

import psycopg
import sqlalchemy as sa

from shortdrama_pipeline.store.database import Database

CHANNEL = "shortdrama_work"
FALLBACK_S = 1
_NOTIFY = sa.text("select pg_notify(:channel, :payload)")


def announce(db: Database, payload: str = "") -> None:
    """Wake waiting workers. Call it after the commit: inside the transaction it would cost group commit."""
    with db.begin() as tx:
        tx.execute(_NOTIFY, {"channel": CHANNEL, "payload": payload})


class Listener:
    """A thread that calls `wake(payload)` for every announcement, until closed."""

    def __init__(self, db: Database, wake: Callable[[str], None]) -> None:
        self._db = db
        self._wake = wake
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._listen, name="wakeups", daemon=True)
        self.ready = threading.Event()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self._thread.join(timeout=3)

    def _listen(self) -> None:
        while not self._closing.is_set():
            try:
                self._listen_once()
            except (psycopg.Error, sa.exc.DBAPIError):  # the database is away; the fallback poll goes on
                self._wake("")
                self._closing.wait(FALLBACK_S)

    def _listen_once(self) -> None:
        raw = self._db.engine.raw_connection()
        try:
            connection = raw.driver_connection
            assert isinstance(connection, psycopg.Connection)
            connection.autocommit = True
            connection.execute(f"listen {CHANNEL}")
            self.ready.set()
            while not self._closing.is_set():
                for notice in connection.notifies(timeout=0.2, stop_after=1):
                    self._wake(notice.payload)
        finally:
            raw.invalidate()
