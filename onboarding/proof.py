"""The last step: a fresh `serve` process, started as the MCP client will start it, answers real tool calls."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final, cast
from uuid import uuid4

import attrs
import trio

from onboarding.clients import ServerEntry
from onboarding.steps import StepFailed

PROOF_TIMEOUT_S: Final = 120.0
QUESTION: Final = "In one sentence: what are these sources about?"
ANSWER_CHARACTERS: Final = 300
POLL_S: Final = 1.0


@attrs.frozen
class Proof:
    """What came back: how many notebooks are allowed, which one was asked, and its answer."""

    notebook_count: int
    title: str | None
    answer: str | None

    def __str__(self) -> str:
        text = f"{self.notebook_count} notebook{'' if self.notebook_count == 1 else 's'} listed"
        if self.title is None:
            return text
        return f"{text}; {self.title!r} answers: {self.answer}" if self.answer else f"{text}; {self.title!r} opened"


async def prove(server: ServerEntry, environ: Mapping[str, str]) -> Proof:
    """List the notebooks, select the first that has sources, and ask it; an unanswerable question is no failure.

    Raises:
        StepFailed: the server did not start, or a call failed; the code is the tool's error code.
    """
    from mcp import ClientSession, MCPError, StdioServerParameters
    from mcp.client.stdio import stdio_client

    # The client's own environment: variables for the browser reach the keeper through it on a machine under test.
    inherited = {key: value for key, value in environ.items() if key.startswith("NOTEBOOK_GATEWAY_") or key == "HOME"}
    parameters = StdioServerParameters(
        command=server.command, args=list(server.args), env={**inherited, **server.env}, cwd=os.path.sep
    )
    failures: list[StepFailed] = []
    proof: Proof | None = None
    try:
        with trio.fail_after(PROOF_TIMEOUT_S), open(os.devnull, "w") as nowhere:  # noqa: ASYNC230  # no disk behind it
            async with (
                stdio_client(parameters, errlog=nowhere) as (reader, writer),
                ClientSession(reader, writer) as client,
            ):
                await client.initialize()
                try:
                    proof = await _ask(_Caller(client))
                except StepFailed as failure:
                    failures.append(failure)  # raised below: not from within the group of the client's tasks
    except trio.TooSlowError:
        raise _failed("timeout", f"no answer within {PROOF_TIMEOUT_S:g} s") from None
    except (OSError, MCPError) as error:
        raise _failed("server", f"the server did not start: {error}") from error
    except BaseExceptionGroup as group:
        broken, rest = group.split((OSError, MCPError, trio.BrokenResourceError))
        if rest is not None or broken is None:
            raise
        raise _failed("server", "the server ended before it answered") from group
    if failures:
        raise failures[0]
    assert proof is not None
    return proof


class _Caller:
    def __init__(self, client: object) -> None:
        self._client = client

    async def __call__(self, tool: str, arguments: dict[str, object]) -> dict[str, object]:
        from mcp import ClientSession
        from mcp.types import CallToolResult

        client = cast("ClientSession", self._client)
        result = await client.call_tool(tool, arguments)
        assert isinstance(result, CallToolResult)
        envelope = cast("dict[str, object]", result.structured_content or {})
        if envelope.get("ok") is True:
            return cast("dict[str, object]", envelope["result"])
        error = cast("dict[str, object]", envelope.get("error") or {})
        raise _failed(
            str(error.get("code", "INTERNAL")), f"{tool}: {error.get('message')}", str(error.get("hint") or DOCTOR)
        )


async def _ask(call: _Caller) -> Proof:
    notebooks = cast("list[dict[str, object]]", (await call("list_notebooks", {}))["notebooks"])
    if not notebooks:
        return Proof(0, None, None)
    chosen = next((row for row in notebooks if row.get("confirmed")), notebooks[0])
    title = str(chosen.get("title") or "Untitled notebook")
    await call("select_notebook", {"notebook_id": chosen["id"]})
    arguments: dict[str, object] = {"question": QUESTION, "request_key": f"onboard-{uuid4()}"}
    try:
        while True:
            result = await call("query_notebook", arguments)
            if result.get("status") != "running":
                return Proof(len(notebooks), title, _shortened(str(result.get("answer_text") or result.get("answer"))))
            await trio.sleep(POLL_S)
    except StepFailed as failure:
        if failure.code in UNANSWERABLE:
            return Proof(len(notebooks), title, None)
        raise


DOCTOR: Final = "Run: notebook-gateway doctor"
UNANSWERABLE: Final = frozenset({"proof.UNGROUNDED_RESPONSE", "proof.SOURCE_NOT_READY", "proof.RATE_LIMITED"})
"""A notebook without an answer to this question. The chain is proven by the two calls before."""


def _failed(code: str, message: str, fix: str = DOCTOR) -> StepFailed:
    return StepFailed(f"proof.{code}", message, fix)


def _shortened(answer: str) -> str:
    text = " ".join(answer.split())
    return text if len(text) <= ANSWER_CHARACTERS else f"{text[:ANSWER_CHARACTERS]}…"
