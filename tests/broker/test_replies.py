import contextlib
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.companion import Identity, RpcReply, SliceReply, UploadStart, UploadStatus
from broker.errors import InternalError
from broker.relay_frames import Result
from broker.replies import (
    StreamEnd,
    identity_of,
    rpc_reply_of,
    slice_reply_of,
    status_of,
    stream_end_of,
    upload_start_of,
    upload_status_of,
)

RPC: dict[str, object] = {"status": 200, "body": ")]}'", "retry_after_s": None}
IDENTITY: dict[str, object] = {"account": "a@b", "origin": "https://notebook.google.com", "build_label": "b"}
END: dict[str, object] = {"status": 429, "conversation": "c1", "retry_after_s": 30}
START: dict[str, object] = {"upload": "up-1", "granularity_bytes": 262144}
SLICE: dict[str, object] = {"next_offset": 524288, "received_bytes": 262144}
UPLOAD: dict[str, object] = {"status": "active", "received_bytes": 0}
HOPS = {"worker_ms": 1.0}


def result(value: object) -> Result:
    return Result(1, value, None, {"worker_ms": 1.0})


def read_rpc(value: object) -> RpcReply:
    return rpc_reply_of(result(value))


def read_start(value: object) -> UploadStart:
    return upload_start_of(result(value))


def read_slice(value: object) -> SliceReply:
    return slice_reply_of(result(value))


def read_upload(value: object) -> UploadStatus:
    return upload_status_of("upload.query", result(value))


READERS: dict[int, Callable[[object], object]] = {
    id(RPC): read_rpc,
    id(IDENTITY): identity_of,
    id(END): stream_end_of,
    id(START): read_start,
    id(SLICE): read_slice,
    id(UPLOAD): read_upload,
}


def test_each_value_becomes_its_class() -> None:
    reply = rpc_reply_of(result(RPC))
    assert (reply.status, reply.body, reply.retry_after_s, reply.hops) == (200, ")]}'", None, {"worker_ms": 1.0})
    assert identity_of(IDENTITY) == Identity("a@b", "https://notebook.google.com", "b")
    assert stream_end_of(END) == StreamEnd(429, "c1", 30.0)
    assert status_of({"tab": None}) == {"tab": None}
    assert read_start(START) == UploadStart("up-1", 262144, HOPS)
    assert read_slice(SLICE) == SliceReply(524288, 262144, HOPS)
    assert read_upload(UPLOAD) == UploadStatus("active", 0, HOPS)


def test_fields_that_may_be_missing_may_be_missing() -> None:
    assert rpc_reply_of(result({"status": 200, "body": ""})).retry_after_s is None
    assert stream_end_of({"status": 400}) == StreamEnd(400, None, None)
    assert read_slice({"next_offset": None, "received_bytes": None}) == SliceReply(None, None, HOPS)
    for word in ("final", "cancelled", "expired"):
        assert read_upload({"status": word, "received_bytes": None}).received_bytes is None


@pytest.mark.parametrize(
    ("read", "value"),
    [
        (read_start, START | {"granularity_bytes": 0}),
        (read_start, START | {"granularity_bytes": None}),
        (read_start, START | {"granularity_bytes": -262144}),
        (read_slice, SLICE | {"next_offset": None}),
        (read_slice, SLICE | {"received_bytes": None}),
        (read_slice, SLICE | {"received_bytes": 524289}),
        (read_slice, SLICE | {"next_offset": -1}),
        (read_upload, UPLOAD | {"status": "paused"}),
        (read_upload, UPLOAD | {"received_bytes": None}),
        (read_upload, UPLOAD | {"received_bytes": 1.5}),
    ],
)
def test_what_an_upload_cannot_be_is_refused_at_the_edge(read: Callable[[object], object], value: object) -> None:
    """A wrong number here would be a hole in somebody's file."""
    with pytest.raises(InternalError):
        read(value)


@pytest.mark.parametrize(
    ("good", "field"),
    [(RPC, "status"), (RPC, "body"), (RPC, "retry_after_s")]
    + [(IDENTITY, name) for name in IDENTITY]
    + [(END, name) for name in END]
    + [(START, name) for name in START]
    + [(SLICE, name) for name in SLICE]
    + [(UPLOAD, name) for name in UPLOAD],
)
def test_a_field_of_another_type_is_a_fault_that_names_it_and_hides_its_value(
    good: dict[str, object], field: str
) -> None:
    read = READERS[id(good)]
    wrongs: tuple[object, ...] = ({"secret": 1}, [], True)
    for wrong in wrongs:
        with pytest.raises(InternalError, match=f"`{field}`") as caught:
            read(good | {field: wrong})
        assert "secret" not in caught.value.message


@given(
    st.one_of(
        st.none(),
        st.text(),
        st.lists(st.integers()),
        st.dictionaries(
            st.sampled_from(["status", "body", "account", "origin", "upload", "next_offset", "received_bytes"]),
            st.none() | st.integers() | st.text(),
        ),
    )
)
def test_no_other_error_leaves_a_reader(value: object) -> None:
    for read in (*READERS.values(), status_of):
        with contextlib.suppress(InternalError):
            read(value)
