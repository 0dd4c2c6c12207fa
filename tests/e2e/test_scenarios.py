"""`notebook-gateway harness run` as somebody's CI runs it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

pytestmark = pytest.mark.browser

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "scenarios.toml"
COMMAND = (sys.executable, "-P", "-m", "notebook_gateway", "harness", "run")


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *map(str, arguments)], capture_output=True, text=True, timeout=120, check=False)


def test_the_example_of_the_docs_passes_on_two_browsers_and_is_reported(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    ended = run(EXAMPLE, "--junit", report, "--browsers", "2")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "4 of 4 scenarios passed" in ended.stdout
    suite = ElementTree.parse(report).getroot()
    assert (suite.attrib["tests"], suite.attrib["failures"], suite.attrib["errors"]) == ("4", "0", "0")


def test_a_scenario_that_fails_or_cannot_run_is_said_and_the_next_one_starts_afresh(tmp_path: Path) -> None:
    file = tmp_path / "scenarios.toml"
    file.write_text(
        """
        [[scenario]]
        name = "fails"
        [[scenario.step]]
        fault = { rpc = "wXbhsf", fault = "http_error", http_status = 500 }
        [[scenario.step]]
        call = "list_sources"
        [[scenario]]
        name = "no such fault"
        [[scenario.step]]
        fault = { rpc = "wXbhsf", fault = "earthquake" }
        [[scenario]]
        name = "passes"
        [[scenario.step]]
        call = "list_notebooks"
        """,
        encoding="utf-8",
    )
    report = tmp_path / "report.xml"
    ended = run(file, "--junit", report)
    assert ended.returncode == 1, ended.stdout + ended.stderr
    assert "1 of 3 scenarios passed" in ended.stdout
    failed, broken, passed = ElementTree.parse(report).getroot()
    assert "step 2 (call list_sources): expected success, got SESSION_UNLOCKED" in failed[0].attrib["message"]
    assert broken[0].tag == "error"
    assert broken[0].attrib["message"].startswith("step 1 (fault earthquake on wXbhsf): ControlRefused: ")
    assert list(passed) == []


def test_a_file_that_is_wrong_ends_with_status_2_and_says_where(tmp_path: Path) -> None:
    file = tmp_path / "scenarios.toml"
    file.write_text(
        '[[scenario]]\nname = "n"\n[[scenario.step]]\ncall = "a"\nbrowser = "stop_worker"', encoding="utf-8"
    )
    ended = run(file)
    assert ended.returncode == 2
    assert "scenario 'n', step 1" in ended.stderr
