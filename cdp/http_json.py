"""One GET of a JSON document from a browser's debugging port, by h11. Proxy variables are not read (case C-096)."""

from __future__ import annotations

import json
from typing import Final

import h11
import trio

from cdp.errors import ConnectFailed

MAX_BODY_BYTES: Final = 16 * 1024 * 1024
_READ_BYTES: Final = 64 * 1024


class HttpStatus(ConnectFailed):
    """It answered with a status other than 200."""

    def __init__(self, url: str, status: int) -> None:
        super().__init__(f"{url} answered with HTTP {status}")
        self.status = status


async def get_json(host: str, port: int, path: str, *, timeout_s: float) -> object:
    """Return the JSON document at ``http://host:port/path``.

    Raises:
        HttpStatus: it answered with another status than 200.
        ConnectFailed: nothing listens there, or it did not answer with JSON in time.
    """
    url = f"http://{host}:{port}{path}"
    try:
        with trio.fail_after(timeout_s):
            stream = await trio.open_tcp_stream(host, port)
            async with stream:
                status, body = await _exchange(stream, host, port, path)
        if status != 200:
            raise HttpStatus(url, status)
        return json.loads(body)
    except trio.TooSlowError:
        raise ConnectFailed(f"{url} did not answer within {timeout_s:g} s") from None
    except (OSError, trio.BrokenResourceError) as error:
        raise ConnectFailed(f"nothing answers at {url}: {error}") from None
    except (h11.RemoteProtocolError, ValueError) as error:
        raise ConnectFailed(f"{url} is no debugging port of a browser: {error}") from None


async def _exchange(stream: trio.SocketStream, host: str, port: int, path: str) -> tuple[int, bytes]:
    http = h11.Connection(h11.CLIENT)
    # Chrome admits only a Host that is an address or localhost, against DNS rebinding.
    headers = [("Host", f"{host}:{port}"), ("Accept", "application/json"), ("Connection", "close")]
    await stream.send_all(http.send(h11.Request(method="GET", target=path, headers=headers)) or b"")
    await stream.send_all(http.send(h11.EndOfMessage()) or b"")
    status, body = 0, bytearray()
    while True:
        event = http.next_event()
        if event is h11.NEED_DATA:
            http.receive_data(await stream.receive_some(_READ_BYTES))
        elif isinstance(event, h11.Response):
            status = event.status_code
        elif isinstance(event, h11.Data):
            body += event.data
            if len(body) > MAX_BODY_BYTES:
                raise ValueError(f"its answer is longer than {MAX_BODY_BYTES} bytes")
        elif isinstance(event, h11.EndOfMessage | h11.ConnectionClosed):
            return status, bytes(body)
