from contextlib import AbstractAsyncContextManager
from pathlib import Path
from random import Random
from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from broker.companion import AnswerChunks, Companion, Identity
from broker.companions import FIRST_PATIENCE_S, LOST_PATIENCE_S, Companions, open_companions
from broker.errors import AccountMismatch, CompanionOffline, DeadlineExceeded, InternalError, VersionSkew
from broker.fake_host import FakeCall, FakeHost, answer_with_the_call, open_fake_host
from broker.link import ClientName
from broker.relay_frames import Event
from native_host.framing import BROKER_HEADER
from native_host.paths import companion_socket, ensure_private_folder, run_folder
from tests.broker.relay_helpers import ACCOUNT, TRACEPARENT, in_s

GRACE = "grace@example.com"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    ensure_private_folder(run_folder(tmp_path))
    return tmp_path


@pytest.fixture
async def companions(home: Path) -> Any:
    async with open_companions(home, ACCOUNT, rng=Random(1)) as companions:
        yield companions


def listening(home: Path, pid: int, **more: Any) -> AbstractAsyncContextManager[FakeHost]:
    return open_fake_host(companion_socket(home, pid), **more)


async def read(companions: Companion, params: object = None, *, timeout_s: float = 30) -> str:
    reply = await companions.rpc("rLM1Ne", params, notebook="n1", deadline_s=in_s(timeout_s), traceparent=TRACEPARENT)
    return reply.body


# -- the four operations ---------------------------------------------------------------------------------------------


async def test_rpc_sends_its_id_and_params_and_returns_the_raw_body(home: Path, companions: Companions) -> None:
    async with listening(home, 1) as host:
        reply = await companions.rpc("rLM1Ne", ["n1"], notebook="n1", deadline_s=in_s(30), traceparent=TRACEPARENT)
    assert (reply.status, reply.body, reply.retry_after_s) == (200, '["n1"]', None)
    assert reply.hops.keys() == {"worker_ms", "relay_ms"}
    (call,) = host.calls
    assert (call.op, call.notebook, call.frame["account"]) == ("rpc", "n1", ACCOUNT)


async def test_identity_and_status_become_their_values(home: Path, companions: Companions) -> None:
    async def script(call: FakeCall) -> None:
        answers = {
            "identity": {"account": ACCOUNT, "origin": "https://notebook.google.com", "build_label": "b1"},
            "status": {"build": "0.1.0", "tab": None},
        }
        await call.succeed(answers[call.op])

    async with listening(home, 1, script=script) as host:
        identity = await companions.identity(refresh=True, deadline_s=in_s(30), traceparent=TRACEPARENT)
        status = await companions.status(deadline_s=in_s(30), traceparent=TRACEPARENT)
    assert identity == Identity(ACCOUNT, "https://notebook.google.com", "b1")
    assert status == {"build": "0.1.0", "tab": None}
    assert [(call.op, call.params, call.notebook) for call in host.calls] == [
        ("identity", {"refresh": True}, None),
        ("status", {}, None),
    ]


async def test_stream_wraps_its_params_and_yields_text(home: Path, companions: Companions) -> None:
    async def script(call: FakeCall) -> None:
        await call.chunk("text")
        await call.succeed({"status": 200, "conversation": "c1", "retry_after_s": None})

    async with listening(home, 1, script=script) as host:
        chunks: AnswerChunks
        async with companions.stream(["slots"], notebook="n1", deadline_s=in_s(30), traceparent=TRACEPARENT) as chunks:
            assert [text async for text in chunks] == ["text"]
            assert chunks.conversation == "c1"
    assert host.calls[0].params == {"params": ["slots"]}


async def test_an_answer_in_another_shape_is_a_fault_that_names_the_field(home: Path, companions: Companions) -> None:
    async def script(call: FakeCall) -> None:
        await call.succeed({"status": "200", "body": ""})

    async with listening(home, 1, script=script):
        with pytest.raises(InternalError, match="`status`"):
            await read(companions)


def test_it_is_what_tools_expect_of_a_companion(home: Path) -> None:
    async def main() -> None:
        async with open_companions(home, ACCOUNT) as companions:
            tools_see: Companion = companions
            assert tools_see is companions

    trio.run(main)


# -- finding the right one -------------------------------------------------------------------------------------------


async def test_nothing_is_opened_before_the_first_call(home: Path) -> None:
    async with listening(home, 1) as host, open_companions(home, ACCOUNT) as companions:
        await wait_all_tasks_blocked()
        assert host.connections == []
        await read(companions)
        assert len(host.connections) == 1
        await read(companions)
        assert len(host.connections) == 1


async def test_c039_the_companion_is_chosen_by_account_and_the_other_is_left_alone(
    home: Path, companions: Companions
) -> None:
    async with listening(home, 1) as ours, listening(home, 2, account=GRACE) as other:
        for _ in range(3):
            await read(companions)
        await wait_all_tasks_blocked()
    assert len(ours.calls) == 3
    assert other.calls == []
    assert [connection.stream.socket.fileno() for connection in other.connections] == [-1]


async def test_c039_events_of_another_accounts_companion_are_never_used(home: Path) -> None:
    heard = list[Event]()

    async def report(call: FakeCall) -> None:
        await call.connection.send({"type": "event", "name": "paused", "detail": None})
        await answer_with_the_call(call)

    async with (
        listening(home, 1, script=report),
        listening(home, 2, account=GRACE, greets_with=[{"type": "event", "name": "signed_out", "detail": None}]),
        open_companions(home, ACCOUNT, on_event=heard.append) as companions,
    ):
        await read(companions)
    assert [event.name for event in heard] == ["paused"]


async def test_c039_when_the_chosen_profile_goes_calls_fail_until_it_is_back(
    home: Path, companions: Companions, autojump_clock: MockClock
) -> None:
    async with listening(home, 2, account=GRACE) as other:
        async with listening(home, 1):
            await read(companions)
        started_at = trio.current_time()
        with pytest.raises(AccountMismatch):
            await read(companions)
        assert trio.current_time() - started_at == pytest.approx(LOST_PATIENCE_S)
        async with listening(home, 3):
            await read(companions)
        assert other.calls == []


async def test_a_wrong_account_alone_is_said_at_once(
    home: Path, companions: Companions, autojump_clock: MockClock
) -> None:
    async with listening(home, 2, account=GRACE):
        started_at = trio.current_time()
        with pytest.raises(AccountMismatch) as caught:
            await read(companions)
        assert trio.current_time() == started_at
    assert GRACE not in str(caught.value.as_error())


async def test_a_companion_that_changes_its_account_in_mid_session_is_not_used_any_more(
    home: Path, companions: Companions, autojump_clock: MockClock
) -> None:
    async with listening(home, 1) as host:
        await read(companions)
        host.account = GRACE
        await host.announce()
        await wait_all_tasks_blocked()
        with pytest.raises(AccountMismatch):
            await read(companions)
        host.account = ACCOUNT
        await read(companions)
    assert len(host.calls) == 2


async def test_stale_sockets_are_passed_over(home: Path, companions: Companions) -> None:
    for pid in (8, 9):
        with trio.socket.socket(trio.socket.AF_UNIX) as dead:
            await dead.bind(str(companion_socket(home, pid)))
    async with listening(home, 1):
        await read(companions)
    assert companions.findings is not None
    assert sorted(finding.verdict.name for finding in companions.findings) == ["MATCH", "NO_HOST", "NO_HOST"]


async def test_a_host_that_hangs_delays_but_does_not_prevent(
    home: Path, companions: Companions, nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    sock = trio.socket.socket(trio.socket.AF_UNIX)
    await sock.bind(str(companion_socket(home, 9)))
    sock.listen(5)
    with sock:
        async with listening(home, 1):
            await read(companions)


async def test_version_skew_is_said_at_once(
    home: Path, companions: Companions, nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    async def refuse(stream: trio.SocketStream) -> None:
        payload = b'{"type":"error","code":"VERSION_SKEW","message":"extension 0.0, broker 0.1: reload it"}'
        await stream.send_all(BROKER_HEADER.pack(len(payload)) + payload)

    sock = trio.socket.socket(trio.socket.AF_UNIX)
    await sock.bind(str(companion_socket(home, 9)))
    sock.listen(5)
    await nursery.start(trio.serve_listeners, refuse, [trio.SocketListener(sock)])
    started_at = trio.current_time()
    with pytest.raises(VersionSkew, match=r"extension 0\.0"):
        await read(companions)
    assert trio.current_time() == started_at


async def test_c038_without_a_browser_the_call_says_so_after_a_bounded_wait(
    home: Path, companions: Companions, autojump_clock: MockClock
) -> None:
    started_at = trio.current_time()
    with pytest.raises(CompanionOffline, match="no companion socket") as caught:
        await read(companions)
    assert trio.current_time() - started_at == pytest.approx(FIRST_PATIENCE_S)
    assert not caught.value.started
    assert caught.value.retryable


async def test_c038_a_browser_that_comes_up_meanwhile_is_used(
    home: Path, companions: Companions, nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    async def come_up() -> None:
        await trio.sleep(FIRST_PATIENCE_S / 3)
        async with listening(home, 1):
            await trio.sleep_forever()

    nursery.start_soon(come_up)
    await read(companions)


async def test_c038_a_host_whose_worker_reports_late_is_waited_for(
    home: Path, companions: Companions, autojump_clock: MockClock
) -> None:
    async with listening(home, 1) as host:
        host.has_extension, account, host.account = False, host.account, None
        async with trio.open_nursery() as nursery:
            nursery.start_soon(read, companions)
            await trio.sleep(0.5)
            assert host.calls == []
            host.has_extension, host.account = True, account
            await host.announce()


@pytest.mark.parametrize("idle_min", [10, 70])
async def test_c048_after_an_idle_stretch_the_first_call_uses_the_same_connection(
    home: Path, companions: Companions, autojump_clock: MockClock, idle_min: int
) -> None:
    async with listening(home, 1) as host:
        await read(companions)
        await trio.sleep(idle_min * 60)
        started_at = trio.current_time()
        await read(companions)
        assert trio.current_time() == started_at
        assert len(host.connections) == 1


async def test_c048_after_a_host_stood_still_for_a_minute_the_first_call_finds_it_again(
    home: Path, companions: Companions, autojump_clock: MockClock
) -> None:
    """As after a machine was suspended: heartbeats were missed, the connection is over, the host is well."""
    async with listening(home, 1) as host:
        await read(companions)
        host.answers_pings = False
        await host.connections[0].ended.wait()
        host.answers_pings = True
        started_at = trio.current_time()
        await read(companions)
        assert trio.current_time() - started_at < 10
        assert [len(connection.calls) for connection in host.connections] == [1, 1]


async def test_a_host_without_its_extension_is_named(
    home: Path, companions: Companions, autojump_clock: MockClock
) -> None:
    async with listening(home, 1, account=None) as host:
        host.has_extension = False
        with pytest.raises(CompanionOffline, match="has not reported"):
            await read(companions)


async def test_an_extension_without_an_account_is_named(
    home: Path, companions: Companions, autojump_clock: MockClock
) -> None:
    async with listening(home, 1, account=None):
        with pytest.raises(CompanionOffline, match="no account is configured"):
            await read(companions)


async def test_the_calls_own_deadline_ends_the_wait(
    home: Path, companions: Companions, autojump_clock: MockClock
) -> None:
    started_at = trio.current_time()
    with pytest.raises(CompanionOffline):
        await read(companions, timeout_s=1)
    assert trio.current_time() - started_at == pytest.approx(1)


async def test_a_call_without_time_looks_for_nothing(home: Path, companions: Companions) -> None:
    with pytest.raises(DeadlineExceeded):
        await read(companions, timeout_s=0)


async def test_many_calls_at_once_share_one_search_and_one_link(home: Path, companions: Companions) -> None:
    async with listening(home, 1) as host, trio.open_nursery() as nursery:
        for _ in range(20):
            nursery.start_soon(read, companions)
    assert len(host.connections) == 1
    assert len(host.calls) == 20


async def test_a_caller_that_leaves_does_not_end_the_search_of_another(home: Path, companions: Companions) -> None:
    async with listening(home, 1) as host, trio.open_nursery() as nursery:
        with trio.CancelScope() as scope:
            scope.cancel()
            await read(companions)
        nursery.start_soon(read, companions)
    assert len(host.calls) == 1


# -- losing it -------------------------------------------------------------------------------------------------------


async def test_after_a_link_was_lost_the_next_call_connects_anew(home: Path, companions: Companions) -> None:
    async with listening(home, 1) as first:
        await read(companions)
        await first.connections[0].hang_up()
    async with listening(home, 2) as second:
        await read(companions)
    assert (len(first.calls), len(second.calls)) == (1, 1)


async def test_a_call_that_had_left_is_never_sent_again(home: Path, companions: Companions) -> None:
    async def die(call: FakeCall) -> None:
        await call.connection.hang_up()

    async with listening(home, 1, script=die) as host:
        with pytest.raises(CompanionOffline) as caught:
            await read(companions)
        assert caught.value.started
        assert len(host.calls) == 1


async def test_a_call_that_provably_never_left_is_sent_over_the_next_link(home: Path, companions: Companions) -> None:
    async with listening(home, 1) as host:
        await read(companions, "first")
        host.may_read = trio.Event()
        async with trio.open_nursery() as nursery:
            # The first large frame is half out when the link ends: unknown. The one behind it had not begun.
            nursery.start_soon(fails_started, companions, "x" * (4 * 1024 * 1024))
            await wait_all_tasks_blocked()
            nursery.start_soon(read, companions, "behind")
            await wait_all_tasks_blocked()
            host.may_read.set()
            await host.connections[0].hang_up()
    assert [call.params["params"] for call in host.calls] == ["first", "behind"]


async def fails_started(companions: Companions, params: object) -> None:
    with pytest.raises(CompanionOffline) as caught:
        await read(companions, params)
    assert caught.value.started


async def test_a_worker_that_says_it_is_not_there_is_not_asked_again(home: Path, companions: Companions) -> None:
    async def refuse(call: FakeCall) -> None:
        await call.fail("COMPANION_OFFLINE", "not ready yet", started=False)

    async with listening(home, 1, script=refuse) as host:
        with pytest.raises(CompanionOffline, match="not ready yet"):
            await read(companions)
    assert len(host.calls) == 1


async def test_of_two_profiles_with_one_account_the_session_stays_with_the_first(
    home: Path, companions: Companions
) -> None:
    async with listening(home, 1, profile="p1") as first:
        await read(companions)
        async with listening(home, 2, profile="p2") as newer:
            await first.connections[0].hang_up()
            await read(companions)
    assert (len(first.calls), len(newer.calls)) == (2, 0)


async def test_leaving_closes_every_connection(home: Path) -> None:
    async with listening(home, 1) as host:
        async with open_companions(home, ACCOUNT) as companions:
            companions.client = ClientName("cursor", "2")
            await read(companions)
            assert repr(companions).startswith("<Companions <Link")
        await wait_all_tasks_blocked()
        assert host.connections[0].stream.socket.fileno() == -1
        assert host.received("hello")[0]["client"] == {"name": "cursor", "version": "2"}


async def test_leaving_while_a_search_runs_raises_nothing(home: Path) -> None:
    for turns in range(12):
        async with (
            listening(home, turns + 1, account=GRACE),
            open_companions(home, ACCOUNT) as companions,
            trio.open_nursery() as nursery,
        ):
            nursery.start_soon(read, companions)
            for _ in range(turns):
                await trio.lowlevel.checkpoint()
            nursery.cancel_scope.cancel()


# -- the managed browser ----------------------------------------------------------------------------------------------


async def test_the_managed_browser_is_started_by_the_first_call_that_finds_none_and_not_before(home: Path) -> None:
    starts = 0

    async with trio.open_nursery() as nursery:
        opened = trio.Event()

        async def serve_host(task_status: trio.TaskStatus[None]) -> None:
            async with listening(home, 1):
                task_status.started()
                await opened.wait()

        async def start() -> str | None:
            nonlocal starts
            starts += 1
            await nursery.start(serve_host)
            return None

        async with open_companions(home, ACCOUNT, start_browser=start) as companions:
            await wait_all_tasks_blocked()
            assert starts == 0
            assert await read(companions, ["n1"]) == '["n1"]'
            assert await read(companions, ["n2"]) == '["n2"]'
        assert starts == 1
        opened.set()


async def test_why_the_managed_browser_does_not_start_stands_in_the_error(home: Path) -> None:
    async def start() -> str | None:
        await trio.lowlevel.checkpoint()
        return "no Chrome, Chromium, Edge or Brave found"

    async with open_companions(home, ACCOUNT, start_browser=start) as companions:
        with pytest.raises(CompanionOffline, match="could not be started: no Chrome") as caught:
            await read(companions)
    assert not caught.value.started
    assert "notebook-gateway doctor" in caught.value.hint


async def test_a_browser_of_another_account_is_told_and_no_other_one_is_started(home: Path) -> None:
    async def start() -> str | None:
        raise AssertionError("the browser that runs is the person's choice")

    async with listening(home, 1, account=GRACE), open_companions(home, ACCOUNT, start_browser=start) as companions:
        with pytest.raises(AccountMismatch):
            await read(companions)


async def test_a_browser_that_takes_longer_to_start_than_the_call_has_ends_it_with_nothing_sent(
    home: Path, autojump_clock: MockClock
) -> None:
    async with open_companions(home, ACCOUNT, start_browser=trio.sleep_forever) as companions:  # type: ignore[arg-type]
        with pytest.raises(DeadlineExceeded, match="before the browser was up") as caught:
            await read(companions, timeout_s=5)
    assert not caught.value.started
