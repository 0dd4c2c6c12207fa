"""Answer bodies of the data calls: rows, chunks, and the closing ``e`` row (wire reference §2.2, §2.3). Pure.

    body   = ")]}'" LF LF  chunk*
    chunk  = DIGITS LF payload LF       payload = JSON list of rows
    DIGITS = UTF-16 code units of LF + payload + LF

The last row is ``["e", rows in the body, null, null, UTF-8 bytes of the body]``, both counts with itself included.
"""

from __future__ import annotations

from typing import Final

from attrs import define, field

from harness.emulator.wire_json import Json, compact, result_text, utf16_length

PREFIX: Final = ")]}'\n\n"
LARGE_RESULT_BYTES: Final = 2048
"""Recorded bodies up to 1,312 bytes come in two chunks, from 2,378 bytes on in three; the limit itself is a guess."""


def chunk(rows: list[Json], *, bare_lengths: bool = False) -> str:
    """Write one chunk. ``bare_lengths`` leaves the two line breaks uncounted, as some edited recordings have it."""
    payload = compact(rows)
    return f"{utf16_length(payload) + (0 if bare_lengths else 2)}\n{payload}\n"


def result_row(rpc_id: str, result: Json) -> list[Json]:
    """Return the row that carries a result as JSON text inside JSON."""
    return ["wrb.fr", rpc_id, result_text(result), None, None, None, "generic"]


def status_row(rpc_id: str, status: Json) -> list[Json]:
    """Return the row of a refused call; ``status`` is a ``google.rpc.Status`` as a list, usually only ``[code]``."""
    return ["wrb.fr", rpc_id, None, None, None, status, "generic"]


def bookkeeping_rows(duration_ms: int, serial: int) -> list[Json]:
    """Return the two rows that clients ignore: the server time, and a signed 64-bit number as text."""
    number = ((serial * 6364136223846793005 + 1442695040888963407) % 2**64) - 2**63
    return [["di", duration_ms], ["af.httprm", duration_ms, str(number), 10]]


@define
class BodyWriter:
    """Builds a body piece by piece and keeps the two counts that the closing row states.

    Invariant: ``rows`` and ``size_bytes`` describe exactly what has been returned so far.
    """

    bare_lengths: bool = False
    rows: int = field(default=0, init=False)
    size_bytes: int = field(default=0, init=False)

    def start(self) -> str:
        return self._count(PREFIX, 0)

    def chunk(self, rows: list[Json]) -> str:
        return self._count(chunk(rows, bare_lengths=self.bare_lengths), len(rows))

    def close(self) -> str:
        """Write the closing row; its byte count includes its own digits, so the size is found by trying."""
        size_bytes = self.size_bytes
        while True:
            text = chunk([["e", self.rows + 1, None, None, size_bytes]], bare_lengths=self.bare_lengths)
            total = self.size_bytes + len(text)  # this chunk is ASCII
            if total == size_bytes:
                return self._count(text, 1)
            size_bytes = total

    def _count(self, text: str, rows: int) -> str:
        self.rows += rows
        self.size_bytes += len(text.encode())
        return text


def whole_body(row: list[Json] | None, *, duration_ms: int, serial: int, bare_lengths: bool = False) -> str:
    """Write the answer of one ``batchexecute`` call: large results in three chunks, small ones in two.

    Without a row the bookkeeping stands alone, as when an answer has no data at all.
    """
    writer = BodyWriter(bare_lengths=bare_lengths)
    bookkeeping = bookkeeping_rows(duration_ms, serial)
    pieces = [writer.start()]
    if row is None:
        pieces.append(writer.chunk(bookkeeping))
    elif len(compact(row).encode()) > LARGE_RESULT_BYTES:
        pieces += [writer.chunk([row]), writer.chunk(bookkeeping)]
    else:
        pieces.append(writer.chunk([row, *bookkeeping]))
    pieces.append(writer.close())
    return "".join(pieces)
