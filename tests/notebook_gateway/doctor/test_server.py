"""The broker as clients start it: real processes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from native_host.build import BUILD
from notebook_gateway.doctor import server
from notebook_gateway.doctor.server import NoServer, examine_server, server_version
from notebook_gateway.serve_entry import serve_entry
from onboarding.clients import CLIENTS, ServerEntry, install
from onboarding.doctor.look import Look
from onboarding.footprint import Footprint

OTHER = """
import json, sys
for line in sys.stdin:
    ask = json.loads(line)
    if ask.get("method") == "initialize":
        info = {"name": "x", "version": "0.0.1"}
        result = {"protocolVersion": ask["params"]["protocolVersion"], "capabilities": {}, "serverInfo": info}
        print(json.dumps({"jsonrpc": "2.0", "id": ask["id"], "result": result}), flush=True)
    elif "id" in ask:
        error = {"code": -32601, "message": "no"}
        print(json.dumps({"jsonrpc": "2.0", "id": ask["id"], "error": error}), flush=True)
"""


@pytest.fixture
def look(tmp_path: Path) -> Look:
    return Look(tmp_path / "home", {"HOME": str(tmp_path)}, serve_entry(tmp_path / "home"), platform="linux")


async def test_our_own_entry_starts_a_server_of_this_version(look: Look) -> None:
    report = await examine_server(look)
    assert (report.detail, report.findings) == (f"version {BUILD}", ())


async def test_a_client_that_starts_another_version_is_named(look: Look) -> None:
    other = ServerEntry(sys.executable, ("-c", OTHER))
    install(CLIENTS["cursor"], other, look.places, Footprint(look.home))
    report = await examine_server(look)
    assert [finding.id for finding in report.findings] == ["broker.skew"]
    assert "Cursor starts version 0.0.1" in report.findings[0].detail


@pytest.mark.parametrize("code", ["raise SystemExit(3)", "print('hello'); import sys; sys.stdin.read()"])
async def test_what_is_no_server_is_told_in_time(code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "START_WITHIN_S", 2.0)
    with pytest.raises(NoServer, match="python"):
        await server_version(ServerEntry(sys.executable, ("-c", code)))


async def test_a_command_that_is_not_there_is_told() -> None:
    with pytest.raises(NoServer, match="nowhere"):
        await server_version(ServerEntry("/nowhere/python", ()))
