"""What every hop may look at. Pure."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import attrs

from onboarding.clients import Places, ServerEntry, places_of
from onboarding.detection import POLICY_FOLDERS


@attrs.frozen
class Look:
    """One machine, as one person sees it."""

    home: Path
    environ: Mapping[str, str]
    server: ServerEntry
    """The entry that an MCP client would get from this installation."""
    policy_folders: Sequence[Path] = POLICY_FOLDERS
    python: str = sys.executable
    platform: str = sys.platform

    @property
    def places(self) -> Places:
        return places_of(self.environ, self.platform)
