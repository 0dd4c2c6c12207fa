"""What a connection needs from below: whole messages out, whole messages in. See `cdp.websocket` and `cdp.pipe`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Transport(Protocol):
    """A message transport. One task receives; `send` and `send_nowait` are never called while a `send` is under way."""

    def send_nowait(self, message: bytes) -> bool:
        """Send one message now if that needs no waiting. False: not a byte of it was sent, use `send`.

        Raises:
            ConnectionLost: the peer is gone.
        """
        ...

    async def send(self, messages: Sequence[bytes]) -> None:
        """Send these messages in order. It is not to be cancelled while the connection is to live on.

        Raises:
            ConnectionLost: the peer is gone.
        """
        ...

    async def receive(self) -> Sequence[str | bytes]:
        """Return the next messages, at least one, as many as have arrived.

        Raises:
            ConnectionLost: the peer is gone.
        """
        ...

    async def aclose(self) -> None:
        """Close within a short time of its own, whatever the peer does; safe to call twice."""
        ...
