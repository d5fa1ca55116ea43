"""What a person may do with a Task, each action named for what it does (P-13.4)."""

from dataclasses import dataclass
from enum import StrEnum

from shortdrama_pipeline.rules.states import AttemptState, ReservationState, TaskState


class TaskAction(StrEnum):
    """Never a bare "retry"."""

    CANCEL = "cancel"  # only queued: nothing was sent, the price comes back
    QUERY = "query"  # asks the vendor about the same request; never buys
    TRANSFER = "transfer"  # fetches the same result; never buys
    REGENERATE = "regenerate"  # yields a Quote; confirming it costs
    COMPENSATE = "compensate"  # moves money in the ledger; never asks a vendor
    RELEASE_HOLD = "release-hold"  # sends under the confirmation given; the price is held already
    RESOLVE = "resolve"  # a person states, with evidence, what became of a silent request


MAY_COST = frozenset({TaskAction.REGENERATE})
_OPEN_QUERY = {AttemptState.ACCEPTED, AttemptState.OUTCOME_UNKNOWN}


@dataclass(frozen=True, slots=True)
class Standing:
    """What decides which actions are open."""

    task: TaskState
    attempt: AttemptState | None
    money: ReservationState
    held: bool
    has_result: bool
    late: bool = False  # it ended, and its job goes on at the vendor (F14)

    @property
    def given_back(self) -> bool:
        """The price is back although nobody knows yet what became of the request (P-8.5)."""
        return self.task is TaskState.NEEDS_RECONCILIATION and self.money is ReservationState.RELEASED


def allowed_actions(standing: Standing) -> list[TaskAction]:
    """In the order a person should think of them: free ones first."""
    found: list[TaskAction] = []
    waiting = standing.task in {TaskState.WAITING_PROVIDER, TaskState.NEEDS_RECONCILIATION}
    if (waiting and standing.attempt in _OPEN_QUERY) or standing.late:
        found.append(TaskAction.QUERY)
    if standing.task in {TaskState.INGESTING, TaskState.NEEDS_RECONCILIATION} and standing.has_result:
        found.append(TaskAction.TRANSFER)
    if standing.task is TaskState.NEEDS_RECONCILIATION and standing.attempt is AttemptState.OUTCOME_UNKNOWN:
        found.append(TaskAction.RESOLVE)
    if standing.task is TaskState.QUEUED:
        found += [TaskAction.RELEASE_HOLD] if standing.held else []
        found.append(TaskAction.CANCEL)
    if standing.task is TaskState.SUCCEEDED and standing.money is ReservationState.SETTLED:
        found.append(TaskAction.COMPENSATE)
    if standing.task in {TaskState.SUCCEEDED, TaskState.FAILED, TaskState.CANCELLED} or standing.given_back:
        found.append(TaskAction.REGENERATE)
    return found


_COMMANDS = {
    TaskAction.CANCEL: "shortdrama task cancel {task} (its price comes back)",
    TaskAction.QUERY: "shortdrama task query {task} (asks about the same request; free)",
    TaskAction.TRANSFER: "shortdrama task transfer {task} (fetches the same result; free)",
    TaskAction.REGENERATE: "shortdrama task regenerate {task} (leaves a new Quote; costs once confirmed)",
    TaskAction.COMPENSATE: "shortdrama task compensate {task} (the ledger alone)",
    TaskAction.RELEASE_HOLD: "shortdrama task release-hold {task} (once its cause is mended)",
    TaskAction.RESOLVE: "shortdrama task adopt {task} --external-id ID --note WHERE,"
    " or shortdrama task absent {task} --note WHERE",
}
# What a person who asked for this probably wants, the nearest first.
_NEAREST = {
    TaskAction.CANCEL: (TaskAction.QUERY, TaskAction.COMPENSATE),
    TaskAction.QUERY: (TaskAction.TRANSFER, TaskAction.RELEASE_HOLD, TaskAction.CANCEL),
    TaskAction.TRANSFER: (TaskAction.QUERY, TaskAction.REGENERATE),
    TaskAction.REGENERATE: (TaskAction.QUERY, TaskAction.TRANSFER, TaskAction.RESOLVE, TaskAction.CANCEL),
    TaskAction.COMPENSATE: (TaskAction.QUERY, TaskAction.TRANSFER, TaskAction.CANCEL, TaskAction.REGENERATE),
    TaskAction.RELEASE_HOLD: (TaskAction.QUERY, TaskAction.TRANSFER, TaskAction.REGENERATE),
    TaskAction.RESOLVE: (TaskAction.QUERY, TaskAction.TRANSFER, TaskAction.REGENERATE),
}


def instead(action: TaskAction, standing: Standing, *, task_id: str) -> str:
    """Name the action that is right where `action` is refused."""
    open_now = allowed_actions(standing)
    nearest = next((each for each in _NEAREST[action] if each in open_now), None)
    if nearest is None and open_now:
        nearest = open_now[0]
    if nearest is not None:
        return f"Open now: {_COMMANDS[nearest].format(task=task_id)}"
    return f"A worker is at it; look again in a moment: shortdrama task show {task_id}"


# What a reason's code says to the producer: no vendor word in it, no promise of money back.
TEXTS = {
    "outcomeUnknown": "The request went out and no answer came. The price stays held until it is known.",
    "acceptanceNotRecorded": "The vendor accepted; the record is being restored from its receipt.",
    "notAccepted": "The vendor did not take the request. Nothing was charged.",
    "refused": "The vendor refused this input. Nothing was charged; change it and ask for a new Quote.",
    "generationFailed": "The vendor could not make it. You were not charged.",
    "credentialMissing": "Waiting for the channel's key.",
    "mendable": "The channel does not take requests now; an operator must mend it.",
    "channelNotConfigured": "The channel is not configured any more.",
    "channelUnresolvable": "The original channel cannot be found; nothing is asked anywhere else.",
    "accessLost": "The vendor does not let us ask; access to the same account must come back.",
    "overdue": "It takes longer than usual; we go on asking.",
    "queryUnanswered": "The vendor cannot be reached; we go on asking.",
    "unrecognisedStatus": "The vendor answers with a word we do not know; a person looks.",
    "resultExpired": "It was made, but the result is no longer there; a person looks.",
    "mediaInvalid": "What arrived is not usable; it is kept aside and can be transferred again.",
    "downloadInterrupted": "It was made; fetching it broke off and is tried again.",
    "resultLinkGone": "It was made; its link no longer works and is asked for anew.",
    "egressRefused": "The result lies at a place this channel may not be fetched from.",
    "registrationFailed": "It is here; entering it is tried again.",
    "deadlinePassed": "It did not arrive in time. The price came back; if it still comes, it is free.",
    "grantExpired": "The confirmation ran out before it could be sent. The price came back.",
    "grantRevoked": "The confirmation was revoked before it could be sent. The price came back.",
    "capacity": "The channel is full; it is sent again by itself.",
    "neverSent": "The vendor could not be reached; it is sent again by itself.",
    "grantOtherInput": "What was confirmed is not what would be made now. The price came back.",
    "grantOtherScope": "The confirmation does not cover this channel or item. The price came back.",
    "cancelled": "Cancelled before it was sent. The price came back.",
    "provenRejection": "The vendor did not take it; it is sent again by itself.",
    "leaseExpired": "Its worker stopped before sending it; it is sent again by itself.",
    "beforeFence": "Nothing was sent yet; it is sent by itself.",
    "notAllowedNow": "It may not be sent at this moment; it is tried again by itself.",
    "fenceFailed": "Something failed here before it was sent; it is tried again by itself.",
    "breakerOpen": "The channel failed several times in a row and rests; it is sent again by itself.",
    "requestNotBuildable": "This order cannot be put into a request for the channel; an operator looks.",
    "channelChanged": "The channel is not the one it was prepared for; an operator looks.",
    "databaseRestored": "The database came back from a backup; it is found out what was sent before.",
    "resultTooLarge": "It was made, and is larger than this kind may be; a person looks.",
    "resultNotStored": "It was made; keeping it failed, and what is left of it is looked for.",
    "resultMissing": "It was made, and where it lies is not recorded; a person looks.",
    "checkpointBroken": "What was recorded about the vendor's job cannot be read; a person looks.",
    "attemptMissing": "The records of this order do not fit together; a person looks.",
    "rowsDisagree": "The records of this order do not fit together; a person looks.",
}


def user_text(state: TaskState, code: str) -> str:
    """One sentence for the producer; no vendor word in it, no promise of money back (P-4.4, P-13.1)."""
    if code in TEXTS:
        return TEXTS[code]
    return {
        TaskState.QUEUED: "Waiting for its turn.",
        TaskState.RUNNING: "Being sent.",
        TaskState.WAITING_PROVIDER: "The vendor works on it. Stopping it now does not save its cost.",
        TaskState.INGESTING: "Made; being brought in.",
        TaskState.NEEDS_RECONCILIATION: "Facts are missing; a person looks.",
        TaskState.SUCCEEDED: "Done.",
        TaskState.FAILED: "Ended without a result.",
        TaskState.CANCELLED: "Cancelled before it was sent. The price came back.",
    }[state]
