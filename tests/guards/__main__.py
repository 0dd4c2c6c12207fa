"""Take each guard away and see its test fail: `python -m tests.guards` (that is `make guard-check`).

Each guarantee's test first has to pass in an unchanged copy of the tree, then to fail in a copy with the change of
`guards.toml` made. A change that does not fit the source any more, a test that does not run, and a test that passes
without its guard all end with status 1.

    python -m tests.guards [--only M-05] [--jobs 2]
    python -m tests.guards --table    print the made part of docs/guarantees.md
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

import trio
from attrs import frozen

from tests.guards.guarantees import ROOT, Guarantee, load, table

TEST_TIMEOUT_S: Final = 180.0
NODE_PASSED: Final = re.compile(rb"^# pass (\d+)$", re.MULTILINE)
NODE_FAILED: Final = re.compile(rb"^# (?:fail|cancelled) (\d+)$", re.MULTILINE)
PYTEST_PASSED: Final = re.compile(rb"\b(\d+) passed\b")
PYTEST_FAILED: Final = re.compile(rb"\b(\d+) failed\b")


@frozen
class Ran:
    passed: int
    failed: int
    status: int
    output: bytes


class Copy:
    """A copy of the tracked tree, with what tests need beside it. One guard at a time."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "main"
        tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
        for name in filter(None, os.fsdecode(tracked).split("\0")):
            source = ROOT / name
            if source.is_file():
                target = self.root / name
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source, target)
        for beside in (ROOT.parent / "shared", ROOT / "node_modules"):
            if beside.exists():
                place = folder if beside.parent == ROOT.parent else self.root
                (place / beside.name).symlink_to(beside)

    async def check(self, guarantee: Guarantee) -> str | None:
        """Return what is wrong with the guard, or None when its test passes with it and fails without it."""
        path = self.root / guarantee.module
        source = path.read_text(encoding="utf-8")
        if source.count(guarantee.old) != 1:
            return f"the change fits {source.count(guarantee.old)} places of {guarantee.module}, not one"
        with_guard = await self._run(guarantee)
        if with_guard.status != 0 or not with_guard.passed:
            return f"the test does not pass with the guard in place:\n{_end(with_guard)}"
        path.write_text(source.replace(guarantee.old, guarantee.new), encoding="utf-8")
        try:
            without = await self._run(guarantee)
        finally:
            path.write_text(source, encoding="utf-8")
        if not without.failed:
            return f"no test fails without the guard (status {without.status}):\n{_end(without)}"
        return None

    async def _run(self, guarantee: Guarantee) -> Ran:
        if guarantee.is_node:
            only = [f"--test-name-pattern=^{re.escape(guarantee.test_name)}$"] if guarantee.test_name else []
            command = ["node", "--test", "--test-reporter=tap", *only, guarantee.test_file]
            passed, failed = NODE_PASSED, NODE_FAILED
        else:
            command = [sys.executable, "-P", "-m", "pytest", "-q", "-p", "no:cacheprovider", guarantee.test]
            passed, failed = PYTEST_PASSED, PYTEST_FAILED
        env = {**os.environ, "PYTHONPATH": str(self.root), "PYTHONDONTWRITEBYTECODE": "1"}
        with trio.fail_after(TEST_TIMEOUT_S):
            ended = await trio.run_process(
                command,
                cwd=self.root,
                env=env,
                check=False,
                capture_stdout=True,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
            )
        return Ran(
            passed=sum(map(int, passed.findall(ended.stdout))),
            failed=sum(map(int, failed.findall(ended.stdout))),
            status=ended.returncode,
            output=ended.stdout,
        )


def _end(ran: Ran) -> str:
    return ran.output[-1500:].decode("utf-8", "replace")


async def check_all(guarantees: list[Guarantee], jobs: int) -> int:
    """Check all guards, `jobs` at a time; return how many do not hold."""
    waiting = list(reversed(guarantees))
    broken: list[str] = []

    async def work() -> None:
        with tempfile.TemporaryDirectory(prefix="notebook-gateway-guards-") as folder:
            copy = Copy(Path(folder))
            while waiting:
                guarantee = waiting.pop()
                problem = await copy.check(guarantee)
                print(f"{'ok  ' if problem is None else 'FAIL'} {guarantee.item}: {guarantee.promise}", flush=True)
                if problem is not None:
                    broken.append(f"{guarantee.item} ({guarantee.module}, {guarantee.test}): {problem}")

    async with trio.open_nursery() as nursery:
        for _ in range(jobs):
            nursery.start_soon(work)
    for text in broken:
        print(f"\n{text}")
    print(f"\n{len(guarantees) - len(broken)} of {len(guarantees)} guards hold: their tests fail without them.")
    return len(broken)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help="item, such as M-05")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    guarantees = load()
    if options.table:
        print(table(guarantees), end="")
        return
    chosen = [each for each in guarantees.guarantee if options.only in (None, each.item)]
    sys.exit(1 if trio.run(check_all, chosen, options.jobs) or not chosen else 0)


if __name__ == "__main__":
    main()
