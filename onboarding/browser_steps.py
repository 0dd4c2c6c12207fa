"""Finding a browser, and the administrator's policies that stand in the way: the same for every kind of browser."""

from __future__ import annotations

import trio

from cdp.errors import BrowserNotFound
from cdp.finder import confinement_of, find_browser
from native_host.protocol import EXTENSION_ID, HOST_NAME
from onboarding.detection import extension_policy_problem, host_policy_problem, read_policies
from onboarding.run import Run
from onboarding.steps import StepFailed


async def browser_found(run: Run) -> str | None:
    await trio.lowlevel.checkpoint()
    try:
        browser = find_browser(run.browser_environ)
    except BrowserNotFound:
        return None
    confinement = confinement_of(browser.path)
    if confinement is not None:
        raise StepFailed(
            f"browser.{confinement}",
            f"{browser.path} is a {confinement}, whose confinement keeps it from starting our native host",
            f"Install a browser that is no {confinement}, for example Google Chrome, and run the command again.",
        )
    return f"{browser.name} at {browser.path}"


async def no_browser(run: Run) -> str:
    await trio.lowlevel.checkpoint()
    try:
        return str(find_browser(run.browser_environ).path)
    except BrowserNotFound as error:
        raise StepFailed("browser.missing", str(error), "Install one, or name yours with --browser PATH.") from None


def refuse_host_policy(run: Run) -> None:
    policy = host_policy_problem(read_policies(run.policy_folders))
    if policy is not None:
        raise StepFailed(
            "host.blocked-by-policy",
            f"an administrator's policy ({policy}) keeps the browser from starting our native host",
            f"Ask the administrator to put {HOST_NAME} on NativeMessagingAllowlist and to allow user-level hosts.",
        )


def refuse_extension_policy(run: Run) -> None:
    policy = extension_policy_problem(read_policies(run.policy_folders))
    if policy is not None:
        raise StepFailed(
            "extension.blocked-by-policy",
            f"an administrator's policy ({policy}) keeps the browser from loading the extension",
            f"Ask the administrator to allow the extension's id, {EXTENSION_ID}.",
        )
