"""Real inputs to start from: the recorded exchanges and the field cases beside the checkout."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from tests.shared import SHARED, recording_files

MAX_SEED_BYTES: Final = 64 * 1024
"""Longer recordings make the fuzzer slow and show it no shape that shorter ones do not."""


def exchanges(max_bytes: int = MAX_SEED_BYTES) -> Iterator[tuple[str, str]]:
    """Yield the RPC id and the answer body of every recorded exchange that is not longer."""
    for path in recording_files():
        for line in path.read_text(encoding="utf-8").splitlines():
            exchange: dict[str, Any] = json.loads(line)
            body = exchange.get("response", {}).get("body")
            if isinstance(body, str) and len(body) <= max_bytes:
                yield str(exchange.get("rpc") or path.stem), body


def case_inputs(pattern: str) -> Iterator[bytes]:
    """Yield the input files of the field cases that match; a pattern without any is an error, never an empty corpus."""
    paths = sorted((SHARED / "cases" / "inputs").glob(pattern))
    if not paths:
        raise FileNotFoundError(f"no case input matches {pattern}")
    for path in paths:
        data = path.read_bytes()
        yield bytes.fromhex(data.decode()) if path.suffix == ".hex" else data
