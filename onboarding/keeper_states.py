"""The browser keeper's states, as a table. Pure."""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class KeeperState(StrEnum):
    STARTING = "starting"
    UP = "up"
    BACKING_OFF = "backing_off"
    """The browser ended by itself and is started again after a pause."""
    SIGNING_IN = "signing_in"
    """The managed browser is closed and the sign-in window is open, on the same profile."""
    STOPPING = "stopping"


class KeeperEvent(StrEnum):
    READY = "ready"
    DIED = "died"
    RETRY = "retry"
    SIGN_IN = "sign_in"
    SIGNED = "signed"
    """The sign-in window is closed again, however it went."""
    STOP = "stop"


TRANSITIONS: Final[dict[tuple[KeeperState, KeeperEvent], KeeperState]] = {
    (KeeperState.STARTING, KeeperEvent.READY): KeeperState.UP,
    (KeeperState.STARTING, KeeperEvent.DIED): KeeperState.BACKING_OFF,
    (KeeperState.STARTING, KeeperEvent.SIGN_IN): KeeperState.SIGNING_IN,
    (KeeperState.STARTING, KeeperEvent.STOP): KeeperState.STOPPING,
    (KeeperState.UP, KeeperEvent.DIED): KeeperState.BACKING_OFF,
    (KeeperState.UP, KeeperEvent.SIGN_IN): KeeperState.SIGNING_IN,
    (KeeperState.UP, KeeperEvent.STOP): KeeperState.STOPPING,
    (KeeperState.BACKING_OFF, KeeperEvent.RETRY): KeeperState.STARTING,
    (KeeperState.BACKING_OFF, KeeperEvent.SIGN_IN): KeeperState.SIGNING_IN,
    (KeeperState.BACKING_OFF, KeeperEvent.STOP): KeeperState.STOPPING,
    (KeeperState.SIGNING_IN, KeeperEvent.SIGNED): KeeperState.STARTING,
    (KeeperState.SIGNING_IN, KeeperEvent.STOP): KeeperState.STOPPING,
}


class RefusedTransition(ValueError):
    """The table has no such step."""


def next_state(state: KeeperState, event: KeeperEvent) -> KeeperState:
    """Return the state after `event`.

    Raises:
        RefusedTransition: `event` has no meaning in `state`.
    """
    try:
        return TRANSITIONS[state, event]
    except KeyError:
        raise RefusedTransition(f"{event} while the keeper is {state}") from None
