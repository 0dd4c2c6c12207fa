"""All ``batchexecute`` calls that the emulator knows, reads and writes apart."""

from __future__ import annotations

from typing import Final

import trio

from harness.emulator.model import Account, Reading
from harness.emulator.note_writes import NOTE_WRITES
from harness.emulator.rpcs import READS
from harness.emulator.source_writes import SOURCE_WRITES
from harness.emulator.state import ServiceState
from harness.emulator.wire_json import Json
from harness.emulator.writes import Waiting, Write, Writer

WRITES: Final[dict[str, Writer]] = {**SOURCE_WRITES, **NOTE_WRITES}


async def answer(
    state: ServiceState, account: Account, rpc_id: str, params: list[Json], reading: Reading | None = None
) -> Json:
    """Read or change the state and return the result, once it is there.

    Args:
        reading: how a source that the call adds will be read.

    Raises:
        Denied: the call is refused by a row.
        KeyError: there is no such call.
    """
    if rpc_id in READS:
        return READS[rpc_id](state, account, params)
    result = WRITES[rpc_id](Write(state, account, params, reading or Reading()))
    if not isinstance(result, Waiting):
        return result
    await trio.sleep(result.seconds)
    state.advance()
    return result.result()


__all__ = ["READS", "WRITES", "answer"]
