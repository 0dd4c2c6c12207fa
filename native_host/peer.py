"""Who is at the other end of a local socket. Not tested on macOS."""

from __future__ import annotations

import socket
import struct
import sys
from typing import Final, Protocol

# macOS, <sys/un.h> and <sys/ucred.h>: struct xucred { u_int cr_version; uid_t cr_uid; short cr_ngroups; gid_t [16]; }
SOL_LOCAL: Final = 0
LOCAL_PEERCRED: Final = 1
XUCRED: Final = struct.Struct("=IIh2x16I")

UCRED: Final = struct.Struct("=iII")
"""Linux, <sys/socket.h>: struct ucred { pid_t pid; uid_t uid; gid_t gid; }"""


class Connection(Protocol):
    """A connected socket: the standard library's or Trio's."""

    def getsockopt(self, level: int, option: int, buffer_size: int, /) -> bytes: ...


def peer_user_id(connection: Connection) -> int:
    """Return the user id of the process that connected, as the kernel recorded it at that moment.

    Raises:
        OSError: the kernel does not say; treat the peer as a stranger.
    """
    if sys.platform == "darwin":
        uid = XUCRED.unpack(connection.getsockopt(SOL_LOCAL, LOCAL_PEERCRED, XUCRED.size))[1]
    else:
        uid = UCRED.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, UCRED.size))[1]
    return int(uid)
