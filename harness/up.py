"""``notebook-gateway harness up``: bring the chain up, print one JSON line, serve until stdin closes.

Whoever starts this gets everything in one line and ends it by closing the pipe (or by SIGTERM or SIGINT); no process
and no file is left behind. Also runs as ``python -m harness.up``, which is what the pytest fixtures do.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final

import trio

from cdp.tasks import background_nursery
from harness.chain import Chain, open_chain
from harness.errors import ChainFailed

_READ_BYTES: Final = 4096


async def harness_up(stdout_json: bool) -> None:
    """Bring the chain up, say so on standard output, and return when standard input or a signal ends it.

    With `stdout_json` exactly one line goes to standard output: ``{"env", "upstream", "browser", "socket"}``.

    Raises:
        ChainFailed: a hop did not come up.
    """

    async def serve_chain() -> None:
        async with open_chain(on_hop=None if stdout_json else _print_hop) as chain:
            _announce(chain, stdout_json)
            await _wait_for_end_of_stdin()

    await _until_signalled(serve_chain)


async def bare_up(stdout_json: bool, with_person: bool) -> None:
    """Run the emulator alone, print the environment for the product's own commands, and serve as `harness_up` does.

    `with_person` also plays the person: fills in every sign-in window of that home folder, as the first account.
    """
    from harness.bare import open_bare
    from harness.person import sign_in_always

    async def serve_bare() -> None:
        async with open_bare() as bare, background_nursery() as nursery:
            if with_person:
                nursery.start_soon(sign_in_always, bare.home, bare.emulator.default_account)
            if stdout_json:
                print(json.dumps(bare.as_json()), flush=True)
            else:
                for name, value in bare.env.items():
                    print(f"export {name}={shlex.quote(value)}")
                print("Serving until standard input closes (Ctrl-D).", flush=True)
            await _wait_for_end_of_stdin()

    await _until_signalled(serve_bare)


async def _until_signalled(serve: Callable[[], Awaitable[None]]) -> None:
    # Signals are caught before the first process starts, so that none can end us between it and our cleanup.
    with trio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals, trio.CancelScope() as scope:
        async with background_nursery() as nursery:
            nursery.start_soon(_cancel_on_signal, signals, scope)
            await serve()


def _announce(chain: Chain, stdout_json: bool) -> None:
    if stdout_json:
        print(json.dumps(chain.as_json()), flush=True)
        return
    print(f"\nexport NOTEBOOK_GATEWAY_HOME={chain.home}")
    print(f"control {chain.emulator.control_url} (Authorization: Bearer {chain.emulator.control_token})")
    print("Serving until standard input closes (Ctrl-D).", flush=True)


def _print_hop(name: str, ms: float) -> None:
    print(f"{name:<12} up after {ms:6.0f} ms", flush=True)


async def _cancel_on_signal(signals: AsyncIterator[int], scope: trio.CancelScope) -> None:
    async for _ in signals:
        scope.cancel()


async def _wait_for_end_of_stdin() -> None:
    while True:
        try:
            await trio.lowlevel.wait_readable(sys.stdin.fileno())
        except OSError:  # a file or /dev/null: nothing to wait for, so it is read to its end
            await trio.lowlevel.checkpoint()
        if not os.read(sys.stdin.fileno(), _READ_BYTES):
            return


def run_bare(stdout_json: bool, with_person: bool) -> int:
    """Run the emulator alone, and return the exit code."""
    trio.run(bare_up, stdout_json, with_person)
    return 0


def run(stdout_json: bool) -> int:
    """Run it and return the exit code: 1 with one line on standard error when a hop does not come up."""
    failed: list[ChainFailed] = []
    try:
        trio.run(harness_up, stdout_json)
    except* ChainFailed as group:
        failed += _leaves(group)
    for error in failed:
        print(error, file=sys.stderr)
    return 1 if failed else 0


def _leaves(group: BaseExceptionGroup[ChainFailed]) -> list[ChainFailed]:
    found: list[ChainFailed] = []
    for error in group.exceptions:
        found += _leaves(error) if isinstance(error, BaseExceptionGroup) else [error]
    return found


if __name__ == "__main__":
    sys.exit(run(stdout_json=True))
