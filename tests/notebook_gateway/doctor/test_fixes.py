from __future__ import annotations

import socket
import sys
from pathlib import Path

import pytest

from native_host.paths import companion_socket, ensure_private_folder, launcher_file, profile_folder, run_folder
from native_host.registration import HOSTS_FOLDER, manifest_file
from notebook_gateway.doctor.companion import examine_sockets, greet_all
from notebook_gateway.doctor.fixes import mend
from notebook_gateway.doctor.settings import examine_settings
from onboarding.clients import CLIENTS, ServerEntry, install, installed_entry
from onboarding.doctor.client_files import examine_client_files
from onboarding.doctor.host_manifests import examine_host_manifests
from onboarding.doctor.look import Look
from onboarding.doctor.report import Finding
from onboarding.footprint import Footprint

SERVER = ServerEntry(sys.executable, ("-P", "-m", "notebook_gateway", "serve"))


@pytest.fixture
def look(tmp_path: Path) -> Look:
    home = tmp_path / ".notebook-gateway"
    ensure_private_folder(run_folder(home))
    home.chmod(0o700)
    (home / "config.toml").write_text('account = "ada@example.com"\nbrowser = "managed"\n')
    (home / "config.toml").chmod(0o600)
    return Look(home, {"HOME": str(tmp_path)}, SERVER, platform="linux")


def test_modes_are_closed_and_nothing_else_of_them_changes(look: Look) -> None:
    (look.home / "config.toml").chmod(0o644)
    look.home.chmod(0o755)
    assert mend(look, examine_settings(look).findings)[0] == ["config.open", "config.open"]
    assert (look.home / "config.toml").stat().st_mode & 0o777 == 0o600
    assert look.home.stat().st_mode & 0o777 == 0o700


def test_a_clients_entry_is_written_anew_and_the_rest_of_its_file_stays(look: Look, tmp_path: Path) -> None:
    file = tmp_path / ".claude.json"
    file.write_text('{\n  // mine\n  "theme": "dark"\n}\n')
    install(CLIENTS["claude-code"], ServerEntry("/nowhere/python", ()), look.places, Footprint(look.home))
    mended, failed = mend(look, examine_client_files(look).findings)
    assert (mended, failed) == (["client.no-interpreter"], [])
    assert examine_client_files(look).findings == ()
    assert (installed_entry(CLIENTS["claude-code"], look.places) or {})["command"] == sys.executable
    assert '// mine\n  "theme": "dark"' in file.read_text()


def test_the_managed_browsers_host_is_registered_again(look: Look) -> None:
    assert mend(look, examine_host_manifests(look).findings)[0] == ["host.unregistered"]
    launcher_file(look.home).write_text("#!/bin/sh\n")
    assert mend(look, examine_host_manifests(look).findings)[0] == ["host.launcher"]
    assert examine_host_manifests(look).findings == ()


def test_a_host_in_an_everyday_browser_is_registered_so_that_uninstall_knows(look: Look, tmp_path: Path) -> None:
    profile = tmp_path / ".config" / "chromium"
    assert mend(look, [Finding("host.unregistered", "", str(profile))]) == (["host.unregistered"], [])
    file = manifest_file(profile / HOSTS_FOLDER)
    assert file.exists()
    assert [record.path for record in Footprint(look.home).records] == [str(file)]
    assert not profile_folder(look.home).exists()


async def test_a_left_over_socket_goes(look: Look) -> None:
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(companion_socket(look.home, 2**22 + 1)))
    report = examine_sockets(await greet_all(look.home))
    assert mend(look, report.findings)[0] == ["socket.stale"]
    assert list(run_folder(look.home).iterdir()) == []


def test_what_cannot_be_mended_is_said_and_does_not_stop_the_rest(look: Look) -> None:
    findings = [
        Finding("host.unregistered", "no browser of a known kind"),
        Finding("socket.stale", "", str(look.home / "gone")),
        Finding("page.sign-in", "only the person can"),
    ]
    mended, failed = mend(look, findings)
    assert mended == ["socket.stale"]
    assert failed == ["host.unregistered: no browser whose profile is known"]
