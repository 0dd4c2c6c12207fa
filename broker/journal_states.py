"""The life of one write as a table (ADR-005). Pure.

A row and each of its steps move by the same table. `SENT` is durable on disk before the request leaves; from there on
only an answer to that very request, the executor's proof that it never started, a read-back or the person settles it.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class State(StrEnum):
    """What is known of a write."""

    PREPARED = "prepared"
    """Nothing has left this machine."""
    SENT = "sent"
    """A request may have left, and its answer is awaited."""
    CONFIRMED = "confirmed"
    """It took effect, once."""
    REJECTED = "rejected"
    """It had no effect, and that is proven."""
    UNKNOWN = "unknown"
    """It may have taken effect. Frozen: nothing is sent again on a guess."""


class Event(StrEnum):
    """What can happen to a write."""

    SEND = "send"
    """A request is about to leave. From `SENT` and `UNKNOWN` only as the next step of a compound write."""
    CONFIRM = "confirm"
    """A definite yes, or a read-back that found it."""
    REJECT = "reject"
    """A definite no to that very request, or the executor's proof that it never started."""
    TAKE_BACK = "take_back"
    """Proof that the request never started, for a cause that passes by itself: the key is as good as new (ADR-042)."""
    LOSE = "lose"
    """Crash, cancel, time-out, broken connection, or an answer that says neither."""
    SETTLE_DONE = "settle_done"
    """The person looked and says that it took effect."""
    SETTLE_NOT_DONE = "settle_not_done"
    """The person looked and says that it did not."""


TRANSITIONS: Final[dict[State, dict[Event, State]]] = {
    State.PREPARED: {Event.SEND: State.SENT, Event.SETTLE_NOT_DONE: State.REJECTED},
    State.SENT: {
        Event.SEND: State.SENT,
        Event.TAKE_BACK: State.PREPARED,
        Event.CONFIRM: State.CONFIRMED,
        Event.REJECT: State.REJECTED,
        Event.LOSE: State.UNKNOWN,
    },
    State.UNKNOWN: {
        Event.SEND: State.SENT,
        Event.CONFIRM: State.CONFIRMED,
        Event.LOSE: State.UNKNOWN,
        Event.SETTLE_DONE: State.CONFIRMED,
        Event.SETTLE_NOT_DONE: State.REJECTED,
    },
    State.CONFIRMED: {},  # an end: the stored result answers every repeat
    State.REJECTED: {},  # an end: the stored error does
}

SETTLED: Final = frozenset(state for state, events in TRANSITIONS.items() if not events)


class WrongTransition(RuntimeError):
    """A pair that the table does not have: a mistake of ours, or a row that the person may not settle that way."""


def next_state(state: State, event: Event) -> State:
    """Return the state after `event`.

    Raises:
        WrongTransition: the table has no such pair.
    """
    try:
        return TRANSITIONS[state][event]
    except KeyError:
        raise WrongTransition(f"{event} in {state}") from None
