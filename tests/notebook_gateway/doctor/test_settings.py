from __future__ import annotations

import sys
from pathlib import Path

import pytest

from native_host.paths import ensure_private_folder, run_folder
from notebook_gateway.doctor.settings import examine_settings
from onboarding.clients import ServerEntry
from onboarding.doctor.look import Look
from onboarding.doctor.report import HopReport

ALLOWED = '{"version": 1, "accounts": {"ada@example.com": {"notebooks": "*"}}}'


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    ensure_private_folder(run_folder(home))
    home.chmod(0o700)
    (home / "config.toml").write_text('account = "ada@example.com"\n')
    (home / "config.toml").chmod(0o600)
    (home / "allowlist.json").write_text(ALLOWED)
    return home


def examine(home: Path, **environ: str) -> HopReport:
    return examine_settings(Look(home, environ, ServerEntry(sys.executable, ())))


def ids(report: HopReport) -> list[str]:
    return [finding.id for finding in report.findings]


def test_a_whole_configuration_is_fine(home: Path) -> None:
    report = examine(home)
    assert (report.detail, ids(report)) == ("ada@example.com", [])


def test_missing_and_broken_are_different_findings(home: Path) -> None:
    (home / "config.toml").write_text('acount = "ada@example.com"\n')
    (home / "config.toml").chmod(0o600)
    report = examine(home)
    assert ids(report) == ["config.unreadable"]
    assert "acount" in report.findings[0].detail
    (home / "config.toml").unlink()
    assert ids(examine(home)) == ["config.missing"]


def test_the_allowlist_is_empty_or_broken(home: Path) -> None:
    (home / "allowlist.json").unlink()
    assert ids(examine(home)) == ["allowlist.empty"]
    (home / "allowlist.json").write_text("[]")
    assert ids(examine(home)) == ["allowlist.broken"]


@pytest.mark.parametrize("name", ["", "run", "config.toml"])
def test_what_others_can_enter_or_read_is_named_with_its_mode(home: Path, name: str) -> None:
    (home / name).chmod((home / name).stat().st_mode | 0o050)
    report = examine(home)
    assert ids(report) == ["config.open"]
    assert (report.findings[0].about, "50 " in report.findings[0].detail + " ") == (str(home / name), True)


def test_a_variable_that_changes_the_browser_is_never_overlooked(home: Path) -> None:
    report = examine(home, NOTEBOOK_GATEWAY_BROWSER="/opt/x")
    assert ids(report) == ["config.environment"]
    assert "/opt/x" in report.findings[0].detail
