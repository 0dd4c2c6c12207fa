"""What a person does to the notebook tab while calls run: over CDP, from outside the extension."""

from __future__ import annotations

import trio

from cdp.connection import Connection
from cdp.errors import CallFailed
from cdp.targets import get_targets
from harness import browser as headless
from harness.polling import until

TAB_TIMEOUT_S = 10.0


async def reload_tab(connection: Connection) -> None:
    """Load the notebook tab anew; returns when the new document is complete."""

    async def is_new_document() -> bool:
        try:
            state = await headless.evaluate_in_tab(connection, "globalThis.isOld ? 'old' : document.readyState")
        except (LookupError, CallFailed):  # between two documents
            return False
        return state == "complete"

    with trio.fail_after(TAB_TIMEOUT_S):
        await headless.evaluate_in_tab(connection, "globalThis.isOld = true; void location.reload()")
        await until(is_new_document)


async def close_tabs(connection: Connection) -> None:
    """Close every notebook tab; returns when they are gone."""

    async def are_gone() -> bool:
        return not any(headless.is_notebook_tab(target) for target in await get_targets(connection))

    with trio.fail_after(TAB_TIMEOUT_S):
        for target in await get_targets(connection):
            if headless.is_notebook_tab(target):
                await connection.call("Target.closeTarget", {"targetId": target.id})
        await until(are_gone)
