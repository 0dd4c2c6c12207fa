"""Where tests find the material that is handed to developers beside the checkout: wire recordings and field cases.

The recordings quote third-party pages, so they are read in place and never copied into the repository.
"""

import json
from pathlib import Path
from typing import Any

SHARED = Path(__file__).resolve().parents[2] / "shared"


def shared_path(relative: str) -> Path:
    """Return a file of the shared material; a missing one is an error, never a skip."""
    path = SHARED / relative
    if not path.exists():
        raise FileNotFoundError(f"{relative} is missing: these tests need the `shared` folder beside the checkout")
    return path


def case_input(name: str) -> Path:
    """Return an input file of a field case, for example ``C-054-utf16-lengths.txt``."""
    return shared_path(f"cases/inputs/{name}")


def recordings(rpc_id: str, folder: str = "") -> list[dict[str, Any]]:
    """Return the recorded exchanges of one RPC id: ``{"recording", "rpc", "request", "response"}`` each."""
    path = shared_path("wire/recorded") / folder / f"{rpc_id}.jsonl"
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def recording_files() -> list[Path]:
    """Return every recorded data exchange file, `later/` and `stream/` included."""
    root = shared_path("wire/recorded")
    return sorted(path for path in root.rglob("*.jsonl"))
