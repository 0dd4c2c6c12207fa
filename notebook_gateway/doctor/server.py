"""The broker: whether a client's entry starts a server, and of which version."""

from __future__ import annotations

import os
from typing import Final

import trio

from native_host.build import BUILD
from onboarding.clients import ServerEntry
from onboarding.doctor.client_files import installed_servers
from onboarding.doctor.findings import Hop
from onboarding.doctor.look import Look
from onboarding.doctor.report import Finding, HopReport

START_WITHIN_S: Final = 20.0


class NoServer(Exception):
    """The command did not start an MCP server."""


async def examine_server(look: Look) -> HopReport:
    """Start our own entry, and each other one that a client has, as a client does."""
    findings: list[Finding] = []
    ours: str | None = None
    try:
        ours = await server_version(look.server)
    except NoServer as error:
        findings.append(Finding("broker.no-start", str(error)))
    for title, server in installed_servers(look).items():
        if server == look.server:
            continue
        try:
            version = await server_version(server)
        except NoServer as error:
            findings.append(Finding("broker.no-start", f"{title}: {error}"))
            continue
        if version != BUILD:
            findings.append(Finding("broker.skew", f"{title} starts version {version}, this is {BUILD}"))
    return HopReport(Hop.BROKER, f"version {ours}" if ours else "does not start", tuple(findings))


async def server_version(server: ServerEntry) -> str:
    """Start a server in an environment as bare as a client's, and return the version that it gives itself.

    Raises:
        NoServer: it cannot be started, or does not answer in time.
    """
    from mcp import ClientSession, MCPError, StdioServerParameters
    from mcp.client.stdio import stdio_client

    environ = {name: os.environ[name] for name in ("HOME", "PATH") if name in os.environ}
    parameters = StdioServerParameters(
        command=server.command, args=list(server.args), env={**environ, **server.env}, cwd=os.path.sep
    )
    try:
        with trio.fail_after(START_WITHIN_S), open(os.devnull, "w") as nowhere:  # noqa: ASYNC230  # no disk behind it
            async with (
                stdio_client(parameters, errlog=nowhere) as (reader, writer),
                ClientSession(reader, writer) as client,
            ):
                return (await client.initialize()).server_info.version
    except trio.TooSlowError:
        raise NoServer(f"{server.command} did not answer within {START_WITHIN_S:g} s") from None
    except (OSError, MCPError) as error:
        raise NoServer(f"{server.command}: {error}") from error
    except BaseExceptionGroup as group:
        broken, rest = group.split((OSError, MCPError, trio.BrokenResourceError))
        if rest is not None or broken is None:
            raise
        raise NoServer(f"{server.command} ended before it answered") from group
