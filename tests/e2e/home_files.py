"""What lies under a chain's home folder and is ours, not Chrome's."""

from __future__ import annotations

from pathlib import Path

CHROMES_FOLDERS = {"profile", "browser-home", "tmp"}


def files_of_ours(home: Path) -> set[Path]:
    """Return every file and socket; never empty on a home folder that is in use."""
    paths = {path for path in home.rglob("*") if path.relative_to(home).parts[0] not in CHROMES_FOLDERS}
    found = {path for path in paths if not path.is_dir()}
    assert {"config.toml", "allowlist.json", "native_host.log"} <= {path.name for path in found}
    return found
