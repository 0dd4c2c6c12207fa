"""The commands that need a browser, as a script runs them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from cdp.processes import MARK_VARIABLE, members
from harness.control import Control
from harness.emulator.seed import DEFAULT_ALLOWED, UNLISTED_ID
from native_host.build import BUILD
from tests.e2e.tool_calls import succeed

pytestmark = pytest.mark.browser

COMMAND = [sys.executable, "-P", "-m", "notebook_gateway"]


def run(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    env = {**os.environ, **variables}
    return subprocess.run([*COMMAND, *arguments], env=env, capture_output=True, text=True, timeout=120, check=False)


def test_the_demo_prints_one_document_with_a_proven_answer() -> None:
    outcome = run("demo", "--json")
    assert outcome.returncode == 0, outcome.stderr
    document = json.loads(outcome.stdout)
    assert document.keys() == {"ok", "hops", "notebooks", "question", "result"}
    assert document["ok"] is True
    names = [hop["name"] for hop in document["hops"]]
    assert {"emulator", "browser", "extension", "native host", "page", "broker", "query_notebook"} <= set(names)
    assert {notebook["id"] for notebook in document["notebooks"]} == set(DEFAULT_ALLOWED)
    citations = document["result"]["citations"]
    assert len(citations) >= 2
    assert all(citation["source_span"] for citation in citations)


def test_the_demo_shows_a_person_each_hop_the_answer_and_the_passages() -> None:
    outcome = run("demo", COLUMNS="120")
    assert outcome.returncode == 0, outcome.stderr
    for expected in ("native host", "Notebooks this agent may use", "question", "answer", "[1]", "characters"):
        assert expected in outcome.stdout


@pytest.fixture
def short_folder() -> Generator[Path]:
    """A temporary folder with a short name: Chromium puts a socket below it, whose path may have 107 bytes."""
    with tempfile.TemporaryDirectory(prefix="up-") as folder:
        yield Path(folder)


@pytest.mark.parametrize("ending", ["end of input", "SIGTERM"])
def test_harness_up_prints_one_line_serves_and_leaves_nothing(ending: str, short_folder: Path) -> None:
    mark = "up" + os.urandom(6).hex()
    env = {**os.environ, "TMPDIR": str(short_folder), MARK_VARIABLE: mark}
    process = subprocess.Popen(
        [*COMMAND, "harness", "up", "--json"], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    with process:
        document = json.loads(process.stdout.readline())
        assert document.keys() == {"env", "upstream", "browser", "socket"}
        assert document["upstream"].keys() == {"url", "address", "ca_file", "control_url", "control_token"}
        assert document["browser"].keys() == {"pid", "cdp_url"}
        status = run("status", "--json", **document["env"])
        assert status.returncode == 0, status.stdout
        report = json.loads(status.stdout)
        (companion,) = report["companions"]
        assert (companion["host_build"], companion["extension_build"]) == (BUILD, BUILD)
        assert companion["problem"] is None
        home = Path(document["env"]["NOTEBOOK_GATEWAY_HOME"])
        assert home.is_dir()
        if ending == "SIGTERM":
            process.send_signal(signal.SIGTERM)
        else:
            process.stdin.close()
        assert process.stdout.read() == b""
        assert process.wait(20) == 0
    assert members(-1, mark) == []
    assert not home.exists()
    assert list(short_folder.iterdir()) == []


async def test_allow_sets_both_lists_and_a_running_session_notices(
    chain: dict[str, Any], client: Any, control: Control
) -> None:
    try:
        allowed = run("allow", "add", UNLISTED_ID, **chain["env"])
        assert allowed.returncode == 0, allowed.stderr
        assert "extension's own list is set" in allowed.stdout
        listed = {notebook["id"] for notebook in (await succeed(client, "list_notebooks"))["notebooks"]}
        assert listed == {*DEFAULT_ALLOWED, UNLISTED_ID}
    finally:
        taken_back = run("allow", "remove", UNLISTED_ID, **chain["env"])
    assert taken_back.returncode == 0
    listed = {notebook["id"] for notebook in (await succeed(client, "list_notebooks"))["notebooks"]}
    assert listed == set(DEFAULT_ALLOWED)
