"""The browser keeper: one process that holds the managed browser by its pipe, and everything it does to it.

It starts the browser with the extension, starts it again after a crash, wakes a worker that stopped, opens the
sign-in window when the session is gone, and ends both when nobody has called for a while. One nursery holds its
tasks: the browser's life, the control socket, and the signals. It holds `run/keeper.lock` while it lives, so a profile
has one keeper; the kernel lets the lock go when the process ends, however it ends.
"""

from __future__ import annotations

import fcntl
import math
import os
import signal
import time
from collections.abc import AsyncIterator, Callable, Generator, Mapping
from contextlib import AbstractAsyncContextManager, contextmanager
from pathlib import Path
from random import Random
from typing import Final, Protocol

import attrs
import trio

from cdp.errors import CdpError
from native_host.build import BUILD
from native_host.paths import ensure_private_folder, keeper_lock_file, run_folder
from onboarding.display import NoDisplay
from onboarding.keeper_states import KeeperEvent, KeeperState, next_state
from onboarding.managed_browser import open_managed_browser
from onboarding.pages import PageState
from onboarding.sign_in import OnWaiting, SignInOutcome, run_sign_in

WATCH_S: Final = 1.0
"""Between two looks at the browser: a stopped worker must be back within 5 s (design, "Staying alive")."""
LOOK_TIMEOUT_S: Final = 10.0
"""For one look; a browser that takes longer hangs and is started anew."""
SIGN_IN_TIMEOUT_S: Final = 15 * 60.0
BETWEEN_WINDOWS_S: Final = 10 * 60.0
"""Before another sign-in window is opened without a person asking for it."""
FIRST_PAUSE_S: Final = 0.5
LONGEST_PAUSE_S: Final = 60.0
STEADY_AFTER_S: Final = 120.0
"""A browser that ran this long before it died starts the pauses from the beginning."""
GIVES_UP_AFTER: Final = 8
"""Starts in a row that came to nothing."""


class AlreadyKept(Exception):
    """Another keeper has this profile."""


class KeptBrowser(Protocol):
    """What the keeper needs of a browser; `onboarding.managed_browser.ManagedBrowser` is one."""

    @property
    def pid(self) -> int: ...
    @property
    def has_exited(self) -> bool: ...
    @property
    def headless(self) -> bool: ...
    async def is_worker_running(self) -> bool: ...
    async def wake_worker(self) -> None: ...
    async def last_call_ms(self) -> float: ...
    async def page_state(self) -> PageState: ...
    async def show(self) -> None: ...
    async def hide(self) -> None: ...
    async def set_settings(self, account: str | None, notebooks: list[str] | str) -> None: ...
    async def get_settings(self) -> dict[str, object]: ...
    async def ensure_native_port(self) -> None: ...
    async def open_notebook_tab(self, account: str) -> None: ...
    async def notebooks(self) -> list[dict[str, object]]: ...


class OpenBrowser(Protocol):
    """Starts a browser for the length of a block; `onboarding.managed_browser.open_managed_browser` is one."""

    def __call__(
        self, home: Path, *, headless: bool, environ: Mapping[str, str]
    ) -> AbstractAsyncContextManager[KeptBrowser]: ...


class SignIn(Protocol):
    """Opens the sign-in window and waits; `onboarding.sign_in.run_sign_in` is one."""

    async def __call__(
        self,
        home: Path,
        account: str | None,
        *,
        environ: Mapping[str, str],
        timeout_s: float,
        on_waiting: OnWaiting,
    ) -> SignInOutcome: ...


@attrs.define(eq=False)
class Keeper:
    """One keeper's life. `run` is its whole body; the other methods are what the control socket asks for."""

    home: Path
    account: str | None
    headless: bool
    idle_stop_s: float
    """Without a call; infinite for never."""
    environ: Mapping[str, str] = attrs.field(factory=lambda: os.environ)
    open_browser: OpenBrowser = open_managed_browser
    sign_in: SignIn = run_sign_in
    rng: Random = attrs.field(factory=Random)
    say: Callable[[str], None] = attrs.field(default=lambda text: print(_stamped(text), flush=True))

    state: KeeperState = attrs.field(default=KeeperState.STARTING, init=False)
    browser: KeptBrowser | None = attrs.field(default=None, init=False)
    restarts: int = attrs.field(default=0, init=False)
    last_error: str | None = attrs.field(default=None, init=False)
    since_ms: int = attrs.field(factory=lambda: time.time_ns() // 1_000_000, init=False)
    last_sign_in: SignInOutcome | None = attrs.field(default=None, init=False)
    _changed: trio.Event = attrs.field(factory=trio.Event, init=False)
    _wants_sign_in: bool = attrs.field(default=False, init=False)
    _wants_stop: bool = attrs.field(default=False, init=False)
    _next_window_at: float = attrs.field(default=-math.inf, init=False)
    _leave: trio.Event = attrs.field(factory=trio.Event, init=False)
    """Set to have the browser that is up close in peace."""
    _life: trio.CancelScope = attrs.field(factory=trio.CancelScope, init=False)
    _stage: trio.CancelScope = attrs.field(factory=trio.CancelScope, init=False)
    """Around a browser that is starting, or a pause; cancelled for a sign-in window."""

    async def run(self) -> None:
        """Keep the browser until `stop` is called, nobody has called for long, or it cannot be started.

        Raises:
            NoDisplay, CdpError: the first start failed, which another try would not mend.
        """
        with self._life:
            await self._live()
        self._move(KeeperEvent.STOP)

    async def _live(self) -> None:
        failures = 0
        while True:
            started = trio.current_time()
            try:
                with trio.CancelScope() as self._stage:
                    await self._one_life()
                if self._wants_stop or not self._wants_sign_in:
                    return
            except (CdpError, OSError) as error:
                self.last_error = str(error)
                self.say(f"the browser ended: {type(error).__name__}")
                if self.state is KeeperState.STARTING and self.restarts == 0:
                    raise
                failures = 1 if trio.current_time() - started > STEADY_AFTER_S else failures + 1
                if failures > GIVES_UP_AFTER:
                    self.say(f"gave up after {failures - 1} starts in a row")
                    return
                if not self._wants_sign_in:
                    await self._pause(failures)
            if self._wants_sign_in:
                self._wants_sign_in = False
                await self._sign_in()
            else:
                self.restarts += 1
                self._move(KeeperEvent.RETRY)

    async def _pause(self, failures: int) -> None:
        """Wait before the next start; a wish to sign in ends it."""
        self._move(KeeperEvent.DIED)
        with trio.CancelScope() as self._stage:
            # Full jitter: whatever killed it may need a while.
            longest_s = min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2**failures)
            await trio.sleep(self.rng.uniform(FIRST_PAUSE_S, longest_s))

    async def _one_life(self) -> None:
        """Start the browser and watch it; returns when it is to be closed, raises when it ended by itself."""
        async with self.open_browser(self.home, headless=self.headless, environ=self.environ) as browser:
            try:
                if self.account is not None:
                    await browser.open_notebook_tab(self.account)
                await browser.ensure_native_port()
                self.browser = browser
                self._move(KeeperEvent.READY)
                self.say(f"browser {browser.pid} is up")
                await self._watch(browser)
            finally:
                self.browser = None

    async def _watch(self, browser: KeptBrowser) -> None:
        self._leave = trio.Event()
        while True:
            # Left by an event and not by a cancel: a browser that may close in peace writes its cookies.
            with trio.move_on_after(WATCH_S):
                await self._leave.wait()
                return
            if browser.has_exited:
                raise BrowserEnded("its process is gone")
            if not self.home.exists():
                return  # uninstalled under us
            with trio.move_on_after(LOOK_TIMEOUT_S) as looking:
                if not await browser.is_worker_running():
                    self.say("waking the extension's worker")
                    await browser.wake_worker()
                elif await self._is_idle(browser):
                    self.say("nobody has called for long; stopping")
                    return
            if looking.cancelled_caught:
                raise BrowserEnded(f"it did not answer within {LOOK_TIMEOUT_S:g} s")

    async def _is_idle(self, browser: KeptBrowser) -> bool:
        age_s = time.time() - self.since_ms / 1000
        if age_s < self.idle_stop_s:
            return False
        return time.time() - await browser.last_call_ms() / 1000 >= self.idle_stop_s

    async def _sign_in(self) -> None:
        self._move(KeeperEvent.SIGN_IN)
        self.say("opening the sign-in window")
        try:
            self.last_sign_in = await self.sign_in(
                self.home,
                self.account,
                environ=self.environ,
                timeout_s=SIGN_IN_TIMEOUT_S,
                on_waiting=lambda window, page: self.say(f"sign-in window {window.pid} is open, page: {page}"),
            )
            self.say(f"the sign-in window is closed: {self.last_sign_in.result}")
        except (CdpError, NoDisplay, OSError) as error:
            self.last_error = str(error)
            self.say(f"no sign-in window: {type(error).__name__}")
        self._next_window_at = trio.current_time() + BETWEEN_WINDOWS_S
        self._move(KeeperEvent.SIGNED)

    def request_sign_in(self, *, by_person: bool) -> bool:
        """Close the browser and open the sign-in window; asking again while it is open changes nothing.

        Returns False, and does nothing, when no person asks and one has just closed the window or signed in: an agent
        that goes on calling must not put window after window on the screen.
        """
        if self.state is KeeperState.SIGNING_IN:
            return True
        if not by_person and trio.current_time() < self._next_window_at:
            return False
        self._wants_sign_in = True
        self._close_browser()
        return True

    def retry_now(self) -> None:
        """End the pause after a crash: a person asks for the browser."""
        if self.state is KeeperState.BACKING_OFF:
            self._stage.cancel()

    def stop(self) -> None:
        """End the browser and the keeper."""
        self._wants_stop = True
        if self.browser is None:
            self._life.cancel()
        else:
            self._close_browser()

    def _close_browser(self) -> None:
        if self.browser is None:
            self._stage.cancel()
        else:
            self._leave.set()

    async def wait_for(self, *states: KeeperState) -> None:
        """Return as soon as the state is one of these; the caller owns the deadline."""
        while self.state not in states:
            await self._changed.wait()

    async def wait_for_another_than(self, browser: KeptBrowser) -> None:
        """Return once `browser`, whose connection is lost, is no longer the one that is kept."""
        while self.browser is browser:
            await self._changed.wait()

    def _move(self, event: KeeperEvent) -> None:
        self.state = next_state(self.state, event)
        self.since_ms = time.time_ns() // 1_000_000
        self._changed.set()
        self._changed = trio.Event()


def _stamped(text: str) -> str:
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S')} {text}"


class BrowserEnded(CdpError):
    """The browser ended by itself, or hangs."""


@contextmanager
def held_profile(home: Path) -> Generator[None]:
    """Hold the profile of `home` for this process.

    Raises:
        AlreadyKept: another process holds it; nothing was changed.
    """
    ensure_private_folder(run_folder(home))
    descriptor = os.open(keeper_lock_file(home), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise AlreadyKept(f"another keeper holds {keeper_lock_file(home)}") from None
        yield
    finally:
        os.close(descriptor)


async def keep(keeper: Keeper) -> None:
    """Run the keeper with its control socket until it ends by itself, is told to, or gets SIGTERM or SIGINT."""
    from onboarding.keeper_server import serve_requests

    keeper.say(f"keeper {os.getpid()} of build {BUILD} starts")
    with held_profile(keeper.home), trio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_stop_on_signal, signals, keeper)
            await nursery.start(serve_requests, keeper)
            try:
                await keeper.run()
            finally:
                nursery.cancel_scope.cancel()
    keeper.say("keeper ends")


async def _stop_on_signal(signals: AsyncIterator[int], keeper: Keeper) -> None:
    async for _ in signals:
        keeper.stop()
