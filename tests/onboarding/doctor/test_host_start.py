"""Starting the real native host as Chrome does, and programs that are none."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from native_host.paths import companion_sockets, launcher_file
from onboarding.clients import ServerEntry
from onboarding.doctor import host_start
from onboarding.doctor.host_start import examine_host_start
from onboarding.doctor.look import Look
from onboarding.doctor.report import Verdict
from onboarding.managed_browser import prepare_profile


@pytest.fixture
def look(tmp_path: Path) -> Look:
    home = tmp_path / ".notebook-gateway"
    home.mkdir(mode=0o700)
    (home / "config.toml").write_text('account = "ada@example.com"\nbrowser = "managed"\n')
    prepare_profile(home)
    return Look(home, {"HOME": str(tmp_path)}, ServerEntry(sys.executable, ()))


async def test_the_registered_host_starts_answers_and_leaves_nothing(look: Look) -> None:
    report = await examine_host_start(look)
    assert report.verdict is Verdict.FINE, report
    assert companion_sockets(look.home) == []


@pytest.mark.parametrize(
    ("script", "said"), [("exit 3", "ended with code 3"), ("exec 2>/dev/null; kill -9 $$", "ended with code -9")]
)
async def test_a_host_that_ends_at_once_is_told_with_its_code(look: Look, script: str, said: str) -> None:
    launcher_file(look.home).write_text(f"#!/bin/sh\n{script}\n")
    report = await examine_host_start(look)
    assert [finding.id for finding in report.findings] == ["host.no-start"]
    assert said in report.findings[0].detail


async def test_a_host_that_never_listens_is_given_up_and_ended(look: Look, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_start, "START_WITHIN_S", 0.3)
    launcher_file(look.home).write_text("#!/bin/sh\nexec cat\n")
    report = await examine_host_start(look)
    assert [finding.id for finding in report.findings] == ["host.no-start"]


async def test_without_a_manifest_there_is_nothing_to_start(look: Look) -> None:
    launcher_file(look.home).unlink()
    assert (await examine_host_start(look)).verdict is Verdict.NOT_REACHED
