"""Starting the native host as Chrome does: its own arguments, its own folder, and hardly any environment.

The host that is started here lives for a moment, beside the one of a running browser, and never gets an extension; a
broker that meets it passes it over.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Final

import trio

from cdp.polling import until
from native_host.build import BUILD
from native_host.paths import companion_socket, config_file
from native_host.protocol import EXTENSION_ID
from native_host.registration import HOSTS_FOLDER, manifest_file
from onboarding.detection import Greeting, greet
from onboarding.doctor.findings import Hop
from onboarding.doctor.host_manifests import maybe_host_path, used_profile
from onboarding.doctor.look import Look
from onboarding.doctor.report import Finding, HopReport, not_reached

START_WITHIN_S: Final = 10.0
END_WITHIN_S: Final = 5.0
CHROME_PATH: Final = "/usr/bin:/bin"
"""A browser that was started from a desktop passes little more (case C-041)."""


async def examine_host_start(look: Look) -> HopReport:
    """Start what the manifest names, greet it, and let it end as at the end of a browser."""
    profile = used_profile(look) if config_file(look.home).exists() else None
    program = None if profile is None else maybe_host_path(manifest_file(profile / HOSTS_FOLDER))
    if program is None or not os.access(program, os.X_OK):
        return not_reached(Hop.HOST_START)
    with trio.move_on_after(START_WITHIN_S + END_WITHIN_S):
        try:
            greeting = await _start_and_greet(look, program)
        except OSError as error:
            return _no_start(f"{program}: {error.strerror}")
        if greeting is None:
            return _no_start(f"{program} ended, or did not answer within {START_WITHIN_S:g} s")
        if greeting.host_build != BUILD:
            detail = f"it is of build {greeting.host_build}, this command of {BUILD}"
            return HopReport(Hop.HOST_START, detail, (Finding("host.skew", detail, str(profile)),))
        return HopReport(Hop.HOST_START, f"build {greeting.host_build}, starts and ends as it should")
    return _no_start(f"{program} did not end within {END_WITHIN_S:g} s after the browser's end")


def _no_start(detail: str) -> HopReport:
    return HopReport(Hop.HOST_START, "does not start", (Finding("host.no-start", detail),))


async def _start_and_greet(look: Look, program: str) -> Greeting | None:
    process = await trio.lowlevel.open_process(
        [program, f"chrome-extension://{EXTENSION_ID}/"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=Path(program).parent,
        env={"PATH": CHROME_PATH, "HOME": str(look.places.home)},
    )
    try:
        greeting: Greeting | None = None
        with trio.move_on_after(START_WITHIN_S):
            greeting = await until(lambda: _maybe_greeting(look, process))
        assert process.stdin is not None
        await process.stdin.aclose()  # what a browser that ends does
        with trio.move_on_after(END_WITHIN_S):
            await process.wait()
            return greeting if process.returncode == 0 else None
        return None
    finally:
        if process.returncode is None:
            process.kill()
        with trio.CancelScope(shield=True):
            await process.wait()


async def _maybe_greeting(look: Look, process: trio.Process) -> Greeting | None:
    # The launcher ends in an exec, so the process that was started is the one that listens.
    if process.poll() is not None:
        raise OSError(0, f"it ended with code {process.returncode}")
    socket = companion_socket(look.home, process.pid)
    return await greet(socket) if socket.exists() else None
