"""The steps in a browser that has the extension: its page, the account, the native port."""

from __future__ import annotations

from functools import partial
from typing import Final, cast

import trio

from cdp.polling import until
from onboarding.browser_steps import refuse_host_policy
from onboarding.browsers import ReadRefused
from onboarding.config_writer import write_keys
from onboarding.configuration import UnreadableConfig, read_browser_config
from onboarding.detection import maybe_companion
from onboarding.pages import PageKind
from onboarding.run import Run
from onboarding.steps import DOCTOR, StepFailed, StepId

PAGE_TIMEOUT_S: Final = 30.0
SETTLED_S: Final = 3.0
"""A page that only leads on to another one is gone by then."""
PORT_TIMEOUT_S: Final = 20.0
POLL_S: Final = 0.1
SIGN_IN_FAULTS: Final = frozenset({"AUTH_REQUIRED", "ACCOUNT_MISMATCH"})


async def settle_account(run: Run, browser: str) -> None:
    """Find out which account is meant, and write it down with the kind of browser."""
    try:
        run.account = run.options.account or run.account or read_browser_config(run.home).account
        if run.account is None:
            run.account = await run.person.account()
        keys: dict[str, str | bool] = {"account": run.account, "browser": browser}
        if run.options.headless:
            keys["browser_headless"] = True
        write_keys(run.home, keys)
    except UnreadableConfig as error:
        raise StepFailed(
            "config.unreadable", str(error), "Mend that file; docs/configuration.md has every key."
        ) from None


async def extension_answers(run: Run) -> str | None:
    await run.browser.get_settings()
    return "loaded, its worker answers"


async def no_extension(run: Run) -> str:
    await trio.lowlevel.checkpoint()
    raise StepFailed("extension.silent", "the extension does not answer", DOCTOR)


PAGE_PROBLEMS: Final = {
    PageKind.WALL: ("wall", "Google refuses sign-in in this browser", "Run the command again with --daily."),
    PageKind.REGION: (
        "region",
        "the service says that it is not offered to this account or in this region",
        "Use an account that the service is offered to: --account ADDRESS.",
    ),
    PageKind.CONSENT: (
        "consent",
        "a consent page waits for the person's choice",
        "Run: notebook-gateway browser sign-in, and answer the page there; then run the command again.",
    ),
}


def refuse_page(step: StepId, kind: PageKind) -> None:
    """Fail for a page on which the person has to do something else than to sign in."""
    if kind in PAGE_PROBLEMS:
        code, message, fix = PAGE_PROBLEMS[kind]
        raise StepFailed(f"{step}.{code}", message, fix)


async def page_open(run: Run) -> str | None:
    kind, host = await run.browser.page()
    return f"a page of {host} is open" if kind is PageKind.APP else None


async def open_page(run: Run) -> str:
    """Set the account, upon which the page opens, and wait until it is the app's."""
    await keep_settings(run)
    settled = trio.current_time() + SETTLED_S
    kind, host = PageKind.NONE, ""
    with trio.move_on_after(PAGE_TIMEOUT_S):
        while kind is not PageKind.APP:
            await trio.sleep(POLL_S)
            kind, host = await run.browser.page()
            if trio.current_time() > settled:
                refuse_page(StepId.PAGE, kind)
                if kind is PageKind.SIGN_IN:
                    raise StepFailed("page.sign-in", "the page asks to sign in again", "Run the command again.")
        return f"a page of {host} is open"
    raise StepFailed("page.not-open", f"no notebook page within {PAGE_TIMEOUT_S:g} s (saw: {kind})", DOCTOR)


async def account_read(run: Run) -> str | None:
    return None if run.listed is None else _count(run)


async def read_account(run: Run) -> str:
    try:
        await read_notebooks(run)
    except ReadRefused as refusal:
        if refusal.code == "ACCOUNT_MISMATCH":
            raise StepFailed(
                "account.mismatch",
                f"the page belongs to another account: {refusal}",
                f"Run the command again and sign in as {run.the_account}, or name the other one with --account.",
            ) from None
        raise unreadable(refusal) from None
    return _count(run)


async def read_notebooks(run: Run) -> None:
    """Read the list of the account's notebooks, which proves whose page it is. Raises: ReadRefused."""
    await keep_settings(run)
    run.listed = await run.browser.notebooks()


async def keep_settings(run: Run) -> None:
    """Tell the extension the account; what it already allows for that account stays."""
    settings = await run.browser.get_settings()
    if settings.get("account") != run.the_account:
        await run.browser.set_settings(run.the_account, [])


def unreadable(refusal: ReadRefused) -> StepFailed:
    return StepFailed(f"account.{refusal.code}", f"the notebooks cannot be read: {refusal}", DOCTOR)


def _count(run: Run) -> str:
    return f"{run.the_account}, {len(run.listed or [])} notebooks"


async def port_connected(run: Run) -> str | None:
    welcome = await maybe_companion(run.home)
    if welcome is None or welcome.get("account") != run.account:
        return None
    host = cast("dict[str, object]", welcome.get("host") or {})
    return f"native host {host.get('pid')} of build {host.get('build')} answers"


async def connect_port(run: Run) -> str:
    refuse_host_policy(run)
    await run.browser.connect_port()
    with trio.move_on_after(PORT_TIMEOUT_S):
        return await until(partial(port_connected, run))
    raise StepFailed("port.silent", f"the native host did not answer within {PORT_TIMEOUT_S:g} s", DOCTOR)
