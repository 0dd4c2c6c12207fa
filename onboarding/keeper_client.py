"""Asking the browser keeper, and starting one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, cast

import attrs
import trio

from cdp.polling import until
from native_host.line_json import MAX_LINE_BYTES, BadLine, decode_line_untrusted, encode_line
from native_host.paths import HOME_VARIABLE, ensure_private_folder, keeper_socket, logs_folder
from onboarding.display import remember_display, with_display
from onboarding.keeper_states import KeeperState

ASK_TIMEOUT_S: Final = 35.0
START_TIMEOUT_S: Final = 45.0
STOP_TIMEOUT_S: Final = 15.0
POLL_S: Final = 0.05
KEPT_LOG_BYTES: Final = 256 * 1024
KEEP_COMMAND: Final = (sys.executable, "-P", "-m", "notebook_gateway", "browser", "keep")


class NoKeeper(Exception):
    """No keeper runs for this home folder."""


class KeeperFailed(Exception):
    """The keeper refused, or did not come up. `hint` says what to do."""

    def __init__(self, message: str, hint: str, code: str = "COMPANION_OFFLINE") -> None:
        super().__init__(message)
        self.hint = hint
        self.code = code


@attrs.frozen
class KeeperStatus:
    """What the keeper says of itself. `page` is a `PageKind`, None while no browser is up."""

    state: KeeperState
    pid: int
    browser_pid: int | None
    headless: bool
    since_ms: int
    restarts: int
    build: str
    last_error: str | None = None
    sign_in: str | None = None
    page: str | None = None
    host: str = ""
    worker_running: bool | None = None


class KeeperClient:
    """Requests to the keeper of one home folder; each opens a connection of its own.

    Every method raises `NoKeeper` when none runs and `KeeperFailed` when it refuses.
    """

    def __init__(self, home: Path) -> None:
        self._home = home

    async def status(self) -> KeeperStatus:
        answer = await self._ask("status")
        known = {field.name for field in attrs.fields(KeeperStatus)}
        values = {name: value for name, value in answer.items() if name in known}
        values["state"] = KeeperState(str(answer["state"]))
        return KeeperStatus(**values)  # pyright: ignore[reportArgumentType]  # our own twin wrote it

    async def retry(self) -> None:
        """End the pause after a crash of the browser; nothing happens in any other state."""
        await self._ask("retry")

    async def stop(self) -> None:
        """Stop keeper and browser; returns when the keeper is gone."""
        await self._ask("stop")
        with trio.move_on_after(STOP_TIMEOUT_S):
            await until(self._is_gone)
            return
        raise KeeperFailed("the keeper did not end", "Look into logs/keeper.log in the home folder.")

    async def _is_gone(self) -> bool:
        await trio.lowlevel.checkpoint()
        return not keeper_socket(self._home).exists()

    async def show(self) -> None:
        await self._ask("show")

    async def hide(self) -> None:
        await self._ask("hide")

    async def wake(self) -> None:
        await self._ask("wake")

    async def sign_in(self) -> None:
        """Have the sign-in window opened in place of the browser; returns at once."""
        await self._ask("sign_in")

    async def set_settings(self, account: str, notebooks: list[str] | str) -> None:
        """Set the extension's own account and allowlist (ids, or "*")."""
        await self._ask("settings", account=account, notebooks=notebooks)

    async def get_settings(self) -> dict[str, object]:
        """Return ``{"account", "notebooks"}`` of the extension."""
        return cast("dict[str, object]", (await self._ask("get_settings"))["settings"])

    async def notebooks(self) -> list[tuple[str, str]]:
        """Return id and title of every notebook of the account, allowed or not, for the person to choose from."""
        rows = cast("list[dict[str, object]]", (await self._ask("notebooks"))["notebooks"])
        return [(str(row["id"]), str(row["title"])) for row in rows]

    async def _ask(self, op: str, **more: object) -> dict[str, object]:
        try:
            with trio.fail_after(ASK_TIMEOUT_S):
                stream = await trio.open_unix_socket(os.fspath(keeper_socket(self._home)))
                async with stream:
                    await stream.send_all(encode_line({"op": op, **more}))
                    answer = decode_line_untrusted(await _read_line(stream))
        except (OSError, trio.BrokenResourceError, trio.ClosedResourceError):
            raise NoKeeper("no browser keeper runs") from None
        except BadLine as error:
            raise NoKeeper(f"the browser keeper ended while it was asked: {error}") from None
        except trio.TooSlowError:
            raise KeeperFailed("the keeper does not answer", "Run: notebook-gateway browser stop", "TIMEOUT") from None
        if answer.get("ok") is True:
            return answer
        error = cast("dict[str, object]", answer.get("error") or {})
        raise KeeperFailed(str(error.get("message")), str(error.get("hint")), str(error.get("code")))


async def maybe_keeper_status(home: Path) -> KeeperStatus | None:
    """Return what the keeper says of itself, or None when none runs."""
    try:
        return await KeeperClient(home).status()
    except NoKeeper:
        return None


async def start_keeper(
    home: Path,
    *,
    headless: bool = False,
    environ: Mapping[str, str] = os.environ,
    timeout_s: float = START_TIMEOUT_S,
    by_person: bool = False,
) -> KeeperStatus:
    """Return the status of a keeper whose browser is up, after starting one if none runs.

    The new process belongs to nobody: it has a session of its own, no terminal, and outlives us. Call this from a
    process that ends soon; the system then reaps the keeper. With `by_person` a pause after a crash is cut short;
    agents, who may ask many times, wait for its end.

    Raises:
        KeeperFailed: it ended, or its browser did not come up in time; the message is the last line of its log.
    """
    process: subprocess.Popen[bytes] | None = None
    client = KeeperClient(home)
    with trio.move_on_after(timeout_s):
        while True:
            try:
                status = await client.status()
            except NoKeeper:
                if process is None:
                    process = _spawn(home, headless, environ)
                elif process.poll() is not None:
                    break
            else:
                if status.state in (KeeperState.UP, KeeperState.SIGNING_IN):
                    return status
                if by_person and status.state is KeeperState.BACKING_OFF:
                    with suppress(NoKeeper):  # it has given up meanwhile
                        await client.retry()
            await trio.sleep(POLL_S)
    raise KeeperFailed(f"the browser did not come up: {_last_line(home)}", "Run: notebook-gateway doctor")


def _spawn(home: Path, headless: bool, environ: Mapping[str, str]) -> subprocess.Popen[bytes]:
    remember_display(home, environ)
    log = _log_file(home)
    ensure_private_folder(log.parent)
    if log.exists() and log.stat().st_size > KEPT_LOG_BYTES:
        log.replace(log.with_suffix(".log.1"))
    command = [*KEEP_COMMAND, "--headless"] if headless else [*KEEP_COMMAND]
    with open(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600), "wb") as output:
        return subprocess.Popen(  # our own command
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
            cwd=home,  # never a folder that somebody wants to unmount or delete
            env={**with_display(home, environ), HOME_VARIABLE: str(home)},
        )


def _log_file(home: Path) -> Path:
    return logs_folder(home) / "keeper.log"


def _last_line(home: Path) -> str:
    try:
        lines = _log_file(home).read_text(encoding="utf-8", errors="replace").split("\n")
    except OSError:
        return "it wrote no log"
    told = [line for line in lines if line.strip()]
    return told[-1] if told else "its log is empty"


async def _read_line(stream: trio.SocketStream) -> bytes:
    line = bytearray()
    while not line.endswith(b"\n") and len(line) <= MAX_LINE_BYTES:
        data = await stream.receive_some(65536)
        if not data:
            break
        line += data
    return bytes(line)
