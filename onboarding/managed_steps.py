"""The steps of the managed profile: from finding a browser to the connected native port."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from typing import Final, cast

import trio

from cdp.errors import BrowserNotFound, CdpError
from cdp.finder import find_browser
from cdp.polling import until
from native_host.paths import launcher_file, profile_folder
from native_host.protocol import HOST_NAME
from native_host.registration import check_manifest, host_manifest
from onboarding.browsers import ReadRefused
from onboarding.config_writer import write_keys
from onboarding.configuration import UnreadableConfig, read_browser_config
from onboarding.detection import extension_policy_problem, host_policy_problem, maybe_companion, read_policies
from onboarding.display import NoDisplay
from onboarding.keeper import AlreadyKept, held_profile
from onboarding.keeper_client import KeeperClient, KeeperFailed, NoKeeper, maybe_keeper_status, start_keeper
from onboarding.managed_browser import prepare_profile
from onboarding.pages import PageKind
from onboarding.run import Notebooks, Run
from onboarding.sign_in import SignInResult, run_sign_in
from onboarding.steps import Step, StepFailed, StepId

PAGE_TIMEOUT_S: Final = 30.0
SETTLED_S: Final = 3.0
"""A page that only leads on to another one is gone by then."""
PORT_TIMEOUT_S: Final = 20.0
POLL_S: Final = 0.1
DOCTOR: Final = "Run: notebook-gateway doctor"
FAULT_CODES: Final = frozenset({"AUTH_REQUIRED", "ACCOUNT_MISMATCH", "UPSTREAM_REJECTED", "UPSTREAM_SCHEMA_DRIFT"})
"""What the keeper passes on from the extension (`extension/lib/errors.js`); its own refusals have other codes."""
SIGN_IN_FAULTS: Final = frozenset({"AUTH_REQUIRED", "ACCOUNT_MISMATCH"})


class KeptBrowser:
    """The managed browser, through its keeper."""

    def __init__(self, keeper: KeeperClient) -> None:
        self._keeper = keeper

    async def set_settings(self, account: str, notebooks: Notebooks) -> None:
        async with _translated("settings"):
            await self._keeper.set_settings(account, notebooks)

    async def get_settings(self) -> dict[str, object]:
        async with _translated("settings"):
            return await self._keeper.get_settings()

    async def notebooks(self) -> list[tuple[str, str]]:
        async with _translated("account"):
            return await self._keeper.notebooks()

    async def page(self) -> tuple[PageKind, str]:
        async with _translated("page"):
            status = await self._keeper.status()
        return PageKind(status.page or PageKind.NONE), status.host

    async def connect_port(self) -> None:
        async with _translated("port"):
            await self._keeper.wake()


@asynccontextmanager
async def _translated(step: str) -> AsyncGenerator[None]:
    """Turn the keeper's refusals into failures of a step, and the extension's faults into `ReadRefused`."""
    try:
        yield
    except NoKeeper:
        raise StepFailed(f"{step}.no-browser", "the managed browser has ended", "Run the command again.") from None
    except KeeperFailed as error:
        if error.code in FAULT_CODES:
            raise ReadRefused(error.code, str(error)) from None
        raise StepFailed(f"{step}.refused", str(error), error.hint) from None


# ------------------------------------------------------------------------------------------------------ 1. browser
async def browser_found(run: Run) -> str | None:
    await trio.lowlevel.checkpoint()
    try:
        browser = find_browser(run.browser_environ)
    except BrowserNotFound:
        return None
    if str(browser.path).startswith("/snap/"):
        raise StepFailed(
            "browser.snap",
            f"{browser.path} is a snap, whose confinement keeps it from starting our native host",
            "Install a browser that is no snap, for example Google Chrome, and run the command again.",
        )
    return f"{browser.name} at {browser.path}"


async def no_browser(run: Run) -> str:
    await trio.lowlevel.checkpoint()
    try:
        return str(find_browser(run.browser_environ).path)
    except BrowserNotFound as error:
        raise StepFailed("browser.missing", str(error), "Install one, or name yours with --browser PATH.") from None


# --------------------------------------------------------------------------------------------------------- 2. host
async def host_registered(run: Run) -> str | None:
    await trio.lowlevel.checkpoint()
    refuse_host_policy()
    file = profile_folder(run.home) / "NativeMessagingHosts" / f"{HOST_NAME}.json"
    wanted = host_manifest(launcher_file(run.home))
    if not file.exists() or check_manifest(wanted):
        return None
    return str(file)


async def register_host(run: Run) -> str:
    await trio.lowlevel.checkpoint()
    try:
        prepare_profile(run.home)
    except (OSError, ValueError) as error:
        raise StepFailed("host.unwritable", f"the native host cannot be registered: {error}", DOCTOR) from None
    return str(profile_folder(run.home) / "NativeMessagingHosts")


def refuse_host_policy() -> None:
    policy = host_policy_problem(read_policies())
    if policy is not None:
        raise StepFailed(
            "host.blocked-by-policy",
            f"an administrator's policy ({policy}) keeps the browser from starting our native host",
            f"Ask the administrator to put {HOST_NAME} on NativeMessagingAllowlist and to allow user-level hosts.",
        )


# ------------------------------------------------------------------------------------------------------ 3. sign in
async def signed_in(run: Run) -> str | None:
    """Whether the account's notebooks can be read. In a profile that was never used nobody has to look."""
    await settle_account(run, "managed")
    if not (profile_folder(run.home) / "Local State").exists():
        return None
    await start_browser(run)
    try:
        await read_notebooks(run)
    except ReadRefused as refusal:
        if refusal.code in SIGN_IN_FAULTS:
            return None
        raise unreadable(refusal) from None
    return f"signed in as {run.the_account}"


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


async def sign_in(run: Run) -> str:
    """Open the sign-in window in place of the browser and wait for the person."""
    if await maybe_keeper_status(run.home) is not None:
        async with _translated("sign-in"):
            await KeeperClient(run.home).stop()
    timeout_s = run.options.sign_in_timeout_s
    try:
        with held_profile(run.home):
            outcome = await run_sign_in(
                run.home,
                run.account,
                environ=run.browser_environ,
                timeout_s=timeout_s,
                on_waiting=lambda _: run.on_waiting(f"sign in as {run.account} in the window that has opened"),
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


# ------------------------------------------------------------------------------------------- 4. start, 5. extension
async def browser_started(run: Run) -> str | None:
    status = await maybe_keeper_status(run.home)
    if status is None or status.browser_pid is None:
        return None
    return f"process {status.browser_pid}, kept by {status.pid}"


async def start_browser(run: Run) -> str:
    refuse_extension_policy()
    try:
        status = await start_keeper(run.home, headless=run.options.headless, environ=run.browser_environ)
    except KeeperFailed as error:
        if "did not load" in str(error):
            raise StepFailed("extension.refused", str(error), "Name another browser with --browser PATH.") from None
        raise StepFailed("start.failed", str(error), error.hint) from None
    return f"process {status.browser_pid}, kept by {status.pid}"


def refuse_extension_policy() -> None:
    policy = extension_policy_problem(read_policies())
    if policy is not None:
        raise StepFailed(
            "extension.blocked-by-policy",
            f"an administrator's policy ({policy}) keeps the browser from loading the extension",
            "Ask the administrator to allow the extension's id, which `notebook-gateway doctor` shows.",
        )


async def extension_answers(run: Run) -> str | None:
    await run.browser.get_settings()
    return "loaded, its worker answers"


async def no_extension(run: Run) -> str:
    await trio.lowlevel.checkpoint()
    raise StepFailed("extension.silent", "the extension does not answer", DOCTOR)


# ------------------------------------------------------------------------------------------------ 6. page, 7. account
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


# --------------------------------------------------------------------------------------------------------- 8. port
async def port_connected(run: Run) -> str | None:
    welcome = await maybe_companion(run.home)
    if welcome is None or welcome.get("account") != run.account:
        return None
    host = cast("dict[str, object]", welcome.get("host") or {})
    return f"native host {host.get('pid')} of build {host.get('build')} answers"


async def connect_port(run: Run) -> str:
    refuse_host_policy()
    await run.browser.connect_port()
    with trio.move_on_after(PORT_TIMEOUT_S):
        return await until(partial(port_connected, run))
    raise StepFailed("port.silent", f"the native host did not answer within {PORT_TIMEOUT_S:g} s", DOCTOR)


MANAGED: Final = (
    Step(StepId.BROWSER, "Find a browser", browser_found, no_browser),
    Step(StepId.HOST, "Register the native host", host_registered, register_host),
    Step(StepId.SIGN_IN, "Sign in", signed_in, sign_in),
    Step(StepId.START, "Start the managed browser", browser_started, start_browser),
    Step(StepId.EXTENSION, "Load the extension", extension_answers, no_extension),
    Step(StepId.PAGE, "Open the notebook page", page_open, open_page),
    Step(StepId.ACCOUNT, "Verify the account", account_read, read_account),
    Step(StepId.PORT, "Connect the native port", port_connected, connect_port),
)
