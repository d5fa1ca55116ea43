"""Misbehaviour on request: scripted rules, each used a stated number of times.

A rule is {"fault": NAME, "kind": KIND, "match": TEXT, "times": N, …}. `kind` is text, image, speech,
video or `*`; `match` is a piece of the request's client_id, id or parameters (empty: any); `times`
defaults to 1, null means for ever. Further keys of single faults: `seconds`, `status`, `word`,
`retry_after_s`.

    a create request, before it is accepted   drop_before_accept, error_before_accept, html_before_accept,
                                              slow_before_accept, invalid_params, content_refused,
                                              bad_key, insufficient_balance, rate_limited
    a create request, once it is accepted     drop_after_accept, error_after_accept, html_after_accept,
                                              no_id, empty_answer, malformed_answer, truncated_answer,
                                              slow_answer
    the fate of an accepted video             fail, fail_charged, expire, stall
    a status query                            query_drop, query_error, query_html, query_truncated,
                                              query_bad_key, query_rate_limited, unknown_status,
                                              query_missing, query_slow
    the look-up by client_id                  lookup_error, lookup_drop
    a download                                expired_url, truncated_file, html_file, file_error, file_slow
    callbacks of a video                      callback_duplicate, callback_reorder, callback_lost,
                                              callback_bad_signature, callback_unsigned, callback_old
"""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from shortdrama_pipeline.rehearsal.book import Book, Json
from shortdrama_pipeline.rehearsal.refusals import STATUS_BY_CODE, Refused

BEFORE_ACCEPT = frozenset(
    {"drop_before_accept", "error_before_accept", "html_before_accept", "slow_before_accept", *STATUS_BY_CODE}
)
AFTER_ACCEPT = frozenset(
    {
        "drop_after_accept",
        "error_after_accept",
        "html_after_accept",
        "no_id",
        "empty_answer",
        "malformed_answer",
        "truncated_answer",
        "slow_answer",
    }
)
FATES = frozenset({"fail", "fail_charged", "expire", "stall"})
ON_QUERY = frozenset(
    {
        "query_drop",
        "query_error",
        "query_html",
        "query_truncated",
        "query_bad_key",
        "query_rate_limited",
        "query_slow",
    }
)
ON_QUERY_ITEM = frozenset({"unknown_status", "query_missing"})
ON_LOOKUP = frozenset({"lookup_error", "lookup_drop"})
ON_FILE = frozenset({"expired_url", "truncated_file", "html_file", "file_error", "file_slow"})
ON_CALLBACK = frozenset(
    {
        "callback_duplicate",
        "callback_reorder",
        "callback_lost",
        "callback_bad_signature",
        "callback_unsigned",
        "callback_old",
    }
)
ALL = BEFORE_ACCEPT | AFTER_ACCEPT | FATES | ON_QUERY | ON_QUERY_ITEM | ON_LOOKUP | ON_FILE | ON_CALLBACK
KINDS = frozenset({"text", "image", "speech", "video", "*"})


@dataclass(frozen=True, slots=True)
class Fault:
    """A rule that fires now. `options` are the rule's further keys."""

    name: str
    options: Json

    def integer(self, key: str, default: int) -> int:
        return int(str(self.options.get(key, default)))

    @property
    def seconds(self) -> float:
        return float(str(self.options.get("seconds", 1)))


class Faults:
    """The rules in force, kept in the book so that a restart neither repeats nor forgets one."""

    def __init__(self, book: Book) -> None:
        self._book = book

    def load_file(self, path: Path) -> None:
        """Take `faults.json` in, unless this very list was taken in before."""
        if not path.exists():
            return
        raw = path.read_bytes()
        source = hashlib.sha256(raw).hexdigest()
        if source != self._book.faults_source():
            self.replace(json.loads(raw), source=source)

    def replace(self, document: object, *, source: str = "posted") -> None:
        """Check and put in force `{"rules": [...]}` or a plain list of rules."""
        rules = document.get("rules") if isinstance(document, dict) else document
        if not isinstance(rules, list):
            raise Refused("invalid_params", 'Send {"rules": [...]}')
        self._book.replace_faults([_checked(each) for each in rules], source=source)

    def in_force(self) -> list[Json]:
        return [{**rule, "times_left": left} for _, rule, left in self._book.faults()]

    def take(self, among: frozenset[str], *, kind: str, subject: str) -> Fault | None:
        """Use up and return the first rule of `among` that fits; `subject` is searched for `match`."""
        for place, rule, left in self._book.faults():
            fits = rule["kind"] in ("*", kind) and str(rule["match"]) in subject
            if rule["fault"] in among and fits and (left is None or left > 0):
                if left is not None:
                    self._book.use_fault(place)
                return Fault(name=str(rule["fault"]), options=rule)
        return None


def _checked(rule: object) -> tuple[Json, int | None]:
    if not isinstance(rule, dict) or rule.get("fault") not in ALL:
        raise Refused("invalid_params", f"Not a fault rule: {json.dumps(rule)[:200]}")
    kind = rule.get("kind", "*")
    if kind not in KINDS:
        raise Refused("invalid_params", f"Unknown kind {kind!r} in a fault rule")
    times = rule.get("times", 1)
    if times is not None and (not isinstance(times, int) or times < 1):
        raise Refused("invalid_params", "times is a positive number, or null for ever")
    return {**rule, "kind": kind, "match": str(rule.get("match", ""))}, times
