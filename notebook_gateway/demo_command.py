"""`notebook-gateway demo`: the main job on the embedded default, with no account and no network.

The demo is an ordinary MCP client: it starts the headless chain, then `notebook-gateway serve` as a child, and calls
the published tools over stdio exactly as an agent would.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any, Protocol, cast

import click
import trio
from attrs import define, field

from cdp.errors import CdpError
from harness.errors import ChainFailed

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
        trio.run(run_demo, report, show)
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


async def run_demo(report: Report, show: Show) -> None:
    """Bring the chain up, then list, select and ask, filling `report` on the way.

    Raises: DemoFailed (in a group) when a tool refuses; harness errors when the chain does not come up.
    """
    from harness.chain import open_chain
    from harness.emulator import DEMO_NOTEBOOK_ID, DEMO_QUESTION
    from harness.mcp_client import SERVE_COMMAND, open_client

    def hop(name: str, ms: float) -> None:
        report.hops.append({"name": name, "ms": round(ms, 1)})
        show.hop(name, ms)

    async with open_chain(on_hop=hop) as chain:
        started = time.perf_counter()
        async with open_client(SERVE_COMMAND, env=chain.env) as client:
            with trio.fail_after(START_DEADLINE_S):
                await client.initialize()
            hop("broker", (time.perf_counter() - started) * 1e3)

            async def call(tool: str, arguments: dict[str, Any], timeout_s: float = START_DEADLINE_S) -> dict[str, Any]:
                before = time.perf_counter()
                with trio.fail_after(timeout_s):
                    outcome = await client.call_tool(tool, arguments, meta=ASK_FOR_HOPS, on_progress=show_progress)
                envelope: dict[str, Any] = outcome["structuredContent"]
                hop(tool, (time.perf_counter() - before) * 1e3)
                if not envelope["ok"]:
                    raise DemoFailed(tool, envelope["error"])
                return envelope

            def show_progress(params: dict[str, Any]) -> None:
                show.progress(str(params.get("message", "")))

            report.notebooks = (await call("list_notebooks", {}))["result"]["notebooks"]
            show.notebooks(report.notebooks)
            await call("select_notebook", {"notebook_id": DEMO_NOTEBOOK_ID, "save_for_project": False})
            report.question = DEMO_QUESTION
            show.question(DEMO_QUESTION)
            ask = {"question": DEMO_QUESTION, "request_key": "demo-1"}
            envelope = await call("query_notebook", ask, ANSWER_DEADLINE_S)
            while envelope["result"].get("status") == "running":  # the same call collects the answer (docs/tools.md)
                await trio.sleep(float(envelope["result"]["retry_after_s"]))
                envelope = await call("query_notebook", ask, ANSWER_DEADLINE_S)
            report.result = envelope["result"]
            report.ok = True
            show.result(envelope["result"], envelope["_meta"])
