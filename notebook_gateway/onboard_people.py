"""Whom `onboard` asks, and the allowlist that it changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, TypeVar

import click
import trio

from broker.allowlist import NOTEBOOK_ID, Allowlist, BrokenAllowlist, change_allowlist, read_allowlist
from native_host.paths import allowlist_file
from onboarding.steps import StepFailed

EVERYTHING: Final = "*"
Answer = TypeVar("Answer")


class Nobody:
    """`--non-interactive`: every question is answered by an option, or is a failure that names it."""

    async def account(self) -> str:
        await trio.lowlevel.checkpoint()
        raise StepFailed("config.no-account", "no account is named", "Say which: --account you@example.com")

    async def notebooks(self, listed: Sequence[tuple[str, str]]) -> list[str] | str:
        await trio.lowlevel.checkpoint()
        raise StepFailed(
            "notebooks.not-chosen",
            f"none of the {len(listed)} notebooks is allowed",
            "Say which: --notebook ID, more than once if need be, or --allow-all",
        )

    async def clients(self, found: Sequence[str]) -> Sequence[str]:
        await trio.lowlevel.checkpoint()
        return ()


class Terminal:
    """The person at the terminal. `pause` takes the live list away while a question stands there."""

    def __init__(self, pause: Callable[[], None], resume: Callable[[], None]) -> None:
        self._pause = pause
        self._resume = resume

    async def account(self) -> str:
        return await self._ask("E-mail address of the Google account", _address)

    async def notebooks(self, listed: Sequence[tuple[str, str]]) -> list[str] | str:
        lines = [f"  {number:>3}  {title}" for number, (_, title) in enumerate(listed, 1)]
        click.echo("\nNotebooks of this account:\n" + "\n".join(lines))

        def chosen(text: str) -> list[str] | str:
            if text.strip().lower() == "all":
                return EVERYTHING
            numbers = [int(part) for part in text.replace(",", " ").split()]
            if not numbers or not all(1 <= number <= len(listed) for number in numbers):
                raise ValueError
            return [listed[number - 1][0] for number in numbers]

        return await self._ask("Which may agents use? Numbers, or all", chosen)

    async def clients(self, found: Sequence[str]) -> Sequence[str]:
        if not found:
            return ()
        wanted: list[str] = []
        for name in found:
            if await self._ask(f"Add notebook-gateway to {name}? [y/n]", _yes_or_no):
                wanted.append(name)
        return wanted

    async def _ask(self, question: str, understand: Callable[[str], Answer]) -> Answer:
        self._pause()
        try:
            while True:
                text: str = await trio.to_thread.run_sync(lambda: click.prompt(question), abandon_on_cancel=True)
                try:
                    return understand(text)
                except ValueError:
                    click.echo("That is not one of the answers.")
        finally:
            self._resume()


def _address(text: str) -> str:
    address = text.strip()
    name, at, domain = address.rpartition("@")
    if not (name and at and domain) or any(character.isspace() for character in address):
        raise ValueError
    return address


def _yes_or_no(text: str) -> bool:
    answers = {"y": True, "yes": True, "n": False, "no": False}
    if text.strip().lower() not in answers:
        raise ValueError
    return answers[text.strip().lower()]


class AllowlistPolicy:
    """`allowlist.json`, as onboarding sees it (`onboarding.run.Policy`)."""

    def __init__(self, home: Path) -> None:
        self._file = allowlist_file(home)

    def allowed(self, account: str) -> list[str] | str:
        try:
            return read_allowlist(self._file).for_account(account).as_json()
        except BrokenAllowlist as error:
            raise self._broken(error) from None

    def allow(self, account: str, notebooks: list[str] | str) -> list[str] | str:
        for notebook_id in notebooks if isinstance(notebooks, list) else []:
            if not NOTEBOOK_ID.fullmatch(notebook_id):
                raise StepFailed(
                    "notebooks.no-id",
                    f"{notebook_id!r} is no notebook id",
                    "Copy it from the notebook's address: /notebook/<id>.",
                )

        def change(allowlist: Allowlist) -> Allowlist:
            if notebooks == EVERYTHING:
                return allowlist.allowing_everything(account)
            return allowlist.adding(account, notebooks)

        try:
            return change_allowlist(self._file, change).for_account(account).as_json()
        except BrokenAllowlist as error:
            raise self._broken(error) from None

    def _broken(self, error: BrokenAllowlist) -> StepFailed:
        return StepFailed("notebooks.broken-list", f"{self._file} is broken: {error}", "Mend or remove that file.")
