"""The emulated service alone, and the environment in which the product's own commands run against it.

    notebook-gateway harness up --bare --json

prints ``{"env", "upstream", "sign_in"}``. With `env` set, `notebook-gateway onboard` starts its own browser, which
reaches the emulator and nothing else, and works in an empty home folder that is removed at the end.
"""

from __future__ import annotations

import os
import shlex
import shutil
import tempfile
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import attrs

from cdp.launcher import BROWSER_ARGS_VARIABLE
from harness.browser import browser_arguments
from harness.emulator.server import Emulator, serve
from harness.emulator.sign_in_site import PASSWORD
from native_host.paths import HOME_VARIABLE, fallback_run_folder

HEADLESS: Final = "--headless=new"
OURS: Final = ("about:blank", "--enable-unsafe-extension-debugging", "--password-store=basic", "--no-first-run")
"""Arguments of the chain that the product must bring by itself; giving them here would hide that it does not."""


@attrs.frozen
class Bare:
    """A running emulator and the empty home directory of a person who has nothing of ours yet."""

    emulator: Emulator
    person_home: Path
    browser_args: str

    @property
    def home(self) -> Path:
        """Our home folder, which is not made yet."""
        return self.person_home / ".notebook-gateway"

    @property
    def env(self) -> dict[str, str]:
        """The variables that a command of the product needs, besides those it would have anyway."""
        return {
            "HOME": str(self.person_home),
            HOME_VARIABLE: str(self.home),
            BROWSER_ARGS_VARIABLE: self.browser_args,
        }

    def as_json(self) -> dict[str, object]:
        """Return everything that a program needs to use this."""
        emulator = self.emulator
        return {
            "env": self.env,
            "upstream": {
                "url": emulator.url,
                "control_url": emulator.control_url,
                "control_token": emulator.control_token,
                "ca_file": str(emulator.ca_file),
            },
            "sign_in": {"accounts": [account.email for account in emulator.state.accounts], "password": PASSWORD},
        }


@asynccontextmanager
async def open_bare(environ: Mapping[str, str] = os.environ) -> AsyncGenerator[Bare]:
    """Run the emulator and make the home directory, for the length of the block."""
    person_home = _new_home()
    try:
        async with serve() as emulator:
            bare = Bare(emulator, person_home, bare_arguments(emulator, environ))
            try:
                yield bare
            finally:
                shutil.rmtree(fallback_run_folder(bare.home), ignore_errors=True)
    finally:
        shutil.rmtree(person_home, ignore_errors=True)


def _new_home() -> Path:
    # Resolved, because the native host computes its socket's place from the resolved path.
    return Path(tempfile.mkdtemp(prefix="notebook-gateway-person-")).resolve()


def bare_arguments(emulator: Emulator, environ: Mapping[str, str]) -> str:
    """Return the value of the variable for extra browser arguments; headless where there is no display."""
    arguments = [
        argument
        for argument in browser_arguments(emulator.address, emulator.spki_sha256_b64, emulator.hosts)
        if argument not in OURS and argument != HEADLESS
    ]
    if not environ.get("DISPLAY") and not environ.get("WAYLAND_DISPLAY"):
        arguments.append(HEADLESS)
    return shlex.join(arguments)
