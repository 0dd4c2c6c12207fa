"""The table of calls that wait for an answer. Pure: it decides who is to be woken, the connection wakes them.

A call ends in exactly one way: answered (`take`), given up by its caller (`drop`), orphaned with its session
(`take_session`), or failed with the connection (`close`). Whatever arrives for an id that is no longer here is late and
means nothing.
"""

from __future__ import annotations

from typing import Generic, TypeVar

import attrs

from cdp.errors import ConnectionLost

W = TypeVar("W")


@attrs.frozen
class PendingCall(Generic[W]):
    """One open call and the waiter that its owner handed in."""

    id: int
    method: str
    session_id: str | None
    waiter: W


class PendingCalls(Generic[W]):
    """Hand out ids and keep the waiters until each call ends."""

    def __init__(self) -> None:
        self._calls: dict[int, PendingCall[W]] = {}
        self._last_id = 0
        # Invariant: once closed, no calls are in the table.
        self._closed_by: str | None = None

    def __len__(self) -> int:
        return len(self._calls)

    def __repr__(self) -> str:
        state = "open" if self._closed_by is None else f"closed: {self._closed_by}"
        return f"<PendingCalls {len(self._calls)} pending, {state}>"

    def add(self, method: str, session_id: str | None, waiter: W) -> int:
        """Register a call and return its id; ids are never reused.

        Raises:
            ConnectionLost: the table is closed; the message is the reason that `close` was called with.
        """
        if self._closed_by is not None:
            raise ConnectionLost(self._closed_by)
        self._last_id += 1
        self._calls[self._last_id] = PendingCall(self._last_id, method, session_id, waiter)
        return self._last_id

    def take(self, call_id: int) -> PendingCall[W] | None:
        """Remove and return the call that is answered now; None when nobody waits for it any more."""
        return self._calls.pop(call_id, None)

    def drop(self, call_id: int) -> None:
        """Forget a call whose owner stopped waiting; harmless when it has ended already."""
        self._calls.pop(call_id, None)

    def take_session(self, session_id: str) -> list[PendingCall[W]]:
        """Remove and return all calls of a session that is gone: the browser never answers them."""
        orphans = [call for call in self._calls.values() if call.session_id == session_id]
        for call in orphans:
            del self._calls[call.id]
        return orphans

    def close(self, reason: str) -> list[PendingCall[W]]:
        """Close the table and return all open calls, which are to fail with `reason`. The first reason stands."""
        if self._closed_by is None:
            self._closed_by = reason
        orphans = list(self._calls.values())
        self._calls.clear()
        return orphans
