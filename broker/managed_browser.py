"""The managed browser as the broker sees it: started when a call needs it, asked for a sign-in window when it is due.

Nothing of the keeper is imported: it is another process, started by our own command and asked over its socket. Only
where `config.toml` says ``browser = "managed"``.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import trio

from native_host.line_json import MAX_LINE_BYTES, BadLine, decode_line_untrusted, encode_line
from native_host.paths import HOME_VARIABLE, keeper_socket

START_WITHIN_S: Final = 45.0
ASK_WITHIN_S: Final = 3.0
START_COMMAND: Final = (sys.executable, "-P", "-m", "notebook_gateway", "browser", "start", "--json")


class ManagedBrowser:
    """The keeper of one home folder. Any number of brokers may ask at once: the keeper's lock lets one start."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._starting = trio.Lock()

    async def start(self) -> str | None:
        """Have the browser running; returns None, or the last line of why it is not. Does nothing where it runs."""
        async with self._starting:
            with trio.move_on_after(START_WITHIN_S):
                ended = await trio.run_process(
                    START_COMMAND,
                    stdin=subprocess.DEVNULL,
                    capture_stdout=True,
                    capture_stderr=True,
                    check=False,
                    env={**os.environ, HOME_VARIABLE: str(self._home)},
                )
                if ended.returncode == 0:
                    return None
                lines = ended.stderr.decode("utf-8", "replace").split("\n")
                return next((line for line in lines if line.strip()), f"it ended with code {ended.returncode}")
            return f"it was not up within {START_WITHIN_S:g} s"

    async def ask_for_sign_in(self) -> bool:
        """Have the sign-in window opened; False where no keeper runs, or the person closed it a moment ago."""
        line = b""
        with trio.move_on_after(ASK_WITHIN_S):
            try:
                async with await trio.open_unix_socket(os.fspath(keeper_socket(self._home))) as stream:
                    await stream.send_all(encode_line({"op": "sign_in", "reason": "AUTH_REQUIRED"}))
                    while not line.endswith(b"\n") and len(line) <= MAX_LINE_BYTES:
                        data = await stream.receive_some(65536)
                        if not data:
                            break
                        line += data
            except (OSError, trio.BrokenResourceError):
                return False
        try:
            return decode_line_untrusted(line).get("ok") is True
        except BadLine:
            return False
