"""What a connection needs from below: whole messages out, whole messages in. See `cdp.websocket` and `cdp.pipe`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Transport(Protocol):
    """A message transport. One task receives; `send` and `send_nowait` are never called while a `send` is under way."""

    def send_nowait(self, message: bytes) -> bool:
        """Send one message now if that needs no waiting. False: not a byte of it was sent, use `send`.

        True: it goes out whole, though the end of it may wait for the next `send`; see `has_rest`.

        Raises:
            ConnectionLost: the peer is gone.
        """
        ...

    @property
    def has_rest(self) -> bool:
        """Whether the kernel took only a part of what `send_nowait` sent: a `send`, of no message even, is due."""
        ...

    async def send(self, messages: Sequence[bytes]) -> None:
        """Send what is left of the last one, then these messages in order.

        It is not to be cancelled while the connection is to live on.

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
