"""The keeper's life with a browser that does what a test says; the real one is in tests/e2e/test_keeper.py."""

from __future__ import annotations

import math
import os
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random

import attrs
import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from cdp.errors import ConnectionLost, LaunchFailed
from native_host.line_json import MAX_LINE_BYTES
from native_host.paths import ensure_private_folder, keeper_socket, run_folder
from onboarding.keeper import GIVES_UP_AFTER, WATCH_S, AlreadyKept, Keeper, held_profile
from onboarding.keeper_client import KeeperClient, KeeperFailed, NoKeeper
from onboarding.keeper_server import serve_requests
from onboarding.keeper_states import KeeperState
from onboarding.pages import PageKind, PageState
from onboarding.sign_in import OnWaiting, SignInOutcome, SignInResult, SignInWindow

ACCOUNT = "ada@example.com"


@attrs.define(eq=False)
class FakeBrowser:
    """A browser of the keeper's, whose state a test sets."""

    pid: int = 4711
    headless: bool = False
    has_exited: bool = False
    worker_running: bool = True
    wakes: int = 0
    is_closed_in_peace: bool = False
    opened_for: list[str] = attrs.field(factory=list[str])
    settings: dict[str, object] = attrs.field(factory=dict[str, object])
    window: str = ""
    called_ms: float = math.inf
    is_dying: bool = False
    """Whether the next request finds that the connection is gone, before anybody has looked at the process."""

    async def is_worker_running(self) -> bool:
        await trio.lowlevel.checkpoint()
        return self.worker_running

    async def wake_worker(self) -> None:
        await trio.lowlevel.checkpoint()
        self.wakes += 1
        self.worker_running = True

    async def last_call_ms(self) -> float:
        await trio.lowlevel.checkpoint()
        return self.called_ms

    async def page_state(self) -> PageState:
        await trio.lowlevel.checkpoint()
        return PageState(PageKind.APP, "notebook.google.com")

    async def show(self) -> None:
        await trio.lowlevel.checkpoint()
        self.window = "shown"

    async def hide(self) -> None:
        await trio.lowlevel.checkpoint()
        self.window = "hidden"

    async def set_settings(self, account: str | None, notebooks: list[str] | str) -> None:
        await trio.lowlevel.checkpoint()
        self.settings = {"account": account, "notebooks": notebooks}

    async def get_settings(self) -> dict[str, object]:
        await trio.lowlevel.checkpoint()
        if self.is_dying:
            self.has_exited = True
            raise ConnectionLost("the browser closed its debugging pipe")
        return self.settings

    async def ensure_native_port(self) -> None:
        await trio.lowlevel.checkpoint()

    async def open_notebook_tab(self, account: str) -> None:
        await trio.lowlevel.checkpoint()
        self.opened_for.append(account)

    async def notebooks(self) -> list[dict[str, object]]:
        await trio.lowlevel.checkpoint()
        return [{"id": "n1", "title": "Tides"}]


@attrs.define(eq=False)
class Bench:
    """A keeper, the browsers that it has started so far, and how the next starts and sign-ins end."""

    keeper: Keeper
    browsers: list[FakeBrowser]
    fail_next: list[Exception]
    sign_ins: list[SignInResult]

    @property
    def browser(self) -> FakeBrowser:
        return self.browsers[-1]


def make_bench(home: Path, *, idle_stop_s: float = math.inf) -> Bench:
    browsers: list[FakeBrowser] = []
    fail_next: list[Exception] = []
    sign_ins: list[SignInResult] = []

    @asynccontextmanager
    async def open_browser(
        home: Path, *, headless: bool, environ: Mapping[str, str]
    ) -> AsyncGenerator[FakeBrowser, None]:
        await trio.lowlevel.checkpoint()
        if fail_next:
            raise fail_next.pop(0)
        browser = FakeBrowser(headless=headless)
        browsers.append(browser)
        yield browser
        browser.is_closed_in_peace = True

    async def sign_in(
        home: Path,
        account: str | None,
        *,
        environ: Mapping[str, str],
        timeout_s: float,
        on_waiting: OnWaiting,
    ) -> SignInOutcome:
        on_waiting(SignInWindow(1, 2), PageKind.SIGN_IN)
        await trio.sleep(5)
        sign_ins.append(SignInResult.SIGNED_IN)
        return SignInOutcome(SignInResult.SIGNED_IN, PageState(PageKind.APP))

    keeper = Keeper(home, ACCOUNT, False, idle_stop_s, {}, open_browser, sign_in, rng=Random(1), say=lambda text: None)
    return Bench(keeper, browsers, fail_next, sign_ins)


@asynccontextmanager
async def running(bench: Bench) -> AsyncGenerator[Bench, None]:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(bench.keeper.run)
        await bench.keeper.wait_for(KeeperState.UP)
        yield bench
        bench.keeper.stop()


async def test_the_browser_comes_up_with_its_tab_and_is_closed_in_peace(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with running(make_bench(tmp_path)) as bench:
        assert bench.browser.opened_for == [ACCOUNT]
    assert bench.keeper.state is KeeperState.STOPPING
    assert bench.browser.is_closed_in_peace


async def test_a_browser_that_died_is_started_again_after_a_pause(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with running(make_bench(tmp_path)) as bench:
        bench.browser.has_exited = True
        await bench.keeper.wait_for(KeeperState.BACKING_OFF)
        await bench.keeper.wait_for(KeeperState.UP)
        assert len(bench.browsers) == 2
        assert bench.keeper.restarts == 1
        assert "process is gone" in str(bench.keeper.last_error)


async def test_pauses_grow_and_the_keeper_gives_up_in_the_end(tmp_path: Path, autojump_clock: MockClock) -> None:
    bench = make_bench(tmp_path)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(bench.keeper.run)
        await bench.keeper.wait_for(KeeperState.UP)
        bench.fail_next += [LaunchFailed("crashed")] * (GIVES_UP_AFTER + 5)
        bench.browser.has_exited = True
        started = trio.current_time()
    assert len(bench.fail_next) == 5
    assert trio.current_time() - started > 10
    assert bench.keeper.state is KeeperState.STOPPING


async def test_a_first_start_that_fails_is_the_starters_to_know(tmp_path: Path, autojump_clock: MockClock) -> None:
    bench = make_bench(tmp_path)
    bench.fail_next.append(LaunchFailed("no such profile"))
    with pytest.raises(LaunchFailed, match="no such profile"):
        await bench.keeper.run()


async def test_a_stopped_worker_is_awake_within_two_looks(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with running(make_bench(tmp_path)) as bench:
        bench.browser.worker_running = False
        await trio.sleep(2 * WATCH_S)
        assert (bench.browser.wakes, bench.browser.worker_running) == (1, True)


async def test_nobody_calling_for_long_ends_browser_and_keeper(tmp_path: Path, autojump_clock: MockClock) -> None:
    bench = make_bench(tmp_path, idle_stop_s=60)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(bench.keeper.run)
        await bench.keeper.wait_for(KeeperState.UP)
        bench.keeper.since_ms -= 61_000
        await trio.sleep(10)
        assert bench.keeper.state is KeeperState.UP, "somebody has just called"
        bench.browser.called_ms = time.time() * 1000 - 61_000
    assert bench.keeper.state is KeeperState.STOPPING
    assert bench.browser.is_closed_in_peace


async def test_a_home_folder_that_is_gone_ends_the_keeper(tmp_path: Path, autojump_clock: MockClock) -> None:
    home = tmp_path / "home"
    home.mkdir()
    bench = make_bench(home)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(bench.keeper.run)
        await bench.keeper.wait_for(KeeperState.UP)
        home.rmdir()
    assert bench.keeper.state is KeeperState.STOPPING


async def test_the_sign_in_window_takes_the_browsers_place_and_gives_it_back(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with running(make_bench(tmp_path)) as bench:
        first = bench.browser
        assert bench.keeper.request_sign_in(by_person=True)
        await bench.keeper.wait_for(KeeperState.SIGNING_IN)
        assert first.is_closed_in_peace
        assert bench.keeper.request_sign_in(by_person=False), "one is open"
        await bench.keeper.wait_for(KeeperState.UP)
        assert bench.browser is not first
        assert len(bench.sign_ins) == 1


async def test_an_agent_that_goes_on_calling_opens_no_window_after_the_other(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with running(make_bench(tmp_path)) as bench:
        bench.keeper.request_sign_in(by_person=False)
        await bench.keeper.wait_for(KeeperState.SIGNING_IN)
        await bench.keeper.wait_for(KeeperState.UP)
        assert not bench.keeper.request_sign_in(by_person=False)
        await trio.sleep(30)
        assert len(bench.sign_ins) == 1
        assert bench.keeper.request_sign_in(by_person=True), "the person may, at any time"
        await bench.keeper.wait_for(KeeperState.SIGNING_IN)


async def test_stopping_while_the_sign_in_window_is_open_ends_it(tmp_path: Path, autojump_clock: MockClock) -> None:
    bench = make_bench(tmp_path)
    async with running(bench):
        bench.keeper.request_sign_in(by_person=True)
        await bench.keeper.wait_for(KeeperState.SIGNING_IN)
    assert bench.sign_ins == []
    assert bench.keeper.state is KeeperState.STOPPING


# ---------------------------------------------------------------------------------------------------- the socket
@asynccontextmanager
async def served(bench: Bench) -> AsyncGenerator[KeeperClient, None]:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(bench.keeper.run)
        await nursery.start(serve_requests, bench.keeper)
        await bench.keeper.wait_for(KeeperState.UP)
        yield KeeperClient(bench.keeper.home)
        nursery.cancel_scope.cancel()


async def test_each_request_does_what_it_says(tmp_path: Path) -> None:
    bench = make_bench(tmp_path)
    async with served(bench) as client:
        status = await client.status()
        assert (status.state, status.browser_pid, status.page) == (KeeperState.UP, 4711, "app")
        await client.show()
        assert bench.browser.window == "shown"
        await client.hide()
        assert bench.browser.window == "hidden"
        await client.set_settings(ACCOUNT, ["n1"])
        assert await client.get_settings() == {"account": ACCOUNT, "notebooks": ["n1"]}
        assert await client.notebooks() == [("n1", "Tides")]
        bench.browser.worker_running = False
        await client.wake()
        assert bench.browser.worker_running
        await client.sign_in()
        assert (await client.status()).state is KeeperState.SIGNING_IN
        with pytest.raises(KeeperFailed, match="not up: signing_in"):
            await client.show()


async def test_a_request_under_which_the_browser_dies_is_answered_by_the_next_browser(tmp_path: Path) -> None:
    bench = make_bench(tmp_path)
    async with served(bench) as client:
        bench.browser.is_dying = True
        assert await client.get_settings() == {}
        assert len(bench.browsers) == 2


async def test_a_request_during_the_pause_after_a_crash_waits_for_the_browser(tmp_path: Path) -> None:
    bench = make_bench(tmp_path)
    async with served(bench) as client:
        bench.browser.has_exited = True
        await bench.keeper.wait_for(KeeperState.BACKING_OFF)
        assert await client.notebooks() == [("n1", "Tides")]
        assert len(bench.browsers) == 2


async def test_a_person_who_asks_does_not_wait_for_the_end_of_the_pause(tmp_path: Path) -> None:
    bench = make_bench(tmp_path)
    bench.keeper.rng = Random(3)
    async with served(bench) as client:
        bench.fail_next += [LaunchFailed("crashed")] * 4
        bench.browser.has_exited = True
        with trio.fail_after(5):
            while len(bench.browsers) < 2:
                await bench.keeper.wait_for(KeeperState.BACKING_OFF)
                await client.retry()
                await wait_all_tasks_blocked()
        await bench.keeper.wait_for(KeeperState.UP)


async def test_the_socket_is_its_owners_alone_and_gone_with_the_keeper(tmp_path: Path) -> None:
    async with served(make_bench(tmp_path)):
        assert keeper_socket(tmp_path).stat().st_mode & 0o777 == 0o600
    assert not keeper_socket(tmp_path).exists()
    with pytest.raises(NoKeeper):
        await KeeperClient(tmp_path).status()


@pytest.mark.parametrize(
    "line",
    [
        b"\n",
        b"not json\n",
        b"[]\n",
        b'{"op": "evaluate"}\n',
        b'{"op": 3}\n',
        b'{"op": "settings", "account": 3, "notebooks": "*"}\n',
        b'{"op": "settings", "account": "a@b", "notebooks": [1]}\n',
        b"x" * (MAX_LINE_BYTES + 10),
    ],
)
async def test_what_is_no_request_is_refused_and_the_next_one_is_answered(tmp_path: Path, line: bytes) -> None:
    bench = make_bench(tmp_path)
    async with served(bench) as client:
        async with await trio.open_unix_socket(os.fspath(keeper_socket(tmp_path))) as stream:
            await stream.send_all(line)
            answer = await stream.receive_some()
        assert b"INVALID_ARGUMENT" in answer
        assert bench.browser.settings == {}
        assert (await client.status()).state is KeeperState.UP


async def test_one_profile_has_one_keeper(tmp_path: Path) -> None:
    ensure_private_folder(run_folder(tmp_path))
    with held_profile(tmp_path), pytest.raises(AlreadyKept), held_profile(tmp_path):
        pass
    with held_profile(tmp_path):
        pass


async def test_a_caller_that_leaves_before_its_answer_disturbs_nobody(tmp_path: Path) -> None:
    async with served(make_bench(tmp_path)) as client:
        for _ in range(3):
            stream = await trio.open_unix_socket(os.fspath(keeper_socket(tmp_path)))
            await stream.send_all(b'{"op": "sta')
            await stream.aclose()
        await wait_all_tasks_blocked()
        assert (await client.status()).state is KeeperState.UP
