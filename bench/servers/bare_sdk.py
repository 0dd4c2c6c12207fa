"""The bare `mcp` SDK: its low-level Server with one tool, its own stdio transport, on Trio."""

import anyio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server


async def list_tools(ctx: object, params: object) -> types.ListToolsResult:
    """Return one tool."""
    return types.ListToolsResult(tools=[types.Tool(name="echo", input_schema={"type": "object", "properties": {}})])


async def call_tool(ctx: object, params: types.CallToolRequestParams) -> types.CallToolResult:
    """Answer any call."""
    return types.CallToolResult(content=[types.TextContent(type="text", text="{}")])


async def main() -> None:
    """Serve until standard input closes."""
    server = Server("bare-sdk", on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(main, backend="trio")
