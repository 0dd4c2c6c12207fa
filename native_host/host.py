"""Starting and ending the host: the command line, the claim of the descriptors, signals, socket and exit code."""

from __future__ import annotations

import os
import signal
import socket
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Final, NamedTuple

from native_host import stdio
from native_host.build import BUILD
from native_host.host_log import log
from native_host.paths import home_folder, host_log_file
from native_host.protocol import EXTENSION_ID

ORIGIN: Final = f"chrome-extension://{EXTENSION_ID}/"

HELP: Final = f"""\
notebook-gateway native host, build {BUILD}

Chrome starts this program when the notebook-gateway extension opens its native port; it is of no use by hand.
To see which hop is broken, run: notebook-gateway doctor

  --home FOLDER   the home folder of notebook-gateway (written into the launcher at registration)
  {ORIGIN}   the origin that Chrome passes
"""


class Arguments(NamedTuple):
    """The command line: ours comes from the launcher, the rest from Chrome."""

    home: str | None
    origin: str | None
    wants_help: bool


def parse_arguments(arguments: Sequence[str]) -> Arguments:
    """Read the command line. What Chrome may add one day (today ``--parent-window=…``) is no reason to fail."""
    home = origin = None
    wants_help = False
    rest = iter(arguments)
    for argument in rest:
        if argument == "--home":
            home = next(rest, None)
        elif argument in ("--help", "-h"):
            wants_help = True
        elif origin is None and not argument.startswith("-"):
            origin = argument
    return Arguments(home, origin, wants_help)


def main(arguments: Sequence[str]) -> int:
    """Run the host and return its exit code: 0 after a normal end, 1 when it could not relay, 2 for wrong use."""
    parsed = parse_arguments(arguments)
    if parsed.origin is None or parsed.wants_help:
        print(HELP, end="", file=sys.stderr)
        return 0 if parsed.wants_help else 2
    try:
        home = Path(parsed.home) if parsed.home else home_folder()
        chrome = stdio.claim(host_log_file(home))
    except (OSError, ValueError) as error:
        print(f"native host not started: {error}", file=sys.stderr)
        return 1
    if parsed.origin != ORIGIN:
        log(f"refused to relay for {parsed.origin}: only {ORIGIN} may use this host")
        return 1
    return _relay(home, chrome)


def _relay(home: Path, chrome: stdio.ChromeDescriptors) -> int:
    # Imported only now, after the descriptors are claimed: nothing that these modules run can reach Chrome.
    from native_host.listener import Listener
    from native_host.loop import Loop

    wakeup = _signals_as_bytes()
    try:
        listener = Listener.bind(home, os.getpid())
    except OSError as error:
        log(f"not started: {error}")
        return 1
    with listener:
        log(f"started: build {BUILD}, Python {sys.version.split()[0]}, listening on {listener.path}")
        reason = Loop(chrome, listener, wakeup.fileno(), host_log_file(home)).run()
    log(f"ended: {reason}")
    return 0


def _signals_as_bytes() -> socket.socket:
    """Make each signal to end readable as one byte, so that the loop handles it between two events."""
    reader, writer = socket.socketpair()
    reader.setblocking(False)
    writer.setblocking(False)
    signal.set_wakeup_fd(writer.detach())
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, _only_wake)
    return reader


def _only_wake(number: int, frame: FrameType | None) -> None:
    """The byte in the wake-up socket says it all."""
