"""One look at all companions: connect to every socket at once, hear who is there, keep the one that is ours."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import trio
from attrs import frozen

from broker.companion_choice import Finding, Verdict, choose, judge
from broker.errors import GatewayError, VersionSkew
from broker.link import ClientName, Link, open_link
from broker.link_down import LinkDown

READY_TIMEOUT_S: Final = 1.0
"""A host whose worker has not reported yet gets this long: a worker that wakes up reports within half a second."""


@frozen
class Found:
    """What one look brought: every socket's verdict, and the link that was kept."""

    findings: tuple[Finding, ...]
    link: Link | None


@frozen
class Search:
    """How to look. Links are kept alive by tasks in `nursery`, one per link, until they are down."""

    nursery: trio.Nursery
    account: str
    client: ClientName

    async def look(self, socket_paths: Sequence[Path], last_profile: str | None) -> Found:
        """Try all sockets, and return when each has its verdict; all links but the chosen one are closed again."""
        probed: dict[Path, tuple[Finding, Link | None]] = {}

        async def probe(path: Path) -> None:
            probed[path] = await self.nursery.start(self._hold, path)

        async with trio.open_nursery() as nursery:
            for path in socket_paths:
                nursery.start_soon(probe, path)
        findings = tuple(probed[path][0] for path in socket_paths)
        chosen = choose(findings, last_profile)
        kept: Link | None = None
        for finding, link in probed.values():
            if finding is chosen:
                kept = link
            elif link is not None:
                link.go_down(LinkDown("this companion is not the one of this session"))
        return Found(findings, kept)

    async def _hold(self, path: Path, *, task_status: trio.TaskStatus[tuple[Finding, Link | None]]) -> None:
        """Report who is at `path`, then keep the link until it is down."""
        try:
            async with open_link(path, client=self.client) as link:
                task_status.started((await self._verdict(path, link), link))
                while link.down is None:
                    await link.wait_changed()
        except VersionSkew as error:  # from here on: `open_link` could not be entered
            task_status.started((Finding(path, Verdict.SKEW, error.message), None))
        except GatewayError as error:
            task_status.started((Finding(path, Verdict.NO_HOST, error.message), None))

    async def _verdict(self, path: Path, link: Link) -> Finding:
        with trio.move_on_after(READY_TIMEOUT_S):
            while link.down is None and (link.welcome is None or link.welcome.extension is None):
                await link.wait_changed()
        if link.down is not None or link.welcome is None:
            return Finding(path, Verdict.NO_HOST, link.down.message if link.down else "")
        return judge(path, link.welcome, self.account)
