"""The broker's log: one JSON line per record, in a file of the logs folder, scrubbed. Never standard output.

Standard error gets warnings only, because clients keep what a server writes there.
"""

from __future__ import annotations

import json
import logging
import os
import select
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from broker.scrubber import scrub_text
from broker.stdio_wire import PIPE_WRITE_BYTES
from native_host.paths import ensure_private_folder

LOG_NAME: Final = "broker.log"
MAX_LOG_BYTES: Final = 5 * 1024 * 1024
RECORDS_BETWEEN_LOOKS: Final = 200
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
        span = getattr(record, "span", None)
        if span is not None:
            fields["span"] = span.as_json()
        if record.exc_info:
            fields["exception"] = scrub_text(self.formatException(record.exc_info)[-MAX_RECORD_CHARS:])
        return json.dumps(fields, ensure_ascii=False)


class ScreenHandler(logging.Handler):
    """Writes one plain line for people to a descriptor, or nothing when nobody reads it: logging must never block."""

    def __init__(self, descriptor: int) -> None:
        super().__init__(logging.WARNING)
        self._descriptor = descriptor
        self._writable = select.poll()
        self._writable.register(descriptor, select.POLLOUT)

    def emit(self, record: logging.LogRecord) -> None:
        text = scrub_text(record.getMessage()).replace("\n", " ")
        line = f"notebook-gateway: {record.levelname.lower()}: {text}".encode(errors="backslashreplace")
        # A client that never reads our standard error fills the pipe after 64 KiB (C-034).
        if self._writable.poll(0) == [(self._descriptor, select.POLLOUT)]:
            with suppress(OSError):
                os.write(self._descriptor, line[: PIPE_WRITE_BYTES - 1] + b"\n")


class ShortFileHandler(logging.FileHandler):
    """Appends to the log file, which several brokers share, and begins a new one when it has grown too long."""

    def __init__(self, folder: Path) -> None:
        """Raises: OSError, the file cannot be made or written."""
        super().__init__(_fresh_log(folder), encoding="utf-8", errors="backslashreplace")
        self._folder = folder
        self._records = 0

    def emit(self, record: logging.LogRecord) -> None:
        self._records += 1
        if self._records % RECORDS_BETWEEN_LOOKS == 0:
            with suppress(OSError):  # what cannot be renewed is written on
                fresh = _fresh_log(self._folder)
                if self.stream is not None and not os.path.samestat(os.fstat(self.stream.fileno()), fresh.stat()):
                    self.stream.close()
                    self.stream = self._open()
        super().emit(record)


def set_up_logging(folder: Path) -> None:
    """Send records to `folder`, warnings also to standard error. A folder that cannot be written is no obstacle."""
    root = logging.getLogger()
    root.setLevel(logging.INFO)
    root.addHandler(ScreenHandler(2))
    logging.raiseExceptions = False  # a full disk must not become our fault
    try:
        file = ShortFileHandler(folder)
    except OSError as error:
        root.warning("no log file: %s", error.strerror or error)
        return
    file.setFormatter(JsonLine())
    root.addHandler(file)


def _fresh_log(folder: Path) -> Path:
    """Return the file to append to; one that has grown too large makes room first, keeping one older file."""
    ensure_private_folder(folder)
    path = folder / LOG_NAME
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))
    if path.stat().st_size > MAX_LOG_BYTES:
        path.replace(folder / f"{LOG_NAME}.1")
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))
    return path
