"""Section A of the field cases against the real `serve` process, with an empty private home and no browser.

What needs a tool that misbehaves is in `test_stdio_transport.py`; what needs an answer of the service, in
`test_mcp_server.py`.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import trio

from broker.tools import TOOLS
from tests.broker.stdio_peer import INITIALIZE, REPOSITORY, ChildPeer, child_peer
from tests.broker.test_serve import SERVE
from tests.shared import case_input

TALKATIVE = """
import os, sys

class Talkative:
    '''Stands in for a dependency that prints while it is imported: `cattrs` is imported by the first call of a tool.'''

    def find_spec(self, name, path=None, target=None):
        if name == "cattrs":
            print("a stray print", flush=True)
            os.write(1, b"a stray write at C level" + bytes([10]))
            sys.stdout.write("a stray text that is left to the exit")
        return None

sys.meta_path.insert(0, Talkative())
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir(mode=0o700)
    return folder


@asynccontextmanager
async def serving(home: Path, *python_path: Path, stderr: Any = None, **environ: str) -> AsyncGenerator[ChildPeer]:
    path = ":".join(map(str, (*python_path, REPOSITORY)))
    env = {"NOTEBOOK_GATEWAY_HOME": str(home), "PYTHONPATH": path, **environ}
    async with child_peer(SERVE, environ=env, cwd=home.parent, stderr=stderr) as peer:
        yield peer


def files_left_in(home: Path) -> list[str]:
    """Sockets and locks included."""
    return [str(path.relative_to(home)) for path in home.rglob("*") if not path.is_dir()]


def set_account(home: Path) -> None:
    """With an account, a call looks for a browser for a moment; without one, it is refused at once."""
    (home / "config.toml").write_text('account = "ada@example.com"\n')


async def assert_alive(peer: ChildPeer) -> None:
    assert (await peer.request("ping", request_id="alive?"))["result"] == {}


async def answers_to(peer: ChildPeer, count: int) -> dict[Any, dict[str, Any]]:
    """Return the next `count` answers by id; two for one id are an error of the server."""
    answers = [await peer.receive() for _ in range(count)]
    by_id = {answer["id"]: answer for answer in answers}
    assert len(by_id) == count
    return by_id


@pytest.mark.parametrize("is_greeted", [False, True], ids=["input ended before the start", "after the handshake"])
async def test_c001_end_of_file_ends_the_process_and_the_next_one_starts_at_once(home: Path, is_greeted: bool):
    for _ in range(2):
        async with serving(home) as peer:
            if is_greeted:
                await peer.initialize()
            await peer.close_input()
            assert await peer.rest() == []
            assert await peer.exit_status(within_s=5) == 0
        assert files_left_in(home) == ["logs/broker.log"]


async def test_c002_a_probe_is_answered_and_the_handshake_works_after_it(home: Path):
    async with serving(home) as peer:
        await peer.send_raw(case_input("C-002-discover-then-initialize.txt").read_bytes())
        answers = await answers_to(peer, 3)
        assert answers["p1"]["result"]["supportedVersions"] == ["2026-07-28"]
        assert answers[1]["result"]["protocolVersion"] == "2025-06-18"
        assert [tool["name"] for tool in answers[2]["result"]["tools"]] == [tool.name for tool in TOOLS]
        with trio.fail_after(1):
            await assert_alive(peer)


async def test_c003_every_tool_is_listed_before_the_initialized_notification_came(home: Path):
    async with serving(home) as peer:
        await peer.send_raw(case_input("C-003-early-list.txt").read_bytes())
        listed = (await answers_to(peer, 2))[2]["result"]["tools"]
        assert [tool["name"] for tool in listed] == [tool.name for tool in TOOLS]
        await assert_alive(peer)


@pytest.mark.parametrize("version", ["2099-01-01", "1.0", "", 2025])
async def test_c004_an_unknown_version_is_never_echoed(home: Path, version: object):
    async with serving(home) as peer:
        answer = await peer.request("initialize", {**INITIALIZE["params"], "protocolVersion": version})
        if isinstance(version, str):
            assert answer["result"]["protocolVersion"] == "2025-11-25"
        else:
            assert answer["error"]["code"] == -32602
        await assert_alive(peer)


async def test_c005_a_call_that_was_cancelled_in_time_is_not_answered(home: Path):
    """The calls wait for a browser meanwhile."""
    set_account(home)
    cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled"}
    call = {"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "list_notebooks", "arguments": {}}}
    async with serving(home) as peer:
        await peer.initialize()
        await peer.send({**cancelled, "params": {"requestId": 404}})  # (a) never sent
        await assert_alive(peer)
        await peer.send({**call, "id": 1}, {**cancelled, "params": {"requestId": 1}})  # (b) in one write
        await assert_alive(peer)
        await peer.send({**call, "id": 2})
        assert (await peer.receive())["id"] == 2
        await peer.send({**cancelled, "params": {"requestId": 2}})  # (d) after its answer
        await assert_alive(peer)
        await peer.close_input()
        assert await peer.rest() == []


async def test_c006_carriage_returns_are_taken_and_never_sent(home: Path):
    async with serving(home) as peer:
        await peer.send_raw(bytes.fromhex(case_input("C-006-crlf.hex").read_text()))
        assert (await answers_to(peer, 2)).keys() == {1, 2}
        assert b"\r" not in peer.raw_output


async def test_c007_a_question_with_line_separators_is_one_message(home: Path):
    async with serving(home) as peer:
        await peer.initialize()
        await peer.send_raw(case_input("C-007-line-separators.txt").read_bytes())
        answer = (await peer.receive_id(9))["result"]["structuredContent"]
        assert answer["error"]["code"] == "SESSION_UNLOCKED"
        assert answer["_meta"]["mcp_correlation_id"] == "rk-1"
        await assert_alive(peer)


async def test_c008_three_mebibytes_meet_the_same_limit_in_pieces_and_in_one_write(home: Path):
    async with serving(home) as peer:
        await peer.initialize()
        arguments = {"question": "x" * (3 << 20), "request_key": "k"}
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
        line = json.dumps({**call, "params": {"name": "query_notebook", "arguments": arguments}}).encode() + b"\n"
        refusals: list[object] = []
        for piece_bytes in (4096, len(line)):
            for start in range(0, len(line), piece_bytes):
                await peer.send_raw(line[start : start + piece_bytes])
            refusals.append((await peer.receive_id(1))["result"]["structuredContent"]["error"])
        assert refusals[0] == refusals[1]
        assert isinstance(refusals[0], dict)
        assert refusals[0]["code"] == "INVALID_ARGUMENT"
        assert "question" in refusals[0]["message"]
        assert "20000" in refusals[0]["message"]
        await assert_alive(peer)


async def test_c009_a_dependency_that_prints_at_the_first_call_does_not_reach_the_wire(home: Path, tmp_path: Path):
    """Also with every warning and every import told on standard error."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(TALKATIVE)
    loud = {"PYTHONWARNINGS": "always", "PYTHONVERBOSE": "1"}
    with (tmp_path / "stderr").open("wb") as stderr:
        async with serving(home, tmp_path / "site", stderr=stderr, **loud) as peer:
            await peer.initialize()
            assert (await peer.call("list_notebooks"))["result"]["isError"] is True
            await peer.close_input()
            assert await peer.rest() == []
            assert await peer.exit_status() == 0
            assert b"stray" not in peer.raw_output
    said = (tmp_path / "stderr").read_text()
    assert "a stray print" in said
    assert "a stray write at C level" in said


async def test_c010_odd_shapes_are_answered_and_the_process_lives(home: Path):
    async with serving(home) as peer:
        await peer.initialize()
        await peer.send_raw(case_input("C-010-shapes.txt").read_bytes())
        answers = [await peer.receive() for _ in range(10)]
        codes = {answer["id"]: answer.get("error", {}).get("code") for answer in answers if answer["id"] is not None}
        assert codes == {3: -32600, 4: -32602, 5: -32601, 6: -32600, 7: None}
        assert [answer["error"]["code"] for answer in answers if answer["id"] is None] == [-32600] * 5
        await assert_alive(peer)


async def test_c011_ids_come_back_with_their_value_and_type(home: Path):
    async with serving(home) as peer:
        await peer.initialize()
        for request_id in (0, "", "0", -1, 9007199254740991, "é"):
            assert (await peer.request("ping", request_id=request_id))["result"] == {}


async def test_c012_every_failure_conforms_to_the_schema_its_tool_published(home: Path):
    set_account(home)
    calls: list[tuple[str, dict[str, object], str]] = [
        ("list_notebooks", {}, "COMPANION_OFFLINE"),
        ("list_sources", {}, "SESSION_UNLOCKED"),
        *((tool.name, {"unknown": 1}, "INVALID_ARGUMENT") for tool in TOOLS),
    ]
    async with serving(home) as peer:
        await peer.initialize()
        listed = (await peer.request("tools/list"))["result"]["tools"]
        schemas = {tool["name"]: tool["outputSchema"] for tool in listed}
        for tool, arguments, code in calls:
            result = (await peer.call(tool, arguments))["result"]
            assert result["isError"] is True
            jsonschema.validate(result["structuredContent"], schemas[tool], cls=jsonschema.Draft202012Validator)
            assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
            assert result["structuredContent"]["error"]["code"] == code
