"""Upload sessions: how many bytes of a file are there, their hash, and what the file becomes (wire reference §7).

Memory stays bounded whatever the size: bytes are hashed as they come, and only the first ``MAX_HEAD_BYTES`` are kept.
"""

from __future__ import annotations

import hashlib
import secrets
from enum import StrEnum
from typing import Final, Protocol

from attrs import define, field

from harness.emulator.wire_json import Json

DEFAULT_GRANULARITY_BYTES: Final = 262_144
MAX_HEAD_BYTES: Final = 8 * 1024 * 1024


class Digest(Protocol):
    """A running hash, as `hashlib` makes them."""

    def update(self, data: bytes, /) -> None: ...
    def hexdigest(self) -> str: ...
    def copy(self) -> Digest: ...


class UploadStatus(StrEnum):
    """``x-goog-upload-status``; an expired session is answered with 404 and has none."""

    ACTIVE = "active"
    FINAL = "final"
    CANCELLED = "cancelled"
    EXPIRED = "expired"


@define
class Upload:
    """One session. Invariant: ``head`` is the beginning of what was received, up to its limit.

    ``_hash`` covers everything received; null once a fault has claimed bytes that never came.
    """

    source_id: str
    notebook_id: str
    email: str
    name: str
    size_bytes: int
    mime_type: str | None
    authuser: str | None
    granularity_bytes: int = DEFAULT_GRANULARITY_BYTES
    id: str = field(factory=lambda: secrets.token_urlsafe(96), repr=False)
    status: UploadStatus = UploadStatus.ACTIVE
    received_bytes: int = 0
    head: bytearray = field(factory=bytearray, repr=False)
    _hash: Digest | None = field(factory=hashlib.sha256)
    _writer: int = 0

    def describe(self) -> dict[str, Json]:
        """Return all of it but the id, which is as good as a password."""
        return {
            "source": self.source_id,
            "notebook": self.notebook_id,
            "account": self.email,
            "name": self.name,
            "size_bytes": self.size_bytes,
            "mime_type": self.mime_type,
            "granularity_bytes": self.granularity_bytes,
            "status": str(self.status),
            "received_bytes": self.received_bytes,
            "sha256": None if self._hash is None else self._hash.hexdigest(),
        }

    def take_over(self) -> int:
        """Let one request write from now on; what an older one still brings is not taken any more."""
        self._writer += 1
        return self._writer

    def write(self, writer: int, data: bytes) -> bool:
        """Take bytes of a request's body; False when another request has taken over or they exceed the file."""
        if writer != self._writer or self.received_bytes + len(data) > self.size_bytes:
            return False
        if self._hash is not None:
            self._hash.update(data)
        if room := MAX_HEAD_BYTES - len(self.head):
            self.head += data[:room]
        self.received_bytes += len(data)
        return True

    def copy_position(self) -> Position:
        return Position(self.received_bytes, len(self.head), None if self._hash is None else self._hash.copy())

    def go_back(self, position: Position) -> None:
        """Forget what came after a position."""
        self.received_bytes = position.received_bytes
        del self.head[position.head_bytes :]
        self._hash = position.hash

    def pretend(self, received_bytes: int) -> None:
        """Have received exactly so much: lose the rest, or count what never came (then nobody knows the hash)."""
        self.take_over()
        if received_bytes <= min(self.received_bytes, len(self.head)):
            del self.head[received_bytes:]
            self._hash = hashlib.sha256(self.head)
        elif received_bytes != self.received_bytes:
            self._hash = None
        self.received_bytes = min(received_bytes, self.size_bytes)


@define
class Position:
    """How far an upload had come."""

    received_bytes: int
    head_bytes: int
    hash: Digest | None
