"""Ask a companion's socket who it is: the first two frames of a broker, and nothing more.

Proves that the native host listens and that the extension has reported to it. Shares no code with `broker`, so that
each can catch the mistakes of the other.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Final, cast

import trio

from native_host.build import BUILD
from native_host.framing import BROKER_HEADER, FrameDecoder, encode_frame
from native_host.protocol import MAX_BROKER_FRAME_BYTES, V_MAX, V_MIN

_RECEIVE_BYTES: Final = 64 * 1024


async def wait_for_welcome(socket: Path, account: str) -> dict[str, object]:
    """Return the `welcome` frame once it names the extension and `account`; the caller owns the deadline.

    Raises:
        OSError: nobody listens on `socket`.
        EOFError: the native host ended.
    """
    client = {"name": "notebook-gateway harness", "version": BUILD}
    hello = {"type": "hello", "v_min": V_MIN, "v_max": V_MAX, "build": BUILD, "client": client, "pid": os.getpid()}
    async with await trio.open_unix_socket(str(socket)) as stream:
        await stream.send_all(encode_frame(BROKER_HEADER, json.dumps(hello).encode(), MAX_BROKER_FRAME_BYTES))
        decoder = FrameDecoder(BROKER_HEADER, MAX_BROKER_FRAME_BYTES)
        while True:
            payload = decoder.maybe_next_frame()
            if payload is None:
                data = await stream.receive_some(_RECEIVE_BYTES)
                if not data:
                    raise EOFError(f"the native host closed {socket.name}")
                decoder.feed_untrusted(data)
                continue
            frame = cast("object", json.loads(payload))
            if not isinstance(frame, dict):
                raise EOFError(f"{socket.name} does not speak the broker protocol")
            welcome = cast("dict[str, object]", frame)
            if welcome.get("type") == "welcome" and welcome.get("extension") and welcome.get("account") == account:
                return welcome
