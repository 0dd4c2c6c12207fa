"""The steps of ``--cdp-url``: a running browser of this machine, attached to for as long as onboarding runs.

What is loaded over CDP is gone when that browser ends; the docs say so. The browser is never stopped here.
"""

from __future__ import annotations

from typing import Final

import trio

from onboarding.attached_browser import AttachedBrowser, attach
from onboarding.browser_steps import refuse_extension_policy, refuse_host_policy
from onboarding.browsers import ReadRefused
from onboarding.common_steps import COMMON
from onboarding.host_files import is_host_in, put_host_into
from onboarding.page_steps import (
    SIGN_IN_FAULTS,
    account_read,
    connect_port,
    open_page,
    page_open,
    port_connected,
    read_account,
    read_notebooks,
    refuse_page,
    settle_account,
    unreadable,
)
from onboarding.pages import PageKind, sign_in_url
from onboarding.run import Run
from onboarding.steps import Step, StepFailed, StepId

POLL_S: Final = 0.25


async def never_attached(run: Run) -> str | None:
    await trio.lowlevel.checkpoint()
    return None


async def attach_browser(run: Run) -> str:
    assert run.options.cdp_url is not None
    run.browser = await run.resources.enter_async_context(attach(run.options.cdp_url))
    return run.options.cdp_url


def _attached(run: Run) -> AttachedBrowser:
    assert isinstance(run.browser, AttachedBrowser)
    return run.browser


async def host_there(run: Run) -> str | None:
    refuse_host_policy(run)
    profile = await _attached(run).profile_folder()
    return str(profile) if is_host_in(run, profile) else None


async def register_host(run: Run) -> str:
    return put_host_into(run, await _attached(run).profile_folder())


async def extension_there(run: Run) -> str | None:
    refuse_extension_policy(run)
    return "loaded, its worker runs" if await _attached(run).has_extension() else None


async def load(run: Run) -> str:
    await _attached(run).load_extension()
    return "loaded for as long as this browser runs"


async def signed_in(run: Run) -> str | None:
    await settle_account(run, "daily")
    try:
        await read_notebooks(run)
    except ReadRefused as refusal:
        run.is_other_signed_in = refusal.code == "ACCOUNT_MISMATCH"
        if refusal.code in SIGN_IN_FAULTS:
            return None
        raise unreadable(refusal) from None
    return f"signed in as {run.the_account}"


async def wait_for_sign_in(run: Run) -> str:
    """Open the sign-in page in a tab, and wait until the account's notebooks can be read."""
    timeout_s = run.options.sign_in_timeout_s
    await _attached(run).open_tab(sign_in_url(run.the_account, beside_others=run.is_other_signed_in))
    run.on_waiting(f"sign in as {run.the_account} in the tab that has opened")
    with trio.move_on_after(timeout_s):
        while True:
            await trio.sleep(POLL_S)
            kind, host = await _attached(run).page()
            if kind is PageKind.APP and await _can_read(run):
                return f"a page of {host} is open"
    kind, _ = await _attached(run).page()
    refuse_page(StepId.SIGN_IN, kind)
    raise StepFailed(
        "sign-in.timeout", f"nobody signed in within {timeout_s:g} s", "Run the command again and sign in."
    )


async def _can_read(run: Run) -> bool:
    try:
        await read_notebooks(run)
    except ReadRefused as refusal:
        if refusal.code in SIGN_IN_FAULTS:
            return False
        raise unreadable(refusal) from None
    return True


ATTACHED: Final = (
    Step(StepId.BROWSER, "Attach to the browser", never_attached, attach_browser),
    Step(StepId.HOST, "Register the native host", host_there, register_host),
    Step(StepId.EXTENSION, "Load the extension", extension_there, load),
    Step(StepId.SIGN_IN, "Sign in", signed_in, wait_for_sign_in),
    Step(StepId.PAGE, "Open the notebook page", page_open, open_page),
    Step(StepId.ACCOUNT, "Verify the account", account_read, read_account),
    Step(StepId.PORT, "Connect the native port", port_connected, connect_port),
    *COMMON,
)
