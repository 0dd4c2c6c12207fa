"""The whole chain but the broker: emulator, headless browser, extension, native host, on a private home folder.

    async with open_chain(on_hop=print) as chain:
        ...  # start `notebook-gateway serve` with chain.env

Leaves no process and no file behind. With `chain.env` in its environment, `serve` finds this chain's companion.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import Final

import attrs
import trio

from cdp.connection import Connection, run_connection
from cdp.errors import CallFailed, CdpError
from cdp.finder import find_browser
from cdp.launcher import Launched, launch
from cdp.polling import until
from cdp.targets import evaluate, wait_for_target
from harness import browser as headless
from harness import extension
from harness.emulator import DEFAULT_ALLOWED, Emulator, serve
from harness.errors import ChainFailed
from harness.home import temporary_home, write_browser_file, write_configuration
from harness.probe import wait_for_welcome
from native_host import paths
from native_host.registration import write_host_manifest, write_launcher

HOP_TIMEOUT_S: Final = 20.0
"""Far more than any hop takes (all of them together: under 4 s on two cores), so only a broken hop meets it."""
BROWSER_END_TIMEOUT_S: Final = 1.0
"""The profile is thrown away, so nothing is lost when a browser that takes longer is killed."""

OnHop = Callable[[str, float], None]


@attrs.frozen
class Chain:
    """A chain that is up. `connection` is a browser-level CDP connection with no session on the worker."""

    home: Path
    account: str
    emulator: Emulator
    launched: Launched
    connection: Connection
    socket: Path
    """The companion's socket at the start. Another worker brings another host: see `wait_for_companion`."""

    @property
    def env(self) -> dict[str, str]:
        """What a child process needs in its environment to use this chain."""
        return {paths.HOME_VARIABLE: str(self.home)}

    @property
    def upstream(self) -> dict[str, str]:
        """Where the emulator is and how to control it."""
        return {
            "url": self.emulator.url,
            "address": self.emulator.address,
            "ca_file": str(self.emulator.ca_file),
            "control_url": self.emulator.control_url,
            "control_token": self.emulator.control_token,
        }

    @property
    def browser(self) -> dict[str, object]:
        """Who runs the browser and where its debugging port is."""
        return {"pid": self.launched.pid, "cdp_url": self.launched.cdp_url}

    def as_json(self) -> dict[str, object]:
        """Return the document that ``notebook-gateway harness up --json`` prints."""
        return {"env": self.env, "upstream": self.upstream, "browser": self.browser, "socket": str(self.socket)}

    async def set_extension_settings(self, account: str | None, notebooks: Sequence[str] | str) -> None:
        """Set the extension's own account and allowlist, as its person would in the popup."""
        await extension.evaluate_in_worker(self.connection, extension.settings_expression(account, notebooks))

    async def evaluate_in_worker(self, expression: str) -> object:
        """Evaluate script in the extension's worker; attaches and detaches."""
        return await extension.evaluate_in_worker(self.connection, expression)

    async def evaluate_in_tab(self, expression: str) -> object:
        """Evaluate script in the first notebook tab; attaches and detaches."""
        return await headless.evaluate_in_tab(self.connection, expression)

    async def stop_worker(self) -> None:
        """Stop the extension's worker, with no session on it; returns when it is gone."""
        await extension.stop_worker(self.connection)

    async def reload_extension(self) -> None:
        """Reload the extension; returns when the new worker is ready."""
        await extension.reload_extension(self.connection)

    async def wait_for_companion(self, *, other_than: Path | None = None) -> Path:
        """Return the socket of a companion that answers for this chain's account; the caller owns the deadline."""
        return await until(partial(_maybe_companion, self.home, self.account, other_than))


@asynccontextmanager
async def open_chain(
    *,
    home: Path | None = None,
    account: str | None = None,
    notebooks: Sequence[str] | str = DEFAULT_ALLOWED,
    signed_in: Sequence[int] = (0, 1),
    open_tab: bool = True,
    emulator: Emulator | None = None,
    environ: Mapping[str, str] = os.environ,
    on_hop: OnHop | None = None,
) -> AsyncGenerator[Chain]:
    """Bring the chain up, hop by hop, and take it down with the block.

    Args:
        home: an empty home folder that the caller removes afterwards; one of the chain's own if None.
        account: the configured account; the emulator's default one if None.
        notebooks: what both allowlists allow: ids, or "*" for all.
        signed_in: which of the emulator's accounts the browser is signed in to, in `authuser` order.
        emulator: one that runs already and outlives this chain; one of the chain's own if None. With the home folder
            of an earlier chain this is a browser that comes back.
        open_tab: whether to open the notebook tab now; else the extension opens it when it needs it.
        environ: names the browser (NOTEBOOK_GATEWAY_BROWSER) and its extra arguments, and is what the browser gets.
        on_hop: called with the name of each hop and the milliseconds it took to come up.

    Raises:
        ChainFailed: a hop did not come up.
    """
    report = on_hop or _ignore
    async with AsyncExitStack() as stack:
        home = home or stack.enter_context(temporary_home())
        if emulator is None:
            with _hop("emulator", report):
                emulator = await stack.enter_async_context(serve(folder=_made(home / "emulator")))
        account = account or emulator.default_account
        write_configuration(home, account, notebooks)
        with _hop("browser", report):
            profile = home / "profile"
            headless.write_preferences(profile)
            write_host_manifest(profile / "NativeMessagingHosts", write_launcher(home, sys.executable))
            launched = await stack.enter_async_context(
                launch(
                    find_browser(environ),
                    user_data_dir=profile,
                    args=headless.browser_arguments(emulator.address, emulator.spki_sha256_b64),
                    # Branded Chrome takes an unpacked extension over the pipe only; and a chain that is killed
                    # takes its browser along.
                    pipe=True,
                    environ=headless.browser_environment(home, environ),
                    shutdown_timeout_s=BROWSER_END_TIMEOUT_S,
                )
            )
            assert launched.pipe is not None
            connection = await stack.enter_async_context(run_connection(launched.pipe))
        # The cookie store of a new profile takes as long to open as the extension takes to load.
        await _together(
            partial(_sign_in, connection, emulator.cookies_for(signed_in), report),
            partial(_start_extension, connection, account, notebooks, report),
        )
        # The tab comes after the extension, whose page script must be there before any script of the page.
        await _together(
            partial(_wait_for_native_host, home, account, report),
            *([partial(_open_tab, connection, account, report)] if open_tab else []),
        )
        write_browser_file(home, launched.pid, launched.cdp_url)
        socket = await until(partial(_maybe_companion, home, account, None))
        yield Chain(home, account, emulator, launched, connection, socket)


async def _together(*steps: Callable[[], Awaitable[None]]) -> None:
    """Run steps at the same time; the first failure leaves as it is, not in a group."""
    failures: list[ChainFailed] = []

    async def run(step: Callable[[], Awaitable[None]], scope: trio.CancelScope) -> None:
        try:
            await step()
        except ChainFailed as failure:
            failures.append(failure)
            scope.cancel()

    async with trio.open_nursery() as nursery:
        for step in steps:
            nursery.start_soon(run, step, nursery.cancel_scope)
    if failures:
        raise failures[0]


async def _sign_in(connection: Connection, cookies: list[dict[str, object]], report: OnHop) -> None:
    with _hop("sign-in", report, HOP_TIMEOUT_S):
        await connection.call("Storage.setCookies", {"cookies": cookies})


async def _start_extension(connection: Connection, account: str, notebooks: Sequence[str] | str, report: OnHop) -> None:
    with _hop("extension", report, HOP_TIMEOUT_S):
        await extension.load_extension(connection)
        async with extension.worker_session(connection) as worker:
            await evaluate(worker, extension.settings_expression(account, notebooks))
            await evaluate(worker, "ensureNativePort()")


async def _wait_for_native_host(home: Path, account: str, report: OnHop) -> None:
    with _hop("native host", report, HOP_TIMEOUT_S):
        await until(partial(_maybe_companion, home, account, None))


async def _open_tab(connection: Connection, account: str, report: OnHop) -> None:
    with _hop("page", report, HOP_TIMEOUT_S):
        url = headless.notebook_url(account)
        await connection.call("Target.createTarget", {"url": url, "background": True})
        await wait_for_target(connection, headless.is_notebook_tab)
        await until(partial(_is_tab_loaded, connection))


async def _is_tab_loaded(connection: Connection) -> bool:
    try:
        return await headless.evaluate_in_tab(connection, "document.readyState === 'complete'") is True
    except (LookupError, CallFailed):
        return False  # between two documents a tab has neither an address nor a context to evaluate in


async def _maybe_companion(home: Path, account: str, other_than: Path | None) -> Path | None:
    for socket in paths.companion_sockets(home):
        if socket == other_than:
            continue
        try:
            await wait_for_welcome(socket, account)
        except (OSError, EOFError):
            continue  # not listening yet, or a host that ended
        return socket
    return None


@contextmanager
def _hop(name: str, report: OnHop, timeout_s: float | None = None) -> Generator[None]:
    """Measure one hop and name it in whatever goes wrong.

    A hop that opens a resource for longer than this block keeps its own deadline: a cancel scope must not end before a
    nursery that was opened inside it.
    """
    started = time.perf_counter()
    try:
        if timeout_s is None:
            yield
        else:
            with trio.fail_after(timeout_s):
                yield
    except trio.TooSlowError:
        raise ChainFailed(name, f"not up within {timeout_s:g} s; see logs/ under the home folder") from None
    except CdpError as error:
        raise ChainFailed(name, str(error)) from error
    report(name, (time.perf_counter() - started) * 1000)


def _made(folder: Path) -> Path:
    folder.mkdir(mode=0o700)
    return folder


def _ignore(name: str, ms: float) -> None:
    """Nobody asked for the times."""
