"""What arrived: one entry per request, without any secret in it."""

from __future__ import annotations

from typing import Final

import attrs
from attrs import define, field

from harness.emulator.wire_json import Json

MAX_ENTRIES: Final = 10_000


@define
class Entry:
    """One request. ``token`` says how the CSRF value fared (``valid``, ``stale``, ``missing``), never what it was."""

    target: str
    host: str
    path: str
    query_keys: list[str]
    account: str | None
    authuser: str | None = None
    source_path: str | None = None
    params: Json = None
    token: str | None = None
    status: int | None = None
    faults: list[str] = field(factory=list[str])

    def describe(self) -> dict[str, Json]:
        entry: dict[str, Json] = attrs.asdict(self)
        entry["rpc"] = entry.pop("target")
        return entry


@define
class RequestLog:
    entries: list[Entry] = field(factory=list[Entry])

    def add(self, entry: Entry) -> Entry:
        self.entries.append(entry)
        del self.entries[:-MAX_ENTRIES]
        return entry
