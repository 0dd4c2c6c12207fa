"""Standard input and output are Chrome's wire: claim them once, before anything else runs.

`claim` moves both to private descriptors that no child inherits and points the well-known numbers elsewhere *at
descriptor level*: 0 to nothing, 1 and 2 to the log. A stray `print`, a traceback or a line from C code then ends up in
the log and cannot break the frames. Not tested on Windows (where the rest of the host does not run yet either).
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NamedTuple

from native_host.host_log import open_log


class ChromeDescriptors(NamedTuple):
    """The two ends of Chrome's port."""

    from_chrome: int
    to_chrome: int


def claim(log_file: Path) -> ChromeDescriptors:
    """Take 0 and 1 away from everybody else in this process, and let 1 and 2 be `log_file` from now on.

    Raises:
        OSError: 0 or 1 is closed, so nobody started us as a native messaging host; or the log cannot be opened.
    """
    if sys.platform == "win32":
        import msvcrt

        msvcrt.setmode(0, os.O_BINARY)
        msvcrt.setmode(1, os.O_BINARY)
    # First of all: with 0 or 1 closed, the next file opened would get that number and pass for Chrome's.
    claimed = ChromeDescriptors(_private(0), _private(1))
    log_descriptor = open_log(log_file)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(log_descriptor, 1)
    os.dup2(log_descriptor, 2)
    for spare in {nothing, log_descriptor} - {0, 1, 2}:
        os.close(spare)
    return claimed


def _private(descriptor: int) -> int:
    """Return a copy that children do not inherit, never numbered 0 to 2 (2 may have been closed by our parent)."""
    copy = os.dup(descriptor)
    if copy > 2:
        return copy
    try:
        return _private(descriptor)
    finally:
        os.close(copy)
