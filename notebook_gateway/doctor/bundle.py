"""The archive of `doctor --bundle`: what a maintainer needs, and nothing that its sender would not show to all."""

from __future__ import annotations

import getpass
import json
import platform
import socket
import sys
import zipfile
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

from native_host.paths import logs_folder
from notebook_gateway.doctor.redaction import Redactor
from notebook_gateway.doctor.settings import maybe_config
from onboarding.doctor.look import Look
from onboarding.doctor.report import Report

LOG_BYTES: Final = 256 * 1024
"""Of each log, the end."""
LIBRARIES: Final = ("mcp", "trio", "trio-websocket", "attrs", "cattrs", "orjson")
READ_ME: Final = """\
Made by `notebook-gateway doctor --bundle`, for a public report.

doctor.json   what each hop of the chain said
system.json   versions, and which settings differ from what they are by themselves
logs/         the end of each log

Addresses, ids, the person's folders, user and machine are replaced by <address-1>, <id-1>, ~, <user>, <machine>; the
same thing has the same name throughout. No file holds text of a notebook, a source, a note, a question or an answer.
Look through it before you send it.
"""


def write_bundle(path: Path, report: Report, look: Look) -> list[str]:
    """Write the archive to `path`, which must not exist, and return the names in it.

    Raises:
        OSError: it exists already, or cannot be written.
    """
    redactor = Redactor({look.home: "<home>", look.places.home: "~"}, _words())
    members = {
        "README.txt": READ_ME,
        "doctor.json": _as_text(redactor.json(report.as_json())),
        "system.json": _as_text(redactor.json(_system(look))),
    }
    for log in sorted(logs_folder(look.home).glob("*.log*")):
        members[f"logs/{log.name}"] = redactor.text(_end_of(log))
    with path.open("xb") as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return list(members)


def _words() -> dict[str, str]:
    words = {socket.gethostname(): "<machine>"}
    user = getpass.getuser()
    # A short name of everybody's would turn up in words that mean something else.
    return {**words, user: "<user>"} if user != "root" else words


def _system(look: Look) -> dict[str, object]:
    config = maybe_config(look.home)
    return {
        "platform": platform.platform(),
        "python": sys.version.split()[0],
        "libraries": {name: _version(name) for name in LIBRARIES},
        "variables": {name: value for name, value in look.environ.items() if name.startswith("NOTEBOOK_GATEWAY_")},
        "config": None
        if config is None
        else {
            "manages_browser": config.manages_browser,
            "has_project_folder": config.project_folder is not None,
            "file_roots": len(config.file_roots),
            "max_file_bytes": config.max_file_bytes,
            "allow_private_urls": config.allow_private_urls,
            "confirm_deletes": config.confirm_deletes,
            "requests_per_minute": config.requests_per_minute,
        },
    }


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "none"


def _end_of(log: Path) -> str:
    with log.open("rb") as file:
        size_bytes = file.seek(0, 2)
        file.seek(max(0, size_bytes - LOG_BYTES))
        text = file.read().decode("utf-8", "replace")
    return text if size_bytes <= LOG_BYTES else text.partition("\n")[2]


def _as_text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"
