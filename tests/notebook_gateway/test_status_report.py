"""What `status` finds, hop by hop, with a scripted host in the place of the browser."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from broker.fake_host import FakeCall, open_fake_host
from broker.journal import open_store
from native_host.build import BUILD
from native_host.paths import HOME_VARIABLE, companion_socket, ensure_private_folder, journal_file, run_folder
from notebook_gateway.status_report import StatusReport, gather_status
from tests.broker.mutation_helpers import request as write_request

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


async def test_writes_that_stayed_unknown_are_counted_with_the_way_to_see_them(home: Path):
    with closing(open_store(home, "somebody who died")) as store:
        record = store.begin(write_request("unknown")).record
        store.mark_sent(record.id, "add", {})
        store.lose(record.id, {"code": "MUTATION_UNKNOWN"})
        store.begin(write_request("only prepared"))
    report = await gather(home)
    assert report.unknown_writes == 1
    assert any("journal list --state unknown" in step for step in report.next_steps)


async def test_looking_at_the_status_makes_no_journal(home: Path):
    assert (await gather(home)).unknown_writes == 0
    assert not journal_file(home).exists()


async def test_a_journal_that_cannot_be_read_is_a_problem_and_not_the_end_of_the_report(home: Path):
    journal_file(home).write_bytes(b"no database at all, but long enough to be looked at as one" * 100)
    report = await gather(home)
    assert any("journal.sqlite" in problem for problem in report.problems)
