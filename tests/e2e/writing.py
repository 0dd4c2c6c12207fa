"""What tests of writes share: arguments, calls that are repeated while they run, and what the service has.

They write into an empty notebook, so that everything in it is theirs. Each set of arguments has a key of its own, since
the journal is one for the whole run.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import trio

from cdp.polling import until
from harness.control import Control
from harness.emulator.seed import EMPTY_PLAN_ID
from harness.mcp_client import SERVE_COMMAND, McpClient, open_client
from tests.e2e.tool_calls import call, select

PATIENCE_S = 90.0
WRITING_RPCS = {"izAoDd", "o4cbdc", "CYK0Xb", "cYAfTb", "AH0mwd", "tGMBJ"}
_numbers = count(1)


def make_project(folder: Path) -> Path:
    """Make a folder a project, whose files may be uploaded."""
    (folder / ".git").mkdir()
    return folder


def make_file(folder: Path, name: str, size_bytes: int) -> Path:
    """Make a file with bytes of its own, so that a slice at a wrong place is seen in its hash."""
    path = folder / name
    path.write_bytes(hashlib.shake_128(name.encode()).digest(size_bytes))
    return path


def digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


@asynccontextmanager
async def open_session(
    env: dict[str, str],
    notebook_id: str = EMPTY_PLAN_ID,
    *,
    cwd: Path | None = None,
    command: tuple[str, ...] = SERVE_COMMAND,
) -> AsyncGenerator[McpClient]:
    """Start a broker of its own and lock it to a notebook."""
    async with open_client(command, env=env, cwd=cwd) as client:
        with trio.fail_after(30):
            await client.initialize()
            await select(client, notebook_id)
        yield client


async def settle(client: McpClient, tool: str, arguments: dict[str, Any], **options: Any) -> dict[str, Any]:
    """Make a call, and the same again for as long as it says that it is running; returns the envelope."""
    with trio.fail_after(PATIENCE_S):
        while True:
            envelope = await call(client, tool, arguments, **options)
            if not envelope["ok"] or envelope["result"]["status"] != "running":
                return envelope


async def done(client: McpClient, tool: str, arguments: dict[str, Any], **options: Any) -> dict[str, Any]:
    """Make a write that must succeed; returns its result."""
    envelope = await settle(client, tool, arguments, **options)
    assert envelope["ok"], envelope
    result: dict[str, Any] = envelope["result"]
    return result


async def refused(client: McpClient, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Make a write that must fail; returns its error."""
    envelope = await settle(client, tool, arguments)
    assert not envelope["ok"], envelope
    error: dict[str, Any] = envelope["error"]
    return error


def _source(fields: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    return {"idempotency_key": f"source {next(_numbers)}", "source": fields, **options}


def text_source(title: str = "Tides", content: str = "High water at noon.", **options: Any) -> dict[str, Any]:
    """Arguments that add a text."""
    return _source({"type": "text", "title": title, "content": content}, options)


def url_source(url: str, **options: Any) -> dict[str, Any]:
    """Arguments that add an address."""
    return _source({"type": "url", "url": url}, options)


def drive_source(doc_id: str, title: str | None = None, **options: Any) -> dict[str, Any]:
    """Arguments that add a Drive document."""
    fields = {"type": "drive", "doc_id": doc_id} | ({} if title is None else {"title": title})
    return _source(fields, options)


def file_source(path: Path, title: str | None = None, **options: Any) -> dict[str, Any]:
    """Arguments that upload a file, under its own name unless told otherwise."""
    return _source({"type": "file", "title": title or path.name, "file_path": str(path)}, options)


def new_note(title: str = "Soundings", content: str = "Seven fathoms. ⚓") -> dict[str, Any]:
    """Arguments that create a note."""
    return {"idempotency_key": f"note {next(_numbers)}", "title": title, "content": content}


def deletion(note_id: str) -> dict[str, Any]:
    """Arguments that delete a note."""
    return {"idempotency_key": f"deletion {next(_numbers)}", "note_id": note_id}


class Service:
    """The emulated service as a test looks at it: short blocking calls on loopback."""

    def __init__(self, control: Control) -> None:
        self.control = control

    def notebook(self, notebook_id: str = EMPTY_PLAN_ID) -> dict[str, Any]:
        """Return a notebook as the service has it now."""
        found: dict[str, Any] = next(each for each in self.control.state()["notebooks"] if each["id"] == notebook_id)
        return found

    def sources(self, notebook_id: str = EMPTY_PLAN_ID) -> list[dict[str, Any]]:
        """Return a notebook's sources."""
        return list(self.notebook(notebook_id)["sources"])

    def live_notes(self, notebook_id: str = EMPTY_PLAN_ID) -> list[dict[str, Any]]:
        """Return a notebook's notes but the deleted ones."""
        return [each for each in self.notebook(notebook_id)["notes"] if not each["deleted"]]

    def requests(self, *rpcs: str) -> list[dict[str, Any]]:
        """Return the requests to these ids and upload stages, in order."""
        return [request for request in self.control.requests() if request["rpc"] in rpcs]

    def writes(self) -> list[str]:
        """Return the ids of the writing calls and the stages of uploads that arrived, in order."""
        arrived = [str(request["rpc"]) for request in self.control.requests()]
        return [rpc for rpc in arrived if rpc in WRITING_RPCS or rpc.startswith("upload")]

    async def wait_for(self, rpc: str, times: int = 1) -> None:
        """Return when so many requests of a kind have arrived."""

        def has_arrived() -> bool:
            return len(self.requests(rpc)) >= times

        with trio.fail_after(30):
            await until(partial(trio.to_thread.run_sync, has_arrived))

    def fault(self, rpc: str, kind: str, **parameters: Any) -> None:
        """Add a fault."""
        self.control.add_fault({"rpc": rpc, "fault": kind, **parameters})
