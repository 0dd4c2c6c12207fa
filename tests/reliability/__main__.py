"""The whole kill matrix, or the cells whose name holds the given words: `python -m tests.reliability [words …]`.

Verdicts are kept as they come, so a matrix that was interrupted goes on where it stopped. Once it is whole, its table
is written into `docs/reliability.md`.
"""

from __future__ import annotations

import sys

import trio

from tests.reliability.cells import open_matrix
from tests.reliability.points import all_cells
from tests.reliability.report import keep_result, read_results, write_report


async def run_matrix(words: list[str]) -> None:
    """Run the cells that have no verdict yet, one after the other, and say each as it comes."""
    known = read_results().keys()
    async with open_matrix() as run:
        for cell in all_cells():
            if cell.name in known or not all(word in cell.name for word in words):
                continue
            verdict = await run(cell)
            keep_result(verdict)
            mark = "ok  " if verdict.holds else "FAIL"
            print(
                f"{mark} {cell.name}: {verdict.outcome}, {verdict.items} item(s), {verdict.creates} create(s),"
                f" {verdict.seconds:.1f} s",
                flush=True,
            )


def main() -> int:
    trio.run(run_matrix, sys.argv[1:])
    results = read_results()
    if results.keys() == {cell.name for cell in all_cells()}:
        write_report(results)
    return 0 if all(result.holds for result in results.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
