"""One notebook per process, chosen once (ADR-011). Pure but for one `trio.Lock` (ADR-012, ADR-019).

Resolving a title and changing the state happen under one lock, so two agents that select at the same moment cannot both
win. There is no way back: whoever wants another notebook starts another session.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from enum import StrEnum
from typing import Final

import trio
from attrs import frozen

from broker.errors import SessionLocked, SessionUnlocked


class LockState(StrEnum):
    """Where the session stands."""

    DISCOVERY_ONLY = "DISCOVERY_ONLY"
    SELECTING = "SELECTING"
    ACTIVE_DISPATCH = "ACTIVE_DISPATCH"


class LockEvent(StrEnum):
    """What can happen to the lock."""

    SELECT = "select"
    CONFIRMED = "confirmed"
    REFUSED = "refused"


TRANSITIONS: Final[dict[LockState, dict[LockEvent, LockState]]] = {
    LockState.DISCOVERY_ONLY: {LockEvent.SELECT: LockState.SELECTING},
    LockState.SELECTING: {
        LockEvent.CONFIRMED: LockState.ACTIVE_DISPATCH,
        LockEvent.REFUSED: LockState.DISCOVERY_ONLY,
    },
    LockState.ACTIVE_DISPATCH: {},  # one notebook per session: no way back
}


class WrongTransition(RuntimeError):
    """A pair that the table does not have: a mistake of ours."""


@frozen
class LockedNotebook:
    """The notebook a session works in. `title` is what the service called it when it was selected; may be empty."""

    id: str
    title: str

    def __str__(self) -> str:
        return f"'{self.title}' ({self.id})" if self.title else self.id


class SessionLock:
    """The state of one broker process."""

    # Invariant: (self._notebook is not None) == (self._state is LockState.ACTIVE_DISPATCH).

    def __init__(self) -> None:
        self._state = LockState.DISCOVERY_ONLY
        self._notebook: LockedNotebook | None = None
        self._mutex = trio.Lock()

    def __repr__(self) -> str:
        notebook = f" notebook={self._notebook.id}" if self._notebook else ""
        return f"<SessionLock {self._state}{notebook}>"

    @property
    def state(self) -> LockState:
        return self._state

    @property
    def notebook(self) -> LockedNotebook | None:
        """The locked notebook, or None before a selection."""
        return self._notebook

    def require_notebook(self) -> LockedNotebook:
        """Return the locked notebook.

        Raises:
            SessionUnlocked: nothing has been selected yet.
        """
        if self._notebook is None:
            raise SessionUnlocked("No notebook is selected in this session yet.")
        return self._notebook

    async def select(
        self, is_wanted: Callable[[LockedNotebook], bool], resolve: Callable[[], Awaitable[LockedNotebook]]
    ) -> tuple[LockedNotebook, bool]:
        """Lock the session to what `resolve` finds; return it and whether it is new.

        In a locked session nothing is resolved: the locked notebook is returned if `is_wanted` says so.

        Raises:
            SessionLocked: the session works in another notebook.
            Exception: whatever `resolve` raised; the session is as it was before.
        """
        async with self._mutex:
            if self._notebook is not None:
                if is_wanted(self._notebook):
                    return self._notebook, False
                raise SessionLocked(f"This session is locked to notebook {self._notebook}.")
            self._move(LockEvent.SELECT)
            try:
                notebook = await resolve()
            except BaseException:  # cancellation included: a session is never left half selected
                self._move(LockEvent.REFUSED)
                raise
            self._notebook = notebook
            self._move(LockEvent.CONFIRMED)
            return notebook, True

    def _move(self, event: LockEvent) -> None:
        try:
            self._state = TRANSITIONS[self._state][event]
        except KeyError:
            raise WrongTransition(f"{event} in {self._state}") from None
        assert (self._notebook is not None) == (self._state is LockState.ACTIVE_DISPATCH)
