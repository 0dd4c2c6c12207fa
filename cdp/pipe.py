"""CDP over the two pipes of ``--remote-debugging-pipe``: a `Transport` of messages that end in a zero byte.

The only way to install an unpacked extension in branded Chrome (137 and later), and a leash: the browser ends when the
pipe does, even if we were killed. The browser reads descriptor 3 and writes descriptor 4.
"""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Sequence
from typing import Final

import attrs
import trio

from cdp.errors import ConnectionLost
from cdp.websocket import MAX_MESSAGE_BYTES

RECEIVE_BYTES: Final = 256 * 1024
_GONE: Final = "the browser closed its debugging pipe"

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


class MessageSplitter:
    """Cut a byte stream into its zero-terminated messages. Pure."""

    def __init__(self, max_message_bytes: int = MAX_MESSAGE_BYTES) -> None:
        self._max_message_bytes = max_message_bytes
        # Invariant: no zero byte in any of these; together they are the beginning of one message.
        self._pieces: list[bytes] = []
        self._kept_bytes = 0

    def feed_untrusted(self, data: bytes) -> list[bytes]:
        """Return the messages that `data` completes.

        Raises:
            ConnectionLost: a message is longer than the limit.
        """
        *whole, rest = data.split(b"\0")
        if whole and self._pieces:
            self._pieces.append(whole[0])
            whole[0] = b"".join(self._pieces)
            self._pieces.clear()
            self._kept_bytes = 0
        if rest:
            self._pieces.append(rest)
            self._kept_bytes += len(rest)
            if self._kept_bytes > self._max_message_bytes:
                raise ConnectionLost(f"the browser sent a message of more than {self._max_message_bytes} bytes")
        return whole


class PipeTransport:
    """Whole messages over one pair of pipes. It owns both descriptors."""

    def __init__(self, to_browser: int, from_browser: int) -> None:
        self._to_browser = trio.lowlevel.FdStream(to_browser)
        self._from_browser = trio.lowlevel.FdStream(from_browser)
        self._splitter = MessageSplitter()

    def send_nowait(self, message: bytes) -> bool:
        """Send one message if the pipe has room for all of it. Raises `ConnectionLost`."""
        # POSIX: a write of at most PIPE_BUF bytes to a non-blocking pipe happens whole or not at all.
        if len(message) >= select.PIPE_BUF:
            return False
        try:
            os.write(self._to_browser.fileno(), message + b"\0")
        except BlockingIOError:
            return False
        except OSError:
            raise ConnectionLost(_GONE) from None
        return True

    @property
    def has_rest(self) -> bool:
        """Return False: what `send_nowait` writes is taken whole or not at all."""
        return False

    async def send(self, messages: Sequence[bytes]) -> None:
        """Send messages in one write. Raises `ConnectionLost`."""
        try:
            await self._to_browser.send_all(b"\0".join([*messages, b""]))  # JSON text never holds a raw zero
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            raise ConnectionLost(_GONE) from None

    async def receive(self) -> list[bytes]:
        """Return the next messages, however the pipe cut them. Raises `ConnectionLost`."""
        while True:
            descriptor = self._from_browser.fileno()
            if descriptor < 0:
                raise ConnectionLost("the debugging pipe is closed")
            try:
                # FdStream.receive_some takes a turn of the scheduler and a futile read before it waits.
                await trio.lowlevel.wait_readable(descriptor)
                data = os.read(descriptor, RECEIVE_BYTES)
            except BlockingIOError:
                continue
            except (OSError, trio.ClosedResourceError):
                data = b""
            if not data:
                raise ConnectionLost(_GONE)
            messages = self._splitter.feed_untrusted(data)
            if messages:
                return messages

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
    transport = PipeTransport(we_write, we_read)
    return PipeEnds(browser_reads, browser_writes, transport)
