"""The steps of the managed profile: from finding a browser to the connected native port."""

from __future__ import annotations

import sys
from typing import Final

import trio

from cdp.errors import CdpError
from native_host.paths import profile_folder
from native_host.registration import HOSTS_FOLDER, is_registered
from onboarding.browser_steps import browser_found, no_browser, refuse_extension_policy, refuse_host_policy
from onboarding.browsers import ReadRefused
from onboarding.common_steps import COMMON
from onboarding.display import NoDisplay
from onboarding.keeper import AlreadyKept, held_profile
from onboarding.keeper_client import KeeperClient, KeeperFailed, maybe_keeper_status, start_keeper
from onboarding.kept_browser import keeper_failures
from onboarding.managed_browser import prepare_profile
from onboarding.page_steps import (
    SIGN_IN_FAULTS,
    account_read,
    connect_port,
    extension_answers,
    no_extension,
    open_page,
    page_open,
    port_connected,
    read_account,
    read_notebooks,
    refuse_page,
    settle_account,
    unreadable,
)
from onboarding.pages import PageKind
from onboarding.run import Run
from onboarding.sign_in import SignInResult, run_sign_in
from onboarding.steps import DOCTOR, Step, StepFailed, StepId


async def host_registered(run: Run) -> str | None:
    await trio.lowlevel.checkpoint()
    refuse_host_policy(run)
    folder = profile_folder(run.home) / HOSTS_FOLDER
    return str(folder) if is_registered(folder, run.home, sys.executable) else None


async def register_host(run: Run) -> str:
    await trio.lowlevel.checkpoint()
    try:
        prepare_profile(run.home)
    except (OSError, ValueError) as error:
        raise StepFailed("host.unwritable", f"the native host cannot be registered: {error}", DOCTOR) from None
    return str(profile_folder(run.home) / HOSTS_FOLDER)


async def signed_in(run: Run) -> str | None:
    """Whether the account's notebooks can be read. In a profile that was never used nobody has to look."""
    await settle_account(run, "managed")
    if not (profile_folder(run.home) / "Local State").exists():
        return None
    await start_browser(run)
    try:
        await read_notebooks(run)
    except ReadRefused as refusal:
        run.is_other_signed_in = refusal.code == "ACCOUNT_MISMATCH"
        if refusal.code in SIGN_IN_FAULTS:
            return None
        raise unreadable(refusal) from None
    return f"signed in as {run.the_account}"


async def sign_in(run: Run) -> str:
    """Open the sign-in window in place of the browser and wait for the person."""
    if await maybe_keeper_status(run.home) is not None:
        async with keeper_failures("sign-in"):
            await KeeperClient(run.home).stop()
    timeout_s = run.options.sign_in_timeout_s
    try:
        with held_profile(run.home):
            outcome = await run_sign_in(
                run.home,
                run.account,
                environ=run.browser_environ,
                timeout_s=timeout_s,
                on_waiting=lambda _, page: run.on_waiting(_waiting_for(page, run.the_account)),
                beside_others=run.is_other_signed_in,
            )
    except NoDisplay as error:
        raise StepFailed("sign-in.no-display", str(error), error.hint) from None
    except AlreadyKept:
        raise StepFailed(
            "sign-in.busy", "another program holds the browser's profile", "Run: notebook-gateway browser stop"
        ) from None
    except CdpError as error:
        raise StepFailed("sign-in.no-window", f"the sign-in window did not open: {error}", DOCTOR) from None
    if outcome.result is SignInResult.SIGNED_IN:
        return f"a page of {outcome.page.host} is open"
    refuse_page(StepId.SIGN_IN, outcome.page.kind)
    if outcome.result is SignInResult.CLOSED:
        raise StepFailed("sign-in.closed", "the sign-in window was closed", "Run the command again and sign in.")
    raise StepFailed(
        "sign-in.timeout", f"nobody signed in within {timeout_s:g} s", "Run the command again and sign in."
    )


def _waiting_for(page: PageKind, account: str) -> str:
    if page is PageKind.CONSENT:
        return "answer the page about consent in the window that has opened"
    return f"sign in as {account} in the window that has opened"


async def browser_started(run: Run) -> str | None:
    status = await maybe_keeper_status(run.home)
    if status is None or status.browser_pid is None:
        return None
    return f"process {status.browser_pid}, kept by {status.pid}"


async def start_browser(run: Run) -> str:
    refuse_extension_policy(run)
    try:
        status = await start_keeper(
            run.home, headless=run.options.headless, environ=run.browser_environ, by_person=True
        )
    except KeeperFailed as error:
        if "did not load" in str(error):
            raise StepFailed("extension.refused", str(error), "Name another browser with --browser PATH.") from None
        raise StepFailed("start.failed", str(error), error.hint) from None
    return f"process {status.browser_pid}, kept by {status.pid}"


MANAGED: Final = (
    Step(StepId.BROWSER, "Find a browser", browser_found, no_browser),
    Step(StepId.HOST, "Register the native host", host_registered, register_host),
    Step(StepId.SIGN_IN, "Sign in", signed_in, sign_in),
    Step(StepId.START, "Start the managed browser", browser_started, start_browser),
    Step(StepId.EXTENSION, "Load the extension", extension_answers, no_extension),
    Step(StepId.PAGE, "Open the notebook page", page_open, open_page),
    Step(StepId.ACCOUNT, "Verify the account", account_read, read_account),
    Step(StepId.PORT, "Connect the native port", port_connected, connect_port),
    *COMMON,
)
