"""What the upload benchmarks share: a project folder with a file, and `add_source` until the file is up."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PIECE_BYTES = 1024 * 1024


@contextmanager
def project_folder() -> Generator[Path]:
    """Make a folder whose files `serve` may read when it is started there."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / ".git").mkdir()
        yield Path(folder)


def make_file(folder: Path, size_bytes: int) -> Path:
    """Write a file of random bytes (a PDF by its name), and have it on disk before anything is measured."""
    path = folder / f"{size_bytes}.pdf"
    with path.open("wb") as file:
        left = size_bytes
        while left > 0:
            left -= file.write(os.urandom(min(PIECE_BYTES, left)))
        os.fsync(file.fileno())
    return path


async def add_file(client: Any, path: Path, key: str) -> float:
    """Add a file through the tool, repeating the call while it says that it is running; returns seconds."""
    source = {"type": "file", "title": path.name, "file_path": str(path)}
    started = time.perf_counter()
    while True:
        outcome = await client.call_tool("add_source", {"source": source, "idempotency_key": key})
        envelope = outcome["structuredContent"]
        assert envelope["ok"], envelope
        if envelope["result"]["status"] != "running":
            return time.perf_counter() - started
