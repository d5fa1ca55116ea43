"""The one tree of errors. Every error says what happened, why, and what to do.

    ShortdramaError
      + UsageError            exit 2   the call or the configuration is wrong
          - SettingsError
          - UnreadableScript           names line and reason
      + UnknownId             exit 3   nothing of that id exists
      + Refusal               exit 4   a rule forbids it; never retry the same call
          - IllegalTransition
          - GateClosed                 an earlier gate is not passed, or this gate is not ready
          - GrantRefused               digest, amount, scope, validity, uses, actor
          - QuoteNotConfirmable        expired or superseded; carries `new_quote_id`
          - InsufficientFunds
          - NotReady                   an input is missing, a ratio illegal, a duration negative, a glyph absent
          - StageIncomplete            "waiting for n of m": handed over, not finished (D-21)
      + Conflict              exit 5   same key with other content; a key across weeks
          - StaleState                 someone moved first: reload and decide again
      + NeedsPerson           exit 6   reconciliation, several matches
          - SafeModeOn                 no paid action until a person ends it (D-6, G-204)
      + Outside               exit 7   database, disk, network or provider is down, full or broken
          - CredentialMissing
          - EgressRefused              a result host the binding does not allow (D-17)
          - MediaInvalid               bytes that are not the media they claim to be
          - ToolFailed                 ffmpeg or another program ended with an error

`facts` are the machine-readable particulars; they never hold a secret or media bytes.
"""

from typing import ClassVar, TypeAlias, Union

Fact: TypeAlias = Union[str, int, bool, None, list["Fact"], dict[str, "Fact"]]


class ShortdramaError(Exception):
    """Base of everything this product raises on purpose."""

    exit_code: ClassVar[int] = 1
    code: ClassVar[str] = "error"

    def __init__(self, message: str, *, hint: str = "", **facts: Fact) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.facts: dict[str, Fact] = facts


class UsageError(ShortdramaError):
    exit_code = 2
    code = "usage"


class SettingsError(UsageError):
    code = "settings"


class UnreadableScript(UsageError):
    code = "unreadable_script"


class UnknownId(ShortdramaError):
    exit_code = 3
    code = "unknown_id"


class Refusal(ShortdramaError):
    exit_code = 4
    code = "refused"


class IllegalTransition(Refusal):
    code = "illegal_transition"


class GateClosed(Refusal):
    code = "gate_closed"


class GrantRefused(Refusal):
    code = "grant_refused"


class QuoteNotConfirmable(Refusal):
    code = "quote_not_confirmable"


class InsufficientFunds(Refusal):
    code = "insufficient_funds"


class NotReady(Refusal):
    code = "not_ready"


class StageIncomplete(Refusal):
    code = "stage_incomplete"


class Conflict(ShortdramaError):
    exit_code = 5
    code = "conflict"


class StaleState(Conflict):
    code = "stale_state"


class NeedsPerson(ShortdramaError):
    exit_code = 6
    code = "needs_person"


class SafeModeOn(NeedsPerson):
    code = "safe_mode"


class Outside(ShortdramaError):
    exit_code = 7
    code = "outside"


class CredentialMissing(Outside):
    code = "credential_missing"


class EgressRefused(Outside):
    code = "egress_refused"


class MediaInvalid(Outside):
    code = "media_invalid"


class ToolFailed(Outside):
    code = "tool_failed"
