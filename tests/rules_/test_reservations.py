"""TT-3: the money machine."""

from itertools import product

import pytest

from shortdrama_pipeline.errors import IllegalTransition
from shortdrama_pipeline.rules.reservations import (
    Released,
    ReservationEvent,
    Settled,
    SettlementAsked,
    advance,
    legal_from,
)
from shortdrama_pipeline.rules.states import ReservationState as State

LEGAL = {
    (State.RESERVED, SettlementAsked): State.SETTLEMENT_PENDING,
    (State.RESERVED, Settled): State.SETTLED,
    (State.RESERVED, Released): State.RELEASED,
    (State.SETTLEMENT_PENDING, Settled): State.SETTLED,
}
EVENTS: list[ReservationEvent] = [SettlementAsked(), Settled(), Released()]


@pytest.mark.parametrize(("state", "event"), list(product(State, EVENTS)))
def test_only_the_listed_arrows_exist(state: State, event: ReservationEvent) -> None:
    expected = LEGAL.get((state, type(event)))
    if expected is None:
        with pytest.raises(IllegalTransition):
            advance(state, event)
    else:
        assert advance(state, event) is expected
        assert state in legal_from(event)


def test_settled_and_released_are_final() -> None:
    ended = {State.SETTLED, State.RELEASED}
    assert not any(ended & legal_from(event) for event in EVENTS)
