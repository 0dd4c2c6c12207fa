"""What is shipped, under which names, and who may import whom."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

from native_host.build import BUILD

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("notebook_gateway", "broker", "cdp", "native_host", "onboarding", "harness")
MAY_IMPORT = {
    "notebook_gateway": {"onboarding", "harness", "broker", "cdp", "native_host"},
    "onboarding": {"cdp", "native_host"},
    "harness": {"cdp", "native_host"},
    "broker": {"cdp", "native_host"},
    "cdp": {"native_host"},
    "native_host": set[str](),
}


def imported_by(package: str) -> dict[str, set[str]]:
    """Top-level names that each module of a package imports, nested imports included."""
    found: dict[str, set[str]] = {}
    for path in sorted((ROOT / package).rglob("*.py")):
        names = found[str(path.relative_to(ROOT))] = set[str]()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names.update(alias.name.split(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                names.add(node.module.split(".")[0])
    return found


@pytest.mark.parametrize("package", PACKAGES)
def test_imports_point_one_way(package: str) -> None:
    allowed = MAY_IMPORT[package] | {package}
    for module, names in imported_by(package).items():
        assert names & set(PACKAGES) <= allowed, module


@pytest.mark.parametrize("package", PACKAGES)
def test_nothing_uses_asyncio_or_threads_of_its_own(package: str) -> None:
    for module, names in imported_by(package).items():
        assert not names & {"asyncio", "threading", "concurrent"}, module


def test_the_generic_names_belong_to_no_other_distribution() -> None:
    owners = metadata.packages_distributions()
    for name in (*PACKAGES, "extension"):
        assert set(owners.get(name, [])) <= {"notebook-gateway"}, name


def test_the_wheel_holds_what_runs_and_nothing_of_the_tests(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pip", "wheel", ".", "--no-deps", "--quiet", "--wheel-dir", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.name.startswith(f"notebook_gateway-{BUILD}-")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert {"extension/manifest.json", "extension/service_worker.js", "extension/page-main.js"} <= names
    assert {"native_host/__main__.py", "broker/serve.py", "harness/emulator/seed_texts/keeper-voices.md"} <= names
    assert {name.split("/")[0] for name in names if ".dist-info/" not in name} == {*PACKAGES, "extension"}
    assert not [name for name in names if name.endswith((".jsonl", ".test.js"))]


def test_every_part_states_the_same_build() -> None:
    manifest = json.loads((ROOT / "extension" / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["version"] == BUILD
    assert metadata.version("notebook-gateway") == BUILD
