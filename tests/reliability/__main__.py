"""The whole kill matrix, or the cells whose name holds the given words: `python -m tests.reliability [words …]`."""

from __future__ import annotations

import sys

import trio

from tests.reliability.cells import Verdict, open_matrix
from tests.reliability.points import all_cells
from tests.reliability.report import write_report


async def run_matrix(words: list[str]) -> list[Verdict]:
    """Run the cells one after the other, and say each as it comes."""
    verdicts: list[Verdict] = []
    async with open_matrix() as run:
        for cell in all_cells():
            if not all(word in cell.name for word in words):
                continue
            verdict = await run(cell)
            verdicts.append(verdict)
            mark = "ok  " if verdict.holds else "FAIL"
            print(
                f"{mark} {cell.name}: {verdict.outcome}, {verdict.items} item(s), {verdict.creates} create(s),"
                f" {verdict.seconds:.1f} s",
                flush=True,
            )
    return verdicts


def main() -> int:
    words = sys.argv[1:]
    verdicts = trio.run(run_matrix, words)
    if not words:
        write_report(verdicts)
    return 0 if verdicts and all(verdict.holds for verdict in verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
