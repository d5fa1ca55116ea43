"""What an audit token allows (G-305): one person, some of the four named actions, for a while, once."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from shortdrama_pipeline.errors import GrantRefused, UsageError
from shortdrama_pipeline.rules.actors import require_person
from shortdrama_pipeline.rules.compensations import SCOPE_OF, SCOPES, OpType
from shortdrama_pipeline.rules.task_actions import TaskAction

VALID_S = 900
VALID_S_MAX = 86_400


@dataclass(frozen=True, slots=True)
class AuditToken:
    """A token whose signature holds. `expires_at` is aware; `jti` is its identity, used up by one action."""

    operator_id: str
    scope: frozenset[TaskAction]
    expires_at: datetime
    jti: str


def read_scope(words: Sequence[str]) -> frozenset[TaskAction]:
    """Read scope words; nothing but the four actions of P-13.4 exists. Raises UsageError."""
    allowed = {str(each): each for each in SCOPES}
    unknown = sorted(set(words) - set(allowed))
    if unknown or not words:
        raise UsageError(
            f"'{', '.join(unknown)}' is no scope of an audit token",
            hint=f"Give --scope with one or more of: {', '.join(allowed)}",
        )
    return frozenset(allowed[each] for each in words)


def check_validity(valid_s: int) -> int:
    """Return a token's life in seconds. Raises UsageError."""
    if not 0 < valid_s <= VALID_S_MAX:
        raise UsageError(
            "A token lives for a while only", hint=f"Give --valid from 1 to {VALID_S_MAX} seconds"
        )
    return valid_s


def authorise(token: AuditToken, ops: Sequence[OpType], *, now: datetime) -> str:
    """Return the operator, if the token is live and covers every one of `ops`. Raises GrantRefused."""
    if now >= token.expires_at:
        raise GrantRefused(
            "The audit token has expired",
            hint="Issue another: shortdrama compensation token issue",
            expires_at=token.expires_at.isoformat(),
        )
    missing = sorted({SCOPE_OF[each] for each in ops} - token.scope)
    if missing:
        raise GrantRefused(
            f"The audit token does not cover {', '.join(missing)}",
            hint=f"Issue one with that scope: shortdrama compensation token issue --scope {missing[0]}",
            scope=[*sorted(str(each) for each in token.scope)],
        )
    return str(require_person(token.operator_id, "decide about a compensation"))
