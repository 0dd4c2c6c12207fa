"""The hops that only look at files, on a person's home directory made for the test."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from native_host.paths import launcher_file, profile_folder
from native_host.protocol import EXTENSION_ID, HOST_NAME
from native_host.registration import HOSTS_FOLDER, manifest_file
from onboarding.clients import CLIENTS, ServerEntry, install
from onboarding.doctor.browser import examine_browser, examine_policies
from onboarding.doctor.client_files import examine_client_files, installed_servers
from onboarding.doctor.extension_files import maybe_damage
from onboarding.doctor.host_manifests import examine_host_manifests
from onboarding.doctor.look import Look
from onboarding.doctor.report import HopReport
from onboarding.footprint import Footprint
from onboarding.managed_browser import prepare_profile

SERVER = ServerEntry(sys.executable, ("-P", "-m", "notebook_gateway", "serve"), {"NOTEBOOK_GATEWAY_HOME": "/h"})


@pytest.fixture
def look(tmp_path: Path) -> Look:
    """A person with a managed browser that is ready to be started."""
    home = tmp_path / ".notebook-gateway"
    home.mkdir(mode=0o700)
    (home / "config.toml").write_text('account = "ada@example.com"\nbrowser = "managed"\n')
    prepare_profile(home)
    return Look(home, {"HOME": str(tmp_path)}, SERVER, policy_folders=[tmp_path / "policies"], platform="linux")


def ids(report: HopReport) -> list[str]:
    return [finding.id for finding in report.findings]


def put(look: Look, client: str, server: ServerEntry = SERVER) -> Path:
    return install(CLIENTS[client], server, look.places, Footprint(look.home)).path


def test_clients_are_named_and_their_absence_too(look: Look) -> None:
    assert ids(examine_client_files(look)) == ["client.none"]
    put(look, "claude-code")
    put(look, "codex")
    report = examine_client_files(look)
    assert (report.detail, ids(report)) == ("Claude Code, Codex", [])


@pytest.mark.parametrize("client", CLIENTS)
def test_an_interpreter_that_is_gone_is_found_in_each_clients_form_of_an_entry(look: Look, client: str) -> None:
    put(look, client, ServerEntry("/nowhere/python", SERVER.args, SERVER.env))
    report = examine_client_files(look)
    assert ids(report) == ["client.no-interpreter"]
    assert "/nowhere/python" in report.findings[0].detail
    assert installed_servers(look)[CLIENTS[client].title] == ServerEntry("/nowhere/python", SERVER.args, SERVER.env)


def test_another_installations_entry_is_a_note(look: Look) -> None:
    put(look, "cursor", ServerEntry("/bin/sh", ("-c", "true")))
    report = examine_client_files(look)
    assert ids(report) == ["client.other-entry"]
    assert not report.findings[0].kind.is_fatal


def test_a_clients_file_that_is_no_json_is_named(look: Look, tmp_path: Path) -> None:
    (tmp_path / ".claude.json").write_text("{ nonsense")
    report = examine_client_files(look)
    assert ids(report) == ["client.unreadable", "client.none"]
    assert ".claude.json" in report.findings[0].detail


def test_a_manifest_as_we_write_it_is_fine(look: Look) -> None:
    report = examine_host_manifests(look)
    assert (ids(report), Path(report.detail)) == ([], manifest_file(profile_folder(look.home) / HOSTS_FOLDER))


def test_before_onboarding_nobody_knows_which_browser_to_look_at(look: Look) -> None:
    (look.home / "config.toml").unlink()
    assert not examine_host_manifests(look).is_reached


def test_c040_what_is_wrong_with_a_manifest_is_told_by_its_field(look: Look) -> None:
    file = manifest_file(profile_folder(look.home) / HOSTS_FOLDER)
    manifest = json.loads(file.read_bytes())
    file.write_text(json.dumps({**manifest, "allowed_origins": [f"chrome-extension://{EXTENSION_ID}"]}))
    report = examine_host_manifests(look)
    assert ids(report) == ["host.manifest"]
    assert "allowed_origins" in report.findings[0].detail


def test_each_way_in_which_a_registration_breaks_has_its_own_finding(look: Look) -> None:
    file = manifest_file(profile_folder(look.home) / HOSTS_FOLDER)
    launcher = launcher_file(look.home)
    whole = launcher.read_bytes()
    launcher.write_bytes(whole.replace(sys.executable.encode(), b"/usr/bin/other-python"))
    assert ids(examine_host_manifests(look)) == ["host.launcher"]
    launcher.unlink()
    assert ids(examine_host_manifests(look)) == ["host.launcher"]
    file.write_text(json.dumps({"name": HOST_NAME, "path": "/opt/other/native-host"}))
    assert ids(examine_host_manifests(look)) == ["host.other-path"]
    file.write_text("no JSON")
    assert set(ids(examine_host_manifests(look))) == {"host.manifest"}
    file.unlink()
    assert ids(examine_host_manifests(look)) == ["host.unregistered"]


def test_a_manifest_of_our_name_in_another_browser_is_told(look: Look, tmp_path: Path) -> None:
    """The wrong host wins silently when two programs claim one name."""
    other = tmp_path / ".config" / "google-chrome" / HOSTS_FOLDER / f"{HOST_NAME}.json"
    other.parent.mkdir(parents=True)
    other.write_text(json.dumps({"name": HOST_NAME, "path": "/opt/old/native-host"}))
    report = examine_host_manifests(look)
    assert ids(report) == ["host.elsewhere"]
    assert "/opt/old/native-host" in report.findings[0].detail


def test_policies_are_told_with_what_an_administrator_has_to_allow(look: Look, tmp_path: Path) -> None:
    assert ids(examine_policies(look)) == []
    (tmp_path / "policies").mkdir()
    blocked = {"NativeMessagingBlocklist": ["*"], "ExtensionInstallBlocklist": ["*"]}
    (tmp_path / "policies" / "it.json").write_text(json.dumps(blocked))
    report = examine_policies(look)
    assert ids(report) == ["policy.host", "policy.extension"]
    assert [HOST_NAME in report.findings[0].detail, EXTENSION_ID in report.findings[1].detail] == [True, True]


def test_a_browser_that_is_missing_or_confined_is_told(look: Look, tmp_path: Path) -> None:
    def found(browser: Path) -> HopReport:
        environ = {**look.environ, "NOTEBOOK_GATEWAY_BROWSER": str(browser)}
        return examine_browser(Look(look.home, environ, SERVER))

    assert ids(found(tmp_path / "none")) == ["browser.missing"]
    assert ids(found(Path(sys.executable))) == []
    exported = tmp_path / "flatpak" / "exports" / "bin" / "org.chromium.Chromium"
    exported.parent.mkdir(parents=True)
    exported.write_text("#!/bin/sh\n")
    exported.chmod(0o755)
    assert ids(found(exported)) == ["browser.confined"]


def test_the_shipped_extension_is_whole_and_damage_is_named(tmp_path: Path) -> None:
    assert maybe_damage() is None
    assert "manifest.json" in (maybe_damage(tmp_path) or "")
    (tmp_path / "manifest.json").write_text('{"version": "0.0.1"}')
    assert "build 0.0.1" in (maybe_damage(tmp_path) or "")
    from native_host.build import BUILD

    manifest = {"version": BUILD, "background": {"service_worker": "service_worker.js"}}
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    assert (maybe_damage(tmp_path) or "").endswith("lacks service_worker.js")
