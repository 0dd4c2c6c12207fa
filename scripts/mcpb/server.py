"""What an MCP client starts from the bundle: `serve` of the wheel that lies beside this file."""

import sys

from broker.serve import run

if __name__ == "__main__":
    sys.exit(run())
