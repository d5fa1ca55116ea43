"""P-8.5: what the platform owes when a published delivery deadline (D-13) has passed.

The user owes nothing any more, once, whatever the vendor does. That proves nothing about the vendor:
a job it accepted is asked about further, and what still arrives is the user's for free (D-10, F14).

    queued                                   ends: it was not sent, and is not sent any more
    running, ingesting                       on the way: whoever works on it finishes; registration asks again
    waitingProvider                          ends; the job is watched on as a late result
    needsReconciliation, job without result  ends; as above
    needsReconciliation, anything else       only the money goes back: acceptance or delivery is still
                                             to be found out, by the same means as before (TT-6, P-8.4)
"""

from enum import StrEnum
from typing import assert_never

from shortdrama_pipeline.rules.states import AttemptState, ReservationState, TaskState

CODE = "deadlinePassed"


class DeadlineStep(StrEnum):
    """What follows from a passed deadline."""

    NOTHING = "nothing"
    RELEASE = "release"  # the held price goes back, the Task stays what it is
    END = "end"  # the Task ends failed, and the held price goes back


def after_deadline(
    task: TaskState, attempt: AttemptState | None, money: ReservationState, *, has_result: bool
) -> DeadlineStep:
    """Decide for a Task whose deadline has passed. A second look at the same facts finds nothing to do."""
    held = money is ReservationState.RESERVED
    match task:
        case TaskState.QUEUED | TaskState.WAITING_PROVIDER:
            return DeadlineStep.END
        case TaskState.NEEDS_RECONCILIATION:
            if attempt is AttemptState.ACCEPTED and not has_result:
                return DeadlineStep.END
            return DeadlineStep.RELEASE if held else DeadlineStep.NOTHING
        case (
            TaskState.RUNNING
            | TaskState.INGESTING
            | TaskState.SUCCEEDED
            | TaskState.FAILED
            | TaskState.CANCELLED
        ):
            return DeadlineStep.NOTHING
        case _:
            assert_never(task)
