"""The host's log: one line per event, into the file that standard error points to.

Standard output is Chrome's, and nobody sees the standard error of a program that a browser starts, so the file
descriptor 2 itself is pointed at the log (`stdio`). Tracebacks and lines written by C code land there too.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Final

from native_host.paths import ensure_private_folder

MAX_LOG_BYTES: Final = 1024 * 1024
"""A longer file is set aside at the next start, under the name `….1`; so at most two such files exist."""

STANDARD_ERROR: Final = 2


def open_log(path: Path) -> int:
    """Open the log for appending (0600), set an overlong one aside, and return the descriptor.

    Raises:
        OSError: the folder or the file cannot be written, or is not ours alone.
    """
    ensure_private_folder(path.parent)
    try:
        if path.stat().st_size > MAX_LOG_BYTES:
            path.replace(path.with_name(f"{path.name}.1"))
    except FileNotFoundError:
        pass
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)


def log(text: str) -> None:
    """Write one line. A log that cannot be written (a full disk) must not take the relay down."""
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    line = f"{stamp} [{os.getpid()}] {_printable(text)}\n"
    try:
        os.write(STANDARD_ERROR, line.encode("utf-8", "backslashreplace"))
    except OSError:
        return


def _printable(text: str) -> str:
    """Return `text` without anything that could start a new line or steer a terminal."""
    return "".join(character if character.isprintable() else " " for character in text[:2000])
