"""Sockets, native port and extension, with scripted hosts in the place of browsers."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from broker.fake_host import open_fake_host
from native_host.build import BUILD
from native_host.paths import companion_socket, ensure_private_folder, run_folder
from notebook_gateway.doctor.companion import (
    Greeted,
    examine_extension,
    examine_port,
    examine_sockets,
    greet_all,
)
from onboarding.doctor.report import HopReport

ADA = "ada@example.com"
LIVING, DEAD = os.getpid(), 2**22 + 1
"""The second is above the largest process id that Linux gives by itself."""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    ensure_private_folder(run_folder(tmp_path))
    return tmp_path


def ids(report: HopReport) -> list[str]:
    return [finding.id for finding in report.findings]


def extension(greeted: list[Greeted], account: str | None = ADA, damage: str | None = None) -> list[str]:
    return ids(examine_extension(greeted, account, damage))


async def test_a_host_with_our_extension_is_fine_at_all_three_hops(home: Path) -> None:
    async with open_fake_host(companion_socket(home, LIVING), account=ADA):
        greeted = await greet_all(home)
    assert (ids(examine_sockets(greeted)), ids(examine_port(greeted)), extension(greeted)) == ([], [], [])


async def test_nobody_there(home: Path) -> None:
    assert ids(examine_sockets(await greet_all(home))) == ["socket.none"]


async def test_what_a_dead_host_left_is_no_host_that_is_silent(home: Path) -> None:
    """Bound and closed: the file stays, as after a kill."""
    for pid in (DEAD, LIVING):
        with socket.socket(socket.AF_UNIX) as left:
            left.bind(str(companion_socket(home, pid)))
    report = examine_sockets(await greet_all(home))
    assert sorted(ids(report)) == ["socket.silent", "socket.stale"]
    (stale,) = (finding for finding in report.findings if finding.id == "socket.stale")
    assert stale.about == str(companion_socket(home, DEAD))


async def test_a_host_without_its_extension_is_told_at_the_port(home: Path) -> None:
    async with open_fake_host(companion_socket(home, LIVING), account=None) as host:
        host.has_extension = False
        greeted = await greet_all(home)
    assert (ids(examine_sockets(greeted)), ids(examine_port(greeted))) == ([], ["port.not-connected"])


@pytest.mark.parametrize(
    ("account", "finding"), [(None, "extension.no-account"), ("grace@example.com", "extension.other-account")]
)
async def test_c039_an_extension_of_nobody_or_of_another_account(home: Path, account: str | None, finding: str) -> None:
    async with open_fake_host(companion_socket(home, LIVING), account=account):
        assert extension(await greet_all(home)) == [finding]


async def test_c039_of_two_profiles_the_one_of_the_account_counts(home: Path) -> None:
    async with (
        open_fake_host(companion_socket(home, LIVING), account=ADA),
        open_fake_host(companion_socket(home, os.getppid()), account="grace@example.com"),
    ):
        assert extension(await greet_all(home)) == []


async def test_damaged_files_are_told_even_if_the_browser_still_has_the_old_ones(home: Path) -> None:
    async with open_fake_host(companion_socket(home, LIVING), account=ADA):
        assert extension(await greet_all(home), damage="lacks popup.html") == ["extension.damaged"]


async def test_another_version_of_host_or_extension_is_named_with_both(home: Path) -> None:
    async with open_fake_host(companion_socket(home, LIVING), account=ADA) as host:
        host.build = "0.0.9"
        greeted = await greet_all(home)
    port, loaded = examine_port(greeted), examine_extension(greeted, ADA, None)
    assert (ids(port), ids(loaded)) == (["port.skew"], ["extension.skew"])
    for report in (port, loaded):
        assert "0.0.9" in report.findings[0].detail
        assert BUILD in report.findings[0].detail
