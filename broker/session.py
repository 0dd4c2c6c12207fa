"""What one broker process knows and may do, and what one tool call gets to see of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from random import Random
from typing import TYPE_CHECKING

import trio
from attrs import define, field, frozen

from broker.calls import CallContext
from broker.session_lock import LockedNotebook, SessionLock

if TYPE_CHECKING:  # the relay and the codecs are heavy, and a session is made at the first call only
    from broker.access import Access
    from broker.project_file import ProjectFolder
    from broker.query_runs import QueryRuns
    from broker.upstream import Upstream


@define(eq=False)
class Session:
    """One per process: the lock, what may be reached, and the questions under way."""

    access: Access
    upstream: Upstream
    runs: QueryRuns
    project: Callable[[], Awaitable[ProjectFolder]] = field(repr=False)
    lock: SessionLock = field(factory=SessionLock)
    conversation: str | None = field(default=None, repr=False)
    """Our own conversation in the locked notebook, never the person's; None until the first answer brought its id."""
    opening_conversation: trio.Lock = field(factory=trio.Lock, repr=False)
    rng: Random = field(factory=Random, repr=False)

    async def locked_notebook(self, ctx: CallContext) -> LockedNotebook:
        """Return the notebook to work in, after asking everyone who may say no.

        Raises:
            SessionUnlocked: none is selected.
            AllowlistDenied: the person has taken the permission back meanwhile.
            AccountMismatch, AuthRequired: the page belongs to somebody else or to nobody.
        """
        notebook = self.lock.require_notebook()
        await self.access.require_allowed(notebook.id)
        await self.access.check_account(ctx)
        return notebook


async def _say_nothing(text: str) -> None:
    """For callers that gave no progress token."""


@frozen
class ToolCall:
    """What a handler gets besides its arguments. `say` sends a progress notification, if the client wants them."""

    session: Session
    ctx: CallContext
    say: Callable[[str], Awaitable[None]] = field(default=_say_nothing, repr=False)
