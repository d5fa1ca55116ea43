"""What the engine knows of a vendor: a written contract, and four pure translations.

An adapter builds requests and reads answers; it never opens a connection. The one HTTP seam is
`transport.py`. Every shipped adapter carries a `Contract` (P-6.12); without one it is refused.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Protocol, runtime_checkable

from shortdrama_pipeline.rules.matching import ListedJob, MatchingFact

Json = dict[str, object]
ReadMedia = Callable[[str], bytes]  # sha256 -> the stored bytes


class RejectionClass(StrEnum):
    """What a proven rejection allows (TT-6)."""

    NEVER_SENT = "neverSent"  # no request byte left (D-14)
    CAPACITY = "capacity"  # rate or concurrency: may be sent again under the plan's allowance
    MENDABLE = "mendable"  # key or balance: an operator can mend it
    FINAL = "final"  # parameters or content: a person must change the input


@dataclass(frozen=True, slots=True)
class Contract:
    """What is verified about a protocol, with the document or test that says so.

    `rejection_codes` maps a vendor error code to what it proves; a code not listed proves nothing
    (P-5.5). `asynchronous_kinds` are the media kinds answered with a job; the others are answered
    inline. `retention_s` is how long a job can be queried, `result_url_s` how long a link lives.
    """

    protocol: str
    version: str
    asynchronous_kinds: frozenset[str]
    source: str
    rejection_codes: Mapping[str, RejectionClass] = field(default_factory=dict)
    lookup_by_client_id: bool = False  # a verified query by our own identity (P-10.4)
    absence_is_proof: bool = False  # may "not found" in that look-up count as non-acceptance?
    lists_jobs: bool = False  # a list of jobs by time; the adapter is then a ListingAdapter
    # What of that list is verified to be true to the request. A job is taken for ours without a person
    # only by these: the reference alone, or model, time and seed together (rules/matching.py).
    list_verified: frozenset[MatchingFact] = frozenset()
    callback_signed: bool = False
    batch_query_max: int = 1  # jobs one status request may name
    poll_after_ms: int = 2000
    poll_max_ms: int = 30_000
    create_timeout_s: int = 60
    query_timeout_s: int = 20
    retention_s: int = 7 * 86_400
    result_url_s: int = 86_400
    slate_percent: int = 0  # of a film's height, from its top: where the provider writes words of its own
    voices: tuple[str, ...] = ()  # what its speech can be asked for; a binding's label `voices` narrows it


@dataclass(frozen=True, slots=True)
class Binding:
    """One configured channel of a kind: what `[[binding]]` says, parsed. `credential` is a reference."""

    id: str
    kind: str
    protocol: str
    model: str
    base_url: str
    credential: str
    egress: tuple[str, ...]
    allow_private: bool
    requests_per_minute: int
    in_flight_max: int
    labels: Mapping[str, str] = field(default_factory=dict)
    failures_max: int = 5  # in a row, before the channel is given a rest (G-302)


@dataclass(frozen=True, slots=True)
class HttpCall:
    """A request without its credential; the transport adds `Authorization` at the last moment."""

    method: str
    path: str
    json: Json | None
    timeout_s: int


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """`headers` have lower-case names."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Output:
    """One deliverable of an attempt. Exactly one of `url`, `data`, `sha256` is set.

    `data` is inline bytes of a synchronous answer; the engine stores them before anything else uses
    them and replaces them by `sha256`. `facts` are the vendor's remarks (duration, seed, text timing).
    """

    slot: int
    media_type: str
    url: str | None = None
    data: bytes | None = None
    sha256: str | None = None
    facts: Json = field(default_factory=dict)


# --- what came of a create request (returned, since the caller branches) -------------------------


@dataclass(frozen=True, slots=True)
class AcceptedJob:
    """An explicit external id: the vendor works on it."""

    external_id: str
    checkpoint: Json


@dataclass(frozen=True, slots=True)
class AnsweredInline:
    """A synchronous result, whole. `external_id` is the vendor's request id, for reconciliation."""

    external_id: str
    outputs: tuple[Output, ...]
    cost_micros: int
    cost_currency: str


@dataclass(frozen=True, slots=True)
class Rejected:
    """Proof of non-acceptance as the contract defines it."""

    code: str
    kind: RejectionClass
    message: str
    retry_after_s: int | None = None


@dataclass(frozen=True, slots=True)
class Unknown:
    """Nothing is proven: timeout, reset, unlisted answer, 2xx without an id (P-5.5)."""

    why: str


CreateOutcome = AcceptedJob | AnsweredInline | Rejected | Unknown


# --- what a status query says (P-7.3: five cases, kept apart) ---------------------------------------


@dataclass(frozen=True, slots=True)
class StillWorking:
    """Queueing or running. `word` is the vendor's status, `retry_after_ms` its advice, if any."""

    word: str
    retry_after_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Finished:
    """A result exists. It is not delivered yet (P-1.10)."""

    outputs: tuple[Output, ...]
    cost_micros: int
    cost_currency: str


@dataclass(frozen=True, slots=True)
class GenerationFailed:
    """The vendor's final word, with its code; it may have charged all the same (D-15)."""

    code: str
    message: str
    cost_micros: int
    cost_currency: str


@dataclass(frozen=True, slots=True)
class ResultExpired:
    """The job finished once, but its result is gone."""

    word: str


@dataclass(frozen=True, slots=True)
class Unrecognised:
    """A status word, or an answer, this adapter does not know (F05). Never an end."""

    word: str


@dataclass(frozen=True, slots=True)
class QueryFailed:
    """The query itself failed: network, 5xx, auth. Says nothing about the job (F04, F13)."""

    why: str
    auth: bool = False
    retry_after_ms: int | None = None


QueryOutcome = StillWorking | Finished | GenerationFailed | ResultExpired | Unrecognised | QueryFailed


@dataclass(frozen=True, slots=True)
class CallbackNotice:
    """What an inbound message claims. Unless `verified`, it is only a reason to query (P-7.7)."""

    external_id: str
    event_id: str
    verified: bool


class Adapter(Protocol):
    """One vendor protocol. Pure: no clock, no network, no credential."""

    @property
    def contract(self) -> Contract: ...

    def build_create(
        self, binding: Binding, request: Json, *, client_id: str, read_media: ReadMedia
    ) -> HttpCall:
        """`request` is the item of the PlanSnapshot. `client_id` is the attempt id."""
        ...

    def read_create(self, answer: HttpAnswer) -> CreateOutcome: ...

    def build_query(self, binding: Binding, checkpoints: list[Json]) -> HttpCall:
        """One status request for up to `contract.batch_query_max` jobs."""
        ...

    def read_query(self, answer: HttpAnswer, external_ids: list[str]) -> dict[str, QueryOutcome]:
        """One outcome per asked id; an id the answer leaves out is `Unrecognised`."""
        ...

    def build_lookup(self, binding: Binding, client_id: str) -> HttpCall | None:
        """Query by our own identity, or None where the contract has none."""
        ...

    def read_lookup(self, answer: HttpAnswer) -> AcceptedJob | AnsweredInline | Unknown | None:
        """None is "the vendor knows no such request"; whether that is proof, the contract says."""
        ...

    def read_callback(
        self, headers: Mapping[str, str], raw_body: bytes, *, secret: bytes | None, now_s: int
    ) -> CallbackNotice | None:
        """Verify signature over the raw body, timestamp and event id; None for what cannot be read."""
        ...


@dataclass(frozen=True, slots=True)
class ListWindow:
    """Which jobs are wanted: created from `since` to `until`, both aware and included."""

    since: datetime
    until: datetime


@dataclass(frozen=True, slots=True)
class ListPage:
    """One page of a vendor's list; `next_page` names the following one, None at the end."""

    jobs: tuple[ListedJob, ...]
    next_page: str | None = None


@runtime_checkable
class ListingAdapter(Protocol):
    """What an adapter can do more where its vendor lists jobs (`contract.lists_jobs`). GETs only."""

    def build_list(self, binding: Binding, window: ListWindow, *, page: str | None) -> HttpCall: ...

    def read_list(self, answer: HttpAnswer) -> ListPage | Unknown: ...
