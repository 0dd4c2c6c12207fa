"""Which requests are open, and which protocol era answers each. Pure but for one wait.

Two eras share the pipe: the handshake (`initialize`, up to 2025-11-25) and the stateless one (2026-07-28), where each
request carries its version in `_meta`. The SDK locks a connection to the era of its first request, but real clients
probe with `server/discover` and then still send `initialize`; the specification lets a server serve both (C-002).
"""

from __future__ import annotations

from enum import StrEnum
from typing import cast

import trio
from mcp_types import (
    INVALID_REQUEST,
    PROTOCOL_VERSION_META_KEY,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
)

from broker.jsonrpc_guard import BadFrame, RequestId


class Era(StrEnum):
    """The two ways in which MCP clients open a conversation."""

    HANDSHAKE = "handshake"
    STATELESS = "stateless"


class InFlight:
    """Routes incoming messages and remembers open request ids until they are answered or cancelled.

    Ids are compared with their JSON type: 0 and "0" are two requests (C-011).
    """

    def __init__(self) -> None:
        self._eras: dict[tuple[type, RequestId], Era] = {}
        self._opened: set[Era] = set()
        self._idle = trio.Event()  # Invariant: set exactly when no request is open.
        self._idle.set()

    def __repr__(self) -> str:
        return f"<InFlight {len(self._eras)} open, eras {sorted(self._opened)}>"

    def route(self, message: JSONRPCMessage) -> Era:
        """Return the era that handles `message`, and open or close its id.

        Raises:
            BadFrame: a request whose id is still open; both answers could not be told apart.
        """
        if isinstance(message, JSONRPCRequest):
            return self._open(message)
        if isinstance(message, JSONRPCNotification) and message.method == "notifications/cancelled":
            return self._cancel(message.params)
        return self._default_era()

    def close(self, request_id: RequestId | None) -> None:
        """Forget an answered request."""
        self._eras.pop((type(request_id), cast("RequestId", request_id)), None)
        if not self._eras:
            self._idle.set()

    async def wait_idle(self) -> None:
        """Return when every request has been answered or cancelled."""
        await self._idle.wait()

    def _open(self, request: JSONRPCRequest) -> Era:
        key = (type(request.id), request.id)
        if key in self._eras:
            raise BadFrame(INVALID_REQUEST, "Invalid request: this id is still in flight", request.id)
        if request.method == "initialize":
            era = Era.HANDSHAKE
        else:
            era = Era.STATELESS if _has_envelope(request) else self._default_era()
        self._opened.add(era)
        self._eras[key] = era
        if self._idle.is_set():
            self._idle = trio.Event()
        return era

    def _cancel(self, params: dict[str, object] | None) -> Era:
        """A cancelled request gets no answer, so its id is free at once. The id may be the number or its text."""
        named = (params or {}).get("requestId")
        for request_id in _spellings(named):
            era = self._eras.get((type(request_id), request_id))
            if era is not None:
                self.close(request_id)
                return era
        return self._default_era()

    def _default_era(self) -> Era:
        """Messages without an envelope belong to the handshake, unless the client only ever spoke stateless."""
        return Era.STATELESS if self._opened == {Era.STATELESS} else Era.HANDSHAKE


def _has_envelope(request: JSONRPCRequest) -> bool:
    meta = (request.params or {}).get("_meta")
    return isinstance(meta, dict) and PROTOCOL_VERSION_META_KEY in meta


def _spellings(request_id: object) -> list[RequestId]:
    if isinstance(request_id, str):
        return [request_id, int(request_id)] if request_id.isascii() and request_id.isdigit() else [request_id]
    if isinstance(request_id, int) and not isinstance(request_id, bool):
        return [request_id, str(request_id)]
    return []
