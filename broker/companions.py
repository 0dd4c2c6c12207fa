"""The companions of this home folder, and the one among them that this session works through.

Nothing is opened before the first call needs it. Then all sockets are tried at once, the one whose extension is set up
for the configured account is kept, the others are closed. When the link goes down, the next call looks again, with
full jitter between tries and for a bounded time, and never takes another account's companion instead (case C-039).

One call is sent once. The single exception is proven to be harmless: a call that failed because the link went down
before a byte of its frame had left (`started` False) is sent again over the next link, once.
"""

from __future__ import annotations

import base64
import math
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import Final

import trio

from broker.background import open_background_nursery
from broker.backoff import Backoff
from broker.companion import AnswerChunks, Identity, RpcReply, SliceReply, UploadStart, UploadStatus
from broker.companion_choice import Finding, explain, is_same_account
from broker.companion_search import Search
from broker.errors import AccountMismatch, CompanionOffline, DeadlineExceeded, GatewayError, VersionSkew
from broker.link import UNNAMED, ClientName, Link
from broker.link_down import LinkDown
from broker.relay_frames import Event, Result, Welcome
from broker.replies import identity_of, rpc_reply_of, slice_reply_of, status_of, upload_start_of, upload_status_of
from native_host.paths import companion_sockets, run_folder

FIRST_PATIENCE_S: Final = 3.0
"""How long a call waits for the first link: the browser may be starting beside the agent."""
STARTABLE_PATIENCE_S: Final = 0.3
"""How long a call waits for the first link before it has the managed browser started."""
LOST_PATIENCE_S: Final = 6.0
"""How long a call waits after a link was lost: a stopped worker is back within 5 s (design, "Staying alive")."""

BETWEEN_LOOKS: Final = Backoff(base_s=0.05, cap_s=0.5)
"""A look costs one folder listing and a connect per socket; several fit into the time that a call waits."""


StartBrowser = Callable[[], Awaitable[str | None]]
"""Has the managed browser running when it returns None; otherwise says why it is not."""


class Companions:
    """Made by `open_companions`; implements `broker.companion.Companion`.

    `client` may be set as soon as the MCP client has introduced itself; it is told to hosts in the next `hello`.
    """

    # Invariant: _link is None or was chosen for `account`. Invariant: at most one search runs.

    def __init__(
        self,
        home: Path,
        account: str,
        nursery: trio.Nursery,
        rng: Random,
        on_event: Callable[[Event], None] | None,
        start_browser: StartBrowser | None,
    ) -> None:
        self.account = account
        self.client: ClientName = UNNAMED
        self.findings: tuple[Finding, ...] | None = None
        """What the last look found, for `status`; None before the first."""
        self._home = home
        self._nursery = nursery
        self._rng = rng
        self._on_event = on_event
        self._start_browser = start_browser
        self._link: Link | None = None
        self._approved: Welcome | None = None
        self._last_profile: str | None = None
        self._wanted_until = -math.inf
        self._final_error: GatewayError | None = None
        self._is_searching = False
        self._news = trio.Event()

    def __repr__(self) -> str:
        return f"<Companions {self._link or 'no link'}{', searching' if self._is_searching else ''}>"

    async def identity(self, *, refresh: bool = False, deadline_s: float, traceparent: str) -> Identity:
        """See `Companion.identity`."""
        result = await self._call("identity", {"refresh": refresh}, None, deadline_s, traceparent)
        return identity_of(result.value)

    async def status(self, *, deadline_s: float, traceparent: str) -> dict[str, object]:
        """See `Companion.status`."""
        return status_of((await self._call("status", {}, None, deadline_s, traceparent)).value)

    async def rpc(
        self, rpc_id: str, params: object, *, notebook: str | None, deadline_s: float, traceparent: str
    ) -> RpcReply:
        """See `Companion.rpc`."""
        call: dict[str, object] = {"rpc": rpc_id, "params": params}
        return rpc_reply_of(await self._call("rpc", call, notebook, deadline_s, traceparent))

    @asynccontextmanager
    async def stream(
        self, params: object, *, notebook: str, deadline_s: float, traceparent: str
    ) -> AsyncGenerator[AnswerChunks]:
        """See `Companion.stream`. A question is never sent a second time, not even when nothing of it has left."""
        link = await self._usable_link(deadline_s)
        async with link.stream(
            {"params": params},
            notebook=notebook,
            account=self.account,
            deadline_s=deadline_s,
            traceparent=traceparent,
        ) as chunks:
            yield chunks

    async def upload_start(
        self,
        *,
        notebook: str,
        source_id: str,
        name: str,
        size_bytes: int,
        mime_type: str,
        deadline_s: float,
        traceparent: str,
    ) -> UploadStart:
        """See `Companion.upload_start`."""
        call: dict[str, object] = {
            "source": source_id,
            "name": name,
            "size_bytes": size_bytes,
            "mime_type": mime_type,
        }
        return upload_start_of(await self._call("upload.start", call, notebook, deadline_s, traceparent))

    async def upload_slice(
        self, *, notebook: str, upload: str, offset: int, data: bytes, deadline_s: float, traceparent: str
    ) -> SliceReply:
        """See `Companion.upload_slice`."""
        call: dict[str, object] = {"upload": upload, "offset": offset, "data": base64.b64encode(data).decode()}
        return slice_reply_of(await self._call("upload.slice", call, notebook, deadline_s, traceparent))

    async def upload_query(self, *, notebook: str, upload: str, deadline_s: float, traceparent: str) -> UploadStatus:
        """See `Companion.upload_query`."""
        result = await self._call("upload.query", {"upload": upload}, notebook, deadline_s, traceparent)
        return upload_status_of("upload.query", result)

    async def upload_finish(self, *, notebook: str, upload: str, deadline_s: float, traceparent: str) -> UploadStatus:
        """See `Companion.upload_finish`."""
        result = await self._call("upload.finish", {"upload": upload}, notebook, deadline_s, traceparent)
        return upload_status_of("upload.finish", result)

    async def _call(
        self, op: str, params: dict[str, object], notebook: str | None, deadline_s: float, traceparent: str
    ) -> Result:
        async def once(link: Link) -> Result:
            return await link.call(
                op,
                params,
                notebook=notebook,
                account=self.account,
                deadline_s=deadline_s,
                traceparent=traceparent,
            )

        link = await self._usable_link(deadline_s)
        try:
            return await once(link)
        except CompanionOffline as error:
            if error.started or link.down is None:
                raise
        return await once(await self._usable_link(deadline_s))

    # -- finding a link ----------------------------------------------------------------------------------------------

    async def _usable_link(self, deadline_s: float) -> Link:
        """Return the link, after looking for one if there is none.

        Raises: CompanionOffline, AccountMismatch, VersionSkew: what exactly is missing; DeadlineExceeded.
        """
        link = self._maybe_link()
        if link is not None:
            return link
        first_s = FIRST_PATIENCE_S if self._start_browser is None else STARTABLE_PATIENCE_S
        try:
            return await self._look_for(deadline_s, first_s if self._last_profile is None else LOST_PATIENCE_S)
        except CompanionOffline as error:
            if self._start_browser is None:
                raise
            await self._have_browser_started(self._start_browser, error, deadline_s)
        return await self._look_for(deadline_s, LOST_PATIENCE_S)

    async def _have_browser_started(self, start: StartBrowser, missing: CompanionOffline, deadline_s: float) -> None:
        with trio.CancelScope(deadline=deadline_s):
            trouble = await start()
            if trouble is None:
                return
            raise CompanionOffline(
                f"{missing.message} The managed browser could not be started: {trouble}",
                hint="Ask the person to run `notebook-gateway doctor`.",
                started=False,
            )
        raise DeadlineExceeded("The call's time was over before the browser was up.", started=False)

    async def _look_for(self, deadline_s: float, patience_s: float) -> Link:
        link: Link | None = None
        wait_until = min(deadline_s, trio.current_time() + patience_s)
        self._final_error = None
        with trio.CancelScope(deadline=wait_until):
            while (link := self._maybe_link()) is None and self._final_error is None:
                self._want_link(wait_until)
                await self._news.wait()
        if link is not None:
            return link
        if self.findings is None:
            raise DeadlineExceeded("The call's time was over before a browser was found.", started=False)
        raise explain(self.findings, self.account, run_folder(self._home))

    def _maybe_link(self) -> Link | None:
        """Return the link if it is up and its extension is still set up for our account."""
        link = self._link
        if link is None or link.down is not None:
            return None
        if link.welcome is not self._approved:
            account = link.welcome.account if link.welcome else None
            if account is None or not is_same_account(account, self.account):
                link.go_down(LinkDown("the extension is set up for another account now"))
                return None
            self._approved = link.welcome
        return link

    def _want_link(self, until: float) -> None:
        self._wanted_until = max(self._wanted_until, until)
        if not self._is_searching:
            self._is_searching = True
            self._nursery.start_soon(self._search)

    async def _search(self) -> None:
        """Look again and again while a call wants a link."""
        backoff = BETWEEN_LOOKS
        while not await self._look_once():
            pause_s, backoff = backoff.next(self._rng)
            await trio.sleep_until(min(trio.current_time() + pause_s, self._wanted_until))
            if trio.current_time() >= self._wanted_until:
                break  # and not before: a call that still waits would start the next search without any pause
        self._is_searching = False

    async def _look_once(self) -> bool:
        """Look at all sockets, tell the waiting calls, and return whether looking again is of no use."""
        search = Search(self._nursery, self.account, self.client)
        found = await search.look(companion_sockets(self._home), self._last_profile)
        self.findings = found.findings
        if found.link is not None:
            self._use(found.link)
        else:
            self._final_error = self._maybe_final_error(found.findings)
        self._news.set()
        self._news = trio.Event()
        return found.link is not None or self._final_error is not None

    def _use(self, link: Link) -> None:
        # Events of a companion that is not ours are never used (case C-039), so only this link gets the listener.
        link.on_event = self._on_event
        self._link, self._approved = link, None
        if link.welcome is not None and link.welcome.extension is not None:
            self._last_profile = link.welcome.extension.profile

    def _maybe_final_error(self, findings: tuple[Finding, ...]) -> GatewayError | None:
        """Return an error that waiting cannot mend. A browser that was here before may come back beside another's."""
        error = explain(findings, self.account, run_folder(self._home))
        is_final = isinstance(error, VersionSkew) or (isinstance(error, AccountMismatch) and self._last_profile is None)
        return error if is_final else None


@asynccontextmanager
async def open_companions(
    home: Path,
    account: str,
    *,
    rng: Random | None = None,
    on_event: Callable[[Event], None] | None = None,
    start_browser: StartBrowser | None = None,
) -> AsyncGenerator[Companions]:
    """Serve calls for `account` over the companions of `home`; leaving the context closes every connection.

    `on_event` hears what the worker of the chosen companion reports; it must not block or raise. `start_browser` is
    asked when a call finds no browser, and never before.
    """
    async with open_background_nursery() as nursery:
        # Jitter needs no secret randomness.
        yield Companions(home, account, nursery, rng or Random(), on_event, start_browser)  # noqa: S311
