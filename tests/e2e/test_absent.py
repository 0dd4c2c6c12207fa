"""Something is missing: browser, host, extension, account, allowlist, project file.

The agent gets one envelope that says so, soon; the process lives; and as soon as the thing appears the next call works.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest
import trio

from harness.control import Control
from harness.emulator.seed import LIGHTHOUSE_ID
from harness.home import write_configuration
from harness.mcp_client import SERVE_COMMAND, McpClient, open_client
from native_host.paths import (
    HOME_VARIABLE,
    allowlist_file,
    companion_socket,
    companion_sockets,
    config_file,
    ensure_private_folder,
    run_folder,
)
from tests.e2e.tool_calls import fail, select, succeed
from tests.native_host.fakes import FakeChrome, wait_for

ACCOUNT = "ada@example.com"
SOON_S = 10.0
"""Before an agent's person loses patience; clients give up after 60 s."""
CONFIRM = {"notebook_id": LIGHTHOUSE_ID, "save_for_project": False}

BROKEN_CONFIGURATIONS = (
    b"",
    b'account = "ada@example.com',
    b"account = 7\n",
    b'acount = "ada@example.com"\n',
    b"\xff\xfe",
    b"account = ''",
)
BROKEN_ALLOWLISTS = (
    b"",
    b"{",
    b'"*"',
    b'{"version": 2, "accounts": {}}',
    b'{"version": 1, "accounts": {"ada@example.com": {"notebooks": ["everything"]}}}',
    b'{"version": 1, "accounts": {"ada@example.com": "*"}}',
)
BROKEN_PROJECT_FILES = (
    b"",
    b"{",
    b"[]",
    b'{"notebook_id": 7}',
    b'{"notebook_id": "../../etc/passwd"}',
    b"\xff",
    b"[" * 60_000,
)


@asynccontextmanager
async def client_at(home: Path) -> AsyncGenerator[McpClient]:
    """A client of a `serve` process on this home folder, after its handshake."""
    async with open_client(SERVE_COMMAND, env={HOME_VARIABLE: str(home)}) as client:
        with trio.fail_after(30):
            await client.initialize()
        yield client


async def fail_soon(client: McpClient, tool: str = "list_notebooks", **arguments: object) -> dict[str, Any]:
    """Make a call that must fail within `SOON_S`; afterwards the process must answer as before."""
    with trio.fail_after(SOON_S):
        error = await fail(client, tool, dict(arguments))
        assert error["hint"]
        assert await client.request("ping", {}) == {}
        assert len((await client.request("tools/list", {}))["tools"]) == 9
    return error


@contextmanager
def aside(*paths: Path) -> Generator[None]:
    """Take files away for the length of the block. A socket that is renamed goes on listening, unseen."""
    hidden = [(path, path.with_name(f"{path.name}.aside")) for path in paths]
    for path, hidden_path in hidden:
        path.rename(hidden_path)
    try:
        yield
    finally:
        for path, hidden_path in hidden:
            hidden_path.replace(path)


@contextmanager
def replaced(path: Path, content: bytes) -> Generator[None]:
    """Give a file another content for the length of the block."""
    with aside(path):
        path.write_bytes(content)
        yield


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home folder with a configured account and one allowed notebook, and no browser."""
    folder = tmp_path / "home"
    ensure_private_folder(run_folder(folder))
    write_configuration(folder, ACCOUNT, [LIGHTHOUSE_ID])
    return folder


@pytest.fixture
def chain_home(chain: dict[str, Any], control: Control) -> Path:
    """The home folder of the running chain, with the emulator put back to its seed."""
    return Path(chain["env"][HOME_VARIABLE])


def dead_pid() -> int:
    """The id of a process that has ended."""
    ended = subprocess.Popen([sys.executable, "-I", "-S", "-c", ""])
    ended.wait()
    return ended.pid


def leave_stale_socket(home: Path) -> Path:
    """Bind a socket and go without removing it, as a host does that was killed."""
    path = companion_socket(home, dead_pid())
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(path))
    return path


# -- no browser ------------------------------------------------------------------------------------------------------


async def test_without_a_browser_every_call_says_so_soon(home: Path) -> None:
    async with client_at(home) as client:
        for tool, arguments in (("list_notebooks", {}), ("select_notebook", CONFIRM)):
            error = await fail_soon(client, tool, **arguments)
            assert (error["code"], error["retryable"]) == ("COMPANION_OFFLINE", True)
            assert "notebook-gateway doctor" in error["hint"]


async def test_without_any_folder_of_ours_serve_answers_all_the_same(tmp_path: Path) -> None:
    """A first start, before anything was set up."""
    async with client_at(tmp_path / "not" / "there") as client:
        error = await fail_soon(client)
        assert error["code"] == "AUTH_REQUIRED"
        assert "config.toml" in error["hint"]


async def test_c032_left_over_sockets_of_dead_hosts_are_no_browser_and_no_obstacle(home: Path) -> None:
    for _ in range(3):
        leave_stale_socket(home)
    async with client_at(home) as client:
        error = await fail_soon(client)
        assert error["code"] == "COMPANION_OFFLINE"
        assert "3 left-over socket(s)" in error["message"]


async def test_a_plain_file_in_place_of_the_socket_is_no_browser(home: Path) -> None:
    companion_socket(home, dead_pid()).write_text("not a socket")
    async with client_at(home) as client:
        assert (await fail_soon(client))["code"] == "COMPANION_OFFLINE"


async def test_a_host_that_accepts_and_never_speaks_is_given_up_soon(home: Path) -> None:
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(companion_socket(home, dead_pid())))
        silent.listen()
        async with client_at(home) as client:
            assert (await fail_soon(client))["code"] == "COMPANION_OFFLINE"


async def test_a_host_whose_extension_never_reports_is_named_as_that(home: Path) -> None:
    with FakeChrome(home) as chrome:
        wait_for(chrome.socket_path.exists, "socket")
        async with client_at(home) as client:
            error = await fail_soon(client)
            assert (error["code"], error["retryable"]) == ("COMPANION_OFFLINE", True)
            assert "extension" in error["message"]
            assert "chrome://extensions" in error["hint"]


# -- and then it appears ---------------------------------------------------------------------------------------------


@pytest.mark.browser
async def test_a_browser_that_appears_later_is_found_by_the_next_call(chain_home: Path) -> None:
    async with client_at(chain_home) as client:
        with aside(*companion_sockets(chain_home)):
            assert (await fail_soon(client))["code"] == "COMPANION_OFFLINE"
        assert (await succeed(client, "list_notebooks"))["notebooks"]


@pytest.mark.browser
async def test_a_browser_is_found_beside_stale_sockets_and_hosts_that_never_report(chain_home: Path) -> None:
    with FakeChrome(chain_home) as chrome:  # newer than the good one, so it is tried first
        wait_for(chrome.socket_path.exists, "socket")
        stale = leave_stale_socket(chain_home)
        try:
            async with client_at(chain_home) as client:
                assert (await succeed(client, "list_notebooks"))["notebooks"]
        finally:
            stale.unlink()
        chrome.close_port()


@pytest.mark.browser
async def test_an_extension_that_reports_while_the_call_waits_is_used(chain_home: Path) -> None:
    """The browser starts beside the agent: the first call waits a little instead of failing."""
    hidden = companion_sockets(chain_home)
    async with client_at(chain_home) as client, trio.open_nursery() as nursery:
        with aside(*hidden), FakeChrome(chain_home) as chrome:
            wait_for(chrome.socket_path.exists, "socket")
            nursery.start_soon(succeed, client, "list_notebooks")
            await trio.to_thread.run_sync(chrome.receive_type, "conn_open")
            chrome.close_port()


@pytest.mark.browser
async def test_an_account_that_is_configured_later_is_used_by_the_next_call(chain_home: Path) -> None:
    async with client_at(chain_home) as client:
        with aside(config_file(chain_home)):
            error = await fail_soon(client)
            assert error["code"] == "AUTH_REQUIRED"
            assert str(config_file(chain_home)) in error["hint"]
        assert (await succeed(client, "list_notebooks"))["notebooks"]


@pytest.mark.browser
async def test_a_broken_configuration_is_named_and_mending_it_is_enough(chain_home: Path) -> None:
    async with client_at(chain_home) as client:
        for content in BROKEN_CONFIGURATIONS:
            with replaced(config_file(chain_home), content):
                error = await fail_soon(client)
                assert error["code"] == "AUTH_REQUIRED"
                assert "config.toml" in error["message"]
        assert (await succeed(client, "list_notebooks"))["notebooks"]


# -- allowlist and project file --------------------------------------------------------------------------------------


@pytest.mark.browser
async def test_without_an_allowlist_nothing_is_allowed_and_the_person_is_told_how_to_allow(chain_home: Path) -> None:
    async with client_at(chain_home) as client:
        with aside(allowlist_file(chain_home)):
            listed = await succeed(client, "list_notebooks")
            assert listed["notebooks"] == []
            assert "notebook-gateway allow add" in listed["user_prompt"]
            error = await fail_soon(client, "select_notebook", **CONFIRM)
            assert error["code"] == "ALLOWLIST_DENIED"
            assert error["details"]["side"] == "broker"
            assert f"notebook-gateway allow add {LIGHTHOUSE_ID}" in error["hint"]
        assert (await succeed(client, "list_notebooks"))["notebooks"]


@pytest.mark.browser
async def test_a_broken_allowlist_allows_nothing_even_in_a_locked_session(chain_home: Path) -> None:
    """Never "allow" by mistake, and never the last good copy: the person may have taken a permission back."""
    async with client_at(chain_home) as client:
        await select(client)
        for content in BROKEN_ALLOWLISTS:
            with replaced(allowlist_file(chain_home), content):
                for tool in ("list_notebooks", "list_sources"):
                    error = await fail_soon(client, tool)
                    assert error["code"] == "ALLOWLIST_DENIED"
                    assert str(allowlist_file(chain_home)) in error["hint"]
        assert (await succeed(client, "list_sources"))["sources"]


@pytest.mark.browser
async def test_a_permission_that_is_taken_back_ends_a_locked_sessions_reads(chain_home: Path, control: Control) -> None:
    async with client_at(chain_home) as client:
        await select(client)
        nothing = {"version": 1, "accounts": {ACCOUNT: {"notebooks": []}}}
        with replaced(allowlist_file(chain_home), json.dumps(nothing).encode()):
            control.clear_requests()
            question = {"question": "What is it?", "request_key": "taken-back"}
            for tool, arguments in (("get_notebook_metadata", {}), ("list_sources", {}), ("query_notebook", question)):
                assert (await fail_soon(client, tool, **arguments))["code"] == "ALLOWLIST_DENIED"
            assert control.requests() == []
        assert (await succeed(client, "list_sources"))["sources"]


@pytest.mark.browser
async def test_a_broken_project_file_is_ignored_with_a_reason_and_replaced_by_a_selection(
    chain_home: Path, tmp_path: Path
) -> None:
    project_file = tmp_path / ".notebook_mcp.json"
    async with open_client(SERVE_COMMAND, env={HOME_VARIABLE: str(chain_home)}, cwd=tmp_path) as client:
        await client.initialize()
        for content in BROKEN_PROJECT_FILES:
            project_file.write_bytes(content)
            config = (await succeed(client, "list_notebooks"))["project_config"]
            assert config["status"] == "ignored"
            assert config["reason"]
        selected = await succeed(client, "select_notebook", {"notebook_id": LIGHTHOUSE_ID})
        assert selected["project_file"]["saved"] is True
        assert json.loads(project_file.read_bytes())["notebook_id"] == LIGHTHOUSE_ID
