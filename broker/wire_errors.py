"""An error that came over the wire as the error an agent gets. Pure.

The worker names its errors by the codes of `broker.errors.ErrorCode`, so this is a look-up, with three details: the
unit of `retry_after`, the drift error's own fields, and codes that this build does not know.
"""

from __future__ import annotations

from typing import Final

from broker.errors import ERROR_CLASSES, CompanionOffline, ErrorCode, GatewayError, InternalError, UpstreamSchemaDrift
from broker.relay_frames import ProtocolError, WireError

PAUSED: Final = "paused"
PAUSED_HINT: Final = "Ask the person to switch the pause off in the extension's popup; until then no call will do."


def error_of_result(op: str, wire: WireError) -> GatewayError:
    """Return the error for a failed call of `op`, with the worker's detail and its word on `started`."""
    detail = _with_seconds(wire.detail)
    code = _known_code(wire.code)
    if code is None:
        text = f"the extension reported an error this build does not know ({wire.code}): {wire.message}"
        return InternalError(text, details={"wire_code": wire.code, **detail}, started=wire.started)
    if code is ErrorCode.UPSTREAM_SCHEMA_DRIFT:
        return _drift(op, wire, detail)
    if code is ErrorCode.COMPANION_OFFLINE and detail.get("reason") == PAUSED:
        return CompanionOffline(wire.message, hint=PAUSED_HINT, details=detail, retryable=False, started=wire.started)
    return ERROR_CLASSES[code](wire.message, details=detail, started=wire.started)


def is_paused(error: GatewayError) -> bool:
    """Tell whether the person has paused all agents, so that the error is theirs and not the connection's."""
    return error.details.get("reason") == PAUSED


def error_of_connection(wire: ProtocolError, *, started: bool) -> GatewayError:
    """Return the error for calls that were open when the host ended the connection with an `error` frame."""
    code = _known_code(wire.code)
    if code is None or code in (ErrorCode.INVALID_ARGUMENT, ErrorCode.UPSTREAM_SCHEMA_DRIFT):
        # Not the agent's argument: the host says that *our frame* was wrong.
        return InternalError(f"the native host refused what we sent: {wire.message}", started=started)
    return ERROR_CLASSES[code](wire.message, started=started)


def _known_code(code: str) -> ErrorCode | None:
    try:
        return ErrorCode(code)
    except ValueError:
        return None


def _with_seconds(detail: dict[str, object]) -> dict[str, object]:
    """Replace `retry_after_ms` (the wire's unit) by `retry_after_s` (the unit of every published result)."""
    retry_after_ms = detail.get("retry_after_ms")
    if type(retry_after_ms) is not int and type(retry_after_ms) is not float:
        return detail
    rest = {name: value for name, value in detail.items() if name != "retry_after_ms"}
    return {**rest, "retry_after_s": retry_after_ms / 1000}


def _drift(op: str, wire: WireError, detail: dict[str, object]) -> GatewayError:
    def text(name: str, default: str) -> str:
        value = detail.get(name)
        return value if isinstance(value, str) else default

    error = UpstreamSchemaDrift(text("rpc_id", op), text("path", "$"), text("expected", wire.message))
    error.details = {**detail, **error.details}
    error.started = wire.started
    return error
