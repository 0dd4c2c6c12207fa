"""A tiny server on our stdio transport, with tools that misbehave on demand. Run as ``python -m`` by the tests."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import Any

import trio
from mcp.server.lowlevel import Server
from mcp_types import CallToolResult, ListToolsResult, TextContent, Tool

from broker.stdio_transport import StdioTransport
from broker.stdio_wire import StdioWire, claim_stdio


def _text(text: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=text)])


async def _list_tools(ctx: Any, params: Any) -> ListToolsResult:
    return ListToolsResult(tools=[Tool(name="echo", input_schema={"type": "object", "properties": {}})])


async def _call_tool(ctx: Any, params: Any) -> CallToolResult:
    arguments: dict[str, Any] = params.arguments or {}
    match params.name:
        case "sleep":
            await trio.sleep(arguments["seconds"])
        case "progress":
            for step in range(3):
                await ctx.session.report_progress(step, 3, f"step {step}")
        case "lone_surrogate":
            return _text("half a pair: \ud800")
        case "print":
            sys.stdout.write("a stray print\n")
            sys.stdout.flush()
            os.write(1, b"a stray write at C level\n")
            child = subprocess.run(  # noqa: ASYNC221  # a child must not see the protocol; it ends at once
                ["/bin/sh", "-c", "head -c 10240 /dev/zero | tr '\\0' x; cat; echo"], check=True
            )
            return _text(f"child ended with {child.returncode}")
        case "big":
            return _text("x" * arguments["size"])
        case _:
            return _text(str(arguments.get("text", "")))
    return _text("done")


def make_server() -> Server[Any]:
    return Server("test", version="0", on_list_tools=_list_tools, on_call_tool=_call_tool)


async def _main() -> None:
    wire = StdioWire(*claim_stdio())
    stop = trio.Event()
    transport = StdioTransport(make_server(), wire)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_stop_on_signal, stop)
        await transport.serve(stop)
        nursery.cancel_scope.cancel()


async def _stop_on_signal(stop: trio.Event) -> None:
    with trio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for _ in signals:
            stop.set()


if __name__ == "__main__":
    trio.run(_main)
    os._exit(0)
