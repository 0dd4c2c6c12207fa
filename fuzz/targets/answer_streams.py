"""Whatever text an answer stream consists of, its decoder gives states of encodable text or raises a `GatewayError`, at
most one state is final and the last, and where the stream was cut on its way makes no difference.

After a first byte of 0 the text is a stream as it is; after any other each line is one event, to be framed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from broker.answer_stream import AnswerDecoder, AnswerState, Phase
from broker.errors import GatewayError
from broker.utf16 import utf16_length
from fuzz.corpus import MAX_SEED_BYTES, case_inputs, exchanges
from fuzz.cuts import pieces_of
from fuzz.targets.results import plain

STREAM = "GenerateFreeFormStreamed"


def one_input(data: bytes) -> None:
    if not data:
        return
    text = data[1:].decode("utf-8", "replace")
    if data[0]:
        text = _framed(text.split("\n"))
    states, error = _decoded([text])
    cut_states, cut_error = _decoded(pieces_of(text))
    if error is None:
        assert cut_states == states
    assert (error is None) == (cut_error is None), f"{error} in one piece, {cut_error} in many"
    assert [state.phase for state in states[:-1]].count(Phase.FINAL) == 0
    json.dumps(states, default=plain, ensure_ascii=False, allow_nan=False).encode()


def _decoded(pieces: Sequence[str]) -> tuple[list[AnswerState], GatewayError | None]:
    decoder = AnswerDecoder()
    states: list[AnswerState] = []
    try:
        for piece in pieces:
            states += decoder.feed_untrusted(piece)
        states += decoder.end()
    except GatewayError as error:
        error.message.encode()
        return states, error
    assert decoder.is_final
    assert states, "an end without a final state"
    return states, None


def _framed(events: list[str]) -> str:
    payloads = [json.dumps([["wrb.fr", None, event]], ensure_ascii=False) for event in events]
    payloads.append(json.dumps([["e", len(events) + 1, None, None, 1]]))
    return ")]}'\n\n" + "".join(f"{utf16_length(payload) + 2}\n{payload}\n" for payload in payloads)


def seeds() -> Iterator[bytes]:
    for rpc, body in exchanges(max_bytes=1024 * 1024):
        if rpc == STREAM:
            events = list(_events(body))
            yield b"\1" + "\n".join((*events[:1], *events[-1:])).encode()
            yield b"\0" + body.encode()[:MAX_SEED_BYTES]
    for pattern in ("C-06[2-6]*.txt", "C-05[78]*.txt"):
        for data in case_inputs(pattern):
            yield b"\0" + data
            yield b"\1" + "\n".join(_events(data.decode())).encode()


def _events(body: str) -> Iterator[str]:
    for line in body.splitlines():
        if line.startswith('[["wrb.fr"') and line.endswith("]]"):  # others are cut on purpose
            (_, _, event, *_), *_ = json.loads(line)
            if isinstance(event, str):
                yield event
