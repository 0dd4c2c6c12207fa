"""Is a folder on a network file system? SQLite's write-ahead log needs shared memory of one machine (C-027).

Known from the mount table where there is one (Linux); elsewhere the answer is always no, and SQLite's own answer to
`journal_mode = WAL` is what is left.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

MOUNT_TABLE: Final = Path("/proc/self/mountinfo")
SERVED_BY_ANOTHER_MACHINE: Final = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "ceph", "glusterfs", "lustre", "gpfs", "beegfs", "ncpfs", "davfs"}
    | {"fuse.sshfs", "fuse.glusterfs", "fuse.ceph", "fuse.rclone", "fuse.s3fs", "fuse.davfs"}
)
SERVED_BY_THE_HOST_OF_A_VIRTUAL_MACHINE: Final = frozenset(
    {"9p", "drvfs", "vboxsf", "vmhgfs", "fuse.vmhgfs-fuse", "prl_fs"}
)
NETWORK: Final = SERVED_BY_ANOTHER_MACHINE | SERVED_BY_THE_HOST_OF_A_VIRTUAL_MACHINE


def maybe_network_file_system(folder: Path, mount_table: Path = MOUNT_TABLE) -> str | None:
    """Return the kind of network file system that `folder` is on, or None. Blocking."""
    try:
        lines = mount_table.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return None
    real = os.path.realpath(folder)
    best, kind = "", None
    for line in lines:
        before, _, after = line.partition(" - ")
        fields = before.split(" ")
        if len(fields) < 5 or not after:
            continue
        mount_point = _unescaped(fields[4])
        is_above = real == mount_point or real.startswith(mount_point.rstrip("/") + "/")
        # Later lines are mounted over earlier ones.
        if is_above and len(mount_point) >= len(best):
            best, kind = mount_point, after.split(" ", 1)[0]
    return kind if kind in NETWORK else None


def _unescaped(text: str) -> str:
    # The kernel writes blanks and backslashes in octal.
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), text)
