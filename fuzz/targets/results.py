"""Whatever JSON stands in a result row, the RPC's decoder gives a value made of encodable text and finite numbers, or
raises a `GatewayError`; it never takes a shape it does not know for an empty one.

The first byte chooses the decoder, the rest is the row's JSON text.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Final

import attrs

from broker.added_sources import decode_added_source, decode_registered_file
from broker.batchexecute import decode_reply_untrusted, decode_result_text
from broker.conversations import decode_conversations, decode_turns
from broker.errors import GatewayError
from broker.notebooks import decode_notebook, decode_notebook_list
from broker.notes import decode_created_note, decode_filled_note, decode_notes
from broker.source_guide import decode_source_guide
from broker.source_text import decode_source_text
from fuzz.corpus import exchanges

DECODERS: Final[dict[str, Callable[[object], object]]] = {
    "wXbhsf": decode_notebook_list,
    "rLM1Ne": decode_notebook,
    "cFji9": decode_notes,
    "CYK0Xb": decode_created_note,
    "cYAfTb": decode_filled_note,
    "izAoDd": decode_added_source,
    "o4cbdc": lambda payload: decode_registered_file(payload, "file.pdf"),
    "tr032e": decode_source_guide,
    "hizoJc": decode_source_text,
    "hPTbtc": decode_conversations,
    "khqZz": decode_turns,
}
RPC_IDS: Final = tuple(sorted(DECODERS))


def one_input(data: bytes) -> None:
    if not data:
        return
    rpc_id = RPC_IDS[data[0] % len(RPC_IDS)]
    try:
        payload = decode_result_text(rpc_id, data[1:].decode("utf-8", "replace"))
    except GatewayError:
        return
    check_decoded(rpc_id, payload)


def check_decoded(rpc_id: str, payload: object) -> None:
    """Decode as the tools do, and see that every word of the value can be written out."""
    try:
        value = DECODERS[rpc_id](payload)
    except GatewayError as error:
        error.message.encode()
        return
    assert not isinstance(payload, str | int | float | bool | None), f"{payload!r} was taken for a result"
    json.dumps(value, default=plain, ensure_ascii=False, allow_nan=False).encode()


def plain(value: object) -> object:
    """Return what `json` can write of a value of ours that it does not know."""
    if attrs.has(type(value)):
        return {field.name: getattr(value, field.name) for field in attrs.fields(type(value))}
    if isinstance(value, tuple | frozenset | set):
        return list(value)
    return str(value)


def seeds() -> Iterator[bytes]:
    for rpc_id, body in exchanges():
        if rpc_id not in DECODERS:
            continue
        try:
            payload = decode_reply_untrusted(body, rpc_id)
        except GatewayError:  # recorded refusals are seeds of `reply_bodies`
            continue
        yield bytes((RPC_IDS.index(rpc_id),)) + json.dumps(payload, ensure_ascii=False).encode()
