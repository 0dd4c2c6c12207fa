"""The live state of the emulated service: what data calls read, what the control endpoint changes."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from attrs import define, field

from harness.emulator.model import (
    Account,
    Conversation,
    DriveFile,
    Notebook,
    Role,
    Session,
    Source,
    SourceState,
    Timestamp,
    WebPage,
)
from harness.emulator.params import INVALID_ARGUMENT, NOT_FOUND, PERMISSION_DENIED, Denied
from harness.emulator.retrieval import PassageIndex
from harness.emulator.seed import SeedChat, World, default_world
from harness.emulator.uploads import Upload

BUILD_LABEL: Final = "boq_labs-tailwind-frontend_20261103.04_p0"
DEFAULT_CHUNK_DELAY_MS: Final = 25.0


@define
class Options:
    """How the service behaves, changed by ``POST /state``."""

    signed_out_page: str = "redirect"
    """``redirect`` to the sign-in host, or ``bare``: 200 and an app page without tokens, as since October 2026."""
    host_redirects: dict[str, dict[str, str]] = field(factory=dict[str, dict[str, str]])
    """Account e-mail -> {asked host: host to use instead}."""
    chunk_delay_ms: float = DEFAULT_CHUNK_DELAY_MS
    gate: str = "open"
    """What stands between a person and the app: a `harness.emulator.gates.Gate`."""


class ServiceState:
    """Everything that lives in the service.

    Sessions belong to the browsers, so they survive ``reset``; which accounts they hold goes back to the default.
    ``clock`` gives seconds; whoever runs it without the HTTP server under a mocked Trio clock passes
    ``trio.current_time``.
    """

    def __init__(
        self, make_world: Callable[[], World] = default_world, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._make_world = make_world
        self._clock = clock
        self._key = secrets.token_bytes(16)
        self._token_generation = 0
        self.sessions: dict[str, Session] = {}
        self._load()

    def _load(self) -> None:
        world = self._make_world()
        self.accounts: list[Account] = world.accounts
        self.notebooks: list[Notebook] = world.notebooks
        self.chats: list[SeedChat] = world.chats
        self.conversations: list[Conversation] = []
        self.options = Options()
        self.web_pages: dict[str, WebPage] = {}
        self.drive_files: dict[str, DriveFile] = {}
        self.uploads: dict[str, Upload] = {}
        """By upload id."""
        self._late: list[tuple[float, Callable[[], None]]] = []
        self._index = PassageIndex()
        for source in self.sources():
            self._index_if_ready(source)

    def reset(self) -> None:
        """Go back to the seed; browsers that were ever signed in are signed in to all accounts again."""
        self._index.close()
        self._load()
        self.sign_all_sessions_in(account.email for account in self.accounts)

    def close(self) -> None:
        self._index.close()

    # What happens later

    def later(self, delay_s: float, action: Callable[[], None]) -> None:
        """Let something happen after a while. It is done by ``advance``, before anybody can see that it was not."""
        self._late.append((self._clock() + delay_s, action))

    def advance(self) -> None:
        """Do everything that is due by now, in the order in which it fell due."""
        while due := [entry for entry in self._late if entry[0] <= self._clock()]:
            first = min(due, key=lambda entry: entry[0])
            self._late.remove(first)
            first[1]()

    # Accounts and sessions

    def account(self, email: str) -> Account:
        return next(account for account in self.accounts if account.email == email)

    def open_session(self, emails: Iterable[str]) -> Session:
        session = Session(secrets.token_urlsafe(32), list(emails))
        self.sessions[session.token] = session
        return session

    def sign_all_sessions_in(self, emails: Iterable[str]) -> None:
        """Sign every browser in to exactly these accounts, in this order."""
        accounts = list(emails)
        for session in self.sessions.values():
            session.emails = list(accounts)

    def signed_in(self, session: Session | None, authuser: str | None) -> tuple[Account, int] | None:
        """Return the account that ``authuser`` (index or e-mail) selects and its index; None when signed out.

        Something that selects nothing falls back to the first account, silently, as the service does (case C-051).
        """
        if session is None or not session.emails:
            return None
        index = 0
        if authuser is not None:
            if authuser.isascii() and authuser.isdigit():
                index = int(authuser) if int(authuser) < len(session.emails) else 0
            elif authuser in session.emails:
                index = session.emails.index(authuser)
        return self.account(session.emails[index]), index

    def rotate_tokens(self) -> None:
        """Make every CSRF token and session id that pages hold stale."""
        self._token_generation += 1

    def csrf_token(self, email: str) -> str:
        """Return the part of ``SNlM0e`` before the colon, as it is now."""
        return "AF" + self._derived("csrf", email).hex()[:40]

    def session_id(self, email: str) -> str:
        """Return ``FdrFJe``: a signed 64-bit number as text."""
        return str(int.from_bytes(self._derived("sid", email)[:8], "big", signed=True))

    def page_secret(self, email: str) -> str:
        """Return ``WZsZ1e``, which has the shape of a login cookie; whoever forwards it has a leak."""
        text = self._derived("page-secret", email).hex()
        return f"{text[:16]}/{text[16:33]}"

    def secrets(self) -> frozenset[str]:
        """Return every value that must never be seen outside the page: tokens, session ids, cookies, upload ids."""
        per_account = [
            maker(account.email)
            for account in self.accounts
            for maker in (self.csrf_token, self.session_id, self.page_secret)
        ]
        return frozenset([*per_account, *self.sessions, *self.uploads])

    def _derived(self, purpose: str, email: str) -> bytes:
        message = f"{purpose}|{email}|{self._token_generation}".encode()
        return hmac.digest(self._key, message, hashlib.sha256)

    # Notebooks and sources

    def sources(self) -> Iterator[Source]:
        for notebook in self.notebooks:
            yield from notebook.sources

    def visible_notebooks(self, email: str) -> list[Notebook]:
        """Return what an account sees, last viewed first."""
        mine = [notebook for notebook in self.notebooks if notebook.role_of(email) is not None]
        return sorted(mine, key=lambda notebook: notebook.last_viewed, reverse=True)

    def notebook_for(self, notebook_id: str, email: str) -> Notebook:
        """Return a notebook.

        Raises:
            Denied: 5 for an unknown id, 7 for somebody else's notebook.
        """
        for notebook in self.notebooks:
            if notebook.id == notebook_id:
                if notebook.role_of(email) is None:
                    raise Denied(PERMISSION_DENIED)
                return notebook
        raise Denied(NOT_FOUND)

    def notebook_to_change(self, notebook_id: str, email: str) -> Notebook:
        """Return a notebook that the account may write into.

        Raises:
            Denied: 5 for an unknown id, 7 for somebody else's notebook or one that is shared for reading.
        """
        notebook = self.notebook_for(notebook_id, email)
        if notebook.role_of(email) is Role.VIEWER:
            raise Denied(PERMISSION_DENIED)
        return notebook

    def source_for(self, source_id: str, email: str) -> tuple[Notebook, Source]:
        """Return a source and its notebook, found by the source id alone: `source-path` is routing context only.

        Raises:
            Denied: 5 for an unknown id, 7 for a source in somebody else's notebook.
        """
        for notebook in self.notebooks:
            for source in notebook.sources:
                if source.id == source_id:
                    if notebook.role_of(email) is None:
                        raise Denied(PERMISSION_DENIED)
                    return notebook, source
        raise Denied(NOT_FOUND)

    def insert_source(self, notebook: Notebook, source: Source, position: int | None = None) -> None:
        notebook.sources.insert(len(notebook.sources) if position is None else position, source)
        self._index_if_ready(source)

    def remove_source(self, source_id: str) -> bool:
        for notebook in self.notebooks:
            for source in notebook.sources:
                if source.id == source_id:
                    notebook.sources.remove(source)
                    self._index.remove(source_id)
                    return True
        return False

    def set_source_state(self, source: Source, state: int) -> None:
        source.state = state
        self._index.remove(source.id)
        self._index_if_ready(source)

    def _index_if_ready(self, source: Source) -> None:
        if source.state == SourceState.READY:
            self._index.add(source)

    @property
    def passages(self) -> PassageIndex:
        return self._index

    # Conversations

    def latest_conversation(self, notebook_id: str, email: str) -> Conversation | None:
        own = [talk for talk in self.conversations if (talk.notebook_id, talk.email) == (notebook_id, email)]
        return own[-1] if own else None

    def conversation_for(self, conversation_id: str, email: str) -> Conversation:
        """Return a conversation.

        Raises:
            Denied: 5 for an unknown id, 7 for somebody else's conversation.
        """
        for talk in self.conversations:
            if talk.id == conversation_id:
                if talk.email != email:
                    raise Denied(PERMISSION_DENIED)
                return talk
        raise Denied(NOT_FOUND)

    def conversation_for_ask(self, conversation_id: str | None, notebook_id: str, email: str) -> Conversation:
        """Return the conversation that a question continues.

        A null id means the notebook's current one; an id that nobody has used yet opens a new one [recorded].

        Raises:
            Denied: 7 for somebody else's conversation, 3 for one of another notebook.
        """
        if conversation_id is None:
            return self.latest_conversation(notebook_id, email) or self._open_conversation(notebook_id, email, None)
        try:
            talk = self.conversation_for(conversation_id, email)
        except Denied as denied:
            if denied.status == PERMISSION_DENIED:
                raise
            return self._open_conversation(notebook_id, email, conversation_id)
        if talk.notebook_id != notebook_id:
            raise Denied(INVALID_ARGUMENT)
        return talk

    def _open_conversation(self, notebook_id: str, email: str, conversation_id: str | None) -> Conversation:
        talk = Conversation(conversation_id or str(uuid.uuid4()), email, notebook_id, now())
        self.conversations.append(talk)
        return talk


def now() -> Timestamp:
    nanoseconds = time.time_ns()
    return nanoseconds // 1_000_000_000, nanoseconds % 1_000_000_000 // 1000 * 1000
