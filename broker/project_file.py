"""`.notebook_mcp.json`: a project's proposal which notebook to use. It never selects anything (ADR-017, ADR-031).

The file comes with whatever repository somebody opened, so it is data from strangers (C-020): only an id and a title
are taken from it, both checked, and no text of it ever reaches an instruction field. It is written only into a folder
that is a project, because desktop clients start servers in ``/`` or in the home folder.
"""

from __future__ import annotations

import os
import stat
import unicodedata
from pathlib import Path
from typing import Final, cast

import orjson
from attrs import frozen

from broker.allowlist import NOTEBOOK_ID
from broker.atomic_file import write_private_file
from broker.session_lock import LockedNotebook

FILE_NAME: Final = ".notebook_mcp.json"
MAX_FILE_BYTES: Final = 64 * 1024
MAX_TITLE_CHARS: Final = 200

PROJECT_MARKERS: Final = (
    ".git",
    ".hg",
    ".jj",
    "pyproject.toml",
    "package.json",
    "Cargo.toml",
    "go.mod",
    "pom.xml",
    "build.gradle",
    "build.gradle.kts",
    "Gemfile",
    "composer.json",
    "CMakeLists.txt",
    "deno.json",
    FILE_NAME,
)


@frozen
class Proposal:
    """What a project file says, reduced to what may be shown."""

    notebook_id: str
    title: str


@frozen
class Ignored:
    """There is a project file, but nothing of it is used; `reason` is text of ours."""

    reason: str


@frozen
class Saved:
    """Whether the selection was written, and where or why not."""

    path: Path | None
    reason: str = ""


class ProjectFolder:
    """The folder this session belongs to: the configured one, else the working directory at the start."""

    def __init__(self, folder: Path, user_home: Path, *, is_named: bool = False) -> None:
        self._folder = folder
        self._user_home = user_home
        self._is_named = is_named

    def __repr__(self) -> str:
        return f"<ProjectFolder {self._folder}>"

    @property
    def path(self) -> Path:
        """The folder, whether it is a project or not."""
        return self._folder

    def why_no_root(self) -> str | None:
        """Return why files of this folder may not be uploaded, or None when they may. Blocking; never raises.

        A folder that holds the whole home folder never becomes a root by itself, also not when it is configured.
        """
        if Path(os.path.realpath(self._user_home)).is_relative_to(os.path.realpath(self._folder)):
            return f"the project folder {self._folder} is the home folder or holds it"
        return self._why_not_a_project()

    def read_untrusted(self) -> Proposal | Ignored | None:
        """Return the proposal, why it is ignored, or None when there is no file. Blocking; never raises."""
        try:
            data = _read_regular_file(self._folder / FILE_NAME)
        except FileNotFoundError:
            return None
        except OSError as error:
            return Ignored(f"it cannot be read ({error.strerror})")
        if data is None:
            return Ignored(f"it is not a plain file of at most {MAX_FILE_BYTES} bytes")
        return parse_project_file_untrusted(data)

    def save(self, notebook: LockedNotebook) -> Saved:
        """Write the proposal for the next session, or say why not. Blocking; never raises."""
        reason = self._why_not_a_project()
        if reason is not None:
            return Saved(None, reason)
        path = self._folder / FILE_NAME
        document = {"notebook_id": notebook.id, "title": notebook.title}
        data = orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
        try:
            write_private_file(path, data, mode=0o644)  # meant to be shared with the project; it holds no secret
        except OSError as error:
            return Saved(None, f"it cannot be written ({error.strerror})")
        return Saved(path)

    def _why_not_a_project(self) -> str | None:
        if self._is_named:
            return None if self._folder.is_dir() else "the configured project_folder does not exist"
        if self._folder == self._folder.parent or _is_same_folder(self._folder, self._user_home):
            return "the server was started in the home folder or in /, which is no project"
        if not any(os.path.lexists(self._folder / marker) for marker in PROJECT_MARKERS):
            return "the working directory has no project marker such as .git, pyproject.toml or package.json"
        return None


def parse_project_file_untrusted(data: bytes) -> Proposal | Ignored:
    """Take the id and the title out of a project file and leave everything else."""
    try:
        top: object = orjson.loads(data.removeprefix(b"\xef\xbb\xbf"))
    except orjson.JSONDecodeError:
        return Ignored("it is not JSON")
    if not isinstance(top, dict):
        return Ignored("it is not an object")
    fields = cast("dict[str, object]", top)
    notebook_id = fields.get("notebook_id")
    if not isinstance(notebook_id, str) or not NOTEBOOK_ID.fullmatch(notebook_id.lower()):
        return Ignored("it has no well-formed notebook_id")
    title = fields.get("title", "")
    if not isinstance(title, str):
        return Ignored("its title is not a text")
    return Proposal(notebook_id.lower(), plain_title(title))


def plain_title(title: str) -> str:
    """Return a title that is one short line: no control, format (bidirectional) or separator characters."""
    kept = (" " if unicodedata.category(character) in _BREAKS else character for character in title)
    line = "".join(character for character in kept if unicodedata.category(character)[0] != "C")
    return " ".join(line.split())[:MAX_TITLE_CHARS]


_BREAKS: Final = frozenset({"Cc", "Zl", "Zp"})


def _read_regular_file(path: Path) -> bytes | None:
    """Return the bytes, or None for what is no small regular file. Links are not followed, pipes not waited for."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        data = file.read(MAX_FILE_BYTES + 1)
    return data if len(data) <= MAX_FILE_BYTES else None


def _is_same_folder(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False
