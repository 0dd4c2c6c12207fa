import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from native_host import registration
from native_host.paths import host_log_file
from native_host.protocol import EXTENSION_ID, HOST_NAME
from native_host.registration import check_manifest, host_manifest, write_host_manifest, write_launcher
from tests.native_host.fakes import ORIGIN, FakeChrome
from tests.shared import case_input

BARE_ENVIRONMENT = {"PATH": "/usr/bin:/bin"}


def test_c040_each_invalid_manifest_is_refused_by_the_name_of_its_field(tmp_path: Path) -> None:
    (tmp_path / "native_host").write_text("#!/bin/sh\n")
    (tmp_path / "native_host").chmod(0o700)
    (tmp_path / "not_executable").write_text("")
    entries = json.loads(case_input("C-040-manifests.json").read_text())
    assert len(entries) == 7
    for entry in entries:
        manifest = {**entry["m"], "path": entry["m"]["path"].replace("{ABSOLUTE}", str(tmp_path))}
        problems = check_manifest(manifest)
        if entry["valid"]:
            assert problems == []
        else:
            assert [problem.split(":")[0] for problem in problems] == [entry["field"]], entry["why"]


@pytest.mark.parametrize("manifest", [None, [], "text", 5])
def test_a_manifest_that_is_no_object_is_refused(manifest: object) -> None:
    assert check_manifest(manifest) == [f"manifest: must be a JSON object, not {type(manifest).__name__}"]


def test_an_empty_manifest_is_refused_field_by_field() -> None:
    fields = {problem.split(":")[0] for problem in check_manifest({})}
    assert fields == {"name", "description", "path", "type", "allowed_origins"}


@pytest.mark.parametrize("name", ["a..b", ".a", "a.", "", "a-b", "A", "a b", "ä"])
def test_c040_names_that_chrome_refuses(name: str, tmp_path: Path) -> None:
    manifest = {**host_manifest(Path(sys.executable)), "name": name}
    assert [problem.split(":")[0] for problem in check_manifest(manifest)] == ["name"]


def test_our_own_manifest_passes_and_allows_our_extension_only(tmp_path: Path) -> None:
    launcher = write_launcher(tmp_path / "home", sys.executable)
    path = write_host_manifest(tmp_path / "profile" / "NativeMessagingHosts", launcher)
    assert path.name == f"{HOST_NAME}.json"
    manifest = json.loads(path.read_text())
    assert check_manifest(manifest) == []
    assert manifest["allowed_origins"] == [f"chrome-extension://{EXTENSION_ID}/"]
    assert manifest["path"] == str(launcher)
    assert write_host_manifest(path.parent, launcher) == path, "registering again is fine"
    assert os.listdir(path.parent) == [path.name], "no temporary file is left"


def test_a_manifest_is_not_written_for_a_launcher_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="path: there is no file"):
        write_host_manifest(tmp_path, tmp_path / "native-host")
    assert os.listdir(tmp_path) == []


def test_c041_the_launcher_is_private_has_no_carriage_return_and_only_absolute_paths(tmp_path: Path) -> None:
    launcher = write_launcher(tmp_path, sys.executable)
    script = launcher.read_bytes()
    assert launcher.stat().st_mode & 0o777 == 0o700
    assert b"\r" not in script
    assert script.startswith(b"#!/bin/sh\n")
    assert script.endswith(b"\n")
    assert f'exec "$python" -I -S {registration.MAIN_FILE} --home {tmp_path} "$@"\n' in script.decode()
    assert not re.search(r"\benv\b", script.decode())


@pytest.mark.parametrize(
    "name", ["plain", "with space", 'it\'s "quoted"', "$HOME `id` \\ $(id)", "é😀", "*?[a]", "-n", "x" * 120]
)
def test_c041_the_launcher_starts_the_host_in_a_bare_environment_whatever_the_folder_is_called(
    name: str, tmp_path: Path
) -> None:
    home = tmp_path / name
    launcher = write_launcher(home, sys.executable)
    with FakeChrome(home, command=[str(launcher)], arguments=[ORIGIN], env=BARE_ENVIRONMENT, cwd=tmp_path) as chrome:
        chrome.wait_until_listening()
        chrome.ready()
        with chrome.connect() as broker:
            assert broker.hello()["account"] == "ada@example.com"
        assert chrome.receive_type("conn_open")
        assert chrome.close_port() == 0


def test_c041_another_python_first_on_the_path_is_not_asked(tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("python", "python3", "env"):
        (tools / name).write_text("#!/bin/sh\nexit 66\n")
        (tools / name).chmod(0o700)
    launcher = write_launcher(tmp_path / "home", sys.executable)
    env = {"PATH": f"{tools}:/usr/bin:/bin"}
    with FakeChrome(tmp_path / "home", command=[str(launcher)], arguments=[ORIGIN], env=env) as chrome:
        chrome.wait_until_listening()
        assert chrome.close_port() == 0


def test_c041_a_missing_interpreter_is_one_line_in_the_log(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.symlink_to(sys.executable)
    launcher = write_launcher(tmp_path / "home", python)
    python.unlink()
    done = subprocess.run([launcher, ORIGIN], env=BARE_ENVIRONMENT, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (127, b"")
    line = f"native host not started: no interpreter at {python}; register the host again\n"
    assert host_log_file(tmp_path / "home").read_text() == line


def test_the_link_of_a_virtual_environment_is_kept_as_it_is(tmp_path: Path) -> None:
    """It survives an update of the Python behind it."""
    python = tmp_path / "python"
    python.symlink_to(sys.executable)
    assert str(python) in write_launcher(tmp_path, python).read_text()


@pytest.mark.parametrize(
    ("home", "python", "message"),
    [
        ("relative", sys.executable, "absolute path"),
        ("/tmp/a\rb", sys.executable, "control character"),
        ("/tmp/a\nb", sys.executable, "control character"),
        ("/tmp/x", "/no/such/python", "not an executable file"),
        ("/tmp/x", "/etc/passwd", "not an executable file"),
    ],
)
def test_paths_that_a_launcher_cannot_carry_are_refused(home: str, python: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        write_launcher(Path(home), python)
