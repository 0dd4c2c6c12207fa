"""Loading an extension over CDP, with a browser that says what branded, old and strange ones say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from cdp.connection import run_connection
from cdp.extensions import ExtensionNotLoaded, LoadingNotAllowed, WorkerNeverAppeared, WrongExtensionId, load_unpacked
from native_host.protocol import EXTENSION_ID
from onboarding.extension_browser import READY_TIMEOUT_S, load_extension
from tests.cdp.fakes import MemoryTransport

FOLDER = Path("/opt/extension")
OTHER_ID = "abcdefghijklmnopabcdefghijklmnop"


async def load(nursery: trio.Nursery, **answer: Any) -> None:
    transport = MemoryTransport()

    async def answer_once() -> None:
        command = await transport.next_command()
        assert (command["method"], command["params"]) == ("Extensions.loadUnpacked", {"path": str(FOLDER)})
        transport.say({"id": command["id"], **answer})

    async with run_connection(transport) as connection:
        nursery.start_soon(answer_once)
        await load_unpacked(connection, FOLDER, EXTENSION_ID)


@pytest.mark.parametrize(
    ("code", "message"),
    [(-32601, "'Extensions.loadUnpacked' wasn't found"), (-32000, "Method not allowed")],
)
async def test_c091_c092_a_browser_that_loads_nothing_leaves_it_to_the_person(
    nursery: trio.Nursery, code: int, message: str
) -> None:
    with pytest.raises(LoadingNotAllowed) as caught:
        await load(nursery, error={"code": code, "message": message})
    assert caught.value.by_hand
    assert message in str(caught.value)


async def test_c092_a_folder_that_is_refused_is_no_missing_feature(nursery: trio.Nursery) -> None:
    with pytest.raises(ExtensionNotLoaded, match="Manifest file is missing") as caught:
        await load(nursery, error={"code": -32000, "message": "Manifest file is missing or unreadable"})
    assert not caught.value.by_hand


async def test_c092_another_id_is_refused_with_the_expected_one(nursery: trio.Nursery) -> None:
    with pytest.raises(WrongExtensionId, match=EXTENSION_ID) as caught:
        await load(nursery, result={"id": OTHER_ID})
    assert OTHER_ID in str(caught.value)


async def test_c091_c092_what_was_loaded_and_never_comes_up_is_never_called_connected(
    nursery: trio.Nursery, autojump_clock: trio.testing.MockClock
) -> None:
    """As a branded browser that takes the switch and ignores it: success, and no worker."""
    transport = MemoryTransport()

    async def serve() -> None:
        while True:
            command = await transport.next_command()
            result: dict[str, Any] = {"Target.getTargets": {"targetInfos": []}}.get(command["method"], {})
            transport.say({"id": command["id"], "result": result or {"id": EXTENSION_ID}})

    async with run_connection(transport) as connection:
        nursery.start_soon(serve)
        begun = trio.current_time()
        with pytest.raises(WorkerNeverAppeared, match="its worker was not ready"):
            await load_extension(connection)
        assert trio.current_time() - begun == READY_TIMEOUT_S
        nursery.cancel_scope.cancel()
