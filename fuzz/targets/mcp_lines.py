"""Whatever bytes a client writes, they are cut into the same lines however they arrived, and each line is one JSON-RPC
message or an error that can be written back; no line that names a usable id goes without an answer.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from mcp_types import JSONRPCNotification

from broker.json_lines import OversizedLine
from broker.jsonrpc_guard import BadFrame, encode_message, parse_message_untrusted
from fuzz.corpus import case_inputs
from fuzz.cuts import pieces_of
from tests.broker.line_pieces import split

LIMIT_BYTES = 4096


def one_input(data: bytes) -> None:
    lines = split([data], LIMIT_BYTES)
    assert split(pieces_of(data), LIMIT_BYTES) == lines
    for line in lines:
        if isinstance(line, OversizedLine):
            continue
        assert len(line) <= LIMIT_BYTES
        try:
            message = parse_message_untrusted(line)
        except BadFrame as error:
            encode_message(error.response)
            continue
        if isinstance(message, JSONRPCNotification):
            assert "id" not in json.loads(line), "nobody would answer this request"


def seeds() -> Iterator[bytes]:
    for pattern in ("C-002*", "C-003*", "C-006*", "C-007*", "C-010*"):
        yield from case_inputs(pattern)
    yield b'{"jsonrpc":"2.0","id":"' + b"x" * 5000 + b'","method":"ping"}\n{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
    yield b'{"jsonrpc":"2.0","id":"\\ud800","method":"ping"}\n{"jsonrpc":"2.0","id":1.5,"method":"ping"}\n'
    yield b'{"jsonrpc":"2.0","id":1,"result":{}}\n{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m"}}\n'
