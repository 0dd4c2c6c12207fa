"""A browser made of two memory channels, and small fake browsers that are real processes."""

import json
import stat
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import trio

from cdp.errors import ConnectionLost
from cdp.finder import Browser


class MemoryTransport:
    """The client's side is a `Transport`; the test reads `commands` and writes what the browser says."""

    def __init__(self) -> None:
        self._to_browser, self.commands = trio.open_memory_channel[str](0)
        self.browser, self._from_browser = trio.open_memory_channel[str](1000)
        self.closed = False

    def send_nowait(self, message: bytes) -> bool:
        return False

    @property
    def has_rest(self) -> bool:
        return False

    async def send(self, messages: Sequence[bytes]) -> None:
        try:
            for message in messages:
                await self._to_browser.send(message.decode())
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            raise ConnectionLost("the fake browser stopped reading") from None

    async def receive(self) -> list[str]:
        try:
            return [await self._from_browser.receive()]
        except (trio.EndOfChannel, trio.ClosedResourceError):
            raise ConnectionLost("the fake browser hung up") from None

    async def aclose(self) -> None:
        self.closed = True

    # What the test does in the browser's place.

    async def next_command(self) -> dict[str, Any]:
        """Return the next command that the client sent."""
        return json.loads(await self.commands.receive())

    def say(self, message: dict[str, Any]) -> None:
        """Send one message to the client."""
        self.browser.send_nowait(json.dumps(message))

    def hang_up(self) -> None:
        """Close both directions, as a browser that crashed."""
        self.browser.close()
        self.commands.close()


def fake_browser(folder: Path, body: str) -> Browser:
    """Write an executable that runs `body` with `profile` (a Path), `args`, `os`, `sys` and `time` at hand."""
    path = folder / "fake-browser"
    prelude = """
        import os, signal, subprocess, sys, time
        from pathlib import Path
        args = sys.argv[1:]
        profile = Path(next(a for a in args if a.startswith("--user-data-dir=")).partition("=")[2])
    """
    path.write_text(f"#!{sys.executable} -ISs\n" + textwrap.dedent(prelude) + textwrap.dedent(body))
    path.chmod(stat.S_IRWXU)
    return Browser(path, "fake")
