"""The words of the seven status domains (§1, TT-1 to TT-4), letter for letter.

Only words stand here: which may follow which is decided in `tasks.py`, `attempts.py`,
`reservations.py` and `media_files.py`, one machine each.
"""

from enum import StrEnum


class ContentConfirmation(StrEnum):
    """Has a person confirmed this content? (P-1.2)"""

    DRAFT = "draft"
    CONFIRMED = "confirmed"


class GenerationReadiness(StrEnum):
    """Are references, parameters, capability and price complete? (P-1.3)"""

    NOT_READY = "notReady"
    READY = "ready"
    STALE = "stale"


class StageRun(StrEnum):
    """How far the whole episode has come (P-1.4)."""

    SCRIPT = "script"
    ASSETS = "assets"
    SHOTS = "shots"
    AUDIO = "audio"
    EDIT = "edit"


class TaskState(StrEnum):
    """TT-1."""

    QUEUED = "queued"
    RUNNING = "running"
    WAITING_PROVIDER = "waitingProvider"
    INGESTING = "ingesting"
    NEEDS_RECONCILIATION = "needsReconciliation"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


class AttemptState(StrEnum):
    """TT-2."""

    PREPARED = "prepared"
    SUBMIT_STARTED = "submitStarted"
    ACCEPTED = "accepted"
    REJECTED_BEFORE_ACCEPTANCE = "rejectedBeforeAcceptance"
    OUTCOME_UNKNOWN = "outcomeUnknown"
    COMPLETED = "completed"


class ReservationState(StrEnum):
    """TT-3, the domain "money"."""

    RESERVED = "reserved"
    SETTLEMENT_PENDING = "settlementPending"
    SETTLED = "settled"
    RELEASED = "released"


class MediaState(StrEnum):
    """TT-4, the domain "asset"."""

    STAGING = "staging"
    READY = "ready"
    QUARANTINED = "quarantined"


class Stage(StrEnum):
    """The nine stages in their order (§2); also the Dagster asset keys."""

    OUTLINE = "outline"
    SCRIPT = "script"
    ASSETS = "assets"
    STORYBOARD = "storyboard"
    PILOT = "pilot"
    SHOTS = "shots"
    AUDIO = "audio"
    TIMELINE = "timeline"
    EXPORT = "export"


class VersionKind(StrEnum):
    """What a version is a version of (§2)."""

    STORY_OUTLINE = "StoryOutlineVersion"
    SCRIPT = "ScriptVersion"
    ASSET = "AssetVersion"
    PROJECT_BIBLE = "ProjectBibleVersion"
    SHOT = "ShotVersion"
    AUDIO = "AudioVersion"
    TIMELINE = "TimelineVersion"
    EXPORT = "ExportVersion"


class MediaKind(StrEnum):
    """What a binding makes; what a paid item asks for."""

    TEXT = "text"
    IMAGE = "image"
    VIDEO = "video"
    SPEECH = "speech"
    MUSIC = "music"
    LIPSYNC = "lipsync"
