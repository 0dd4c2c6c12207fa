"""A broker that several tests use one after the other: starting one costs more than most of them.

Each test is a Trio run of its own, so each puts new streams around the same pipes.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import cast

import trio
from attrs import frozen

from harness.mcp_client import END_TIMEOUT_S, SERVE_COMMAND, McpClient
from tests.e2e.tool_calls import select


@frozen
class _Pipes:
    """The part of a `trio.Process` that a client uses while the process lives."""

    pid: int
    stdin: trio.lowlevel.FdStream
    stdout: trio.lowlevel.FdStream


class KeptBroker:
    """A `serve` process. Made by `running_broker`."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self._has_shaken_hands = False

    @asynccontextmanager
    async def session(self, notebook_id: str) -> AsyncGenerator[McpClient]:
        """Give a client that has selected a notebook; every answer has been read when the block ends."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        async with (
            trio.lowlevel.FdStream(os.dup(self.process.stdin.fileno())) as stdin,
            trio.lowlevel.FdStream(os.dup(self.process.stdout.fileno())) as stdout,
            trio.open_nursery() as nursery,
        ):
            client = McpClient(cast("trio.Process", _Pipes(self.process.pid, stdin, stdout)))
            nursery.start_soon(client.read_answers)
            with trio.fail_after(30):
                if not self._has_shaken_hands:
                    await client.initialize()
                    self._has_shaken_hands = True
                await select(client, notebook_id)
            yield client
            with trio.fail_after(30):
                await client.request("ping", {})  # what comes after it is for the next test
            nursery.cancel_scope.cancel()


@contextmanager
def running_broker(env: dict[str, str], cwd: Path) -> Generator[KeptBroker]:
    """Run `serve` with a project folder; end it as a client does."""
    short = {name: os.environ[name] for name in ("HOME", "PATH") if name in os.environ}
    with subprocess.Popen(
        SERVE_COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**short, **env}, cwd=cwd
    ) as process:
        try:
            yield KeptBroker(process)
        finally:
            assert process.stdin is not None
            process.stdin.close()
            try:
                assert process.wait(END_TIMEOUT_S) == 0
            except subprocess.TimeoutExpired:
                process.kill()
                raise
