"""The hops in the browser: worker, tab, page, account, one real read, and the shape of every answer that we read.

Nothing is written, no question is asked, and no text of the person's is kept: of what was read, only counts are said.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, cast

from attrs import define, field

from broker.allowlist import Allowed, BrokenAllowlist, parse_notebooks
from broker.calls import CallContext
from broker.companion import Companion
from broker.companion_choice import is_same_account
from broker.errors import AuthRequired, GatewayError, TabDiscarded, UpstreamSchemaDrift
from broker.notebooks import Notebook
from broker.trace import continue_or_begin_trace
from broker.upstream import Upstream
from onboarding.doctor.findings import Hop
from onboarding.doctor.report import Finding, HopReport

STATUS_WITHIN_S: Final = 5.0
READ_WITHIN_S: Final = 45.0
"""The extension may have to open a tab first."""


@define(eq=False)
class Browser:
    """The chosen companion and what the hops before have learned of it."""

    companion: Companion
    upstream: Upstream
    account: str
    allowed: Allowed
    trace: str = field(factory=lambda: continue_or_begin_trace(None))
    tab: object = None
    page_account: str = ""
    notebooks: list[Notebook] = field(factory=list[Notebook], repr=False)

    def context(self, timeout_s: float = READ_WITHIN_S) -> CallContext:
        return CallContext.starting_now(timeout_s, self.trace)


async def examine_worker(browser: Browser) -> HopReport:
    """Ask the worker about itself, which needs no page."""
    ctx = browser.context(STATUS_WITHIN_S)
    try:
        status = await browser.companion.status(deadline_s=ctx.deadline, traceparent=ctx.traceparent)
        theirs = parse_notebooks(status.get("notebooks", []), "the extension")
    except (GatewayError, BrokenAllowlist) as error:
        return HopReport(Hop.WORKER, "silent", (Finding("worker.silent", str(error)),))
    browser.tab = status.get("tab")
    findings: list[Finding] = []
    if status.get("paused"):
        findings.append(Finding("worker.paused", "every call is refused until it is switched off"))
    if browser.allowed.intersect(theirs) != browser.allowed:
        detail = f"allowlist.json: {_words(browser.allowed)}; the extension: {_words(theirs)}"
        findings.append(Finding("allowlist.differs", detail))
    return HopReport(Hop.WORKER, "answers", tuple(findings))


def describe_tab(browser: Browser) -> HopReport:
    """Say which tab the worker has; where it has none it opens one at the first call."""
    tab = browser.tab
    if not isinstance(tab, dict):
        return HopReport(Hop.TAB, "none open; a call opens one")
    facts = cast("dict[str, object]", tab)
    return HopReport(Hop.TAB, f"{facts.get('state')} on {facts.get('host')}")


async def examine_page(browser: Browser) -> HopReport:
    """Let our script in the page say whose page it is."""
    ctx = browser.context()
    try:
        identity = await browser.companion.identity(deadline_s=ctx.deadline, traceparent=ctx.traceparent)
    except AuthRequired as error:
        return HopReport(Hop.PAGE, "signed out", (Finding("page.sign-in", error.message),))
    except UpstreamSchemaDrift as error:
        return HopReport(Hop.PAGE, "changed", (Finding("page.changed", error.message),))
    except TabDiscarded as error:
        return HopReport(Hop.PAGE, "no tab", (Finding("tab.none", error.message),))
    except GatewayError as error:
        finding = "account.mismatch" if error.code == "ACCOUNT_MISMATCH" else "page.failed"
        return HopReport(Hop.PAGE, "failed", (Finding(finding, f"{error.code}: {error.message}"),))
    browser.page_account = identity.account
    return HopReport(Hop.PAGE, f"{identity.origin}, service's build {identity.build_label}")


def examine_account(browser: Browser) -> HopReport:
    """Compare the page's account with the configured one."""
    if is_same_account(browser.page_account, browser.account):
        return HopReport(Hop.ACCOUNT, browser.page_account)
    detail = f"the page is of {browser.page_account}, config.toml names {browser.account}"
    return HopReport(Hop.ACCOUNT, browser.page_account, (Finding("account.mismatch", detail),))


async def examine_read(browser: Browser) -> HopReport:
    """Read the list of notebooks, of which the extension lets the allowed ones through."""
    try:
        browser.notebooks = await browser.upstream.list_notebooks(browser.context())
    except UpstreamSchemaDrift as error:
        return HopReport(Hop.READ, "drifted", (Finding("shape.drift", error.message),))
    except GatewayError as error:
        finding = "page.sign-in" if isinstance(error, AuthRequired) else "read.failed"
        return HopReport(Hop.READ, "failed", (Finding(finding, f"{error.code}: {error.message}"),))
    return HopReport(Hop.READ, f"{len(browser.notebooks)} notebooks")


async def examine_shapes(browser: Browser) -> HopReport:
    """Make each call that tools make and that only reads, and hold its answer to the decoder that they use."""
    tried: list[str] = []
    findings: list[Finding] = []
    untried: list[str] = []

    async def attempt(rpc: str, read: Callable[[], Awaitable[object]]) -> object:
        tried.append(rpc)
        try:
            return await read()
        except UpstreamSchemaDrift as error:
            findings.append(Finding("shape.drift", error.message))
        except GatewayError as error:
            findings.append(Finding("shape.failed", f"{rpc}: {error.code}: {error.message}"))
        return None

    upstream = browser.upstream
    chosen = next((each for each in browser.notebooks if each.sources), next(iter(browser.notebooks), None))
    if chosen is None:
        untried += ["rLM1Ne", "cFji9", "hizoJc", "tr032e"]
    else:
        notebook_id = chosen.id
        await attempt("rLM1Ne", lambda: upstream.get_notebook(notebook_id, browser.context()))
        await attempt("cFji9", lambda: upstream.list_notes(notebook_id, browser.context()))
        source = next((each for each in chosen.sources), None)
        if source is None:
            untried += ["hizoJc", "tr032e"]
        else:
            source_id = source.id
            await attempt("hizoJc", lambda: upstream.source_text(notebook_id, source_id, browser.context()))
            await attempt("tr032e", lambda: upstream.source_guide(notebook_id, source_id, browser.context()))
    if untried:
        findings.append(Finding("shape.untried", ", ".join(untried)))
    detail = f"tried {', '.join(tried) or 'none'}; writes and questions are not"
    return HopReport(Hop.SHAPES, detail, tuple(findings))


def _words(allowed: Allowed) -> str:
    notebooks = allowed.as_json()
    return "all" if notebooks == "*" else f"{len(notebooks)} notebooks"
