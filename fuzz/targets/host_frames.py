"""Whatever the host sends, the broker reads a frame of the table or raises `BadHostFrame`, and the value of a result is
read as what an op promises or as `INTERNAL`, whose text can be shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from broker.errors import InternalError
from broker.relay_frames import BadHostFrame, Result, parse_host_frame_untrusted
from broker.replies import (
    identity_of,
    rpc_reply_of,
    slice_reply_of,
    status_of,
    stream_end_of,
    upload_start_of,
    upload_status_of,
)
from broker.wire_errors import error_of_result
from fuzz.targets import native_messages
from tests.native_host.fakes import dump

READERS: Final[tuple[Callable[[Result], object], ...]] = (
    rpc_reply_of,
    upload_start_of,
    slice_reply_of,
    lambda result: upload_status_of("upload.query", result),
    lambda result: identity_of(result.value),
    lambda result: status_of(result.value),
    lambda result: stream_end_of(result.value),
)


def one_input(data: bytes) -> None:
    try:
        frame = parse_host_frame_untrusted(data)
    except BadHostFrame as error:
        str(error).encode()
        return
    if not isinstance(frame, Result):
        return
    if frame.error is not None:
        error_of_result("rpc", frame.error).message.encode()
        return
    for read in READERS:
        try:
            read(frame)
        except InternalError as error:
            error.message.encode()


def seeds() -> Iterator[bytes]:
    for lines in native_messages.seeds():
        yield from lines.split(b"\n")
    values: tuple[object, ...] = (
        {"account": "ada@example.com", "origin": "https://notebooklm.google.com", "build_label": "b"},
        {"status": 200, "conversation": "c", "retry_after_s": 1.5},
        {"upload": "u1", "granularity_bytes": 262144},
        {"next_offset": 10, "received_bytes": 3},
        {"status": "active", "received_bytes": 3},
    )
    for value in values:
        yield dump({"type": "result", "id": 1, "ok": True, "value": value, "hops": {"page_ms": 1.5}})
    extension = {"build": "1", "id": "a", "profile": "p"}
    host = {"build": "1", "pid": 4}
    yield dump({"type": "welcome", "v": 1, "host": host, "extension": extension, "account": None})
    yield dump({"type": "pong", "worker_last_seen_ms": 4})
