"""What the tests of the relay client share: a socket folder, and calls with all their arguments."""

from pathlib import Path
from typing import Any

import trio

from broker.link import Link
from broker.relay_frames import Result

ACCOUNT = "ada@example.com"
TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def in_s(seconds: float) -> float:
    """Return the point on Trio's clock that lies so many seconds ahead."""
    return trio.current_time() + seconds


async def rpc(link: Link, params: object = None, *, timeout_s: float = 20, notebook: str | None = None) -> Result:
    return await link.call(
        "rpc",
        {"rpc": "rLM1Ne", "params": params},
        notebook=notebook,
        account=ACCOUNT,
        deadline_s=in_s(timeout_s),
        traceparent=TRACEPARENT,
    )


def stream(link: Link, params: object = None, *, timeout_s: float = 20) -> Any:
    return link.stream(
        {"params": params}, notebook="n1", account=ACCOUNT, deadline_s=in_s(timeout_s), traceparent=TRACEPARENT
    )


def socket_path(folder: Path) -> Path:
    """Return a socket path that fits into `sun_path` wherever pytest keeps its folders."""
    path = folder / "c.sock"
    assert len(bytes(path)) <= 100
    return path
