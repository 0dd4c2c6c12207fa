"""The host's log: one JSON object per line, into the file that standard error points to.

Standard output is Chrome's, and nobody sees the standard error of a program that a browser starts, so the file
descriptor 2 itself is pointed at the log (`stdio`). Tracebacks and lines written by C code land there too.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Final

from native_host.paths import ensure_private_folder

MAX_LOG_BYTES: Final = 1024 * 1024
"""A longer file is set aside under the name `….1`; so at most two such files exist."""
MAX_TEXT_CHARS: Final = 2000

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


def log(text: str, **fields: object) -> None:
    """Write one line. `fields` are small JSON values; `traceparent` joins the line with those of other programs.

    A log that cannot be written (a full disk) must not take the relay down.
    """
    now_s = time.time()
    stamp = f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(now_s))}.{int(now_s % 1 * 1000):03d}Z"
    record = {"at": stamp, "pid": os.getpid(), "logger": "native_host", "message": text[:MAX_TEXT_CHARS], **fields}
    try:
        os.write(STANDARD_ERROR, json.dumps(record).encode("ascii") + b"\n")
    except OSError:
        return


def keep_short(path: Path) -> None:
    """Set the log aside once it has grown too long, and write on into a new one, under 1 and 2 alike."""
    try:
        if os.fstat(STANDARD_ERROR).st_size <= MAX_LOG_BYTES:
            return
        descriptor = open_log(path)
        for standard in (1, STANDARD_ERROR):
            os.dup2(descriptor, standard)
        os.close(descriptor)
    except OSError:
        return  # a disk that is full; the next look tries again
