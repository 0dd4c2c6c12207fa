"""Extensions: unpacked extensions, over the debugging pipe in branded Chrome."""

from __future__ import annotations

from typing import ClassVar

import attrs

from cdp.domains.protocol import Command


@attrs.frozen
class LoadUnpackedResult:
    id: str


@attrs.frozen
class LoadUnpacked(Command[LoadUnpackedResult]):
    method: ClassVar[str] = "Extensions.loadUnpacked"
    result: ClassVar[type[object]] = LoadUnpackedResult
    path: str
