import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.companion import Identity, RpcReply
from broker.errors import InternalError
from broker.relay_frames import Result
from broker.replies import StreamEnd, identity_of, rpc_reply_of, status_of, stream_end_of

RPC: dict[str, object] = {"status": 200, "body": ")]}'", "retry_after_s": None}
IDENTITY: dict[str, object] = {"account": "a@b", "origin": "https://notebook.google.com", "build_label": "b"}
END: dict[str, object] = {"status": 429, "conversation": "c1", "retry_after_s": 30}


def result(value: object) -> Result:
    return Result(1, value, None, {"worker_ms": 1.0})


def read_rpc(value: object) -> RpcReply:
    return rpc_reply_of(result(value))


def test_each_value_becomes_its_class() -> None:
    reply = rpc_reply_of(result(RPC))
    assert (reply.status, reply.body, reply.retry_after_s, reply.hops) == (200, ")]}'", None, {"worker_ms": 1.0})
    assert identity_of(IDENTITY) == Identity("a@b", "https://notebook.google.com", "b")
    assert stream_end_of(END) == StreamEnd(429, "c1", 30.0)
    assert status_of({"tab": None}) == {"tab": None}


def test_fields_that_may_be_missing_may_be_missing() -> None:
    assert rpc_reply_of(result({"status": 200, "body": ""})).retry_after_s is None
    assert stream_end_of({"status": 400}) == StreamEnd(400, None, None)


@pytest.mark.parametrize(
    ("good", "field"),
    [(RPC, "status"), (RPC, "body"), (RPC, "retry_after_s")]
    + [(IDENTITY, name) for name in IDENTITY]
    + [(END, name) for name in END],
)
def test_a_field_of_another_type_is_a_fault_that_names_it_and_hides_its_value(
    good: dict[str, object], field: str
) -> None:
    read = {id(RPC): read_rpc, id(IDENTITY): identity_of, id(END): stream_end_of}[id(good)]
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
            st.sampled_from(["status", "body", "account", "origin"]), st.none() | st.integers() | st.text()
        ),
    )
)
def test_no_other_error_leaves_a_reader(value: object) -> None:
    for read in (identity_of, stream_end_of, status_of, read_rpc):
        with contextlib.suppress(InternalError):
            read(value)
