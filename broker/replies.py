"""The values of results as the classes of `broker.companion`, checked at this edge. Pure.

The extension is ours but may come from another build, so each field is looked at; what does not fit is a fault of ours
that names the field and never shows its value.
"""

from __future__ import annotations

from typing import cast

from attrs import frozen

from broker.companion import Identity, RpcReply
from broker.errors import InternalError
from broker.relay_frames import Result


@frozen
class StreamEnd:
    """The closing facts of an answer stream."""

    status: int
    conversation: str | None
    retry_after_s: float | None


def rpc_reply_of(result: Result) -> RpcReply:
    """Read ``{status, body, retry_after_s}``. Raises: InternalError for another shape."""
    value = _object("rpc", result.value)
    return RpcReply(
        status=_status("rpc", value),
        body=_text("rpc", value, "body"),
        retry_after_s=_retry_after_s("rpc", value),
        hops=result.hops,
    )


def identity_of(raw: object) -> Identity:
    """Read ``{account, origin, build_label}``. Raises: InternalError for another shape."""
    value = _object("identity", raw)
    return Identity(
        account=_text("identity", value, "account"),
        origin=_text("identity", value, "origin"),
        build_label=_text("identity", value, "build_label"),
    )


def status_of(raw: object) -> dict[str, object]:
    """Read the worker's account of itself, which is shown and not acted upon. Raises: InternalError if no object."""
    return _object("status", raw)


def stream_end_of(raw: object) -> StreamEnd:
    """Read ``{status, conversation, retry_after_s}``. Raises: InternalError for another shape."""
    value = _object("stream", raw)
    return StreamEnd(
        status=_status("stream", value),
        conversation=None if value.get("conversation") is None else _text("stream", value, "conversation"),
        retry_after_s=_retry_after_s("stream", value),
    )


def _object(op: str, raw: object) -> dict[str, object]:
    if not isinstance(raw, dict):
        raise _misfit(op, "value", "an object")
    return cast("dict[str, object]", raw)


def _text(op: str, value: dict[str, object], name: str) -> str:
    text = value.get(name)
    if not isinstance(text, str):
        raise _misfit(op, name, "text")
    return text


def _status(op: str, value: dict[str, object]) -> int:
    status = value.get("status")
    if type(status) is not int:
        raise _misfit(op, "status", "a whole number")
    return status


def _retry_after_s(op: str, value: dict[str, object]) -> float | None:
    seconds = value.get("retry_after_s")
    if seconds is None:
        return None
    if type(seconds) is not int and type(seconds) is not float:
        raise _misfit(op, "retry_after_s", "a number")
    return float(seconds)


def _misfit(op: str, field: str, expected: str) -> InternalError:
    return InternalError(
        f"The extension answered {op} with a `{field}` that is not {expected}; is it from another build?",
        hint="Reload the extension so that it matches this broker; `notebook-gateway status` shows both builds.",
    )
