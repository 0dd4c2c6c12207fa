"""One cell of the kill matrix: begin a write, kill something at a point, repeat the call, look what the service has."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import trio
from attrs import define, field, frozen

from cdp.polling import until
from harness.chain import Chain, open_chain
from harness.control import Control
from harness.emulator import Emulator, serve
from harness.emulator.seed import EMPTY_PLAN_ID
from harness.home import temporary_home
from harness.mcp_client import SERVE_COMMAND, McpClient, ServerGone, open_client
from harness.tabs import reload_tab
from tests.reliability.points import Cell, Hold, Stop, Victim
from tests.reliability.processes import host_pids, page_renderers, status_fields

REACH_WITHIN_S: Final = 30.0
RECOVER_WITHIN_S: Final = 90.0
PAUSE_S: Final = 0.5
UNKNOWN_REPEATS: Final = 2
NOTEBOOK: Final = EMPTY_PLAN_ID
FILE_BYTES: Final = 3 * 256 * 1024 + 1000
"""Several slices and a last part that is none."""


@frozen
class Verdict:
    """What came of a cell. `items` is how many the service has; `creates` how many create requests it saw."""

    cell: Cell
    reached: bool
    outcome: str
    items: int
    creates: int
    seconds: float

    @property
    def holds(self) -> bool:
        """Exactly one, or honestly unknown; never two, never a lost one that is called done (C-025)."""
        if not self.reached or self.items > 1 or self.creates > 1:
            return False
        return self.items == 1 if self.outcome == "done" else self.outcome == "MUTATION_UNKNOWN"


@define
class Site:
    """The service, which outlives every browser, and a home folder that they share."""

    home: Path
    project: Path
    """Where the agent works: its files may be uploaded. Never inside of the home folder, whose files are ours."""
    emulator: Emulator
    control: Control
    count: int = field(default=0)

    @property
    def env(self) -> dict[str, str]:
        return {"NOTEBOOK_GATEWAY_HOME": str(self.home)}

    def open_browser(self) -> Any:
        return open_chain(home=self.home, emulator=self.emulator, notebooks=[NOTEBOOK])

    async def ask(self, question: Callable[[], Any]) -> Any:
        """Ask the control endpoint, which lives in this very Trio run."""
        return await trio.to_thread.run_sync(question)


@asynccontextmanager
async def open_site() -> AsyncGenerator[Site]:
    with temporary_home() as home, TemporaryDirectory() as project:
        (Path(project) / ".git").mkdir()
        folder = home / "emulator"
        folder.mkdir(mode=0o700)
        async with serve(folder=folder) as emulator:
            yield Site(home, Path(project), emulator, Control(emulator.control_url, emulator.control_token))


@define
class Attempt:
    """The write of one cell, under a name that nothing else in the notebook has."""

    site: Site
    cell: Cell
    name: str
    arguments: dict[str, Any] = field(factory=dict[str, Any])
    first_call_is_over: trio.Event = field(factory=trio.Event)

    @classmethod
    async def prepare(cls, site: Site, cell: Cell) -> Attempt:
        """Set the service to its seed and make what the write needs: a file, or a note to delete."""
        site.count += 1
        name = f"matrix {site.count}"
        await site.ask(site.control.reset)
        # A write that an earlier cell left unknown would be a rival to this one's.
        for path in site.home.glob("journal.sqlite*"):
            path.unlink()
        attempt = cls(site, cell, name)
        match cell.write.name:
            case "add_source text":
                source = {"type": "text", "title": name, "content": f"The text of {name}."}
                attempt.arguments = {"source": source}
            case "add_source file":
                path = site.project / f"{name}.txt"
                path.write_bytes(name.encode() + os.urandom(FILE_BYTES).hex().encode()[:FILE_BYTES])
                attempt.arguments = {"source": {"type": "file", "title": path.name, "file_path": str(path)}}
            case "create_note":
                attempt.arguments = {"title": name, "content": f"The text of {name}."}
            case _:
                change = {"add_notes": [{"notebook": NOTEBOOK, "title": name, "text": "To be deleted."}]}
                await site.ask(partial(site.control.change_state, change))
                (note,) = (await attempt.notebook())["notes"]
                attempt.arguments = {"note_id": note["id"]}
        attempt.arguments["idempotency_key"] = f"key {site.count}"
        await site.ask(site.control.clear_requests)
        return attempt

    async def call(self, client: McpClient) -> dict[str, Any]:
        """Call until it is not running any more; returns the envelope."""
        while True:
            outcome = await client.call_tool(self.cell.write.tool, self.arguments)
            envelope: dict[str, Any] = outcome["structuredContent"]
            if not envelope["ok"] or envelope["result"]["status"] != "running":
                return envelope

    async def notebook(self) -> dict[str, Any]:
        """Return the notebook as the service has it."""
        state = await self.site.ask(self.site.control.state)
        found: dict[str, Any] = next(each for each in state["notebooks"] if each["id"] == NOTEBOOK)
        return found

    async def items(self) -> int:
        """Count what of this write the service has: new things, or for a deletion whether it is done."""
        notebook = await self.notebook()
        match self.cell.write.name:
            case "create_note":
                return len([note for note in notebook["notes"] if not note["deleted"]])
            case "delete_note":
                live = [note for note in notebook["notes"] if not note["deleted"]]
                return int(self.arguments["note_id"] not in [note["id"] for note in live])
            case _:
                return len(notebook["sources"])

    async def creates(self) -> int:
        """Count the create requests of this write that arrived."""
        requests = await self.site.ask(self.site.control.requests)
        return len([request for request in requests if request["rpc"] == self.cell.write.creates])


async def run_cell(site: Site, cell: Cell, chain: Chain | None) -> Verdict:
    """Run one cell. `chain` is a browser that may be used and outlives the cell; None for cells that kill it."""
    began = time.perf_counter()
    attempt = await Attempt.prepare(site, cell)
    reached, envelope = False, {}
    with trio.fail_after(REACH_WITHIN_S + RECOVER_WITHIN_S):
        with failpipe(site.home / f"pipe-{site.count}") as pipe:
            async with (
                open_client(_command(cell, pipe), env=site.env, cwd=site.project) as client,
                trio.open_nursery() as calls,
            ):
                if chain is not None:
                    reached = await _write_and_kill(client, attempt, chain, pipe, calls)
                    await attempt.first_call_is_over.wait()
                    if cell.victim is not Victim.BROKER:
                        envelope = await _repeat(client, attempt)
                else:
                    async with site.open_browser() as doomed:
                        reached = await _write_and_kill(client, attempt, doomed, pipe, calls)
                    # The first call may go on for minutes without a browser; the repeat joins it.
                    async with site.open_browser():
                        envelope = await _repeat(client, attempt)
                        await attempt.first_call_is_over.wait()
        if cell.victim is Victim.BROKER:
            async with open_client(SERVE_COMMAND, env=site.env, cwd=site.project) as client:
                await _select(client)
                envelope = await _repeat(client, attempt)
    outcome = "done" if envelope.get("ok") else envelope["error"]["code"]
    return Verdict(cell, reached, outcome, await attempt.items(), await attempt.creates(), time.perf_counter() - began)


class failpipe:  # noqa: N801  # used as a function
    """A named pipe that is readable as soon as the failpoint was reached."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> failpipe:
        os.mkfifo(self.path, 0o600)
        # Opened for both directions, so that neither side ever waits for the other to open it.
        self.descriptor = os.open(self.path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        return self

    def __exit__(self, *exc_info: object) -> None:
        os.close(self.descriptor)
        self.path.unlink()

    async def wait(self) -> str:
        await trio.lowlevel.wait_readable(self.descriptor)
        return os.read(self.descriptor, 200).decode().strip()


def _command(cell: Cell, pipe: failpipe) -> list[str]:
    if isinstance(cell.point, Hold):
        return list(SERVE_COMMAND)
    entry = [sys.executable, "-P", "-m", "tests.reliability.broker_entry"]
    return [*entry, cell.point.as_argument, str(pipe.path)]


async def _select(client: McpClient) -> None:
    await client.initialize()
    with trio.fail_after(RECOVER_WITHIN_S):
        await until(partial(_is_selected, client))


async def _is_selected(client: McpClient) -> bool:
    """Select the notebook; what the cell before has killed may still be on its way back."""
    outcome = await client.call_tool("select_notebook", {"notebook_id": NOTEBOOK, "save_for_project": False})
    envelope = outcome["structuredContent"]
    assert envelope["ok"] or envelope["error"]["retryable"], envelope
    return bool(envelope["ok"])


async def _write_and_kill(
    client: McpClient, attempt: Attempt, chain: Chain, pipe: failpipe, calls: trio.Nursery
) -> bool:
    """Begin the write in `calls`, wait for the point and kill the victim; tell whether the point was reached."""
    cell = attempt.cell
    await _select(client)
    if isinstance(cell.point, Hold):
        await attempt.site.ask(partial(attempt.site.control.add_fault, cell.point.fault))
    calls.start_soon(_first_call, client, attempt)
    with trio.fail_after(REACH_WITHIN_S):
        reached = await _reach(attempt, client, pipe)
    await kill(cell.victim, client, chain)
    if isinstance(cell.point, Stop) and cell.victim is not Victim.BROKER:
        os.kill(client.process.pid, signal.SIGCONT)
    if isinstance(cell.point, Hold):
        await attempt.site.ask(attempt.site.control.clear_faults)
    return reached


async def _first_call(client: McpClient, attempt: Attempt) -> None:
    try:
        await attempt.call(client)
    except ServerGone:
        assert attempt.cell.victim is Victim.BROKER
    attempt.first_call_is_over.set()


async def _reach(attempt: Attempt, client: McpClient, pipe: failpipe) -> bool:
    point = attempt.cell.point
    if isinstance(point, Stop):
        line = await pipe.wait()
        await until(partial(_is_stopped, client.process.pid))
        return line == point.name
    await until(partial(_has_arrived, attempt, point))
    return True


async def _is_stopped(pid: int) -> bool:
    await trio.lowlevel.checkpoint()
    return status_fields(pid)[0] == "T"


async def _has_arrived(attempt: Attempt, point: Hold) -> bool:
    requests = await attempt.site.ask(attempt.site.control.requests)
    return len([request for request in requests if request["rpc"] == point.target]) >= point.nth


async def kill(victim: Victim, client: McpClient, chain: Chain) -> None:
    """Kill with SIGKILL and wait until it is gone; an extension is reloaded."""
    match victim:
        case Victim.BROKER:
            os.kill(client.process.pid, signal.SIGKILL)
            await client.process.wait()
        case Victim.HOST:
            os.kill(host_pids(chain.home)[0], signal.SIGKILL)
        case Victim.RENDERER:
            pids = page_renderers(chain.launched.pid)
            assert pids, "the browser has no page"
            for pid in pids:
                os.kill(pid, signal.SIGKILL)
        case Victim.BROWSER:
            os.kill(chain.launched.pid, signal.SIGKILL)
        case Victim.EXTENSION:
            await chain.reload_extension()


async def _repeat(client: McpClient, attempt: Attempt) -> dict[str, Any]:
    """Repeat the call with the same key until it is settled, or unknown several times in a row.

    A browser that comes back takes its time, and what is unknown without it may be known with it.
    """
    unknown = 0
    with trio.fail_after(RECOVER_WITHIN_S):
        while True:
            envelope = await attempt.call(client)
            if envelope["ok"] or (unknown == UNKNOWN_REPEATS and not envelope["error"]["retryable"]):
                return envelope
            unknown += not envelope["error"]["retryable"]
            await trio.sleep(PAUSE_S)


@asynccontextmanager
async def open_matrix() -> AsyncGenerator[Callable[[Cell], Any]]:
    """Give a function that runs cells, with one browser for all cells that do not kill it."""
    async with open_site() as site, AsyncExitStack() as stack:
        chain: Chain | None = None

        async def run(cell: Cell) -> Verdict:
            nonlocal chain
            if cell.victim is Victim.BROWSER:
                await stack.aclose()
                chain = None
                return await run_cell(site, cell, None)
            if chain is None:
                chain = await stack.enter_async_context(site.open_browser())
            elif cell.victim is Victim.HOST:
                # Hosts that die one after the other are started less and less often; this worker starts afresh.
                await chain.evaluate_in_worker("chrome.storage.session.remove('native_port_backoff')")
                await chain.stop_worker()
            verdict = await run_cell(site, cell, chain)
            if isinstance(cell.point, Hold) and cell.victim is not Victim.RENDERER:
                # A held request keeps one of the six connections that a page has to a host; a new document frees it.
                assert chain is not None
                await reload_tab(chain.connection)
            return verdict

        yield run
