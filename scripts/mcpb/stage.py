"""Fill a folder with what the .mcpb bundle holds: manifest, start script, our wheel, and the project that `uv` runs.

Usage: python scripts/mcpb/stage.py FOLDER WHEEL
The dependencies come from PyPI when the client starts the server for the first time; a bundle that carried them would
have to be built per platform.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

from broker.tools import TOOLS
from native_host.build import BUILD

HERE = Path(__file__).parent

PYPROJECT = """\
[project]
name = "notebook-gateway-bundle"
version = "{build}"
requires-python = ">=3.11"
dependencies = ["notebook-gateway"]

[tool.uv]
package = false

[tool.uv.sources]
notebook-gateway = {{ path = "{wheel}" }}
"""


def manifest() -> dict[str, object]:
    """Return the bundle's manifest; version and tools come from the code."""
    return {
        "manifest_version": "0.4",
        "name": "notebook-gateway",
        "display_name": "Notebook Gateway",
        "version": BUILD,
        "description": "Your Google notebooks as MCP tools, executed inside your own signed-in Chrome page.",
        "long_description": "Needs a browser that `notebook-gateway onboard` has set up on this machine, once.",
        "author": {"name": "Notebook Gateway"},
        "server": {
            "type": "uv",
            "entry_point": "server.py",
            "mcp_config": {"command": "uv", "args": ["run", "--directory", "${__dirname}", "server.py"], "env": {}},
        },
        "tools": [{"name": tool.name, "description": tool.description} for tool in TOOLS],
        "compatibility": {"platforms": ["linux", "darwin"], "runtimes": {"python": ">=3.11"}},
        "privacy_policies": ["https://policies.google.com/privacy"],
        "license": "Apache-2.0",
    }


def stage(folder: Path, wheel: Path) -> None:
    """Write everything into `folder`, which must be empty or missing."""
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_text(json.dumps(manifest(), indent=2) + "\n", encoding="utf-8")
    (folder / "pyproject.toml").write_text(PYPROJECT.format(build=BUILD, wheel=wheel.name), encoding="utf-8")
    shutil.copy(HERE / "server.py", folder)
    shutil.copy(HERE.parents[1] / "LICENSE", folder)
    shutil.copy(wheel, folder)


if __name__ == "__main__":
    stage(Path(sys.argv[1]), Path(sys.argv[2]))
