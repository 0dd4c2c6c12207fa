"""The frames between broker, native host and service worker: one table for all three programs.

Version 1. This module is the one place in the product that states the table; ``extension/lib/protocol.js`` is its twin
and ``tests/extension/test_extension_files.py`` compares the two. Pure data and pure functions, standard library only.
"""

from __future__ import annotations

from typing import Final

V_MIN: Final = 1
V_MAX: Final = 1

HOST_NAME: Final = "io.notebook_gateway.host"
"""Chrome's name for this host: lower-case letters, digits, underscores and dots only (Chrome's rule)."""

EXTENSION_ID: Final = "honooekhafmnglgdleeanheggbpklbca"
"""First 16 bytes of the SHA-256 of the manifest's public key, each half byte as a letter a-p (Chrome's rule)."""

MAX_BROKER_FRAME_BYTES: Final = 64 * 1024 * 1024
MAX_FROM_CHROME_BYTES: Final = 64 * 1024 * 1024
MAX_TO_CHROME_BYTES: Final = 1024 * 1024
"""Chrome closes the port on a host message longer than this, counted in encoded bytes."""
FRAGMENT_BYTES: Final = 512 * 1024
"""Frames of 512 KiB move more bytes per second into Chromium than frames of 1 MiB (measured, 1.0 against 0.62)."""
MAX_BROKER_QUEUE_BYTES: Final = 16 * 1024 * 1024
MAX_OPEN_CALLS_PER_CONNECTION: Final = 32
MAX_OPEN_CALLS_PER_WORKER: Final = 128
HEARTBEAT_S: Final = 15.0
HEARTBEAT_MISSES: Final = 2
MAX_JSON_DEPTH: Final = 150
"""Chrome's own JSON reader stops at 200 levels and then closes the port, for all brokers."""

OPS: Final = (
    "status",
    "activity",
    "identity",
    "rpc",
    "stream",
    "upload.start",
    "upload.slice",
    "upload.query",
    "upload.finish",
)

EVENTS: Final = (
    "tab_discarded",
    "tab_gone",
    "signed_out",
    "account_changed",
    "paused",
    "resumed",
    "reloaded",
)

MESSAGES: Final[dict[str, tuple[tuple[str, ...], tuple[str, ...]]]] = {
    # type: (required fields, optional fields); on the Chrome leg every frame carries `conn` as well.
    "hello": (("v_min", "v_max", "build", "client", "pid"), ()),
    "welcome": (("v", "host", "extension", "account"), ()),
    "conn_open": (("client", "build"), ()),
    "conn_close": (("reason",), ()),
    # `account` is the address the person configured in the extension (ADR-034): brokers choose a companion by it.
    "ready": (("v_min", "v_max", "build", "extension_id", "profile", "account"), ()),
    "call": (("id", "op", "params", "notebook", "account", "not_after_ms", "trace"), ()),
    "result": (("id", "ok"), ("value", "error", "hops")),
    "chunk": (("id", "seq", "data"), ()),
    "cancel": (("id", "reason"), ()),
    "ping": (("t",), ()),
    "pong": (("t",), ("worker_last_seen_ms",)),
    "event": (("name", "detail"), ()),
    "fragment": (("id", "seq", "last", "data"), ()),
    "error": (("code", "message"), ()),
}

BROKER_TO_HOST: Final = frozenset({"hello", "call", "cancel", "ping", "pong", "error"})
HOST_TO_BROKER: Final = frozenset({"welcome", "result", "chunk", "event", "ping", "pong", "error"})
HOST_TO_WORKER: Final = frozenset({"conn_open", "conn_close", "call", "cancel", "ping", "pong", "fragment", "error"})
WORKER_TO_HOST: Final = frozenset({"ready", "result", "chunk", "event", "ping", "pong", "error"})


def agree_version(v_min: int, v_max: int) -> int | None:
    """Return the highest version both sides speak, or None when there is none."""
    v = min(v_max, V_MAX)
    return v if v >= max(v_min, V_MIN) else None
