"""What onboarding does to a browser that has the extension, whoever holds it: the keeper, or a CDP connection."""

from __future__ import annotations

from typing import Protocol

from cdp.errors import CdpError
from onboarding.pages import PageKind


class ReadRefused(CdpError):
    """The extension could not read the list of notebooks. `code` is the fault's, from the extension's table."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class GuidedBrowser(Protocol):
    """A browser with the extension in it. Methods raise `StepFailed` when it is gone or refuses."""

    async def set_settings(self, account: str, notebooks: list[str] | str) -> None: ...

    async def get_settings(self) -> dict[str, object]: ...

    async def notebooks(self) -> list[tuple[str, str]]:
        """Read id and title of every notebook. Raises: ReadRefused."""
        ...

    async def page(self) -> tuple[PageKind, str]:
        """Return the kind of the most telling page, and its host."""
        ...

    async def connect_port(self) -> None:
        """Wake the worker, which opens its native port."""
        ...
