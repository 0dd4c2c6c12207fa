"""The .mcpb bundle: built and validated by the public tool, and its server started from what lies in it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
import trio

from broker.tools import TOOLS
from native_host.build import BUILD
from notebook_gateway.doctor.server import server_version
from onboarding.clients import ServerEntry

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build it and return the folder that a client would unpack it to."""
    out = tmp_path_factory.mktemp("mcpb")
    built = subprocess.run(
        ["sh", str(ROOT / "scripts" / "build-mcpb.sh"), sys.executable, str(out)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    assert "Manifest schema validation passes" in built.stdout
    with zipfile.ZipFile(out / f"notebook-gateway-{BUILD}.mcpb") as archive:
        archive.extractall(out / "unpacked")
    return out / "unpacked"


def test_the_manifest_names_this_version_and_every_tool(bundle: Path) -> None:
    manifest = json.loads((bundle / "manifest.json").read_bytes())
    assert manifest["version"] == BUILD
    assert [tool["name"] for tool in manifest["tools"]] == [tool.name for tool in TOOLS]
    assert (bundle / manifest["server"]["entry_point"]).is_file()


def test_the_project_that_uv_runs_takes_our_wheel_from_the_bundle(bundle: Path) -> None:
    project = tomllib.loads((bundle / "pyproject.toml").read_text())
    assert (bundle / project["tool"]["uv"]["sources"]["notebook-gateway"]["path"]).is_file()
    assert project["project"]["version"] == BUILD


def test_the_bundles_server_answers_from_the_bundles_wheel(bundle: Path, tmp_path: Path) -> None:
    """`uv` is played by this interpreter, with the wheel in front of everything that is installed here."""
    (wheel,) = bundle.glob("*.whl")
    environ = {"PYTHONPATH": str(wheel), "NOTEBOOK_GATEWAY_HOME": str(tmp_path / "home")}
    shown = subprocess.run(
        [sys.executable, "-c", "import broker; print(broker.__file__)"],
        env={**os.environ, **environ},
        cwd="/",
        capture_output=True,
        text=True,
        check=True,
    )
    assert str(wheel) in shown.stdout
    assert trio.run(server_version, ServerEntry(sys.executable, (str(bundle / "server.py"),), environ)) == BUILD


def test_the_public_tool_refuses_a_manifest_that_is_none(bundle: Path, tmp_path: Path) -> None:
    """Or a bundle of nonsense would pass here as well."""
    manifest = json.loads((bundle / "manifest.json").read_bytes())
    (tmp_path / "manifest.json").write_text(json.dumps({**manifest, "server": {"type": "magic"}}))
    refused = subprocess.run(
        ["npx", "--no-install", "mcpb", "validate", str(tmp_path / "manifest.json")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert refused.returncode != 0
