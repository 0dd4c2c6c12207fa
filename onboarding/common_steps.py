"""The last steps, the same for every kind of browser: notebooks, the MCP client, and the proof."""

from __future__ import annotations

import sys
from typing import Final

import trio

from onboarding.choice import covers, in_words, is_same, notebooks_in, wanted_notebooks
from onboarding.clients import CLIENTS, CannotInstall, installed_entry, is_there, places_of
from onboarding.clients import install as install_client
from onboarding.clients.jsonc import UnreadableDocument
from onboarding.proof import prove
from onboarding.run import Notebooks, Run
from onboarding.steps import Step, StepFailed, StepId


async def notebooks_allowed(run: Run) -> str | None:
    """Whether something is allowed, on both sides alike, and nothing else was asked for."""
    wanted = wanted_notebooks(run.options)
    allowed = run.policy.allowed(run.the_account)
    if not allowed or not is_same(allowed, notebooks_in(await run.browser.get_settings())):
        return None
    return None if wanted is not None and not covers(allowed, wanted) else in_words(allowed)


async def allow_notebooks(run: Run) -> str:
    """Allow what was asked for, or what is allowed already, or ask the person; then set the extension's copy."""
    wanted = wanted_notebooks(run.options)
    if wanted is None and not run.policy.allowed(run.the_account):
        wanted = await run.person.notebooks(run.listed or [])
    _refuse_unknown(run, wanted)
    allowed = run.policy.allow(run.the_account, wanted if wanted is not None else [])
    await run.browser.set_settings(run.the_account, allowed)
    return in_words(allowed)


def _refuse_unknown(run: Run, wanted: Notebooks | None) -> None:
    if run.listed is None or not isinstance(wanted, list):
        return
    unknown = sorted(set(wanted) - {notebook_id for notebook_id, _ in run.listed})
    if unknown:
        raise StepFailed(
            "notebooks.unknown",
            f"the account has no notebook {unknown[0]}",
            "Copy the id from the notebook's address: /notebook/<id>.",
        )


async def client_configured(run: Run) -> str | None:
    await trio.lowlevel.checkpoint()
    if not run.options.clients:
        return None
    places = places_of(run.environ, sys.platform)
    for name in run.options.clients:
        client = CLIENTS[name]
        try:
            found = installed_entry(client, places)
        except (OSError, UnreadableDocument):
            return None  # `configure_client` tells why
        if found != client.entry(run.server):
            return None
    return ", ".join(run.options.clients)


async def configure_client(run: Run) -> str:
    places = places_of(run.environ, sys.platform)
    names = run.options.clients
    if not names:
        names = await run.person.clients([name for name, client in CLIENTS.items() if is_there(client, places)])
    written: list[str] = []
    for name in names:
        try:
            install_client(CLIENTS[name], run.server, places, run.footprint)
        except CannotInstall as error:
            raise StepFailed("client.unwritable", str(error), error.hint) from None
        written.append(name)
    return ", ".join(written) or "none; add one later: notebook-gateway install CLIENT"


async def never_proven(run: Run) -> str | None:
    """A proof is a call made now; that one worked before says nothing."""
    await trio.lowlevel.checkpoint()
    return None


async def show_proof(run: Run) -> str:
    return str(await prove(run.server, run.browser_environ))


LAST: Final = (
    Step(StepId.CLIENT, "Configure the MCP client", client_configured, configure_client),
    Step(StepId.PROOF, "Ask through the finished chain", never_proven, show_proof),
)
COMMON: Final = (Step(StepId.NOTEBOOKS, "Choose notebooks", notebooks_allowed, allow_notebooks), *LAST)
