"""One run of onboarding: what was asked for, who is asked, and what is known so far."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Protocol

import attrs

from cdp.finder import BROWSER_VARIABLE
from onboarding.browsers import GuidedBrowser
from onboarding.clients import ServerEntry
from onboarding.detection import POLICY_FOLDERS
from onboarding.footprint import Footprint

Notebooks = list[str] | str
"""Ids, or "*" for all."""

SIGN_IN_TIMEOUT_S = 15 * 60.0


@attrs.frozen
class Options:
    """What the command line said."""

    account: str | None = None
    notebooks: tuple[str, ...] = ()
    allow_all: bool = False
    clients: tuple[str, ...] = ()
    cdp_url: str | None = None
    """A running browser to attach to, instead of one of ours."""
    browser: str | None = None
    """The executable to use, instead of the first that is found."""
    headless: bool = False
    sign_in_timeout_s: float = SIGN_IN_TIMEOUT_S
    with_proof: bool = True


class Person(Protocol):
    """Whom onboarding asks. The one of ``--non-interactive`` raises `StepFailed` with the option that answers."""

    async def account(self) -> str: ...

    async def notebooks(self, listed: Sequence[tuple[str, str]]) -> Notebooks: ...

    async def clients(self, found: Sequence[str]) -> Sequence[str]: ...


class Policy(Protocol):
    """The broker's allowlist, which only the front door may change (imports point one way)."""

    def allowed(self, account: str) -> Notebooks:
        """Return what the account allows now. Raises: StepFailed for a broken file."""
        ...

    def allow(self, account: str, notebooks: Notebooks) -> Notebooks:
        """Allow these too, and return what is allowed then. Raises: StepFailed for a broken file."""
        ...


@attrs.define(eq=False)
class Run:
    """The state of one run. Nothing in it outlives the run."""

    home: Path
    options: Options
    environ: Mapping[str, str]
    person: Person
    policy: Policy
    server: ServerEntry
    browser: GuidedBrowser
    footprint: Footprint
    resources: AsyncExitStack
    """What a step opens and the following ones use; the caller closes it after the last."""
    on_waiting: Callable[[str], None]
    """Told what a person is waited for."""
    policy_folders: Sequence[Path] = POLICY_FOLDERS
    """Where the administrator's policies are read."""
    account: str | None = None
    is_other_signed_in: bool = False
    """Whether the browser was seen to belong to another account."""
    listed: list[tuple[str, str]] | None = None
    """Every notebook of the account, once it was read in this run."""

    @property
    def the_account(self) -> str:
        assert self.account is not None, "the sign-in step has found out which account it is"
        return self.account

    @property
    def browser_environ(self) -> Mapping[str, str]:
        """The environment for finding and starting the browser: ``--browser`` overrules the variable."""
        return (
            self.environ if self.options.browser is None else {**self.environ, BROWSER_VARIABLE: self.options.browser}
        )
