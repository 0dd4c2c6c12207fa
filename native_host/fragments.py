"""Splitting what is too large for one message to Chrome.

Chrome counts *encoded bytes*, and a text can grow when it is encoded again (each quote becomes two bytes), so a piece
travels as base64 of a fixed number of bytes: its size is known beforehand, whatever the text, and a cut inside a
multi-byte character does no harm, because only the joined bytes are decoded. Pure.
"""

from __future__ import annotations

from binascii import b2a_base64

from native_host.protocol import FRAGMENT_BYTES


def needs_fragments(payload: bytes) -> bool:
    """Return whether `payload` must not be sent to Chrome in one piece."""
    return len(payload) > FRAGMENT_BYTES


def fragment_count(payload: bytes) -> int:
    """Return in how many fragments `payload` travels."""
    return -(-len(payload) // FRAGMENT_BYTES)


def encode_fragment(conn: int, call_id: int, payload: bytes, seq: int) -> bytes:
    """Return the ``fragment`` message number `seq` of `payload`.

    ``data`` of all of them, decoded and joined in order of ``seq``, is `payload`. One at a time, so that a large
    payload is not held twice.
    """
    start = seq * FRAGMENT_BYTES
    end = start + FRAGMENT_BYTES
    last = b"true" if end >= len(payload) else b"false"
    head = b'{"conn":%d,"type":"fragment","id":%d,"seq":%d,"last":%s,"data":"' % (conn, call_id, seq, last)
    return b'%s%s"}' % (head, b2a_base64(memoryview(payload)[start:end], newline=False))
