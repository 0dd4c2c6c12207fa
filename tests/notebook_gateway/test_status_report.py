"""What `status` finds, hop by hop, with a scripted host in the place of the browser."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from broker.fake_host import FakeCall, open_fake_host
from native_host.build import BUILD
from native_host.paths import HOME_VARIABLE, companion_socket, ensure_private_folder, run_folder
from notebook_gateway.status_report import StatusReport, gather_status

ACCOUNT = "ada@example.com"
TAB = {"state": "ready", "host": "notebook.google.com"}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    ensure_private_folder(run_folder(tmp_path))
    (tmp_path / "config.toml").write_text(f'account = "{ACCOUNT}"\n')
    return tmp_path


async def gather(home: Path) -> StatusReport:
    return await gather_status({HOME_VARIABLE: str(home)})


async def tell(call: FakeCall) -> None:
    """Answer as the worker does."""
    await call.succeed({"notebooks": ["n1"], "tab": TAB, "open_calls": 0})


async def test_a_companion_of_the_account_is_described_in_full(home: Path):
    async with open_fake_host(companion_socket(home, 1), script=tell):
        report = await gather(home)
    assert (report.ok, report.problems, report.next_steps) == (True, [], [])
    (found,) = report.companions
    assert (found.host_build, found.extension_build, found.account) == (BUILD, BUILD, ACCOUNT)
    assert (found.notebooks, found.tab, found.open_calls) == (["n1"], TAB, 0)


async def test_an_extension_that_has_not_reported_is_named(home: Path):
    async with open_fake_host(companion_socket(home, 1), account=None) as host:
        host.has_extension = False
        report = await gather(home)
    assert not report.ok
    assert "has not said it is ready" in report.problems[0]
    assert "chrome://extensions" in report.next_steps[0]


@pytest.mark.parametrize(
    ("account", "part"), [(None, "no account configured"), ("grace@example.com", "another account")]
)
async def test_a_companion_of_nobody_or_of_another_account_is_no_use_and_is_not_asked(
    home: Path, account: str | None, part: str
):
    async with open_fake_host(companion_socket(home, 1), account=account) as host:
        report = await gather(home)
        assert host.calls == []
    assert not report.ok
    assert part in report.problems[0]
    assert len(report.next_steps) == 1


async def test_one_usable_companion_is_enough_and_the_other_is_still_reported(home: Path):
    async with (
        open_fake_host(companion_socket(home, 1), script=tell),
        open_fake_host(companion_socket(home, 2), account="grace@example.com"),
    ):
        report = await gather(home)
    assert report.ok
    assert len(report.companions) == 2
    assert len(report.problems) == 1


async def test_a_host_that_does_not_answer_is_given_up(home: Path, autojump_clock: MockClock):
    sock = trio.socket.socket(trio.socket.AF_UNIX)
    await sock.bind(str(companion_socket(home, 1)))
    sock.listen(1)
    with sock:
        report = await gather(home)
    assert not report.ok
    assert report.problems


async def test_a_broken_configuration_is_reported_and_not_raised(home: Path):
    (home / "config.toml").write_text("acount = 1\n")
    report = await gather(home)
    assert not report.ok
    assert "acount" in report.problems[0]
