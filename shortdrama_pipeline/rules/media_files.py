"""TT-4: stored bytes. Only measured media become `ready`; `ready` and `quarantined` are final."""

from dataclasses import dataclass
from typing import assert_never

from shortdrama_pipeline.errors import IllegalTransition
from shortdrama_pipeline.rules.states import MediaState


@dataclass(frozen=True, slots=True)
class Measured:
    """The probe found what was asked for."""


@dataclass(frozen=True, slots=True)
class FoundBroken:
    """The bytes are not the media they claim to be; kept, never selectable (D-3)."""


MediaEvent = Measured | FoundBroken
EVENTS: tuple[MediaEvent, ...] = (Measured(), FoundBroken())
TERMINAL = frozenset({MediaState.READY, MediaState.QUARANTINED})


def advance(state: MediaState, event: MediaEvent) -> MediaState:
    """Decide where `event` takes a stored file. Raises IllegalTransition; never guesses."""
    match event:
        case Measured():
            to = MediaState.READY
        case FoundBroken():
            to = MediaState.QUARANTINED
        case _:
            assert_never(event)
    if state is not MediaState.STAGING:
        raise IllegalTransition(
            f"A file in {state} cannot take {type(event).__name__}",
            hint="Its state is final; the same bytes are never judged twice",
            state=str(state),
            event=type(event).__name__,
        )
    return to


def moves() -> frozenset[tuple[MediaState, MediaState]]:
    """Every (from, to) the machine knows; the database guards are made of these."""
    return frozenset((MediaState.STAGING, advance(MediaState.STAGING, event)) for event in EVENTS)
