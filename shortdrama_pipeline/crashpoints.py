"""Named places where a test may kill, stop or fail a process; inert in every other life.

Each point lies at a durable boundary: just before a commit, just after one, or between a network
exchange and the row that tells of it. They are all listed here, and nowhere else. `reach` costs one
look at a module variable unless a test armed it: inside its own process with `arm`, or for a whole
process by the environment (`SHORTDRAMA_CRASH=fence.committed=kill`, read once at import).
"""

import os
import signal
import threading
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path

ENVIRONMENT = "SHORTDRAMA_CRASH"  # point=action[@nth][,…]; action: kill | stop | fail
FIRED_LOG = "SHORTDRAMA_CRASH_LOG"  # a file: one line per point that fired


class Point(StrEnum):
    """`…before_commit` lies inside the open transaction, `…committed` right after it."""

    ALLOCATE_COMMITTED = "allocate.committed"
    CONFIRM_LOCKED = "confirm.locked"
    CONFIRM_BEFORE_COMMIT = "confirm.before_commit"
    CONFIRM_COMMITTED = "confirm.committed"
    DISPATCH_PUBLISHED = "dispatch.published"
    DISPATCH_MARKED = "dispatch.marked"
    CLAIM_PREPARED = "claim.prepared"
    FENCE_BEFORE_COMMIT = "fence.before_commit"
    FENCE_COMMITTED = "fence.committed"
    FENCE_CHECKED = "fence.checked"
    POST_CONNECTED = "post.connected"
    POST_SENT = "post.sent"
    POST_ANSWERED = "post.answered"
    INLINE_STORED = "inline.stored"
    OUTCOME_BEFORE_COMMIT = "outcome.before_commit"
    OUTCOME_COMMITTED = "outcome.committed"
    RECEIPT_WRITTEN = "receipt.written"
    POLL_ANSWERED = "poll.answered"
    CALLBACK_COMMITTED = "callback.committed"
    DOWNLOAD_STORED = "download.stored"
    TRANSFER_COMMITTED = "transfer.committed"
    REGISTER_BEFORE_COMMIT = "register.before_commit"
    REGISTER_COMMITTED = "register.committed"
    SETTLE_BEFORE_COMMIT = "settle.before_commit"
    SETTLE_COMMITTED = "settle.committed"
    TAKEOVER_COMMITTED = "takeover.committed"
    LOOKUP_ANSWERED = "lookup.answered"
    DEADLINE_BEFORE_COMMIT = "deadline.before_commit"
    DEADLINE_COMMITTED = "deadline.committed"
    LATE_RESULT_BEFORE_COMMIT = "late_result.before_commit"
    LATE_RESULT_COMMITTED = "late_result.committed"
    COMPENSATION_BETWEEN = "compensation.between"
    COMPENSATION_BEFORE_COMMIT = "compensation.before_commit"
    COMPENSATION_COMMITTED = "compensation.committed"


class InjectedFailure(RuntimeError):
    """What `fail` raises: an unexpected error at this very place."""


Handler = Callable[[Point], None]
_handler: Handler | None = None


def reach(point: Point) -> None:
    """Say that execution is at `point`. Returns, unless a test decided otherwise."""
    if _handler is not None:
        _handler(point)


def arm(handler: Handler | None) -> None:
    """Let a test decide what happens at each point of this process; None makes all inert again."""
    global _handler  # noqa: PLW0603 - one process, one plan
    _handler = handler


def _plan_from_environment(text: str) -> Handler:
    """Read `point=action[@nth],…`; nth counts from 1, and 0 means every time. Raises ValueError."""
    plan: dict[Point, tuple[str, int]] = {}
    for each in filter(None, text.split(",")):
        name, _, rest = each.partition("=")
        action, _, nth = rest.partition("@")
        if action not in {"kill", "stop", "fail"}:
            raise ValueError(f"{ENVIRONMENT}: {each}: the action is kill, stop or fail")
        plan[Point(name)] = (action, int(nth or "1"))
    seen: dict[Point, int] = {}

    def act(point: Point) -> None:
        action, nth = plan.get(point, ("", 0))
        if not action:
            return
        seen[point] = seen.get(point, 0) + 1
        if nth not in {0, seen[point]}:
            return
        _note(point, action)
        if action == "fail":
            raise InjectedFailure(str(point))
        # To this very thread: the whole process stops all the same, and this thread not an instant later.
        signal.pthread_kill(threading.get_ident(), signal.SIGKILL if action == "kill" else signal.SIGSTOP)

    return act


def _note(point: Point, action: str) -> None:
    place = os.environ.get(FIRED_LOG)  # noqa: TID251 - for tests, no setting
    if place:
        with Path(place).open("a") as out:
            out.write(f"{point} {action} {os.getpid()}\n")
            out.flush()
            os.fsync(out.fileno())


if _plan := os.environ.get(ENVIRONMENT):  # noqa: TID251 - for tests, no setting
    arm(_plan_from_environment(_plan))
