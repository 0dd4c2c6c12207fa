"""ServiceWorker: start a worker that stopped, from a page's session."""

from __future__ import annotations

from typing import ClassVar

import attrs

from cdp.domains.protocol import Command, Nothing


@attrs.frozen
class Enable(Command[Nothing]):
    method: ClassVar[str] = "ServiceWorker.enable"


@attrs.frozen
class StartWorker(Command[Nothing]):
    method: ClassVar[str] = "ServiceWorker.startWorker"
    scopeURL: str
