"""The commands as a person or script runs them, without a browser."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from native_host.build import BUILD

NOTEBOOK = "1a9e7e00-0001-4a00-8b00-000000000001"


def run(home: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run the command with a private home and closed input, as a script would."""
    env = {"PATH": os.environ["PATH"], "HOME": str(home), "NOTEBOOK_GATEWAY_HOME": str(home), "COLUMNS": "200"}
    return subprocess.run(
        [sys.executable, "-P", "-m", "notebook_gateway", *arguments],
        env={**env, **variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home folder with an account and nothing allowed."""
    (tmp_path / "config.toml").write_text('account = "ada@example.com"\n')
    return tmp_path


def test_the_version_is_the_build(home: Path) -> None:
    assert run(home, "--version").stdout.strip() == f"notebook-gateway {BUILD}"


@pytest.mark.parametrize("command", [["demo"], ["harness", "up", "--json"], ["harness", "up"]])
def test_a_browser_that_is_not_there_is_one_clear_sentence(home: Path, command: list[str]) -> None:
    outcome = run(home, *command, NOTEBOOK_GATEWAY_BROWSER="/nonexistent/chromium")
    assert outcome.returncode == 1
    assert "NOTEBOOK_GATEWAY_BROWSER" in outcome.stderr
    assert "/nonexistent/chromium" in outcome.stderr
    assert "Traceback" not in outcome.stderr


def test_what_is_allowed_is_written_shown_and_taken_back(home: Path) -> None:
    added = run(home, "allow", "add", NOTEBOOK.upper())
    assert added.returncode == 0
    assert "extension keeps its own list" in added.stdout
    stored = json.loads((home / "allowlist.json").read_text())
    assert stored == {"version": 1, "accounts": {"ada@example.com": {"notebooks": [NOTEBOOK]}}}
    assert json.loads(run(home, "allow", "list", "--json").stdout)["notebooks"] == [NOTEBOOK]
    assert run(home, "allow", "remove", NOTEBOOK).returncode == 0
    assert json.loads(run(home, "allow", "list", "--json").stdout)["notebooks"] == []


def test_everything_is_allowed_only_by_its_own_option(home: Path) -> None:
    assert run(home, "allow", "add").returncode == 1
    assert run(home, "allow", "add", NOTEBOOK, "--all").returncode == 1
    assert run(home, "allow", "add", "*").returncode == 1
    assert not (home / "allowlist.json").exists()
    assert run(home, "allow", "add", "--all").returncode == 0
    assert json.loads(run(home, "allow", "list", "--json").stdout)["notebooks"] == "*"


def test_a_broken_allowlist_is_left_as_it_is(home: Path) -> None:
    (home / "allowlist.json").write_text("{broken")
    outcome = run(home, "allow", "add", NOTEBOOK)
    assert outcome.returncode == 1
    assert "next:" in outcome.stderr
    assert (home / "allowlist.json").read_text() == "{broken"


def test_without_an_account_the_command_says_what_to_write(tmp_path: Path) -> None:
    outcome = run(tmp_path, "allow", "list")
    assert outcome.returncode == 1
    assert "config.toml" in outcome.stderr


def test_status_without_a_browser_says_which_hop_is_missing(home: Path) -> None:
    outcome = run(home, "status", "--json", NOTEBOOK_GATEWAY_BROWSER_ARGS="--mute-audio")
    report = json.loads(outcome.stdout)
    assert outcome.returncode == 1
    assert (report["ok"], report["build"], report["account"]) == (False, BUILD, "ada@example.com")
    assert report["companions"] == []
    assert report["problems"]
    assert report["environment"] == {"NOTEBOOK_GATEWAY_BROWSER_ARGS": "--mute-audio"}
    assert "NOTEBOOK_GATEWAY_BROWSER_ARGS" in run(home, "status", NOTEBOOK_GATEWAY_BROWSER_ARGS="--mute-audio").stdout


def test_serve_imports_nothing_that_is_for_people(home: Path) -> None:
    """Start-up is under every client's deadline; what each import costs is measured in bench/serve_start.py."""
    script = (
        "import sys, json\n"
        "sys.argv = ['notebook-gateway', 'serve']\n"
        "from notebook_gateway.__main__ import main\n"
        "import os\n"
        "def report(code):\n"
        "    sys.stderr.write(json.dumps(sorted(name.split('.')[0] for name in sys.modules)))\n"
        "    sys.stderr.flush()\n"
        "    real_exit(code)\n"
        "real_exit, os._exit = os._exit, report\n"
        "main()\n"
    )
    outcome = subprocess.run(
        [sys.executable, "-P", "-c", script],
        env={"PATH": os.environ["PATH"], "HOME": str(home), "NOTEBOOK_GATEWAY_HOME": str(home)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    loaded = set(json.loads(outcome.stderr.splitlines()[-1]))
    assert "mcp" in loaded
    assert not loaded & {"rich", "harness", "hypercorn", "trustme", "onboarding"}
    assert "notebook_gateway.cli" not in loaded
