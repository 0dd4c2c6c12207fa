"""Telling Chrome about the native host: a launcher script and a host manifest, and the check of any such manifest.

Used by onboarding and harness, never by the running host. Chrome starts the launcher with its own environment
and an unknown PATH, so the script holds absolute paths only: the interpreter chosen when it was written, our module,
and our home folder. Not tested on macOS; Windows wants a registry key instead and is not served.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import stat
from pathlib import Path
from typing import Final, cast

from native_host.paths import ensure_private_folder, host_log_file, launcher_file, logs_folder
from native_host.protocol import EXTENSION_ID, HOST_NAME

MAIN_FILE: Final = Path(__file__).resolve().with_name("__main__.py")

HOSTS_FOLDER: Final = "NativeMessagingHosts"
"""Beside a profile's folders, where Chromium on Linux and macOS looks for hosts of one user."""

# Chrome's rules: https://developer.chrome.com/docs/extensions/develop/concepts/native-messaging
NAME_RULE: Final = re.compile(r"[a-z0-9_]+(\.[a-z0-9_]+)*")
ORIGIN_RULE: Final = re.compile(r"chrome-extension://[a-p]{32}/")

LAUNCHER_TEMPLATE: Final = """\
#!/bin/sh
# Chrome starts this file. It was written by notebook-gateway; registering again replaces it.
python={python}
if [ ! -x "$python" ]; then
    printf '%s\\n' "native host not started: no interpreter at $python; register the host again" >> {log}
    exit 127
fi
exec "$python" -I -S {main} --home {home} "$@"
"""


def write_launcher(home: Path, python_executable: str | Path) -> Path:
    """Write the script that Chrome starts, and return its path.

    `python_executable` is not resolved: the link of a virtual environment outlives an update of the Python behind it.

    Raises:
        ValueError: a path is relative, holds a control character, or the interpreter cannot be run.
        OSError: the home folder cannot be written.
    """
    if not os.access(python_executable, os.X_OK):
        raise ValueError(f"{python_executable} is not an executable file; name the Python that has notebook-gateway")
    script = _launcher_script(home, python_executable)
    ensure_private_folder(logs_folder(home))
    launcher = launcher_file(home)
    _replace_file(launcher, script, mode=0o700)
    return launcher


def _launcher_script(home: Path, python_executable: str | Path) -> bytes:
    script = LAUNCHER_TEMPLATE.format(
        python=_quoted(python_executable),
        main=_quoted(MAIN_FILE),
        home=_quoted(home),
        log=_quoted(host_log_file(home)),
    )
    return os.fsencode(script)


def manifest_file(folder: Path) -> Path:
    """Return our manifest's place in a ``NativeMessagingHosts`` folder."""
    return folder / f"{HOST_NAME}.json"


def manifest_bytes(launcher: Path) -> bytes:
    """Return the manifest as it is written."""
    return json.dumps(host_manifest(launcher), indent=2).encode() + b"\n"


def is_registered(folder: Path, home: Path, python_executable: str | Path) -> bool:
    """Whether manifest and launcher are exactly what writing them now would make."""
    launcher = launcher_file(home)
    try:
        is_same = manifest_file(folder).read_bytes() == manifest_bytes(launcher)
        return is_same and launcher.read_bytes() == _launcher_script(home, python_executable)
    except OSError:
        return False


def host_manifest(launcher: Path) -> dict[str, object]:
    """Return what Chrome must read to start `launcher` for our extension and for nobody else."""
    return {
        "name": HOST_NAME,
        "description": "Relay between notebook-gateway and its Chrome extension",
        "path": str(launcher),
        "type": "stdio",
        "allowed_origins": [f"chrome-extension://{EXTENSION_ID}/"],
    }


def write_host_manifest(folder: Path, launcher: Path) -> Path:
    """Write the manifest into a ``NativeMessagingHosts`` folder, which is created if missing, and return its path.

    Raises:
        ValueError: Chrome would not accept it; the message names the field.
        OSError: the folder cannot be written.
    """
    problems = check_manifest(host_manifest(launcher))
    if problems:
        raise ValueError("; ".join(problems))
    folder.mkdir(parents=True, exist_ok=True)
    path = manifest_file(folder)
    _replace_file(path, manifest_bytes(launcher), mode=0o644)
    return path


def check_manifest(manifest: object) -> list[str]:
    """Return why Chrome would not start a host from this manifest: one sentence per field, empty when it would.

    Chrome itself only says "not found" or "forbidden".
    """
    if not isinstance(manifest, dict):
        return [f"manifest: must be a JSON object, not {type(manifest).__name__}"]
    fields = cast("dict[object, object]", manifest)
    problems = [_name_problem(fields.get("name")), _path_problem(fields.get("path"))]
    if not isinstance(fields.get("description"), str):
        problems.append("description: must be a text")
    if fields.get("type") != "stdio":
        problems.append(f"type: must be 'stdio', not {fields.get('type')!r}")
    problems.append(_origins_problem(fields.get("allowed_origins")))
    return [problem for problem in problems if problem is not None]


def _name_problem(name: object) -> str | None:
    if isinstance(name, str) and NAME_RULE.fullmatch(name):
        return None
    return f"name: {name!r} must be lower-case letters, digits and underscores, joined by single dots"


def _path_problem(path: object) -> str | None:
    if not isinstance(path, str) or not os.path.isabs(path):
        return f"path: {path!r} must be an absolute path"
    if not os.path.isfile(path):
        return f"path: there is no file {path!r}"
    if not os.access(path, os.X_OK):
        return f"path: {path!r} is not executable; chmod u+x it"
    return None


def _origins_problem(origins: object) -> str | None:
    if not isinstance(origins, list) or not origins:
        return "allowed_origins: must list at least one extension"
    for origin in cast("list[object]", origins):
        if not isinstance(origin, str) or not ORIGIN_RULE.fullmatch(origin):
            return f"allowed_origins: {origin!r} must be chrome-extension://<32 letters a-p>/ with the final slash"
    return None


def _quoted(path: str | Path) -> str:
    text = str(path)
    if not os.path.isabs(text):
        raise ValueError(f"{text!r} must be an absolute path: Chrome starts the host in a folder of its own choice")
    if any(ord(character) < 32 for character in text):
        raise ValueError(f"{text!r} holds a control character, which a shell script cannot carry safely")
    return shlex.quote(text)


def _replace_file(path: Path, content: bytes, mode: int) -> None:
    """Write whole or not at all: Chrome may read, or be running, the old file at this moment."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, stat.S_IRUSR | stat.S_IWUSR)
    with open(descriptor, "wb") as file:
        file.write(content)
    temporary.chmod(mode)
    temporary.replace(path)
