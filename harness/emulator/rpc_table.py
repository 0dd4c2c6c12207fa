"""All ``batchexecute`` calls that the emulator knows, reads and writes apart."""

from __future__ import annotations

from typing import Final

from harness.emulator.note_writes import NOTE_WRITES
from harness.emulator.rpcs import READS
from harness.emulator.source_writes import SOURCE_WRITES
from harness.emulator.writes import Writer

WRITES: Final[dict[str, Writer]] = {**SOURCE_WRITES, **NOTE_WRITES}

__all__ = ["READS", "WRITES"]
