"""Subscriptions to CDP events: bounded, never in the way of the reader task.

Overflow rule: the reader task never waits for a subscriber. A subscriber that falls behind by more than `capacity`
events is cut off: it still gets the events it had, then `EventsLost`. Other subscribers notice nothing. Losing the
middle of a sequence silently would be worse than an error, and one slow reader must not delay the answers to calls.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

import trio

from cdp.domains.protocol import EventParams, decode_untrusted
from cdp.errors import CdpError, EventsLost
from cdp.messages import Event

E = TypeVar("E", bound=EventParams)


class EventStream:
    """An async iterator over the events of one subscription. Made by `Connection.events`; one task iterates it."""

    def __init__(self, methods: frozenset[str], session_id: str | None, capacity: int) -> None:
        self._methods = methods
        self._session_id = session_id
        self._capacity = capacity
        # Invariant: never longer than the capacity.
        self._kept: deque[Event] = deque()
        self._end: CdpError | None = None
        self._changed = trio.Event()

    def __repr__(self) -> str:
        state = "open" if self._end is None else f"ended: {self._end}"
        return f"<EventStream {sorted(self._methods)} {len(self._kept)}/{self._capacity} kept, {state}>"

    def __aiter__(self) -> EventStream:
        return self

    async def __anext__(self) -> Event:
        """Return the next event.

        Raises:
            EventsLost: this reader was too slow; see the overflow rule of the module.
            ConnectionLost: the connection ended. Events that came before it are delivered first.
            SessionDetached: the target of the subscribed session is gone.
        """
        await trio.lowlevel.checkpoint()
        while not self._kept:
            if self._end is not None:
                raise self._end
            self._changed = trio.Event()
            await self._changed.wait()
        return self._kept.popleft()

    async def first(self, accepts: Callable[[Event], bool]) -> Event:
        """Return the first event that `accepts` says yes to; the ones before it are dropped."""
        async for event in self:
            if accepts(event):
                return event
        raise AssertionError("an EventStream ends by an error only")

    # The two below are for the connection's reader task.

    def offer(self, event: Event) -> None:
        """Keep the event if it is subscribed to; cut the reader off when it is too far behind."""
        if self._end is not None or event.method not in self._methods or event.session_id != self._session_id:
            return
        if len(self._kept) == self._capacity:
            self.end(EventsLost(f"a reader of {event.method} was more than {self._capacity} events behind"))
            return
        self._kept.append(event)
        self._changed.set()

    def end(self, reason: CdpError, session_id: str | None = None) -> None:
        """End the stream with `reason`; with `session_id` only if it is the one of this subscription."""
        if self._end is None and (session_id is None or session_id == self._session_id):
            self._end = reason
            self._changed.set()


class TypedEventStream(Generic[E]):
    """An async iterator over the events of one class. Made by `Connection.subscribe`."""

    def __init__(self, event_class: type[E], stream: EventStream) -> None:
        self._event_class = event_class
        self._stream = stream

    def __aiter__(self) -> TypedEventStream[E]:
        return self

    async def __anext__(self) -> E:
        """Return the next event; raises what `EventStream` does, and `BadMessage` for one of another shape."""
        event = await anext(self._stream)
        return decode_untrusted(self._event_class, event.params, event.method)
