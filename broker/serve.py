"""`notebook-gateway serve`: claim the wire, import, run one nursery, leave at once.

The order matters. Standard output is claimed before anything that could print is imported. The SDK's import is most of
the start (research: 0.55 to 0.7 s), so nothing else heavy stands beside it: the relay, cattrs and the codecs of a call
are imported when a tool is first called. The process ends by `os._exit`: interpreter teardown alone takes 0.2 s.
"""

from __future__ import annotations

import gc
import importlib
import os
import signal
import sys
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from broker.stdio_wire import StdioWire, claim_stdio
from native_host.paths import allowlist_file, config_file, home_folder, logs_folder
from native_host.resource_profile import apply_profile, read_profile

if TYPE_CHECKING:
    import trio

    from broker.companion import Companion
    from broker.journal import Journal
    from broker.relay_frames import Event
    from broker.session import Session

DRAIN_S: Final = 2.0
"""How long the end of the process waits for writes under way; clients kill a server after some seconds (C-012)."""
ACCOUNT_EVENTS: Final = frozenset({"signed_out", "account_changed", "reloaded"})
"""After these the page may belong to somebody else."""


def run() -> int:
    """Serve one agent until it leaves; end the process with status 0, or return a status for a failed start."""
    read_fd, write_fd = claim_stdio()
    try:
        home = home_folder()
    except ValueError as error:
        print(f"notebook-gateway: {error}", file=sys.stderr)
        return 2
    status = 0
    try:
        problems = apply_profile(read_profile(home))  # before there are threads, which would keep their own mask
        _import_quickly()
        _run_trio(home, read_fd, write_fd, problems)
    except KeyboardInterrupt:  # before Trio listens to signals
        status = 130
    except SystemExit as error:
        status = error.code if isinstance(error.code, int) else 1
    _leave(status)
    raise AssertionError("unreachable")


def _import_quickly() -> None:
    """Import the SDK with two costs taken out.

    The cyclic collector runs dozens of times over objects that all stay, and pydantic looks through every installed
    distribution for plugins (documented switch). Together a fifth of the import.
    """
    gc.disable()
    plugins_were = os.environ.get("PYDANTIC_DISABLE_PLUGINS")
    os.environ["PYDANTIC_DISABLE_PLUGINS"] = "__all__"
    try:
        # Everything that answers `initialize` and `tools/list`, and nothing that only a call needs.
        importlib.import_module("broker.mcp_server")
        importlib.import_module("broker.stdio_transport")
        importlib.import_module("broker.tools")
    finally:
        if plugins_were is None:
            del os.environ["PYDANTIC_DISABLE_PLUGINS"]
        else:
            os.environ["PYDANTIC_DISABLE_PLUGINS"] = plugins_were
        gc.freeze()  # what was imported stays; the collector never looks at it again
        gc.enable()


def _leave(status: int) -> None:
    import logging

    logging.shutdown()
    sys.stderr.flush()
    os._exit(status)


def _run_trio(home: Path, read_fd: int, write_fd: int, problems: list[str]) -> None:
    import logging

    import trio

    from broker.log_file import set_up_logging

    set_up_logging(logs_folder(home))
    for problem in problems:
        logging.getLogger(__name__).warning("%s", problem)
    trio.run(_serve, home, StdioWire(read_fd, write_fd), restrict_keyboard_interrupt_to_checkpoints=True)


async def _serve(home: Path, wire: StdioWire) -> None:
    """Run facade, relay and questions in one nursery that ends with the client."""
    import trio

    from broker.dispatch import Dispatcher
    from broker.mcp_server import build_server
    from broker.stdio_transport import StdioTransport
    from broker.tools import TOOLS

    stop = trio.Event()
    async with trio.open_nursery() as nursery:
        await nursery.start(_stop_on_signals, stop)
        if any(name.startswith("OTEL_") for name in os.environ):
            from broker import otel_export

            exporter = otel_export.wanted_exporter()
            if exporter is not None:
                nursery.start_soon(otel_export.export_spans, partial(otel_export.load_exporter, exporter))
        sessions: list[Session] = []

        def open_session() -> Session:
            sessions.append(make_session(home, nursery))
            return sessions[0]

        dispatcher = Dispatcher(TOOLS, open_session)
        server = build_server(TOOLS, dispatcher)
        await StdioTransport(server, wire).serve(stop)
        # A write whose request has left is worth a moment: otherwise its outcome has to be looked for later.
        with trio.move_on_after(DRAIN_S):
            for session in sessions:
                await session.mutations.drain()
        nursery.cancel_scope.cancel()


def make_session(home: Path, nursery: trio.Nursery) -> Session:
    """Wire one session up; its relay and its questions live in `nursery`."""
    from broker.access import Access
    from broker.allowlist import AllowlistFile
    from broker.config import ConfigFile
    from broker.late_companion import LateCompanion
    from broker.mutations import Mutations
    from broker.project_file import ProjectFolder
    from broker.query_runs import QueryRuns
    from broker.request_budget import Limits, RequestBudget
    from broker.session import Session
    from broker.upstream import Upstream

    config = ConfigFile(config_file(home))
    working_directory, user_home = Path.cwd(), Path.home()

    async def open_companion() -> AbstractAsyncContextManager[Companion]:
        settings = await config.get()
        from broker.companions import open_companions
        from broker.managed_browser import ManagedBrowser

        if not settings.manages_browser:
            return open_companions(home, settings.account, on_event=on_event)
        browser = ManagedBrowser(home)

        def on_event_of_ours(event: Event) -> None:
            on_event(event)
            if event.name == "signed_out":
                nursery.start_soon(browser.ask_for_sign_in)

        return open_companions(home, settings.account, on_event=on_event_of_ours, start_browser=browser.start)

    async def project() -> ProjectFolder:
        named = (await config.get()).project_folder
        return ProjectFolder(named or working_directory, user_home, is_named=named is not None)

    def open_journal() -> AbstractAsyncContextManager[Journal]:
        from broker import journal  # SQLite is for sessions that write

        return journal.open_journal(home)

    def on_event(event: Event) -> None:
        if event.name in ACCOUNT_EVENTS:
            access.forget_account()

    companion = LateCompanion(nursery, open_companion)
    access = Access(config, AllowlistFile(allowlist_file(home)), companion)
    mutations = Mutations(nursery, open_journal)

    async def limits() -> Limits:
        settings = await config.get()
        return Limits(settings.account, settings.requests_per_minute)

    upstream = Upstream(companion, RequestBudget(home, limits))
    return Session(access, upstream, QueryRuns(nursery), project, config, companion, mutations)


async def _stop_on_signals(stop: trio.Event, task_status: trio.TaskStatus[None]) -> None:
    import trio

    with trio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        task_status.started()
        async for _ in signals:
            stop.set()
