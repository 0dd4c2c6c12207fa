"""Whatever body an RPC is answered with, its reader gives a value or raises a `GatewayError` whose text can be shown,
and never gives a value for a body that is cut.

The first byte chooses the RPC.
"""

from __future__ import annotations

from collections.abc import Iterator

from broker.batchexecute import decode_reply_untrusted
from broker.errors import GatewayError
from fuzz.corpus import case_inputs, exchanges
from fuzz.targets.results import DECODERS, check_decoded

RPC_IDS = tuple(sorted(DECODERS))


def one_input(data: bytes) -> None:
    if not data:
        return
    rpc_id = RPC_IDS[data[0] % len(RPC_IDS)]
    body = data[1:].decode("utf-8", "replace")
    try:
        value = decode_reply_untrusted(body, rpc_id)
    except GatewayError as error:
        error.message.encode()
        return
    check_decoded(rpc_id, value)
    whole = body.rstrip()
    try:
        decode_reply_untrusted(whole[: len(whole) // 2], rpc_id)
    except GatewayError:
        return
    raise AssertionError("half of the body was read as all of it")


def seeds() -> Iterator[bytes]:
    for rpc_id, body in exchanges():
        if rpc_id in DECODERS:
            yield bytes((RPC_IDS.index(rpc_id),)) + body.encode()
    for data in case_inputs("C-05*.txt"):
        yield b"\0" + data
    for data in case_inputs("C-07*.txt"):
        yield bytes((RPC_IDS.index("cFji9"),)) + data
