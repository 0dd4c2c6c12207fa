"""The rows of an answer, and the one result among them (wire reference, section 2.3).

Each payload of the framing is a JSON list of rows. ``wrb.fr`` rows carry results as JSON *text*, ``er`` rows errors;
``di`` and ``af.httprm`` are bookkeeping; the closing ``e`` row says how many rows the whole body has. That number is
our test that the body is whole. The last slot of ``e`` is the size in bytes, not an error code (C-055); it is not
compared, because a body that went through a text decoder may differ by its prefix (C-060).
Pure; raises nothing but `GatewayError`.
"""

from __future__ import annotations

from typing import Final

from attrs import frozen

from broker.answer_framing import ChunkReader, IncompleteAnswer
from broker.errors import UpstreamSchemaDrift
from broker.rpc_status import error_row_error, plain_sentence, status_error
from broker.slots import as_list, kind_of
from broker.wire_json import BadJson, decode_json_untrusted

RESULT: Final = "wrb.fr"
ERROR: Final = "er"
END: Final = "e"
MAX_NAMED_IDS: Final = 5


@frozen
class ResultRow:
    """A ``wrb.fr`` row. `rpc_id` is None in streams; `status` is only set beside a null result."""

    rpc_id: str | None
    payload_text: str | None
    status: object


@frozen
class ErrorRow:
    """An ``er`` row. Only reported publicly: `code` is an HTTP-like number or text."""

    rpc_id: str | None
    code: object


Row = ResultRow | ErrorRow


class RowReader:
    """Reads an answer's rows from pieces of text cut anywhere.

    Raises (`feed_untrusted`, `end`): UpstreamSchemaDrift, SignInPage; `end` also IncompleteAnswer when the closing row
        is missing or counts other rows than had come.
    """

    def __init__(self, rpc_id: str) -> None:
        self._rpc_id = rpc_id
        self._chunks = ChunkReader(rpc_id)
        self._row_count = 0
        self._declared_rows: int | None = None

    def __repr__(self) -> str:
        return f"<RowReader {self._rpc_id} {self._row_count} rows, {'closed' if self.is_closed else 'open'}>"

    @property
    def is_closed(self) -> bool:
        """Tell whether the closing row has come."""
        return self._declared_rows is not None

    def feed_untrusted(self, text: str) -> list[Row]:
        """Take the next piece of text; return the result and error rows it completed."""
        return self._read(self._chunks.feed_untrusted(text))

    def end(self) -> list[Row]:
        """Say that the text is over, and check that the answer is whole."""
        rows = self._read(self._chunks.end())
        if self._declared_rows is None:
            raise IncompleteAnswer(f"{self._rpc_id}: the answer ended without its closing row")
        if self._declared_rows != self._row_count:
            raise IncompleteAnswer(
                f"{self._rpc_id}: the answer has {self._row_count} rows, its closing row counts {self._declared_rows}"
            )
        return rows

    def _read(self, payloads: list[str]) -> list[Row]:
        rows: list[Row] = []
        for payload in payloads:
            try:
                values = decode_json_untrusted(payload)
            except BadJson:
                raise UpstreamSchemaDrift(self._rpc_id, f"row[{self._row_count}]", "a JSON list of rows") from None
            row_values = as_list(values)
            if row_values is None:
                raise UpstreamSchemaDrift(self._rpc_id, f"row[{self._row_count}]", "a list of rows", kind_of(values))
            for value in row_values:
                row = self._take_row(value)
                if row is not None:
                    rows.append(row)
        return rows

    def _take_row(self, value: object) -> Row | None:
        path = f"row[{self._row_count}]"
        slots = list(as_list(value) or ())
        tag = slots[0] if slots else None
        if not isinstance(tag, str):
            raise UpstreamSchemaDrift(self._rpc_id, path, "a row that starts with its tag", kind_of(value))
        if self._declared_rows is not None:
            raise UpstreamSchemaDrift(self._rpc_id, path, "nothing after the closing row", "one more row")
        self._row_count += 1
        slots += [None] * (6 - len(slots))
        if tag == END:
            declared = slots[1]
            if not isinstance(declared, int) or isinstance(declared, bool):
                raise UpstreamSchemaDrift(self._rpc_id, f"{path}[1]", "the number of rows", kind_of(declared))
            self._declared_rows = declared
        elif tag == RESULT:
            return ResultRow(self._maybe_text(slots, 1, path), self._maybe_text(slots, 2, path), slots[5])
        elif tag == ERROR:
            return ErrorRow(self._maybe_text(slots, 1, path), slots[2])
        return None

    def _maybe_text(self, slots: list[object], index: int, path: str) -> str | None:
        value = slots[index]
        if value is None or isinstance(value, str):
            return value
        raise UpstreamSchemaDrift(self._rpc_id, f"{path}[{index}]", "text or null", kind_of(value))


def decode_result_text(rpc_id: str, text: str) -> object:
    """Parse the JSON text inside a result row.

    Raises:
        UpstreamSchemaDrift: it is not JSON.
    """
    try:
        return decode_json_untrusted(text)
    except BadJson:
        raise UpstreamSchemaDrift(rpc_id, "$", "JSON text in the result row") from None


def decode_reply_untrusted(body: str, rpc_id: str) -> object:
    """Return the result of one RPC from a whole answer body.

    The last non-null result row for `rpc_id` wins. A null result is an error: the one its status names, or drift.

    Raises:
        IncompleteAnswer: the body is cut (no closing row); a repeat can help.
        UpstreamSchemaDrift: another framing, or no row for this id: the ids that were found are named (C-058).
        SignInPage: a web page instead of data.
        GatewayError: the one `rpc_status` gives for the status or error row.
    """
    reader = RowReader(rpc_id)
    rows = [*reader.feed_untrusted(body), *reader.end()]
    results = [row for row in rows if isinstance(row, ResultRow) and row.rpc_id == rpc_id]
    for row in reversed(results):
        if row.payload_text is not None:
            return decode_result_text(rpc_id, row.payload_text)
    for row in rows:
        if isinstance(row, ErrorRow) and row.rpc_id in (rpc_id, None):
            raise error_row_error(rpc_id, row.code)
    if results:
        raise status_error(rpc_id, results[-1].status, "row.status")
    found = sorted({plain_sentence(str(row.rpc_id)) for row in rows})[:MAX_NAMED_IDS]
    seen = f"only {', '.join(found)}" if found else "no result row"
    raise UpstreamSchemaDrift(rpc_id, "row", f"a result row for {rpc_id}", seen)
