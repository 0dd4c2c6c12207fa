"""Calling tools as a client does, with what every answer owes: one envelope, and a hint when it is a failure."""

from __future__ import annotations

from typing import Any

import trio

from harness.emulator.seed import LIGHTHOUSE_ID


async def call(client: Any, tool: str, arguments: dict[str, Any] | None = None, **options: Any) -> dict[str, Any]:
    """Call a tool and return its envelope; text and structured content must be the same object."""
    with trio.fail_after(60):
        outcome = await client.call_tool(tool, arguments or {}, **options)
    envelope: dict[str, Any] = outcome["structuredContent"]
    assert envelope["ok"] is not outcome["isError"]
    return envelope


async def succeed(client: Any, tool: str, arguments: dict[str, Any] | None = None, **options: Any) -> dict[str, Any]:
    """Call a tool that must succeed; returns its result."""
    envelope = await call(client, tool, arguments, **options)
    assert envelope["ok"], envelope
    result: dict[str, Any] = envelope["result"]
    return result


async def fail(client: Any, tool: str, arguments: dict[str, Any] | None = None) -> dict[str, Any]:
    """Call a tool that must fail; returns its error."""
    envelope = await call(client, tool, arguments)
    assert not envelope["ok"], envelope
    error: dict[str, Any] = envelope["error"]
    assert error["hint"] or error["code"] == "CANCELLED"
    return error


async def select(client: Any, notebook_id: str = LIGHTHOUSE_ID) -> dict[str, Any]:
    """Lock the session."""
    return await succeed(client, "select_notebook", {"notebook_id": notebook_id, "save_for_project": False})
