"""`notebook-gateway demo`: the main job on the embedded default, with no account and no network.

The demo is an ordinary MCP client: it starts the headless chain, then `notebook-gateway serve` as a child, and calls
the published tools over stdio exactly as an agent would.
"""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING, Any, Protocol, cast

import click
import trio
from attrs import define, field

from cdp.errors import CdpError
from harness.errors import ChainFailed
from native_host.paths import HOME_VARIABLE

if TYPE_CHECKING:
    from harness.mcp_client import McpClient

START_DEADLINE_S = 60.0
"""A first start on a slow machine; a warm one takes a few seconds."""
ANSWER_DEADLINE_S = 120.0
ASK_FOR_HOPS = {"io.notebook-gateway/hops": True}


class DemoFailed(Exception):
    """A tool answered with a failure envelope; `error` is its `error` object."""

    def __init__(self, tool: str, error: dict[str, Any]) -> None:
        super().__init__(f"{tool}: {error.get('code')}: {error.get('message')}")
        self.error = error


class Show(Protocol):
    """What a way of showing the demo must offer; `--json` collects, people watch."""

    def hop(self, name: str, ms: float) -> None: ...
    def notebooks(self, notebooks: list[dict[str, Any]]) -> None: ...
    def question(self, question: str) -> None: ...
    def progress(self, text: str) -> None: ...
    def result(self, result: dict[str, Any], meta: dict[str, Any]) -> None: ...


@define
class Report:
    """The JSON document of `demo --json`; it also stands behind the view for people."""

    ok: bool = False
    hops: list[dict[str, Any]] = field(factory=list[dict[str, Any]])
    notebooks: list[dict[str, Any]] = field(factory=list[dict[str, Any]])
    question: str = ""
    result: dict[str, Any] | None = None
    error: dict[str, Any] | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the published document; `error` stands in it only when the demo failed."""
        document: dict[str, Any] = {
            "ok": self.ok,
            "hops": self.hops,
            "notebooks": self.notebooks,
            "question": self.question,
            "result": self.result,
        }
        if self.error is not None:
            document["error"] = self.error
        return document


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else.")
def demo(as_json: bool) -> None:
    """Answer one question through a real browser, against the emulated service: no account needed."""
    try:
        import harness.chain  # noqa: F401  # pyright: ignore[reportUnusedImport]  # asks whether the extra is there
    except ModuleNotFoundError as error:
        from notebook_gateway.console import fail

        fail(f"the demo needs {error.name}", "Run: pip install 'notebook-gateway[harness]'")
    from notebook_gateway.demo_view import PeopleView, SilentView

    report = Report()
    show: Show = SilentView() if as_json else PeopleView()
    try:
        trio.run(Demo(report, show).run)
    except* (DemoFailed, ChainFailed, CdpError) as group:
        report.error = _error_of(_first_leaf(group))
    if as_json:
        print(json.dumps(report.as_dict(), ensure_ascii=False))
    elif report.error is not None:
        from notebook_gateway.console import fail

        fail(str(report.error.get("message")), str(report.error.get("hint", "")))
    sys.exit(0 if report.ok else 1)


def _first_leaf(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return error


def _error_of(error: BaseException) -> dict[str, Any]:
    if isinstance(error, DemoFailed):
        return error.error
    hint = "Run it again; if it fails twice, start Chromium once by hand to see what it says."
    return {"code": "COMPANION_OFFLINE", "message": str(error), "retryable": True, "hint": hint}


@define
class Demo:
    """One run: brings everything up, then lists, selects and asks, filling `report` on the way."""

    report: Report
    show: Show

    async def run(self) -> None:
        """Run it.

        Raises: DemoFailed (in a group) when a tool refuses; harness errors when the chain does not come up.
        """
        from harness.chain import open_chain
        from harness.home import temporary_home
        from harness.mcp_client import SERVE_COMMAND, open_client

        with temporary_home() as home:
            env = {HOME_VARIABLE: str(home)}
            async with open_client(SERVE_COMMAND, env=env) as client, trio.open_nursery() as nursery:
                # The broker imports for as long as a browser takes to start, and needs none to be greeted.
                nursery.start_soon(self._greet, client)
                async with open_chain(home=home, on_hop=self._hop):
                    await self._converse(client)

    def _hop(self, name: str, ms: float) -> None:
        self.report.hops.append({"name": name, "ms": round(ms, 1)})
        self.show.hop(name, ms)

    async def _greet(self, client: McpClient) -> None:
        started = time.perf_counter()
        with trio.fail_after(START_DEADLINE_S):
            await client.initialize()
        self._hop("broker", (time.perf_counter() - started) * 1e3)

    async def _call(
        self, client: McpClient, tool: str, arguments: dict[str, Any], timeout_s: float = START_DEADLINE_S
    ) -> dict[str, Any]:
        """Call a tool; returns its envelope. Raises: DemoFailed for a failure envelope."""
        started = time.perf_counter()
        with trio.fail_after(timeout_s):
            outcome = await client.call_tool(tool, arguments, meta=ASK_FOR_HOPS, on_progress=self._progress)
        self._hop(tool, (time.perf_counter() - started) * 1e3)
        envelope: dict[str, Any] = outcome["structuredContent"]
        if not envelope["ok"]:
            raise DemoFailed(tool, envelope["error"])
        return envelope

    def _progress(self, params: dict[str, Any]) -> None:
        self.show.progress(str(params.get("message", "")))

    async def _converse(self, client: McpClient) -> None:
        """List, select, ask, once the broker has answered the greeting."""
        from harness.emulator import DEMO_NOTEBOOK_ID, DEMO_QUESTION

        with trio.fail_after(START_DEADLINE_S):
            await client.greeted.wait()
        self.report.notebooks = (await self._call(client, "list_notebooks", {}))["result"]["notebooks"]
        self.show.notebooks(self.report.notebooks)
        await self._call(client, "select_notebook", {"notebook_id": DEMO_NOTEBOOK_ID, "save_for_project": False})
        self.report.question = DEMO_QUESTION
        self.show.question(DEMO_QUESTION)
        ask = {"question": DEMO_QUESTION, "request_key": "demo-1"}
        envelope = await self._call(client, "query_notebook", ask, ANSWER_DEADLINE_S)
        while envelope["result"].get("status") == "running":  # the same call collects the answer (docs/tools.md)
            await trio.sleep(float(envelope["result"]["retry_after_s"]))
            envelope = await self._call(client, "query_notebook", ask, ANSWER_DEADLINE_S)
        self.report.result = envelope["result"]
        self.report.ok = True
        self.show.result(envelope["result"], envelope["_meta"])
