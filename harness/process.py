"""The chain in a process of its own, for callers that are not Trio programs (pytest, scripts)."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Final

from harness.errors import ChainFailed

END_TIMEOUT_S: Final = 15.0


@contextmanager
def running_chain() -> Generator[dict[str, Any]]:
    """Run ``python -m harness.up`` and give its JSON document; closing its input ends it, and leaves nothing behind.

    Raises:
        ChainFailed: it did not come up; its own words are on standard error.
    """
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "harness.up"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    with process:
        line = process.stdout.readline()
        try:
            if not line:
                raise ChainFailed("harness", "it ended before it was up; see standard error")
            yield json.loads(line)
        finally:
            process.stdin.close()
            try:
                process.wait(END_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
