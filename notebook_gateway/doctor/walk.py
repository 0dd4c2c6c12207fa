"""The walk: each hop of a call in its order, as far as the one before it leads."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

import trio

from broker.allowlist import Allowed
from broker.companions import open_companions
from broker.managed_browser import ManagedBrowser
from broker.upstream import Upstream
from native_host.build import BUILD
from notebook_gateway.doctor import companion, page
from notebook_gateway.doctor.server import examine_server
from notebook_gateway.doctor.settings import examine_settings, maybe_allowlist, maybe_config
from onboarding.doctor.browser import examine_browser, examine_policies
from onboarding.doctor.client_files import examine_client_files
from onboarding.doctor.extension_files import maybe_damage
from onboarding.doctor.findings import Hop
from onboarding.doctor.host_manifests import examine_host_manifests
from onboarding.doctor.host_start import examine_host_start
from onboarding.doctor.look import Look
from onboarding.doctor.report import Finding, HopReport, Report, Verdict, not_reached

OnHop = Callable[[HopReport], None]
BEHIND_THE_SOCKET: Final = (Hop.PORT, Hop.EXTENSION)
BEHIND_THE_EXTENSION: Final = (Hop.WORKER, Hop.TAB, Hop.PAGE, Hop.ACCOUNT, Hop.READ, Hop.SHAPES)


async def walk(look: Look, on_hop: OnHop = lambda report: None) -> Report:
    """Examine every hop, tell each to `on_hop` as it is known, and return them all. Never raises for what is wrong.

    Where the managed browser is configured, it is started, as the first call of an agent would.
    """
    hops: list[HopReport] = []

    def tell(report: HopReport) -> bool:
        hops.append(report)
        on_hop(report)
        return report.verdict is not Verdict.WRONG

    tell(await trio.to_thread.run_sync(examine_settings, look))
    tell(await trio.to_thread.run_sync(examine_client_files, look))
    tell(await examine_server(look))
    tell(await _examine_browser(look))
    tell(await trio.to_thread.run_sync(examine_policies, look))
    tell(await trio.to_thread.run_sync(examine_host_manifests, look))
    tell(await examine_host_start(look))
    greeted = await companion.greet_all(look.home)
    config = await trio.to_thread.run_sync(maybe_config, look.home)
    leads_on = tell(companion.examine_sockets(greeted))
    for hop in BEHIND_THE_SOCKET:
        if not leads_on:
            tell(not_reached(hop))
        elif hop is Hop.PORT:
            leads_on = tell(companion.examine_port(greeted))
        else:
            account = None if config is None else config.account
            leads_on = tell(companion.examine_extension(greeted, account, maybe_damage()))
    if leads_on and config is not None:
        await _walk_through_the_browser(look, config.account, tell)
    else:
        for hop in BEHIND_THE_EXTENSION:
            tell(not_reached(hop))
    return Report(BUILD, str(look.home), tuple(hops))


async def _examine_browser(look: Look) -> HopReport:
    report = examine_browser(look)
    config = await trio.to_thread.run_sync(maybe_config, look.home)
    if report.verdict is Verdict.WRONG or config is None or not config.manages_browser:
        return report
    trouble = await ManagedBrowser(look.home).start()
    if trouble is not None:
        return HopReport(Hop.BROWSER, report.detail, (Finding("browser.no-start", trouble),))
    return HopReport(Hop.BROWSER, f"{report.detail}, managed and running")


async def _walk_through_the_browser(look: Look, account: str, tell: Callable[[HopReport], bool]) -> None:
    allowlist = await trio.to_thread.run_sync(maybe_allowlist, look.home)
    allowed = Allowed() if allowlist is None else allowlist.for_account(account)

    async def tab(browser: page.Browser) -> HopReport:
        await trio.lowlevel.checkpoint()
        return page.describe_tab(browser)

    async def whose(browser: page.Browser) -> HopReport:
        await trio.lowlevel.checkpoint()
        return page.examine_account(browser)

    steps: dict[Hop, Callable[[page.Browser], Awaitable[HopReport]]] = {
        Hop.WORKER: page.examine_worker,
        Hop.TAB: tab,
        Hop.PAGE: page.examine_page,
        Hop.ACCOUNT: whose,
        Hop.READ: page.examine_read,
        Hop.SHAPES: page.examine_shapes,
    }
    async with open_companions(look.home, account) as companions:
        browser = page.Browser(companions, Upstream(companions), account, allowed)
        leads_on = True
        for hop in BEHIND_THE_EXTENSION:
            leads_on = tell(await steps[hop](browser) if leads_on else not_reached(hop))
