"""The values of results as the classes of `broker.companion`, checked at this edge. Pure.

The extension is ours but may come from another build, so each field is looked at; what does not fit is a fault of ours
that names the field and never shows its value.
"""

from __future__ import annotations

from typing import Final, cast, get_args

from attrs import frozen

from broker.companion import Identity, RpcReply, SliceReply, UploadStart, UploadState, UploadStatus
from broker.errors import InternalError
from broker.relay_frames import Result

_UPLOAD_STATES: Final[dict[str, UploadState]] = {word: word for word in get_args(UploadState)}


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


def upload_start_of(result: Result) -> UploadStart:
    """Read ``{upload, granularity_bytes}``. Raises: InternalError for another shape."""
    value = _object("upload.start", result.value)
    granularity_bytes = _maybe_size("upload.start", value, "granularity_bytes")
    if not granularity_bytes:
        raise _misfit("upload.start", "granularity_bytes", "a number of bytes above 0")
    return UploadStart(_text("upload.start", value, "upload"), granularity_bytes, result.hops)


def slice_reply_of(result: Result) -> SliceReply:
    """Read ``{next_offset, received_bytes}``, both null or none. Raises: InternalError for another shape."""
    value = _object("upload.slice", result.value)
    next_offset = _maybe_size("upload.slice", value, "next_offset")
    received_bytes = _maybe_size("upload.slice", value, "received_bytes")
    if next_offset is None or received_bytes is None:
        if next_offset is not received_bytes:
            raise _misfit("upload.slice", "received_bytes", "null exactly when `next_offset` is")
    elif received_bytes > next_offset:
        raise _misfit("upload.slice", "received_bytes", "within what the page was given")
    return SliceReply(next_offset, received_bytes, result.hops)


def upload_status_of(op: str, result: Result) -> UploadStatus:
    """Read ``{status, received_bytes}``; an active session has a number. Raises: InternalError for another shape."""
    value = _object(op, result.value)
    status = _UPLOAD_STATES.get(_text(op, value, "status"))
    if status is None:
        raise _misfit(op, "status", f"one of {', '.join(_UPLOAD_STATES)}")
    received_bytes = _maybe_size(op, value, "received_bytes")
    if status == "active" and received_bytes is None:
        raise _misfit(op, "received_bytes", "a number of bytes")
    return UploadStatus(status, received_bytes, result.hops)


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


def _maybe_size(op: str, value: dict[str, object], name: str) -> int | None:
    size_bytes = value.get(name)
    if size_bytes is None:
        return None
    if type(size_bytes) is not int or size_bytes < 0:
        raise _misfit(op, name, "a number of bytes")
    return size_bytes


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
        hint="Reload the extension so that it matches this broker; `notebook-gateway doctor` shows both builds.",
    )
