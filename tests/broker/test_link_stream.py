import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from broker.errors import InternalError, StreamSevered
from broker.link_stream import LinkStream
from broker.parking import wake
from broker.pending import OpenCall, PendingCalls
from broker.relay_frames import Chunk, Result
from broker.spans import OpenSpan

SPAN = OpenSpan("request", "rpc", "00-x", None)

END: dict[str, object] = {"status": 200, "conversation": "c1", "retry_after_s": None}


def open_stream() -> tuple[PendingCalls, OpenCall, LinkStream]:
    pending = PendingCalls()
    call = pending.open("stream", 9.0, SPAN, is_stream=True)
    return pending, call, LinkStream(call)


async def test_pieces_that_wait_and_pieces_that_come_are_read_in_order(nursery: trio.Nursery) -> None:
    pending, call, stream = open_stream()
    got = list[str]()

    async def read() -> None:
        async for text in stream:
            got.append(text)  # what is there before the end is looked at below

    pending.maybe_add_chunk(Chunk(call.id, 0, "a"))
    nursery.start_soon(read)
    await wait_all_tasks_blocked()
    assert got == ["a"]
    pending.maybe_add_chunk(Chunk(call.id, 1, "b"))
    pending.maybe_add_chunk(Chunk(call.id, 2, "c"))
    pending.maybe_resolve(Result(call.id, END, None, {"fetch_ms": 4.0}))
    wake(call)
    await wait_all_tasks_blocked()
    assert got == ["a", "b", "c"]
    assert (stream.status, stream.conversation, stream.retry_after_s) == (200, "c1", None)
    assert stream.hops == {"fetch_ms": 4.0}
    with pytest.raises(StopAsyncIteration):
        await anext(stream)


@pytest.mark.parametrize("name", ["status", "conversation", "retry_after_s", "hops"])
async def test_the_closing_facts_cannot_be_read_before_the_end(name: str) -> None:
    pending, call, stream = open_stream()
    pending.maybe_resolve(Result(call.id, END, None, {}))
    with pytest.raises(RuntimeError):
        getattr(stream, name)


async def test_what_had_come_is_given_before_the_error() -> None:
    pending, call, stream = open_stream()
    pending.maybe_add_chunk(Chunk(call.id, 0, "half"))
    pending.settle(call, StreamSevered("eof"))
    assert await anext(stream) == "half"
    for _ in range(2):
        with pytest.raises(StreamSevered):
            await anext(stream)
    with pytest.raises(RuntimeError):
        _ = stream.status


async def test_an_end_in_another_shape_is_a_fault_of_ours() -> None:
    pending, call, stream = open_stream()
    pending.maybe_resolve(Result(call.id, None, None, {}))
    with pytest.raises(InternalError):
        await anext(stream)


async def test_a_cancelled_reader_loses_no_piece() -> None:
    pending, call, stream = open_stream()
    pending.maybe_add_chunk(Chunk(call.id, 0, "kept"))
    with trio.CancelScope() as scope:
        scope.cancel()
        await anext(stream)
    assert await anext(stream) == "kept"
