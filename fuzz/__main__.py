"""Run the targets under atheris: `python -m fuzz --seconds 60` (that is `make fuzz SECONDS=60`).

Prints one row per target: what it ran, how much it covered, how it ended. An input that breaks an invariant is kept in
`fuzz/found/`, its traceback is shown, and the status is 1. What a run learned is kept in `fuzz/corpus.d/` for the next.

    python -m fuzz [--seconds 60] [--only TARGET ...] [--jobs 2] [--markdown]
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from typing import Final

import trio
from attrs import frozen

from fuzz.target import NAMES, load

ROOT: Final = Path(__file__).resolve().parents[1]
CORPUS: Final = ROOT / "fuzz" / "corpus.d"
FOUND: Final = ROOT / "fuzz" / "found"
MAX_INPUT_BYTES: Final = 64 * 1024
INPUT_TIMEOUT_S: Final = 20
MAX_MEMORY_MB: Final = 2048
START_S: Final = 90.0
"""Imports under instrumentation and the first pass over the corpus, which libFuzzer does not count."""

EXECUTIONS: Final = re.compile(rb"^stat::number_of_executed_units:\s*(\d+)", re.MULTILINE)
SLOWEST_S: Final = re.compile(rb"^stat::slowest_unit_time_sec:\s*(\d+)", re.MULTILINE)
COVERAGE: Final = re.compile(rb"\bcov: (\d+) ")


@frozen
class Ran:
    """One target's run. `trouble` is what it printed when it found something or did not run, else empty."""

    name: str
    seeds: int
    executions: int
    covered_edges: int
    slowest_s: int
    trouble: str


async def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m fuzz")
    parser.add_argument("--seconds", type=int, default=60, help="how long each target runs")
    parser.add_argument("--only", nargs="+", choices=NAMES, default=NAMES, metavar="TARGET")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="how many targets run at a time")
    parser.add_argument("--markdown", action="store_true", help="print the table of docs/reliability.md")
    options = parser.parse_args()
    done: list[Ran] = []
    limiter = trio.CapacityLimiter(options.jobs)
    async with trio.open_nursery() as nursery:
        for name in options.only:
            nursery.start_soon(_run, name, options.seconds, limiter, done)
    done.sort(key=lambda ran: ran.name)
    print(_table(done) if options.markdown else "\n".join(_row(ran) for ran in done))
    for ran in done:
        if ran.trouble:
            print(f"\n{ran.name}:\n{ran.trouble}", file=sys.stderr)
    total = sum(ran.executions for ran in done)
    print(f"\n{total:,} inputs tried in {len(done)} targets, {sum(bool(ran.trouble) for ran in done)} in trouble")
    return 1 if any(ran.trouble for ran in done) else 0


async def _run(name: str, seconds: int, limiter: trio.CapacityLimiter, done: list[Ran]) -> None:
    async with limiter:
        learned, seeds = CORPUS / name, CORPUS / f"{name}.seeds"
        learned.mkdir(parents=True, exist_ok=True)
        count = _write_seeds(name, seeds)
        found = FOUND / name
        found.mkdir(parents=True, exist_ok=True)
        command = (
            *(sys.executable, "-P", "-m", "fuzz.run_one", name),
            *(str(learned), str(seeds), str(found)),  # what was found once is tried again until it is mended
            f"-max_total_time={seconds}",
            f"-max_len={MAX_INPUT_BYTES}",
            f"-timeout={INPUT_TIMEOUT_S}",
            f"-rss_limit_mb={MAX_MEMORY_MB}",
            f"-artifact_prefix={found}{os.sep}",
            "-print_final_stats=1",
        )
        with trio.move_on_after(seconds + START_S) as patience:
            ended = await trio.run_process(
                command,
                cwd=ROOT,
                env={**os.environ, "PYTHONPATH": str(ROOT)},
                capture_stdout=True,
                stderr=subprocess.STDOUT,
                check=False,
            )
        if patience.cancelled_caught:
            done.append(Ran(name, count, 0, 0, 0, f"gave no sign of life for {START_S:.0f} s beyond its time"))
            return
        done.append(read_output(name, count, ended.returncode, ended.stdout))


def _write_seeds(name: str, folder: Path) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    names: set[str] = set()
    for seed in load(name).seeds():
        digest = sha256(seed).hexdigest()[:20]
        (folder / digest).write_bytes(seed)
        names.add(digest)
    return len(names)


def read_output(name: str, seeds: int, status: int, output: bytes) -> Ran:
    """Return what libFuzzer's statistics say; a run that tried nothing beyond its seeds is trouble as well."""
    executions = int(_last(EXECUTIONS, output))
    is_clean = status == 0 and executions > seeds
    trouble = "" if is_clean else f"status {status}\n" + output[-6000:].decode(errors="replace")
    return Ran(name, seeds, executions, int(_last(COVERAGE, output)), int(_last(SLOWEST_S, output)), trouble)


def _last(pattern: re.Pattern[bytes], output: bytes) -> bytes:
    matches = pattern.findall(output)
    return matches[-1] if matches else b"0"


def _row(ran: Ran) -> str:
    verdict = "TROUBLE" if ran.trouble else "clean"
    return f"{ran.name:<16} {ran.executions:>12,} inputs  {ran.covered_edges:>6} edges  {ran.seeds:>4} seeds  {verdict}"


def _table(done: list[Ran]) -> str:
    head = "| target | seeds | inputs tried | edges covered | broken invariants |\n|---|---:|---:|---:|---:|"
    rows = (
        f"| `{ran.name}` | {ran.seeds} | {ran.executions:,} | {ran.covered_edges} | {int(bool(ran.trouble))} |"
        for ran in done
    )
    return "\n".join((head, *rows))


if __name__ == "__main__":
    raise SystemExit(trio.run(main))
