"""Entry point of the `notebook-gateway` command.

`serve` is what an MCP client starts, many times a day and under a start-up deadline. It is dispatched before anything
for people (click, rich) is imported; every other command goes through `notebook_gateway.cli`.
"""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line and exit with its status."""
    if sys.argv[1:] == ["serve"]:
        from broker.serve import run

        sys.exit(run())
    from notebook_gateway.cli import cli

    cli(prog_name="notebook-gateway")


if __name__ == "__main__":
    main()
