"""Each example of `cdp/README.md`, run as it stands there in a process of its own, prints what the page says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from cdp.launcher import BROWSER_ARGS_VARIABLE

pytestmark = pytest.mark.browser

README = Path(__file__).resolve().parents[2] / "cdp" / "README.md"
EXAMPLE = re.compile(r"```python\n(?P<code>.*?)```\n\n```text\n(?P<prints>.*?)```", re.DOTALL)
EXAMPLES = list(EXAMPLE.finditer(README.read_text(encoding="utf-8")))
FLAGS = "--headless=new --no-first-run" + (" --no-sandbox" if os.geteuid() == 0 else "")


def test_every_example_says_what_it_prints() -> None:
    assert len(EXAMPLES) == README.read_text(encoding="utf-8").count("```python") == 4


@pytest.mark.parametrize("example", EXAMPLES, ids=["start", "sessions", "events", "deadlines"])
def test_an_example_prints_what_the_page_says(example: re.Match[str], tmp_path: Path) -> None:
    file = tmp_path / "example.py"
    file.write_text(example["code"], encoding="utf-8")
    ended = subprocess.run(
        [sys.executable, "-W", "error", str(file)],
        env={**os.environ, BROWSER_ARGS_VARIABLE: FLAGS},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout == example["prints"]
