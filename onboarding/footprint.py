"""Everything that we write outside of our own home folder, so that it can be taken back byte for byte.

`footprint.json` in the home folder has a record per file: what it was before (a copy under `backups/`, or absent), what
we made of it; beside them stand the folders that we had to make. A file that is still what we made goes back to its
former bytes. One that somebody changed since keeps these changes: only our own part is cut out of it, by whoever knows
the format.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Final, cast

import attrs
import cattrs

from native_host.paths import ensure_private_folder

VERSION: Final = 1
Remover = Callable[[bytes], bytes | None]
"""Given what a file holds now, returns it without our part, or None where nothing of it is left to keep."""


class UnreadableFootprint(ValueError):
    """`footprint.json` cannot be read; nothing was changed."""


@attrs.frozen
class Record:
    """One file. `backup` is the name of the copy under `backups/`, None where there was no file."""

    path: str
    what: str
    backup: str | None
    after_sha256: str
    is_changed_by_others: bool = False
    """Whether the file was no longer ours when we wrote it again; its former bytes are not what is wanted then."""


@attrs.frozen
class Restored:
    """What became of one file: ``restored``, ``removed``, ``cut out`` or ``gone``."""

    path: Path
    how: str


class Footprint:
    """The records of one home folder. Every change is on the disk before a method returns."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._file = home / "footprint.json"
        self._backups = home / "backups"
        self._records: dict[str, Record] = {}
        self._folders: list[str] = []
        self._load()

    @property
    def records(self) -> tuple[Record, ...]:
        return tuple(self._records.values())

    def write(self, path: Path, new: bytes, what: str, *, mode: int = 0o600) -> bool:
        """Write `new` to `path` whole or not at all, keep the way back, and return whether anything changed.

        A link is followed, and an existing file keeps its mode; `mode` is for a new one.

        Raises:
            OSError: the file or its folder cannot be written; it is as it was.
        """
        real = Path(os.path.realpath(path))
        old = real.read_bytes() if real.exists() else None
        if old == new:
            return False
        known = self._records.get(str(real))
        if known is None:
            backup = None if old is None else self._keep(real, old)
            record = Record(str(real), what, backup, _digest(new))
        else:
            touched = known.is_changed_by_others or old is None or _digest(old) != known.after_sha256
            record = attrs.evolve(known, after_sha256=_digest(new), is_changed_by_others=touched)
        self._records[str(real)] = record
        self._folders += map(str, _missing_folders(real.parent))
        self._save()
        real.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _replace(real, new, stat.S_IMODE(real.stat().st_mode) if old is not None else mode)
        return True

    def maybe_record(self, path: Path) -> Record | None:
        return self._records.get(os.path.realpath(path))

    def former_bytes(self, record: Record) -> bytes | None:
        """Return what the file held before we first wrote it, None where it was not there."""
        return None if record.backup is None else (self._backups / record.backup).read_bytes()

    def restore(self, record: Record, remover: Remover) -> Restored:
        """Take one file back.

        Raises:
            OSError: it cannot be written; the record stays.
            ValueError: `remover` cannot read it; the record stays.
        """
        path = Path(record.path)
        now = path.read_bytes() if path.exists() else None
        if now is None:
            how = "gone"
        elif _digest(now) == record.after_sha256 and not record.is_changed_by_others:
            how = self._put_back(path, self.former_bytes(record), "restored")
        else:
            how = self._put_back(path, remover(now), "cut out")
        del self._records[record.path]
        self._remove_empty_folders()
        self._save()
        if record.backup is not None:
            (self._backups / record.backup).unlink(missing_ok=True)
        return Restored(path, how)

    def _remove_empty_folders(self) -> None:
        for name in reversed(self._folders.copy()):
            folder = Path(name)
            if folder.is_dir() and not any(folder.iterdir()):
                folder.rmdir()
            if not folder.exists():
                self._folders.remove(name)

    def _put_back(self, path: Path, content: bytes | None, how: str) -> str:
        if content is None:
            path.unlink()
            return "removed"
        _replace(path, content, stat.S_IMODE(path.stat().st_mode))
        return how

    def _keep(self, path: Path, content: bytes) -> str:
        ensure_private_folder(self._backups)
        name = f"{hashlib.sha256(os.fsencode(path)).hexdigest()[:12]}-{path.name}"
        _replace(self._backups / name, content, 0o600)
        return name

    def _load(self) -> None:
        try:
            stored: object = json.loads(self._file.read_bytes())
            document = cast("dict[str, object]", stored)
            self._records = {each.path: each for each in cattrs.structure(document["files"], list[Record])}
            self._folders = cattrs.structure(document["folders"], list[str])
        except FileNotFoundError:
            return
        except Exception as error:
            raise UnreadableFootprint(f"{self._file} cannot be read: {error}") from error

    def _save(self) -> None:
        ensure_private_folder(self._home)
        document = {
            "version": VERSION,
            "files": cattrs.unstructure(list(self._records.values())),
            "folders": self._folders,
        }
        _replace(self._file, json.dumps(document, indent=2).encode() + b"\n", 0o600)


def _missing_folders(folder: Path) -> list[Path]:
    """Return the folders that would have to be made, outermost first."""
    missing: list[Path] = []
    while not folder.exists():
        missing.insert(0, folder)
        folder = folder.parent
    return missing


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _replace(path: Path, content: bytes, mode: int) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}.new")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        with open(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(mode)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
