"""The transport from outside: a child process, raw lines, and the clients' habits (cases A and C-034)."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import time
from pathlib import Path

import pytest
import trio

from tests.broker.stdio_peer import ENVELOPE, INITIALIZE, TEST_SERVER, Peer, child_peer, pipe_peer
from tests.broker.stdio_server import make_server
from tests.shared import case_input


async def assert_alive(peer: Peer) -> None:
    assert (await peer.request("ping", request_id="alive?"))["result"] == {}


async def test_c001_input_at_end_of_file_from_the_start_ends_the_server():
    async with child_peer() as peer:
        await peer.close_input()
        assert await peer.rest() == []
        assert await peer.exit_status() == 0


async def test_c001_end_of_file_when_idle_ends_the_server_at_once():
    async with child_peer() as peer:
        await peer.initialize()
        await peer.close_input()
        assert await peer.exit_status(within_s=1.5) == 0


async def test_end_of_file_lets_short_calls_finish_and_cancels_long_ones():
    async with child_peer() as peer:
        await peer.initialize()
        for request_id, seconds in ((1, 0.2), (2, 60)):
            params = {"name": "sleep", "arguments": {"seconds": seconds}}
            await peer.send({"jsonrpc": "2.0", "id": request_id, "method": "tools/call", "params": params})
        await peer.close_input()
        answers = {message["id"]: message for message in await peer.rest()}
        assert answers[1]["result"]["content"][0]["text"] == "done"
        assert answers[2]["error"]["code"] == -32000
        assert await peer.exit_status(within_s=2.5) == 0


async def test_a_whole_session_in_one_write_and_end_of_file_is_answered_in_full():
    async with child_peer() as peer:
        call = {
            "jsonrpc": "2.0",
            "id": 5,
            "method": "tools/call",
            "params": {"name": "echo", "arguments": {"text": "x"}},
        }
        await peer.send(INITIALIZE, call)
        await peer.close_input()
        assert [message["id"] for message in await peer.rest()] == ["init", 5]


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT])
async def test_signals_cancel_running_calls_answer_them_and_end_cleanly(signum: signal.Signals):
    async with child_peer() as peer:
        await peer.initialize()
        params = {"name": "sleep", "arguments": {"seconds": 60}}
        await peer.send({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
        await assert_alive(peer)
        peer.process.send_signal(signum)
        assert [message["id"] for message in await peer.rest()] == [1]
        assert await peer.exit_status(within_s=2.5) == 0


async def test_a_client_that_closes_our_output_ends_the_server():
    async with child_peer() as peer:
        await peer.initialize()
        assert peer.process.stdout is not None
        await peer.process.stdout.aclose()
        await peer.send({"jsonrpc": "2.0", "id": 1, "method": "ping"})
        assert await peer.exit_status() == 0


async def test_a_client_that_stops_reading_cannot_hold_the_server():
    async with child_peer() as peer:
        await peer.initialize()
        params = {"name": "big", "arguments": {"size": 2_000_000}}
        await peer.send({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
        await peer.close_input()
        assert await peer.exit_status(within_s=3) == 0


async def test_c002_discover_then_initialize():
    async with pipe_peer(make_server()) as peer:
        await peer.send_raw(case_input("C-002-discover-then-initialize.txt").read_bytes())
        answers = {message["id"]: message for message in [await peer.receive() for _ in range(3)]}
        assert answers["p1"]["result"]["supportedVersions"] == ["2026-07-28"]
        assert answers[1]["result"]["protocolVersion"] == "2025-06-18"
        assert answers[2]["result"]["tools"]


async def test_c003_a_list_before_the_initialized_notification_is_answered():
    async with pipe_peer(make_server()) as peer:
        for _ in range(100):
            await peer.send_raw(case_input("C-003-early-list.txt").read_bytes())
            answers = {message["id"]: message for message in [await peer.receive() for _ in range(2)]}
            assert answers[2]["result"]["tools"]


async def test_c002_both_eras_are_served_in_turn_on_one_pipe():
    async with pipe_peer(make_server()) as peer:
        await peer.initialize()
        for request_id in range(5):
            stateless = await peer.request("tools/list", {"_meta": ENVELOPE}, request_id=f"s{request_id}")
            assert stateless["result"]["resultType"] == "complete"
            assert "resultType" not in (await peer.request("tools/list", request_id=request_id))["result"]


@pytest.mark.parametrize("version", ["2099-01-01", "1.0", ""])
async def test_c004_an_unknown_version_is_answered_with_one_we_support(version: str):
    async with pipe_peer(make_server()) as peer:
        params = {**INITIALIZE["params"], "protocolVersion": version}
        answer = await peer.request("initialize", params)
        assert answer["result"]["protocolVersion"] == "2025-11-25"
        await assert_alive(peer)


async def test_c004_a_version_of_the_wrong_type_is_invalid_params():
    async with pipe_peer(make_server()) as peer:
        params = {**INITIALIZE["params"], "protocolVersion": 2025}
        assert (await peer.request("initialize", params))["error"]["code"] == -32602
        await assert_alive(peer)


async def test_c005_cancellation_races_never_give_two_answers():
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled"}
    call = {"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "sleep", "arguments": {"seconds": 30}}}
    quick = {"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "echo", "arguments": {"text": "q"}}}
    async with pipe_peer(make_server()) as peer:
        await peer.initialize()
        await peer.send({**cancel, "params": {"requestId": 404}})  # (a) never sent
        await peer.send({**call, "id": 1}, {**cancel, "params": {"requestId": 1}})  # (b) in one write
        await peer.send({**quick, "id": 2})
        answered = [await peer.receive()]
        await peer.send({**cancel, "params": {"requestId": 2}})  # (d) after the answer
        await peer.send({**quick, "id": 1})  # the cancelled id is free again
        answered.append(await peer.receive())
        assert [message["id"] for message in answered] == [2, 1]
        await assert_alive(peer)  # and nothing else came before its answer


async def test_c006_crlf_and_blank_lines():
    async with pipe_peer(make_server()) as peer:
        await peer.send_raw(bytes.fromhex(case_input("C-006-crlf.hex").read_text()))
        assert {message["id"] for message in [await peer.receive(), await peer.receive()]} == {1, 2}
        assert b"\r" not in peer.raw_output


async def test_c007_line_separators_are_content_on_the_way_in_and_escaped_on_the_way_out():
    async with pipe_peer(make_server()) as peer:
        await peer.initialize()
        text = "first\u2028second\u2029third\u0085end"
        line = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": "echo", "arguments": {"text": text}},
        }
        await peer.send_raw(json.dumps(line, ensure_ascii=False).encode() + b"\n")
        assert (await peer.receive_id(1))["result"]["content"][0]["text"] == text
        assert len(bytes(peer.raw_output).decode().splitlines()) == bytes(peer.raw_output).count(b"\n")


async def test_c008_a_large_message_in_small_pieces_and_in_one_write():
    async with pipe_peer(make_server()) as peer:
        await peer.initialize()
        params = {"name": "echo", "arguments": {"text": "x" * (3 << 20)}}
        line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode() + b"\n"
        for piece_bytes in (4096, len(line)):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(_send_in_pieces, peer, line, piece_bytes)
                assert len((await peer.receive_id(1))["result"]["content"][0]["text"]) == 3 << 20
        await assert_alive(peer)


async def _send_in_pieces(peer: Peer, data: bytes, piece_bytes: int) -> None:
    for start in range(0, len(data), piece_bytes):
        await peer.send_raw(data[start : start + piece_bytes])


async def test_c008_a_result_of_300_kib_is_one_line():
    async with pipe_peer(make_server()) as peer:
        await peer.initialize()
        before = bytes(peer.raw_output).count(b"\n")
        assert len((await peer.call("big", {"size": 300 << 10}))["result"]["content"][0]["text"]) == 300 << 10
        assert bytes(peer.raw_output).count(b"\n") == before + 1


async def test_c008_an_oversized_line_is_answered_and_the_next_one_served():
    async with pipe_peer(make_server(), max_line_bytes=100_000) as peer:
        await peer.initialize()
        await peer.send_raw(b"x" * 1_000_000 + b"\n")
        refusal = await peer.receive()
        assert refusal["id"] is None
        assert refusal["error"]["code"] == -32600
        assert "100000 bytes" in refusal["error"]["message"]
        await assert_alive(peer)


async def test_c009_stray_prints_and_children_reach_neither_side_of_the_wire():
    async with child_peer(stderr=subprocess.PIPE) as peer:
        await peer.initialize()
        assert (await peer.call("print"))["result"]["content"][0]["text"] == "child ended with 0"
        await peer.close_input()
        assert await peer.rest() == []
        assert peer.process.stderr is not None
        stderr = b"".join([chunk async for chunk in peer.process.stderr])
        assert b"a stray print" in stderr
        assert b"a stray write at C level" in stderr
        assert b"x" * 10240 in stderr


async def test_c010_every_shape_is_answered_and_the_server_lives():
    async with pipe_peer(make_server()) as peer:
        await peer.initialize()
        await peer.send_raw(case_input("C-010-shapes.txt").read_bytes())
        answers = [await peer.receive() for _ in range(10)]
        by_id = {message["id"]: message.get("error", {}).get("code", "ok") for message in answers if message["id"]}
        assert by_id == {3: -32600, 4: -32602, 5: -32601, 6: -32600, 7: "ok"}
        assert [message["error"]["code"] for message in answers if message["id"] is None] == [-32600] * 5


async def test_c011_unusual_ids_come_back_with_value_and_type():
    async with pipe_peer(make_server()) as peer:
        await peer.initialize()
        ids = [0, "", "0", -1, 9007199254740991, "é"]
        await peer.send(*({"jsonrpc": "2.0", "id": request_id, "method": "ping"} for request_id in ids))
        seen = [(await peer.receive())["id"] for _ in ids]
        assert {(type(value), value) for value in seen} == {(type(value), value) for value in ids}


@pytest.mark.parametrize("token", [0, "", "t1"])
async def test_c011_progress_carries_the_token_rises_and_stops_before_the_answer(token: int | str):
    async with pipe_peer(make_server()) as peer:
        await peer.initialize()
        params = {"name": "progress", "arguments": {}, "_meta": {"progressToken": token}}
        await peer.send({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
        notes = [await peer.receive() for _ in range(3)]
        assert [note["params"]["progress"] for note in notes] == [0, 1, 2]
        assert [note["params"]["progressToken"] for note in notes] == [token] * 3
        assert (await peer.receive())["id"] == 1


async def test_a_request_id_in_flight_is_refused_and_the_first_call_still_answered():
    async with pipe_peer(make_server()) as peer:
        await peer.initialize()
        params = {"name": "sleep", "arguments": {"seconds": 0.3}}
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        await peer.send(call, call)
        assert (await peer.receive())["error"]["code"] == -32600
        assert (await peer.receive())["result"]["content"][0]["text"] == "done"


async def test_a_lone_surrogate_in_a_result_fails_that_call_only():
    async with pipe_peer(make_server()) as peer:
        await peer.initialize()
        assert (await peer.call("lone_surrogate"))["error"]["code"] == -32603
        await assert_alive(peer)


async def test_the_read_loop_stays_free_while_calls_run():
    async with pipe_peer(make_server()) as peer:
        await peer.initialize()
        params = {"name": "sleep", "arguments": {"seconds": 30}}
        await peer.send(*({"jsonrpc": "2.0", "id": n, "method": "tools/call", "params": params} for n in range(50)))
        await assert_alive(peer)


@pytest.mark.parametrize("signum", [None, signal.SIGTERM])
async def test_c034_a_shared_terminal_stays_blocking(signum: signal.Signals | None):
    """stdin, stdout and stderr are one terminal, as in a shell; O_NONBLOCK would reach all who share it."""
    controller, terminal = pty.openpty()
    process = await trio.lowlevel.open_process(
        TEST_SERVER, stdin=terminal, stdout=terminal, stderr=terminal, start_new_session=True
    )
    try:
        os.write(controller, json.dumps(INITIALIZE).encode() + b"\n")
        seen = b""
        while b'"serverInfo"' not in seen:
            seen += await trio.to_thread.run_sync(os.read, controller, 65536)
        assert os.get_blocking(terminal)
        if signum is None:
            os.write(controller, b"\x04")  # end of file, as a person types it
        else:
            process.send_signal(signum)
        with trio.fail_after(5):
            assert await process.wait() == 0
        assert os.get_blocking(terminal)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
        os.close(controller)
        os.close(terminal)


async def test_c001_an_idle_server_uses_no_processor_time():
    async with child_peer() as peer:
        await peer.initialize()
        before = _cpu_ticks(peer.process.pid)
        start = time.monotonic()
        await trio.sleep(0.5)  # the measured interval itself, not a synchronisation
        assert _cpu_ticks(peer.process.pid) - before <= 2, f"in {time.monotonic() - start:.1f} s"


def _cpu_ticks(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])
