"""The steps of ``--daily``: the person's everyday browser, in which nothing is driven; the person does it, led by us.

What the extension allows is the person's to set, in its popup. Everything here is seen through the native host's
socket, as a broker sees it.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Final

import trio

from cdp.finder import find_browser
from cdp.polling import until
from onboarding.browser_steps import browser_found, no_browser, refuse_extension_policy, refuse_host_policy
from onboarding.browsers import ReadRefused
from onboarding.choice import EVERYTHING, covers, in_words, notebooks_in, wanted_notebooks
from onboarding.common_steps import LAST, notebooks_allowed
from onboarding.detection import maybe_companion
from onboarding.extension_browser import EXTENSION_FOLDER
from onboarding.host_files import is_host_in, put_host_into
from onboarding.keeper_client import KeeperClient, maybe_keeper_status
from onboarding.kept_browser import keeper_failures
from onboarding.page_steps import SIGN_IN_FAULTS, read_notebooks, settle_account, unreadable
from onboarding.profile_folders import default_profile_folder, maybe_family
from onboarding.run import Run
from onboarding.steps import Step, StepFailed, StepId

POLL_S: Final = 1.0


def everyday_profile(run: Run) -> Path:
    """Return the user data folder of the everyday browser.

    Raises:
        StepFailed: it is of a kind whose folder we do not know.
    """
    browser = find_browser(run.browser_environ)
    family = maybe_family(browser)
    if family is None:
        raise StepFailed(
            "browser.unknown-kind",
            f"{browser.path} is no browser whose profile folder is known",
            "Name Chrome, Chromium, Edge or Brave with --browser PATH, or leave --daily out.",
        )
    home = Path(run.environ.get("HOME") or Path.home())
    return default_profile_folder(family, home, run.environ, sys.platform)


async def everyday_browser_found(run: Run) -> str | None:
    found = await browser_found(run)
    if found is not None and await maybe_keeper_status(run.home) is not None:
        # Two browsers of one account would both answer; whoever asks for this one does not want the other.
        async with keeper_failures("browser"):
            await KeeperClient(run.home).stop()
    return found


async def host_there(run: Run) -> str | None:
    await trio.lowlevel.checkpoint()
    refuse_host_policy(run)
    profile = everyday_profile(run)
    return str(profile) if is_host_in(run, profile) else None


async def register_host(run: Run) -> str:
    await trio.lowlevel.checkpoint()
    return put_host_into(run, everyday_profile(run))


async def extension_there(run: Run) -> str | None:
    refuse_extension_policy(run)
    return None if await maybe_companion(run.home) is None else "its native host answers"


async def wait_for_extension(run: Run) -> str:
    run.on_waiting(
        "open chrome://extensions in your browser, switch on Developer mode, click Load unpacked, and choose "
        f"{EXTENSION_FOLDER}"
    )
    with trio.move_on_after(run.options.sign_in_timeout_s):
        await until(lambda: maybe_companion(run.home))
        return "its native host answers"
    raise StepFailed(
        "extension.silent",
        f"no extension connected within {run.options.sign_in_timeout_s:g} s",
        f"Load it from {EXTENSION_FOLDER} on chrome://extensions, then run the command again.",
    )


async def account_named(run: Run) -> str | None:
    await settle_account(run, "daily")
    settings = await run.browser.get_settings()
    return run.account if settings.get("account") == run.the_account else None


async def wait_for_account(run: Run) -> str:
    run.on_waiting(f"click the extension's icon in your browser and set the account: {run.the_account}")
    with trio.move_on_after(run.options.sign_in_timeout_s):
        return await until(partial(account_named, run))
    raise StepFailed(
        "settings.no-account",
        "the extension has no account, or another one",
        f"Set {run.the_account} in the extension's popup, then run the command again.",
    )


async def can_read(run: Run) -> str | None:
    """Read the notebooks that are allowed; the extension opens a tab for it where there is none."""
    try:
        await read_notebooks(run)
    except ReadRefused as refusal:
        if refusal.code in SIGN_IN_FAULTS:
            return None
        raise unreadable(refusal) from None
    return f"{run.the_account}, {len(run.listed or [])} notebooks allowed so far"


async def wait_for_sign_in(run: Run) -> str:
    run.on_waiting(f"sign in as {run.the_account} in the notebook tab of your browser")
    with trio.move_on_after(run.options.sign_in_timeout_s):
        return await until(partial(can_read, run), poll_s=POLL_S)
    raise StepFailed(
        "sign-in.timeout", f"{run.the_account} did not sign in in time", "Sign in there, then run the command again."
    )


async def take_over_notebooks(run: Run) -> str:
    """Wait until the person allows something in the popup, all that was asked for if so, and allow it here too."""
    wanted = wanted_notebooks(run.options)
    asked = "notebooks" if wanted is None else "all notebooks" if wanted == EVERYTHING else ", ".join(wanted)
    run.on_waiting(f"click the extension's icon in your browser and allow {asked}")
    with trio.move_on_after(run.options.sign_in_timeout_s):
        while True:
            theirs = notebooks_in(await run.browser.get_settings())
            if theirs and (wanted is None or covers(theirs, wanted)):
                return in_words(run.policy.allow(run.the_account, theirs))
            await trio.sleep(POLL_S)
    raise StepFailed(
        "notebooks.not-chosen",
        f"the extension does not allow {asked}",
        "Allow them in the extension's popup, then run the command again.",
    )


DAILY: Final = (
    Step(StepId.BROWSER, "Find your browser", everyday_browser_found, no_browser),
    Step(StepId.HOST, "Register the native host", host_there, register_host),
    Step(StepId.EXTENSION, "Load the extension", extension_there, wait_for_extension),
    Step(StepId.SIGN_IN, "Name the account", account_named, wait_for_account),
    Step(StepId.ACCOUNT, "Verify the account", can_read, wait_for_sign_in),
    Step(StepId.NOTEBOOKS, "Choose notebooks", notebooks_allowed, take_over_notebooks),
    *LAST,
)
