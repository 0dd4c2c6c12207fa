"""One session without a browser: our dispatcher and tools over the emulator's own state, in a private home folder."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import trio
from attrs import define, field

from broker.access import Access
from broker.allowlist import AllowlistFile, change_allowlist
from broker.companion import AnswerChunks, Identity, RpcReply
from broker.config import ConfigFile
from broker.dispatch import CallRequest, Dispatcher
from broker.errors import GatewayError
from broker.journal import open_journal
from broker.mutations import Mutations
from broker.project_file import ProjectFolder
from broker.query_runs import QueryRuns
from broker.session import Session
from broker.tools import TOOLS
from broker.upstream import Upstream
from harness.emulator.state import ServiceState
from tests.broker.emulator_companion import ACCOUNT, EmulatorCompanion


@define(eq=False)
class Browser(EmulatorCompanion):
    """The emulator's companion with the parts of the extension that policy needs, and errors on demand."""

    account: str = ACCOUNT
    notebooks: object = "*"
    error: GatewayError | None = None
    calls: list[str] = field(factory=list[str])
    asked: list[Any] = field(factory=list[Any])
    """Parameters of each question."""

    async def identity(self, *, refresh: bool = False, deadline_s: float, traceparent: str) -> Identity:
        self._count("identity")
        return Identity(self.account, "https://notebook.google.com", "emulator")

    async def status(self, *, deadline_s: float, traceparent: str) -> dict[str, object]:
        self._count("status")
        return {"notebooks": self.notebooks}

    async def rpc(
        self, rpc_id: str, params: object, *, notebook: str | None, deadline_s: float, traceparent: str
    ) -> RpcReply:
        self._count(rpc_id)
        return await EmulatorCompanion.rpc(
            self, rpc_id, params, notebook=notebook, deadline_s=deadline_s, traceparent=traceparent
        )

    @asynccontextmanager
    async def stream(
        self, params: object, *, notebook: str, deadline_s: float, traceparent: str
    ) -> AsyncGenerator[AnswerChunks]:
        self._count("stream")
        self.asked.append(params)
        async with EmulatorCompanion.stream(
            self, params, notebook=notebook, deadline_s=deadline_s, traceparent=traceparent
        ) as chunks:
            yield chunks

    def _count(self, what: str) -> None:
        self.calls.append(what)
        if self.error is not None:
            raise self.error


class Bench:
    """A session at work. `call` goes through everything but MCP itself."""

    def __init__(self, home: Path, folder: Path, browser: Browser, nursery: trio.Nursery) -> None:
        self.home = home
        self.folder = folder
        self.browser = browser
        config = ConfigFile(home / "config.toml")
        self.access = Access(config, AllowlistFile(home / "allowlist.json"), browser)

        async def project() -> ProjectFolder:
            await trio.lowlevel.checkpoint()
            return ProjectFolder(folder, home)

        mutations = Mutations(nursery, partial(open_journal, home))
        self.session = Session(self.access, Upstream(browser), QueryRuns(nursery), project, config, browser, mutations)
        self.dispatcher = Dispatcher(TOOLS, lambda: self.session)
        self.progress: list[str] = []

    def allow(self, *notebook_ids: str) -> None:
        change_allowlist(self.home / "allowlist.json", lambda old: old.adding(ACCOUNT, notebook_ids))

    def allow_everything(self) -> None:
        change_allowlist(self.home / "allowlist.json", lambda old: old.allowing_everything(ACCOUNT))

    def forbid(self, *notebook_ids: str) -> None:
        change_allowlist(self.home / "allowlist.json", lambda old: old.removing(ACCOUNT, notebook_ids))

    async def call(self, tool: str, arguments: Mapping[str, object] | None = None, **meta: object) -> dict[str, Any]:
        """Return the envelope, after checking that the text says the same."""
        request = CallRequest(tool, arguments or {}, "7", self._say, meta)
        outcome = await self.dispatcher.dispatch(request)
        assert json.loads(outcome.text) == outcome.envelope
        assert outcome.is_error is not outcome.envelope["ok"]
        return dict(outcome.envelope)

    async def result(self, tool: str, arguments: Mapping[str, object] | None = None) -> Any:
        envelope = await self.call(tool, arguments)
        assert envelope["ok"], envelope
        return envelope["result"]

    async def error(self, tool: str, arguments: Mapping[str, object] | None = None) -> Any:
        envelope = await self.call(tool, arguments)
        assert not envelope["ok"], envelope
        return envelope["error"]

    async def _say(self, text: str, done: float | None = None, total: float | None = None) -> None:
        await trio.lowlevel.checkpoint()
        self.progress.append(text)


@asynccontextmanager
async def open_bench(
    tmp_path: Path, *allowed: str, make_browser: Callable[[ServiceState], Browser] = Browser
) -> AsyncGenerator[Bench]:
    """Open a session whose account is the emulator's first one, with a project folder and these notebooks allowed."""
    home, folder = tmp_path / "home", tmp_path / "project"
    home.mkdir(parents=True)
    (folder / ".git").mkdir(parents=True)
    (home / "config.toml").write_text(f'account = "{ACCOUNT}"\n')
    state = ServiceState()
    try:
        async with trio.open_nursery() as nursery:
            bench = Bench(home, folder, make_browser(state), nursery)
            bench.allow(*allowed)
            yield bench
            nursery.cancel_scope.cancel()
    finally:
        state.close()
