"""CDP over the two pipes of ``--remote-debugging-pipe``: a `Transport` of messages that end in a zero byte.

The only way to install an unpacked extension in branded Chrome (137 and later), and a leash: the browser ends when the
pipe does, even if we were killed. The browser reads descriptor 3 and writes descriptor 4.
"""

from __future__ import annotations

import os
import sys
from typing import Final

import attrs
import trio

from cdp.errors import ConnectionLost
from cdp.websocket import MAX_MESSAGE_BYTES

RECEIVE_BYTES: Final = 256 * 1024

# Python's subprocess passes descriptors under their own numbers only, and /bin/sh can rename none above 9. So the child
# renames them itself and then becomes the browser, under the same process id. Copies above 9 come first, because either
# end may already stand on the other one's number.
_RENAME_AND_BECOME: Final = """
import fcntl, os, sys
copies = [fcntl.fcntl(int(number), fcntl.F_DUPFD_CLOEXEC, 10) for number in sys.argv[1:3]]
for number in sys.argv[1:3]:
    os.close(int(number))
for number, copy in zip((3, 4), copies):
    os.dup2(copy, number)
os.execv(sys.argv[3], sys.argv[3:])
"""


class PipeTransport:
    """Whole messages over one pair of byte streams."""

    def __init__(self, to_browser: trio.abc.SendStream, from_browser: trio.abc.ReceiveStream) -> None:
        self._to_browser = to_browser
        self._from_browser = from_browser
        self._buffer = bytearray()
        # Invariant: no zero byte stands before this place in the buffer.
        self._searched = 0

    async def send(self, message: str) -> None:
        """Send one message. Raises `ConnectionLost`."""
        try:
            await self._to_browser.send_all(message.encode() + b"\0")  # JSON text never holds a raw zero
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            raise ConnectionLost("the browser closed its debugging pipe") from None

    async def receive(self) -> bytes:
        """Return the next message, however the pipe cut it. Raises `ConnectionLost`."""
        while True:
            end = self._buffer.find(0, self._searched)
            if end >= 0:
                message = bytes(self._buffer[:end])
                del self._buffer[: end + 1]
                self._searched = 0
                return message
            self._searched = len(self._buffer)
            if self._searched > MAX_MESSAGE_BYTES:
                raise ConnectionLost(f"the browser sent a message of more than {MAX_MESSAGE_BYTES} bytes")
            try:
                data = await self._from_browser.receive_some(RECEIVE_BYTES)
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                data = b""
            if not data:
                raise ConnectionLost("the browser closed its debugging pipe")
            self._buffer += data

    async def aclose(self) -> None:
        """Close both ends, at once; the browser ends on it."""
        await trio.aclose_forcefully(self._to_browser)
        await trio.aclose_forcefully(self._from_browser)


@attrs.frozen
class PipeEnds:
    """The browser's two ends, to be inherited by it alone, and our transport on the other two."""

    browser_reads: int
    browser_writes: int
    transport: PipeTransport

    def command(self, browser_command: list[str]) -> list[str]:
        """Return the command that starts the browser with the pipe on descriptors 3 and 4."""
        ends = [str(self.browser_reads), str(self.browser_writes)]
        return [sys.executable, "-I", "-S", "-c", _RENAME_AND_BECOME, *ends, *browser_command]

    def close_browser_ends(self) -> None:
        """Close our copies of the browser's ends; without this its death would not end the pipe."""
        os.close(self.browser_reads)
        os.close(self.browser_writes)


def open_pipe_ends() -> PipeEnds:
    """Make both pipes. None of the four descriptors is inherited by other children."""
    browser_reads, we_write = os.pipe()
    we_read, browser_writes = os.pipe()
    transport = PipeTransport(trio.lowlevel.FdStream(we_write), trio.lowlevel.FdStream(we_read))
    return PipeEnds(browser_reads, browser_writes, transport)
