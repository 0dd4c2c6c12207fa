"""W3C trace context: continue the caller's trace when it is valid, else begin one. Pure but for random ids.

Clients put the header's text into a request's `_meta` under the bare key `traceparent` (SEP-414).
"""

from __future__ import annotations

import re
import secrets
from contextvars import ContextVar
from typing import Final

_TRACEPARENT: Final = re.compile(
    r"(?P<version>[0-9a-f]{2})-(?P<trace_id>[0-9a-f]{32})-(?P<parent_id>[0-9a-f]{16})-(?P<flags>[0-9a-f]{2})"
    r"(?P<more>-.*)?"
)
current_tool: Final = ContextVar("current_tool", default="")
"""The tool whose call this task works for, as the person sees it in the extension's popup; empty outside of one.

Tasks that a call starts, and that may outlive it, inherit the value.
"""

_NO_TRACE: Final = "0" * 32
_NO_SPAN: Final = "0" * 16
_SAMPLED: Final = "01"


def continue_or_begin_trace(incoming: object) -> str:
    """Return the `traceparent` of a new span, in the trace of `incoming` if that is a valid header."""
    found = _TRACEPARENT.fullmatch(incoming) if isinstance(incoming, str) else None
    if found is None or not _is_valid(found):
        return _format(secrets.token_hex(16), _SAMPLED)
    return _format(found["trace_id"], found["flags"])


def child_of(traceparent: str) -> str:
    """Return the header of a new span inside the one that `traceparent` names; one of no meaning stays as it is."""
    found = _TRACEPARENT.fullmatch(traceparent)
    return traceparent if found is None else _format(found["trace_id"], found["flags"])


def span_id_of(traceparent: object) -> str | None:
    """Return the id of the span that the header names, or None when it is not valid."""
    found = _TRACEPARENT.fullmatch(traceparent) if isinstance(traceparent, str) else None
    return found["parent_id"] if found is not None and _is_valid(found) else None


def parts_of(traceparent: str) -> tuple[int, int, int] | None:
    """Return trace id, span id and flags as numbers, or None when the header is not valid."""
    found = _TRACEPARENT.fullmatch(traceparent)
    if found is None or not _is_valid(found):
        return None
    return int(found["trace_id"], 16), int(found["parent_id"], 16), int(found["flags"], 16)


def _is_valid(found: re.Match[str]) -> bool:
    """Apply the rules of the recommendation: version ff is forbidden, 00 has no fifth part, zero ids mean nothing."""
    if found["version"] == "ff" or (found["version"] == "00" and found["more"] is not None):
        return False
    return found["trace_id"] != _NO_TRACE and found["parent_id"] != _NO_SPAN


def _format(trace_id: str, flags: str) -> str:
    return f"00-{trace_id}-{secrets.token_hex(8)}-{flags}"
