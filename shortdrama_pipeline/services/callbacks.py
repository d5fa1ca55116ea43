"""What a vendor tells us unasked. It never moves a state: at most it makes a query come sooner.

Where the contract says callbacks are signed, raw body, timestamp and event id are verified and each
event counts once (P-7.6); where they are not, anybody may have sent it, and it only wakes (P-7.7).
So a forged, repeated or late message has nothing to change (P-7.9, F06).
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from shortdrama_pipeline.crashpoints import Point, reach
from shortdrama_pipeline.errors import CredentialMissing
from shortdrama_pipeline.providers.credentials import read_credential
from shortdrama_pipeline.services.context import Studio
from shortdrama_pipeline.store import callbacks, jobs
from shortdrama_pipeline.store.wakeups import announce

BODY_BYTES_MAX = 256 * 1024
EVENT_CHARACTERS_MAX = 200


class Verdict(StrEnum):
    """What became of a message; all but `refused` and `tooLarge` are answered alike."""

    WOKE = "woke"
    REPEATED = "repeated"
    IGNORED = "ignored"  # unknown channel or job, unreadable body
    REFUSED = "refused"  # a signature is due and does not hold
    TOO_LARGE = "tooLarge"


@dataclass(frozen=True, slots=True)
class Received:
    """`status` is the HTTP answer; it tells a stranger nothing about which ids exist."""

    verdict: Verdict

    @property
    def status(self) -> int:
        return {Verdict.REFUSED: 401, Verdict.TOO_LARGE: 413}.get(self.verdict, 202)


def receive(
    studio: Studio, channel_id: str, *, headers: Mapping[str, str], raw_body: bytes, now_s: int
) -> Received:
    """Take one inbound message. `raw_body` is exactly what arrived; `now_s` judges its timestamp."""
    if len(raw_body) > BODY_BYTES_MAX:
        return Received(Verdict.TOO_LARGE)
    binding = studio.bindings.get(channel_id)
    adapter = None if binding is None else studio.adapters.get(binding.protocol)
    if binding is None or adapter is None:
        return Received(Verdict.IGNORED)
    try:
        secret = read_credential(binding.credential).secret.encode()
    except CredentialMissing:
        secret = None
    notice = adapter.read_callback(headers, raw_body, secret=secret, now_s=now_s)
    if notice is None:
        return Received(Verdict.IGNORED)
    verified = adapter.contract.callback_signed and notice.verified
    if adapter.contract.callback_signed and not verified:
        return Received(Verdict.REFUSED)
    event_id = notice.event_id[:EVENT_CHARACTERS_MAX] or hashlib.sha256(raw_body).hexdigest()
    with studio.db.begin() as tx:
        if verified and not callbacks.record_first(tx, channel_id, event_id, notice.external_id):
            return Received(Verdict.REPEATED)
        task_id = jobs.wake(tx, channel_id=channel_id, external_id=notice.external_id)
    reach(Point.CALLBACK_COMMITTED)
    if task_id is None:
        return Received(Verdict.IGNORED)
    announce(studio.db, task_id)
    return Received(Verdict.WOKE)
