"""What one broker process knows and may do, and what one tool call gets to see of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from random import Random
from typing import TYPE_CHECKING, Literal, Protocol

import trio
from attrs import define, field, frozen

from broker.calls import CallContext
from broker.session_lock import LockedNotebook, SessionLock

if TYPE_CHECKING:  # the relay and the codecs are heavy, and a session is made at the first call only
    from broker.access import Access
    from broker.companion import Companion
    from broker.config import ConfigFile
    from broker.mutations import Mutations
    from broker.project_file import ProjectFolder
    from broker.query_runs import QueryRuns
    from broker.upstream import Upstream


@define(eq=False)
class Session:
    """One per process: the lock, what may be reached, and the questions and writes under way."""

    access: Access
    upstream: Upstream
    runs: QueryRuns
    project: Callable[[], Awaitable[ProjectFolder]] = field(repr=False)
    config: ConfigFile
    companion: Companion
    """For uploads, which are no calls of the service's data layer; everything else goes through `upstream`."""
    mutations: Mutations
    file_reads: trio.CapacityLimiter = field(factory=lambda: trio.CapacityLimiter(1), repr=False)
    """One file is read or hashed at a time; a large one takes a second."""
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


async def _say_nothing(text: str, done: float | None = None, total: float | None = None) -> None:
    """For callers that gave no progress token."""


class Say(Protocol):
    """Sends one progress notification: a text, and how much of how much is done where that is known."""

    async def __call__(self, text: str, done: float | None = None, total: float | None = None) -> None: ...


Answer = Literal["accepted", "declined", "cannot_ask"]


class Confirm(Protocol):
    """Puts a question to the person through the client, where the client can; see `broker.elicitation`.

    To be called from the call's own task, before anything is sent: it may end the call, which is then made again.
    """

    async def __call__(self, question: str) -> Answer: ...


async def cannot_ask(question: str) -> Answer:
    """For callers without a client that can ask."""
    return "cannot_ask"


@frozen
class ToolCall:
    """What a handler gets besides its arguments. `say` sends a progress notification, if the client wants them."""

    session: Session
    ctx: CallContext
    say: Say = field(default=_say_nothing, repr=False)
    confirm: Confirm = field(default=cannot_ask, repr=False)

    async def say_stage(self, progress: Mapping[str, object]) -> None:
        """Tell where a write stands; an upload in bytes."""
        done, total = progress.get("bytes_sent"), progress.get("size_bytes")
        if isinstance(done, int) and isinstance(total, int):
            await self.say(f"{done} of {total} bytes", done, total)
        else:
            await self.say(str(progress.get("stage", "")))
