"""What agents did lately, asked of every connected extension; the same that its popup shows."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final, cast

import trio
from attrs import asdict, field, frozen

from broker.errors import GatewayError, InvalidArgument
from broker.link import ClientName, open_link
from broker.trace import continue_or_begin_trace
from native_host import paths
from native_host.build import BUILD

ASK_TIMEOUT_S: Final = 5.0
OFFLINE: Final = "No browser with the extension is connected, and what agents did is kept in the browser only."


@frozen
class ToolCall:
    """One tool call of an agent. Times are epoch milliseconds; `result` is ``ok``, a code, or None while it runs."""

    agent: str
    tool: str
    notebook: str | None
    began_ms: int
    ended_ms: int
    result: str | None
    requests: int
    """How many requests to the browser it took."""


@frozen
class ActivityReport:
    """The JSON document of ``activity --json``; newest first. `problem` is None when every extension answered."""

    calls: list[ToolCall] = field(factory=list[ToolCall])
    problem: str | None = None
    next_step: str | None = None

    def as_dict(self) -> dict[str, object]:
        """Return the report as JSON values."""
        return asdict(self)


async def gather_activity(limit: int, environ: Mapping[str, str] = os.environ) -> ActivityReport:
    """Ask all companions; never raises for what it finds wrong, it reports it."""
    sockets = paths.companion_sockets(paths.home_folder(environ))
    if not sockets:
        return ActivityReport([], OFFLINE, "Start it: notebook-gateway browser start")
    calls: list[ToolCall] = []
    problem: GatewayError | None = None
    for socket in sockets:
        try:
            calls += await _ask(socket, limit)
        except GatewayError as error:
            problem = error
    calls.sort(key=lambda call: call.began_ms, reverse=True)
    if problem is None:
        return ActivityReport(calls[:limit])
    return ActivityReport(calls[:limit], problem.message, problem.hint)


async def _ask(socket: Path, limit: int) -> list[ToolCall]:
    async with open_link(socket, client=ClientName("notebook-gateway activity", BUILD)) as link:
        try:
            result = await link.call(
                "activity",
                {"limit": limit},
                notebook=None,
                account="" if link.welcome is None else link.welcome.account or "",
                deadline_s=trio.current_time() + ASK_TIMEOUT_S,
                traceparent=continue_or_begin_trace(None),
            )
        except InvalidArgument as error:
            raise InvalidArgument(
                f"The extension does not know this question: {error.message}",
                hint="It is of an older build: reload it on chrome://extensions.",
                started=False,
            ) from error
    return [_tool_call(entry) for entry in _entries(result.value)]


def _entries(value: object) -> list[dict[str, object]]:
    entries = cast("dict[str, object]", value).get("entries") if isinstance(value, dict) else None
    if not isinstance(entries, list):
        raise InvalidArgument(
            "The extension's answer has an unknown shape.", hint="Reload it on chrome://extensions.", started=True
        )
    return cast("list[dict[str, object]]", entries)


def _tool_call(entry: dict[str, object]) -> ToolCall:
    return ToolCall(
        agent=str(entry.get("agent")),
        tool=str(entry.get("tool")),
        notebook=None if entry.get("notebook") is None else str(entry["notebook"]),
        began_ms=int(cast("float", entry.get("began_ms", 0))),
        ended_ms=int(cast("float", entry.get("ended_ms", 0))),
        result=None if entry.get("open") or entry.get("result") is None else str(entry["result"]),
        requests=int(cast("float", entry.get("calls", 0))),
    )
