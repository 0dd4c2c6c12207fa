"""The table of a write's life (ADR-005)."""

from __future__ import annotations

import itertools

import pytest

from broker.journal_states import SETTLED, TRANSITIONS, Event, State, WrongTransition, next_state

ALLOWED = {
    (State.PREPARED, Event.SEND): State.SENT,
    (State.PREPARED, Event.SETTLE_NOT_DONE): State.REJECTED,
    (State.SENT, Event.SEND): State.SENT,
    (State.SENT, Event.TAKE_BACK): State.PREPARED,
    (State.SENT, Event.CONFIRM): State.CONFIRMED,
    (State.SENT, Event.REJECT): State.REJECTED,
    (State.SENT, Event.LOSE): State.UNKNOWN,
    (State.UNKNOWN, Event.SEND): State.SENT,
    (State.UNKNOWN, Event.CONFIRM): State.CONFIRMED,
    (State.UNKNOWN, Event.LOSE): State.UNKNOWN,
    (State.UNKNOWN, Event.SETTLE_DONE): State.CONFIRMED,
    (State.UNKNOWN, Event.SETTLE_NOT_DONE): State.REJECTED,
}
EVERY_PAIR = list(itertools.product(State, Event))


@pytest.mark.parametrize(("state", "event"), [pair for pair in EVERY_PAIR if pair in ALLOWED])
def test_every_pair_of_the_table_leads_where_the_decision_says(state: State, event: Event) -> None:
    assert next_state(state, event) is ALLOWED[state, event]


@pytest.mark.parametrize(("state", "event"), [pair for pair in EVERY_PAIR if pair not in ALLOWED])
def test_every_other_pair_is_refused(state: State, event: Event) -> None:
    with pytest.raises(WrongTransition, match=f"{event} in {state}"):
        next_state(state, event)


def test_every_state_has_its_line() -> None:
    assert TRANSITIONS.keys() == set(State)


def test_only_proven_outcomes_are_ends() -> None:
    assert {State.CONFIRMED, State.REJECTED} == SETTLED


def test_what_is_unknown_is_never_rejected_by_us() -> None:
    """Absence proves nothing: only the person may say that an unknown write did not happen."""
    leading_to_rejected = {event for event, state in TRANSITIONS[State.UNKNOWN].items() if state is State.REJECTED}
    assert leading_to_rejected == {Event.SETTLE_NOT_DONE}


def test_what_was_sent_is_never_taken_back_once_it_is_unknown() -> None:
    assert Event.TAKE_BACK not in TRANSITIONS[State.UNKNOWN]
