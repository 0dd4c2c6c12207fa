import os
import socket

import pytest

from native_host.peer import peer_user_id


def test_the_kernel_names_the_user_at_the_other_end() -> None:
    one, other = socket.socketpair()
    with one, other:
        assert peer_user_id(one) == os.geteuid()


def test_a_socket_without_a_peer_has_no_user_of_ours() -> None:
    """The kernel either refuses or gives an id that nobody has."""
    with socket.socket(socket.AF_UNIX) as lonely:
        try:
            uid = peer_user_id(lonely)
        except OSError:
            return
        assert uid != os.geteuid()


def test_a_closed_socket_is_an_error() -> None:
    closed = socket.socket(socket.AF_UNIX)
    closed.close()
    with pytest.raises(OSError):
        peer_user_id(closed)
