"""Who may be reached: the one configured account, and the notebooks that the person allows on both sides."""

from __future__ import annotations

import trio
from attrs import frozen

from broker.allowlist import Allowed, AllowlistFile, BrokenAllowlist, parse_notebooks
from broker.calls import CallContext
from broker.companion import Companion
from broker.companion_choice import is_same_account, mask_address
from broker.config import ConfigFile
from broker.errors import AccountMismatch, AllowlistDenied, CompanionOffline


@frozen
class Permission:
    """What `allowlist.json` allows, and what the extension's own copy allows. Both must say yes."""

    by_file: Allowed
    by_extension: Allowed

    @property
    def effective(self) -> Allowed:
        return self.by_file.intersect(self.by_extension)

    @property
    def denied_by_extension(self) -> frozenset[str]:
        """Ids that the file names but the extension does not."""
        return frozenset(each for each in self.by_file.ids if each not in self.by_extension)


class Access:
    """The session's view of account and permissions, asked anew where the person may have changed them."""

    def __init__(self, config: ConfigFile, allowlist: AllowlistFile, companion: Companion) -> None:
        self._config = config
        self._allowlist = allowlist
        self._companion = companion
        self._account_is_checked = False
        self._checking = trio.Lock()

    def __repr__(self) -> str:
        return f"<Access {'account checked' if self._account_is_checked else 'account not checked'}>"

    def forget_account(self) -> None:
        """Ask the page again before the next read: somebody signed out, or in as somebody else."""
        self._account_is_checked = False

    async def check_account(self, ctx: CallContext) -> None:
        """Make sure, once per session, that the page belongs to the configured account.

        The page compares the account again in each call; this gives the clear answer before the first one.

        Raises:
            AccountMismatch: it belongs to another one; both are masked.
            AuthRequired: nobody is signed in, or no account is configured.
        """
        if self._account_is_checked:
            return
        async with self._checking:
            if self._account_is_checked:
                return
            expected = (await self._config.get()).account
            identity = await self._companion.identity(deadline_s=ctx.deadline, traceparent=ctx.traceparent)
            if not is_same_account(identity.account, expected):
                raise AccountMismatch(
                    f"The page is signed in as {mask_address(identity.account)}, "
                    f"but {mask_address(expected)} is configured.",
                    started=False,
                )
            self._account_is_checked = True

    async def require_allowed(self, notebook_id: str) -> None:
        """Check the person's file; the extension checks its own copy in each call.

        Raises:
            AllowlistDenied: the notebook is not in it.
        """
        if notebook_id not in await self._allowed_by_file():
            raise AllowlistDenied(
                f"Notebook {notebook_id} is not allowed in allowlist.json.",
                hint=f"Ask the person to allow it: `notebook-gateway allow add {notebook_id}`.",
                details={"side": "broker"},
                started=False,
            )

    async def permission(self, ctx: CallContext) -> Permission:
        """Return what both sides allow now.

        Raises:
            CompanionOffline: the extension states its copy in a form of another build.
        """
        by_file = await self._allowed_by_file()
        status = await self._companion.status(deadline_s=ctx.deadline, traceparent=ctx.traceparent)
        try:
            by_extension = parse_notebooks(status.get("notebooks", []), "the extension")
        except BrokenAllowlist as error:
            raise CompanionOffline(f"The extension's allowlist cannot be read: {error}.", retryable=False) from error
        return Permission(by_file, by_extension)

    async def _allowed_by_file(self) -> Allowed:
        return await self._allowlist.for_account((await self._config.get()).account)
