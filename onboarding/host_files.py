"""The native host's manifest in a browser that is not ours: written so that an uninstall gives back what was there."""

from __future__ import annotations

import sys
from pathlib import Path

from native_host.paths import launcher_file
from native_host.registration import HOSTS_FOLDER, is_registered, manifest_bytes, manifest_file, write_launcher
from onboarding.footprint import Footprint
from onboarding.run import Run
from onboarding.steps import DOCTOR, StepFailed

WHAT = "host-manifest"
"""The word for these files in the footprint."""


def is_host_in(run: Run, profile: Path) -> bool:
    """Whether the browser whose user data folder is `profile` finds our host as it would be written now."""
    return is_registered(profile / HOSTS_FOLDER, run.home, sys.executable)


def put_host_into(run: Run, profile: Path) -> str:
    """Write launcher and manifest, and return the manifest's path.

    Raises:
        StepFailed: a file cannot be written.
    """
    try:
        return str(register_in(profile, run.home, sys.executable, run.footprint))
    except (OSError, ValueError) as error:
        raise StepFailed("host.unwritable", f"the native host cannot be registered: {error}", DOCTOR) from None


def register_in(profile: Path, home: Path, python: str, footprint: Footprint) -> Path:
    """Write launcher and manifest for the browser whose user data folder is `profile`; return the manifest's path.

    Raises:
        OSError, ValueError: a file cannot be written, or a path cannot stand in a script.
    """
    file = manifest_file(profile / HOSTS_FOLDER)
    write_launcher(home, python)
    footprint.write(file, manifest_bytes(launcher_file(home)), WHAT, mode=0o644)
    return file
