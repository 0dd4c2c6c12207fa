"""Taps on the hops between browser and broker, on a chain that does not know of them.

Chrome starts a launcher that copies both directions of the native host's pipes into files; the companion's socket is
moved aside, and a relay at its address keeps what passes.
"""

from __future__ import annotations

import shlex
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import trio
from attrs import define, field

from harness.chain import Chain
from native_host.paths import launcher_file

LAUNCHER = """\
#!/bin/sh
tee -a {to_host} | {launcher} "$@" | tee -a {to_browser}
"""


@define
class Taps:
    """What passed so far, by hop."""

    folder: Path
    from_broker: bytearray = field(factory=bytearray)
    to_broker: bytearray = field(factory=bytearray)

    def read(self) -> dict[str, bytes]:
        return {
            "native messaging, browser to host": (self.folder / "to-host").read_bytes(),
            "native messaging, host to browser": (self.folder / "to-browser").read_bytes(),
            "socket, broker to host": bytes(self.from_broker),
            "socket, host to broker": bytes(self.to_broker),
        }


@asynccontextmanager
async def tapped(chain: Chain, folder: Path) -> AsyncGenerator[Taps]:
    """Put the taps in; brokers that start within the block are heard from their first byte."""
    taps = Taps(folder)
    launcher = launcher_file(chain.home)
    behind = launcher.rename(launcher.with_name("native-host-behind-the-tap"))
    paths = {"to_host": folder / "to-host", "launcher": behind, "to_browser": folder / "to-browser"}
    launcher.write_text(LAUNCHER.format_map({name: shlex.quote(str(path)) for name, path in paths.items()}))
    launcher.chmod(0o700)
    with trio.fail_after(20):
        await chain.reload_extension()
        address = await chain.wait_for_companion(other_than=chain.socket)
    socket = address.rename(address.with_name("behind-the-tap"))
    with trio.socket.socket(trio.socket.AF_UNIX) as listening:
        await listening.bind(str(address))
        listening.listen()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_accept, listening, socket, taps, nursery)
            yield taps
            nursery.cancel_scope.cancel()


async def _accept(listening: trio.socket.SocketType, socket: Path, taps: Taps, nursery: trio.Nursery) -> None:
    while True:
        accepted, _ = await listening.accept()
        nursery.start_soon(_relay, trio.SocketStream(accepted), socket, taps)


async def _relay(broker: trio.SocketStream, socket: Path, taps: Taps) -> None:
    """Pass both directions on until either side ends."""
    async with broker, await trio.open_unix_socket(str(socket)) as host, trio.open_nursery() as nursery:

        async def copy(source: trio.SocketStream, sink: trio.SocketStream, kept: bytearray) -> None:
            try:
                async for data in source:
                    kept += data
                    await sink.send_all(data)
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                pass  # the other side is gone, which ends the connection too
            nursery.cancel_scope.cancel()

        nursery.start_soon(copy, broker, host, taps.from_broker)
        nursery.start_soon(copy, host, broker, taps.to_broker)
