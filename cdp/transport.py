"""What a connection needs from below: whole messages in, whole messages out. Implemented by `cdp.websocket`."""

from __future__ import annotations

from typing import Protocol


class Transport(Protocol):
    """A message transport. One task sends and one task receives; neither is called by two tasks at once."""

    async def send(self, message: str) -> None:
        """Send one message.

        Raises:
            ConnectionLost: the peer is gone.
        """
        ...

    async def receive(self) -> str | bytes:
        """Return the next message.

        Raises:
            ConnectionLost: the peer is gone.
        """
        ...

    async def aclose(self) -> None:
        """Close within a short time of its own, whatever the peer does; safe to call twice."""
        ...
