"""What must hold: at each paid request, after each commit, and at the end."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from shortdrama_pipeline.store.invariants import QUERIES, expand
from shortdrama_pipeline.store.verification import CHECKS
from tests.simulation.database import Line
from tests.simulation.vendor import Post, SimVendor, _dump, outline

_FENCE = sa.text("""
select a.state, a.request_digest, t.state as task, a.lease_token, t.lease_token as token,
  g.revoked_at < a.submit_started_at as revoked, g.expires_at <= a.submit_started_at as expired
  from provider_attempts a join tasks t using (task_id) join grants g using (grant_id)
 where a.attempt_id = :id
""")
_EVENTS = """
select event_id, entity, entity_id, from_state, to_state, facts->>'lease_token', facts->'reason'->>'code'
  from events where event_id > {last} order by event_id
"""
_STEP = ("V-1", "V-2", "V-3", "V-5", "V-6", "V-7", "V-8", "V-12", "P-1.11")  # true at every moment


def _all_of(names: Iterable[str]) -> sa.TextClause:
    """Many checks as one question."""
    parts = [
        f"select '{name}' as name, $wrong${query.wrong}$wrong$ as wrong, found.*"
        f" from ({expand(query.sql)}) as found(subject, what)"
        for name in names
        for query in QUERIES[name]
    ]
    return sa.text(" union all ".join(parts).replace(":at_rest", "true"))


STEP, END = _all_of(_STEP), _all_of(QUERIES)
TERMINAL = {
    "succeeded",
    "failed",
    "cancelled",
    "settled",
    "released",
    "completed",
    "rejectedBeforeAcceptance",
}
SNAPSHOT = {
    "tasks": "task_id", "provider_attempts": "attempt_id", "reservations": "reservation_id",
    "ledger_entries": "entry_id", "events": "event_id", "versions": "version_id", "media_files": "sha256",
    "balances": "account, currency", "alerts": "alert_id", "provider_jobs": "attempt_id",
    "outbox": "outbox_id", "late_results": "attempt_id", "selections": "episode_id, subject, role",
}  # fmt: skip


class Checker:
    """`fail` stops the world with a sentence."""

    def __init__(self, line: Line, vendor: SimVendor, fail: Callable[[str], None]) -> None:
        self._line = line
        self._vendor = vendor
        self._fail = fail
        self._last = int(
            line.connection.execute(sa.text("select coalesce(max(event_id), 0) from events")).scalar_one()
        )
        self.tasks: list[str] = []
        self._tokens: dict[str, int] = {}
        self._ended: set[tuple[str, str]] = set()

    def at_post(self, post: Post, digest: str) -> None:
        """V-1, V-2, P-5.1: seen from the vendor's door, at the very moment."""
        row = self._line.connection.execute(_FENCE, {"id": post.client_id}).mappings().one_or_none()
        if row is None:
            self._fail(f"V-1: a request arrives for {post.item} without an Attempt")
            return
        if row["request_digest"] != digest:
            self._fail(f"V-1: the request for {post.item} is not the one that was fenced")
        if row["state"] == "prepared" or row["state"] == "rejectedBeforeAcceptance":
            self._fail(f"V-1: a request arrives for {post.item} while its Attempt is {row['state']}")
        if row["revoked"] or row["expired"]:
            self._fail(f"V-2: a request arrives for {post.item} fenced after its Grant ended")
        if sum(1 for each in self._vendor.posts if each.client_id == post.client_id) > 1:
            self._fail(f"V-1: a second request arrives for {post.item} under one Attempt")
        entered = [each for each in self._vendor.book.values() if each.item == post.item]
        if entered:
            self._fail(
                f"a request arrives for {post.item} which the vendor already sold: {entered[0].external_id}"
            )

    def after_commit(self, who: str, tell: Callable[[str], None]) -> None:
        """Histories: ends stay ends, tokens grow."""
        if not self._line.touched:
            return
        self._line.touched = changed = False
        for event_id, entity, entity_id, before, after, token, code in self._line.ask(
            _EVENTS.format(last=self._last)
        ):
            self._last = int(event_id or 0)
            key = (str(entity), str(entity_id))
            if entity != "media":
                tell(f"{who}: {entity} {key[1][-4:]} {before or ''} -> {after} {code or ''}".rstrip())
            if key in self._ended:
                self._fail(f"V-9: {entity} {key[1]} moved after its end, to {after}")
            if after in TERMINAL:
                self._ended.add(key)
            if entity == "task" and token is not None:
                if int(token) < self._tokens.get(key[1], 0):
                    self._fail(f"V-12: the token of {key[1]} fell to {token}")
                self._tokens[key[1]] = int(token)
            if entity == "task" and key[1] not in self.tasks:
                self.tasks.append(key[1])
            changed = True
        if changed:
            self._ask(STEP, {"task_ids": self.tasks}, f"after a commit of {who}")

    def _ask(self, question: sa.TextClause, bound: dict[str, list[str] | None], when: str) -> None:
        for row in self._line.connection.execute(question, bound):
            self._fail(f"{row.name} {when}: {row.subject}: {row.wrong}: {row.what}")

    def fingerprint(self) -> object:
        return self._line.ask("select count(*), max(event_id) from events")

    def snapshot(self) -> dict[str, str]:
        """Each table's rows, as one digest."""
        parts = [
            f"select '{name}', coalesce(md5(string_agg(r::text, ',' order by {key})), '') from {name} r"
            for name, key in SNAPSHOT.items()
        ]
        return {str(name): str(digest) for name, digest in self._line.ask(" union all ".join(parts))}

    def _rows(self, query: str) -> list[dict[str, Any]]:
        return [dict(each) for each in self._line.connection.execute(sa.text(query)).mappings()]

    # --- the end ----------------------------------------------------------------------------------------

    def at_end(self, home: Path) -> None:
        """Part IV, the vendor's book, and no loose end."""
        self._line.set_clock()
        self._ask(END, {"task_ids": None}, "at the end")
        for name in ("V-10", "G-204"):
            for ask in CHECKS[name].ask:
                for problem in ask(self._line.connection, None):
                    self._fail(f"{name} at the end: {problem.subject}: {problem.what}")
        self._no_loose_end()
        self._book(home)

    def _no_loose_end(self) -> None:
        for row in self._rows("select task_id, state, reason, hold_reason, owner from tasks"):
            if row["state"] in {"succeeded", "failed", "cancelled"}:
                continue
            if row["state"] != "needsReconciliation" or not (row["reason"] or {}).get("code"):
                self._fail(f"at the end task {row['task_id'][-4:]} is {row['state']} {row['hold_reason']}")

    def _book(self, home: Path) -> None:
        rows = self._rows("""
            select a.attempt_id, a.state, t.state as task, t.reason->>'code' as code, t.task_id,
              t.request->'params'->>'item' as item,
              (select coalesce(sum(amount_micros), 0)::bigint from ledger_entries l
                where l.business_key in ('spend:' || a.attempt_id, 'overrun:' || a.attempt_id)) as booked,
              (select min(v.sha256) from versions v where v.attempt_id = a.attempt_id) as sha256,
              (select ended_at is null from late_results z where z.attempt_id = a.attempt_id) as watched
              from provider_attempts a join tasks t using (task_id) join reservations r using (task_id)""")
        known = {row["attempt_id"]: row for row in rows}
        items: dict[str, int] = {}
        for job in self._vendor.book.values():
            items[job.item] = items.get(job.item, 0) + 1
            row = known.get(job.client_id)
            if row is None:
                self._fail(f"the vendor sold {job.item} to nobody")
                continue
            what = f"{job.item}, {job.external_id}"
            if row["state"] == "rejectedBeforeAcceptance":
                self._fail(f"a paid result is lost: {what} is in the vendor's book and {row['code']} in ours")
            at_rest = row["task"] in {"succeeded", "failed"}
            if at_rest and row["state"] == "completed" and row["booked"] != job.charged:
                self._fail(f"V-16: {what} was charged {job.charged}, booked {row['booked']}")
            if row["task"] == "failed" and row["state"] == "accepted" and not row["watched"]:
                self._fail(f"nobody watches {what} although its task failed with {row['code']}")
            if row["task"] == "succeeded":
                place = home / "media" / row["sha256"][:2] / row["sha256"]
                if place.read_bytes() != _dump(outline(job.item)):
                    self._fail(f"{what} was delivered as something else")
                if job.outcome != "succeeded":
                    self._fail(f"{what} {job.outcome} at the vendor and was delivered")
        twice = [item for item, times in items.items() if times > 1]
        if twice:
            self._fail(f"bought twice: {twice}")
