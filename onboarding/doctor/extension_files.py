"""Whether the extension that is shipped with this installation is whole and of its version."""

from __future__ import annotations

import json
from pathlib import Path
from typing import cast

from native_host.build import BUILD
from onboarding.extension_browser import EXTENSION_FOLDER


def maybe_damage(folder: Path = EXTENSION_FOLDER) -> str | None:
    """Return what is wrong with the files in `folder`, or None."""
    try:
        manifest: object = json.loads((folder / "manifest.json").read_bytes())
    except (OSError, ValueError) as error:
        return f"{folder / 'manifest.json'}: {error}"
    if not isinstance(manifest, dict):
        return f"{folder / 'manifest.json'} is no extension's manifest"
    fields = cast("dict[str, object]", manifest)
    if fields.get("version") != BUILD:
        return f"{folder} is of build {fields.get('version')}, this command of {BUILD}"
    missing = [name for name in _named_files(fields) if not (folder / name).is_file()]
    return f"{folder} lacks {', '.join(missing)}" if missing else None


def _named_files(manifest: dict[str, object]) -> list[str]:
    """Return the files that the manifest names: the worker, the popup and the scripts for the page."""
    names: list[str] = []
    background, action = manifest.get("background"), manifest.get("action")
    for table, key in ((background, "service_worker"), (action, "default_popup")):
        value = cast("dict[str, object]", table).get(key) if isinstance(table, dict) else None
        if isinstance(value, str):
            names.append(value)
    for script in cast("list[dict[str, list[str]]]", manifest.get("content_scripts") or []):
        names += script.get("js", [])
    return names
