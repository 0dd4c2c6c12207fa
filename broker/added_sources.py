"""The answers of requests that add a source: ``izAoDd`` and ``o4cbdc`` (wire reference, 6).

Pure. The answers prove an addition, so nothing in them is guessed: an answer about no source, or about several, is an
error that leaves the addition unknown.
"""

from __future__ import annotations

from broker.errors import UpstreamRejected
from broker.notebooks import Source, decode_source_row, is_id
from broker.requests import ADD_SOURCE, REGISTER_FILE
from broker.slots import Slot, as_list, texts_inside


def decode_added_source(payload: object) -> Source:
    """Decode the answer of ``izAoDd`` to one spec: ``[[source row]]``.

    Raises:
        UpstreamRejected: no row. The service leaves out what it could not add; only reported publicly, hence no proof.
        UpstreamSchemaDrift: another shape, or several rows.
    """
    envelope = Slot(payload, ADD_SOURCE)
    rows = envelope.maybe_list(0)
    if rows is None or len(rows) == 0:
        raise UpstreamRejected(
            f"{ADD_SOURCE}: the service answered without the source, which means most likely that it could not add it",
            details={"rpc_id": ADD_SOURCE},
        )
    if len(rows) > 1:
        raise envelope.drift(0, "one source row", f"{len(rows)} rows")
    return decode_source_row(rows.list_at(0))


def decode_registered_file(payload: object, name: str) -> str:
    """Decode the answer of ``o4cbdc``, ``[[stub], null, [[stub]]]`` with stub ``[[id], name, …]``; return the id.

    Other nestings are reported publicly, so an id that stands beside the file's name is found wherever it is.

    Raises:
        UpstreamSchemaDrift: neither the path nor the name leads to exactly one id.
    """
    envelope = Slot(payload, REGISTER_FILE)
    at_path: object = payload
    for _ in range(4):
        values = as_list(at_path)
        at_path = values[0] if values else None
    if is_id(at_path):
        return at_path
    beside = _ids_beside(payload, name)
    if len(beside) != 1:
        raise envelope.drift(0, "the new source's id", f"{len(beside)} ids beside the file's name")
    return beside.pop()


def _ids_beside(payload: object, name: str) -> set[str]:
    found: set[str] = set()
    stack = [payload]
    while stack:
        values = as_list(stack.pop()) or []
        if name in values:
            found.update(text for text in texts_inside(values) if is_id(text))
        stack.extend(values)
    return found
