"""`notebook-gateway serve` as a client starts it, without a browser."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from broker.tools import TOOLS
from tests.broker.stdio_peer import REPOSITORY, ChildPeer, child_peer

SERVE = (sys.executable, "-P", "-m", "notebook_gateway", "serve")


def make_home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    home.mkdir(exist_ok=True)
    (home / "config.toml").write_text('account = "ada@example.com"\n')
    return home


@asynccontextmanager
async def serve(home: Path, cwd: Path, **environ: str) -> AsyncGenerator[ChildPeer]:
    env = {"NOTEBOOK_GATEWAY_HOME": str(home), "PYTHONPATH": str(REPOSITORY), **environ}
    async with child_peer(SERVE, environ=env, cwd=cwd, stderr=subprocess.PIPE) as peer:
        yield peer


async def stderr_of(peer: ChildPeer) -> str:
    assert peer.process.stderr is not None
    return b"".join([chunk async for chunk in peer.process.stderr]).decode()


async def test_without_a_browser_every_call_is_one_clear_envelope_and_the_process_lives(tmp_path: Path):
    """C-001, C-009, C-012: also with all warnings shown, and nothing left behind."""
    home = make_home(tmp_path)
    async with serve(home, tmp_path, PYTHONWARNINGS="default") as peer:
        await peer.initialize()
        listed = (await peer.request("tools/list"))["result"]["tools"]
        assert [tool["name"] for tool in listed] == [tool.name for tool in TOOLS]
        offline = (await peer.call("list_notebooks"))["result"]
        assert offline["isError"] is True
        envelope = offline["structuredContent"]
        assert envelope["error"]["code"] == "COMPANION_OFFLINE"
        assert envelope["error"]["retryable"] is True
        assert json.loads(offline["content"][0]["text"]) == envelope
        for name in ("list_sources", "get_notebook_metadata"):
            result = (await peer.call(name))["result"]
            assert result["structuredContent"]["error"]["code"] == "SESSION_UNLOCKED"
        wrong = {"question": "q", "request_key": "k", "source_ids": '["a"]'}
        result = (await peer.call("query_notebook", wrong))["result"]
        assert result["structuredContent"]["error"]["code"] == "INVALID_ARGUMENT"
        assert result["_meta"]["mcp_correlation_id"] == "k"
        assert (await peer.request("ping"))["result"] == {}
        await peer.close_input()
        assert await peer.rest() == []
        assert await peer.exit_status(within_s=2) == 0
        assert await stderr_of(peer) == ""
    lines = (home / "logs" / "broker.log").read_text().splitlines()
    assert any("COMPANION_OFFLINE" in json.loads(line)["message"] for line in lines)
    assert sorted(path.name for path in home.iterdir() if path.name != "run") == ["config.toml", "logs"]


async def test_a_call_that_waits_for_a_browser_ends_with_the_client(tmp_path: Path):
    async with serve(make_home(tmp_path), tmp_path) as peer:
        await peer.initialize()
        await peer.send({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "list_notebooks"}})
        await peer.close_input()
        assert [message["id"] for message in await peer.rest()] == [1]
        assert await peer.exit_status(within_s=2) == 0


async def test_a_missing_and_a_broken_configuration_are_errors_of_the_call(tmp_path: Path):
    home = make_home(tmp_path)
    (home / "config.toml").unlink()
    async with serve(home, tmp_path) as peer:
        await peer.initialize()
        error = (await peer.call("list_notebooks"))["result"]["structuredContent"]["error"]
        assert error["code"] == "AUTH_REQUIRED"
        assert str(home / "config.toml") in error["hint"]
        (home / "config.toml").write_text('acount = "ada@example.com"')
        error = (await peer.call("list_notebooks"))["result"]["structuredContent"]["error"]
        assert "unknown key 'acount'" in error["message"]
        (home / "config.toml").write_text('account = "ada@example.com"')
        error = (await peer.call("list_notebooks"))["result"]["structuredContent"]["error"]
        assert error["code"] == "COMPANION_OFFLINE"


async def test_a_home_that_cannot_be_is_said_and_ends_the_start(tmp_path: Path):
    async with child_peer(
        SERVE, environ={"NOTEBOOK_GATEWAY_HOME": "relative", "PYTHONPATH": str(REPOSITORY)}, stderr=subprocess.PIPE
    ) as peer:
        assert await peer.rest() == []
        assert await peer.exit_status() == 2
        assert "absolute path" in await stderr_of(peer)


@pytest.fixture(scope="module")
def imported_at_start() -> set[str]:
    """The modules that are there when `serve` can answer `initialize` and `tools/list`."""
    program = "import sys, broker.serve as s; s._import_quickly(); print(*sys.modules)"
    env = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    done = subprocess.run([sys.executable, "-P", "-c", program], env=env, check=True, capture_output=True, text=True)
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "module",
    [
        "rich",
        "cattrs",
        "jsonschema",
        "tomllib",
        "sqlite3",
        "broker.upstream",
        "broker.companions",
        "broker.batchexecute",
        "broker.citations",
        "broker.relay_frames",
        "cdp",
        "harness",
        "onboarding",
    ],
)
def test_nothing_is_imported_at_start_that_only_a_call_needs(module: str, imported_at_start: set[str]):
    assert module not in imported_at_start


def test_everything_that_answers_initialize_is_imported_at_start(imported_at_start: set[str]):
    assert {"broker.mcp_server", "broker.tools.query_notebook", "broker.stdio_transport", "trio"} <= imported_at_start
