"""Calls, sessions and events over a transport that the test holds the other end of."""

import pytest
import trio
import trio.testing

from cdp.connection import Connection, run_connection
from cdp.errors import CallFailed, CdpError, ConnectionLost, SessionDetached
from tests.cdp.fakes import MemoryTransport


class Call:
    """A call made by a task of its own, and what came of it."""

    def __init__(self) -> None:
        self.result: object = None
        self.error: CdpError | None = None
        self.scope = trio.CancelScope()

    async def make(self, connection: Connection, method: str, session_id: str | None = None) -> None:
        with self.scope:
            try:
                self.result = await connection.call(method, {}, session_id)
            except CdpError as error:
                self.error = error


async def test_answers_find_their_callers_in_any_order(nursery):
    transport = MemoryTransport()
    async with run_connection(transport) as connection:
        calls = [Call(), Call()]
        for call in calls:
            nursery.start_soon(call.make, connection, "Browser.getVersion")
        ids = [(await transport.next_command())["id"] for _ in calls]
        for call_id in reversed(ids):
            transport.say({"id": call_id, "result": {"for": call_id}})
        await trio.testing.wait_all_tasks_blocked()
        assert {call.result["for"] for call in calls} == set(ids)  # type: ignore[index]
        assert connection.pending_count == 0


async def test_an_error_answer_names_the_method_and_the_code(nursery):
    transport = MemoryTransport()
    async with run_connection(transport) as connection:
        call = Call()
        nursery.start_soon(call.make, connection, "Extensions.loadUnpacked")
        command = await transport.next_command()
        transport.say({"id": command["id"], "error": {"code": -32601, "message": "wasn't found"}})
        await trio.testing.wait_all_tasks_blocked()
        assert isinstance(call.error, CallFailed)
        assert call.error.code == -32601
        assert str(call.error) == "Extensions.loadUnpacked: wasn't found (-32601)"


async def test_every_pending_call_fails_with_the_reason_when_the_browser_dies(nursery):
    transport = MemoryTransport()
    async with run_connection(transport) as connection:
        calls = [Call() for _ in range(5)]
        for call in calls:
            nursery.start_soon(call.make, connection, "Target.getTargets")
        for _ in calls:
            await transport.next_command()
        assert repr(connection) == "<Connection 5 pending, 0 event streams, open>"
        transport.hang_up()
        await trio.testing.wait_all_tasks_blocked()
        assert [str(call.error) for call in calls] == ["the fake browser hung up"] * 5
        assert len({id(call.error) for call in calls}) == 5
        with pytest.raises(ConnectionLost, match="the fake browser hung up"):
            await connection.call("Browser.getVersion")
        with connection.events("Target.targetCreated") as events, pytest.raises(ConnectionLost):
            await anext(events)


async def test_a_call_that_waits_for_the_writer_fails_as_well(nursery):
    """The fake browser reads nothing, so the commands queue up behind the writer task."""
    transport = MemoryTransport()
    async with run_connection(transport) as connection:
        calls = [Call() for _ in range(100)]
        for call in calls:
            nursery.start_soon(call.make, connection, "Browser.getVersion")
        await trio.testing.wait_all_tasks_blocked()
        transport.hang_up()
        await trio.testing.wait_all_tasks_blocked()
        assert all(isinstance(call.error, ConnectionLost) for call in calls)
        assert connection.pending_count == 0


async def test_a_cancelled_call_leaves_no_entry_and_its_late_answer_means_nothing(nursery):
    transport = MemoryTransport()
    async with run_connection(transport) as connection:
        call, next_call = Call(), Call()
        nursery.start_soon(call.make, connection, "Runtime.evaluate")
        late = await transport.next_command()
        call.scope.cancel()
        await trio.testing.wait_all_tasks_blocked()
        assert connection.pending_count == 0
        transport.say({"id": late["id"], "result": {"late": True}})
        nursery.start_soon(next_call.make, connection, "Browser.getVersion")
        command = await transport.next_command()
        transport.say({"id": command["id"], "result": {"mine": True}})
        await trio.testing.wait_all_tasks_blocked()
        assert next_call.result == {"mine": True}


async def test_a_cancelled_caller_never_leaves_half_a_command_on_the_wire(nursery):
    """Commands are written by one task: the caller's cancel does not reach into a write."""
    transport = MemoryTransport()
    async with run_connection(transport) as connection:
        call = Call()
        nursery.start_soon(call.make, connection, "Runtime.evaluate")
        await trio.testing.wait_all_tasks_blocked()
        call.scope.cancel()
        await trio.testing.wait_all_tasks_blocked()
        assert (await transport.next_command())["method"] == "Runtime.evaluate"


async def test_calls_of_a_detached_session_fail_because_chrome_never_answers_them(nursery):
    transport = MemoryTransport()
    async with run_connection(transport) as connection:
        in_session, outside = Call(), Call()
        nursery.start_soon(in_session.make, connection, "Runtime.evaluate", "S")
        nursery.start_soon(outside.make, connection, "Browser.getVersion")
        for _ in range(2):
            await transport.next_command()
        with connection.session("S").events("Page.loadEventFired") as events:
            transport.say({"method": "Target.detachedFromTarget", "params": {"sessionId": "S", "targetId": "T"}})
            with pytest.raises(SessionDetached):
                await anext(events)
        await trio.testing.wait_all_tasks_blocked()
        assert isinstance(in_session.error, SessionDetached)
        assert connection.pending_count == 1


@pytest.mark.parametrize("text", ["no json", "[]", '{"error":{"code":-32700,"message":"cannot parse"}}'])
async def test_a_peer_that_breaks_the_protocol_ends_the_connection_with_that_reason(nursery, text):
    transport = MemoryTransport()
    async with run_connection(transport) as connection:
        call = Call()
        nursery.start_soon(call.make, connection, "Browser.getVersion")
        await transport.next_command()
        transport.browser.send_nowait(text)
        await trio.testing.wait_all_tasks_blocked()
        assert isinstance(call.error, ConnectionLost)


async def test_events_go_to_each_subscriber_and_stop_with_its_block():
    transport = MemoryTransport()
    async with run_connection(transport) as connection:
        with connection.events("A.a") as first, connection.events("A.a", "B.b") as second:
            transport.say({"method": "B.b", "params": {}})
            transport.say({"method": "A.a", "params": {"n": 1}})
            assert (await anext(second)).method == "B.b"
            assert (await anext(first)).params == (await anext(second)).params == {"n": 1}
        assert repr(connection) == "<Connection 0 pending, 0 event streams, open>"


async def test_leaving_the_block_fails_the_calls_of_other_tasks(nursery):
    transport = MemoryTransport()
    call = Call()
    async with run_connection(transport) as connection:
        nursery.start_soon(call.make, connection, "Browser.getVersion")
        await transport.next_command()
    await trio.testing.wait_all_tasks_blocked()
    assert str(call.error) == "the connection was closed by its owner"
