"""Imports point one way: `native_host` uses the standard library, and of our own packages only itself."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import native_host

PACKAGE = Path(native_host.__file__).parent
MODULES = sorted(PACKAGE.glob("*.py"))

IMPORT_ALL = f"""
import sys, types
package = types.ModuleType("native_host")
package.__path__ = [{str(PACKAGE)!r}]
sys.modules["native_host"] = package
import importlib
for name in {[module.stem for module in MODULES if not module.stem.startswith("__")]!r}:
    importlib.import_module("native_host." + name)
print(*sorted(name for name in sys.modules if "." not in name))
"""


@pytest.mark.parametrize("module", MODULES, ids=[module.stem for module in MODULES])
def test_only_the_standard_library_and_this_package_are_imported(module: Path) -> None:
    names: set[str] = set()
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "absolute imports only"
            names.add((node.module or "").split(".")[0])
    assert names <= sys.stdlib_module_names | {"native_host"}


def test_every_module_can_be_imported_with_site_packages_switched_off() -> None:
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-W", "error", "-c", IMPORT_ALL], capture_output=True, text=True, check=True
    )
    assert set(done.stdout.split()) <= sys.stdlib_module_names | {"__main__", "native_host"}


def test_the_running_host_does_not_load_what_it_does_not_need() -> None:
    """Its start is part of every wake-up of the extension."""
    code = IMPORT_ALL.split("import importlib")[0] + "import native_host.loop, native_host.host\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True)
    heavy = {"argparse", "asyncio", "logging", "subprocess", "hashlib", "_hashlib", "dataclasses", "threading", "shlex"}
    assert not heavy & set(done.stdout.split())


def test_the_package_itself_is_a_docstring_and_nothing_else() -> None:
    (only,) = ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8")).body
    assert isinstance(only, ast.Expr)
