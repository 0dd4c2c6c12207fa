"""What a person does to the notebook tab while calls run: over CDP, from outside the extension."""

from __future__ import annotations

from functools import partial

import trio

from cdp.connection import Connection
from cdp.errors import CallFailed
from cdp.polling import until
from cdp.targets import get_targets, js_literal
from harness import browser as headless

TAB_TIMEOUT_S = 10.0
ANOTHER_SITE = "https://accounts.google.com/v3/signin/identifier"
"""The only other site that the harness's browser can reach."""


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


async def leave_site(connection: Connection) -> None:
    """Lead the notebook tab to another site; returns when it is there."""
    with trio.fail_after(TAB_TIMEOUT_S):
        await headless.evaluate_in_tab(connection, f"void (location.href = {js_literal(ANOTHER_SITE)})")
        await until(partial(_has_no_notebook_tab, connection))


async def close_tabs(connection: Connection) -> None:
    """Close every notebook tab; returns when they are gone."""
    with trio.fail_after(TAB_TIMEOUT_S):
        for target in await get_targets(connection):
            if headless.is_notebook_tab(target):
                await connection.call("Target.closeTarget", {"targetId": target.id})
        await until(partial(_has_no_notebook_tab, connection))


async def _has_no_notebook_tab(connection: Connection) -> bool:
    return not any(headless.is_notebook_tab(target) for target in await get_targets(connection))
