"""The broker's log: one JSON line per record, in a file of the logs folder, scrubbed. Never standard output.

Standard error gets warnings only, because clients keep what a server writes there.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import time
from pathlib import Path
from typing import Final

from broker.scrubber import scrub_text

LOG_NAME: Final = "broker.log"
MAX_LOG_BYTES: Final = 5 * 1024 * 1024
MAX_RECORD_CHARS: Final = 8_000


class JsonLine(logging.Formatter):
    """Formats a record as one JSON object; every text in it passes the scrubber."""

    def format(self, record: logging.LogRecord) -> str:
        fields: dict[str, object] = {
            "at": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03d}Z",
            "pid": os.getpid(),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": scrub_text(record.getMessage()[:MAX_RECORD_CHARS]),
        }
        traceparent = getattr(record, "traceparent", None)
        if traceparent is not None:
            fields["traceparent"] = str(traceparent)
        if record.exc_info:
            fields["exception"] = scrub_text(self.formatException(record.exc_info)[-MAX_RECORD_CHARS:])
        return json.dumps(fields, ensure_ascii=False)


class ShortLine(logging.Formatter):
    """Formats a record as one plain line for people; the details are in the file."""

    def format(self, record: logging.LogRecord) -> str:
        return f"notebook-gateway: {record.levelname.lower()}: {scrub_text(record.getMessage()[:MAX_RECORD_CHARS])}"


def set_up_logging(folder: Path) -> None:
    """Send records to `folder`, warnings also to standard error. A folder that cannot be written is no obstacle."""
    root = logging.getLogger()
    root.setLevel(logging.INFO)
    screen = logging.StreamHandler(sys.stderr)
    screen.setLevel(logging.WARNING)
    screen.setFormatter(ShortLine())
    root.addHandler(screen)
    logging.raiseExceptions = False  # a full or closed standard error must not become our fault
    try:
        file = logging.FileHandler(_fresh_log(folder), encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        root.warning("no log file: %s", error.strerror)
        return
    file.setFormatter(JsonLine())
    root.addHandler(file)


def _fresh_log(folder: Path) -> Path:
    """Return the file to append to; one that has grown too large makes room first, keeping one older file."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder / LOG_NAME
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))
    if path.stat().st_size > MAX_LOG_BYTES:
        path.replace(folder / f"{LOG_NAME}.1")
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))
    return path
