"""Commands on their way out: written by their caller where that needs no waiting, by one task in batches otherwise.

A caller's cancel never reaches into a write: what the writer task has taken goes out whole, and what it has not taken
yet is withdrawn. Writing at once saves a lone caller a turn of the scheduler; when many calls are open, one write for
all that came together is cheaper than a write each.
"""

from __future__ import annotations

from typing import Final, NoReturn

import trio

from cdp.transport import Transport

BATCH_FROM_OPEN_CALLS: Final = 8
"""With this many calls open, commands wait for the writer's next turn so that they share a write (measured)."""


class Outgoing:
    """The commands of one connection that are not written yet."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        # Invariant: at most one command of each open call, so it is bounded by the callers that wait.
        self._queue: dict[int, bytes] = {}
        self._is_writing = False
        self._something = trio.Event()

    def __repr__(self) -> str:
        return f"<Outgoing {len(self._queue)} queued{', writing' if self._is_writing else ''}>"

    def put(self, call_id: int, command: bytes, open_calls: int) -> None:
        """Write the command now or leave it to the writer task; never waits.

        Raises:
            ConnectionLost: the peer is gone.
        """
        may_overtake_nobody = not self._queue and not self._is_writing
        if open_calls < BATCH_FROM_OPEN_CALLS and may_overtake_nobody and self._transport.send_nowait(command):
            if self._transport.has_rest:
                self._something.set()
            return
        self._queue[call_id] = command
        self._something.set()

    def withdraw(self, call_id: int) -> None:
        """Forget the command of a call that was given up, if not a byte of it is written."""
        self._queue.pop(call_id, None)

    def clear(self) -> None:
        """Forget everything; the connection is lost."""
        self._queue.clear()

    async def write(self) -> NoReturn:
        """Write what is put, until cancelled.

        Raises:
            ConnectionLost: the peer is gone.
        """
        while True:
            if not self._queue and not self._transport.has_rest:
                self._something = trio.Event()
                await self._something.wait()
                continue
            batch = list(self._queue.values())
            self._queue.clear()
            self._is_writing = True
            try:
                await self._transport.send(batch)
            finally:
                self._is_writing = False
