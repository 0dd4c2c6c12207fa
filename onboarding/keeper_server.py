"""The keeper's control socket: one line in, one line out, for the same user only.

No op runs script of the caller's choice; what a caller can do is the table at the end.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final, TypeVar, cast

import trio

from cdp.errors import CdpError, ConnectionLost
from native_host.build import BUILD
from native_host.line_json import MAX_LINE_BYTES, BadLine, decode_line_untrusted, encode_line
from native_host.paths import ensure_private_folder, keeper_socket
from native_host.peer import peer_user_id
from onboarding.browsers import ReadRefused
from onboarding.keeper import Keeper, KeptBrowser
from onboarding.keeper_states import KeeperState

REQUEST_TIMEOUT_S: Final = 5.0
ANSWER_TIMEOUT_S: Final = 30.0

Answer = dict[str, object]
Result = TypeVar("Result")


class Refusal(Exception):
    """A request that cannot be carried out: code, message, and what to do."""

    def __init__(self, code: str, message: str, hint: str) -> None:
        super().__init__(message)
        self.code = code
        self.hint = hint


async def serve_requests(keeper: Keeper, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
    """Answer requests until cancelled; the socket's file is gone then."""
    path = keeper_socket(keeper.home)
    ensure_private_folder(path.parent)
    path.unlink(missing_ok=True)  # of a keeper that was killed: we hold the lock
    listener = trio.socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)  # the socket is 0600 from its first moment
    try:
        await listener.bind(os.fspath(path))
    finally:
        os.umask(before)
    listener.listen(16)
    try:
        async with trio.open_nursery() as nursery:
            task_status.started()
            while True:
                connection, _ = await listener.accept()
                nursery.start_soon(_serve_one, keeper, connection)
    finally:
        listener.close()
        path.unlink(missing_ok=True)


async def _serve_one(keeper: Keeper, connection: trio.socket.SocketType) -> None:
    async with trio.SocketStream(connection) as stream:
        if peer_user_id(connection) != os.geteuid():
            return
        try:
            line = b""
            with trio.move_on_after(REQUEST_TIMEOUT_S):
                line = await _read_line(stream)
            answer = await _answer(keeper, line)
            with trio.move_on_after(REQUEST_TIMEOUT_S):
                await stream.send_all(encode_line(answer))
        except trio.BrokenResourceError:
            return  # it has left


async def _answer(keeper: Keeper, line: bytes) -> Answer:
    try:
        request = decode_line_untrusted(line)
        op = OPS.get(str(request.get("op")))
        if op is None:
            raise Refusal("INVALID_ARGUMENT", f"no such request; known: {', '.join(OPS)}", "Use one build everywhere.")
        with trio.fail_after(ANSWER_TIMEOUT_S):
            return {"ok": True, **await op(keeper, request)}
    except BadLine as error:
        return _failure("INVALID_ARGUMENT", str(error), "Use the commands of notebook-gateway.")
    except Refusal as error:
        return _failure(error.code, str(error), error.hint)
    except trio.TooSlowError:
        return _failure("TIMEOUT", "the browser did not answer in time", "Run: notebook-gateway browser stop")
    except ReadRefused as error:
        return _failure(error.code, str(error), "Run: notebook-gateway doctor")
    except CdpError as error:
        return _failure("COMPANION_OFFLINE", str(error), "It is being started anew; try again in a moment.")
    except Exception as error:  # noqa: BLE001  # a fault in one request must not end everybody's browser
        keeper.say(f"a request failed: {error!r}")
        return _failure("INTERNAL", f"the request failed: {type(error).__name__}", "Look into logs/keeper.log.")


def _failure(code: str, message: str, hint: str) -> Answer:
    return {"ok": False, "error": {"code": code, "message": message, "hint": hint}}


async def _read_line(stream: trio.SocketStream) -> bytes:
    line = bytearray()
    while not line.endswith(b"\n") and len(line) <= MAX_LINE_BYTES:
        data = await stream.receive_some(65536)
        if not data:
            break
        line += data
    return bytes(line)


# ---------------------------------------------------------------------------------------------------- the ops
async def _browser(keeper: Keeper) -> KeptBrowser:
    """Return the browser; one that is starting is waited for, and a pause after a crash is cut short.

    Who asks for the browser here is a person's command; agents go through the native host.
    """
    keeper.retry_now()
    await keeper.wait_for(KeeperState.UP, KeeperState.SIGNING_IN, KeeperState.STOPPING)
    if keeper.browser is None:
        raise Refusal("COMPANION_OFFLINE", f"the browser is not up: {keeper.state}", "Try again in a moment.")
    return keeper.browser


async def _with_browser(keeper: Keeper, work: Callable[[KeptBrowser], Awaitable[Result]]) -> Result:
    """Do `work`, which must be fit for a repeat: it is done once more if the browser dies under it."""
    browser = await _browser(keeper)
    try:
        return await work(browser)
    except ConnectionLost:
        await keeper.wait_for_another_than(browser)
        return await work(await _browser(keeper))


async def _status(keeper: Keeper, request: Answer) -> Answer:
    await trio.lowlevel.checkpoint()
    browser, outcome = keeper.browser, keeper.last_sign_in
    answer: Answer = {
        "state": keeper.state,
        "pid": os.getpid(),
        "browser_pid": None if browser is None else browser.pid,
        "headless": keeper.headless if browser is None else browser.headless,
        "since_ms": keeper.since_ms,
        "restarts": keeper.restarts,
        "last_error": keeper.last_error,
        "sign_in": None if outcome is None else outcome.result,
        "build": BUILD,
    }
    if browser is not None:
        with suppress(CdpError):  # it has just ended, which the next status says
            page = await browser.page_state()
            answer |= {"page": page.kind, "host": page.host, "worker_running": await browser.is_worker_running()}
    return answer


async def _retry(keeper: Keeper, request: Answer) -> Answer:
    await trio.lowlevel.checkpoint()
    keeper.retry_now()
    return {}


async def _stop(keeper: Keeper, request: Answer) -> Answer:
    await trio.lowlevel.checkpoint()
    keeper.stop()
    return {}


async def _show(keeper: Keeper, request: Answer) -> Answer:
    browser = await _browser(keeper)
    if browser.headless:
        raise Refusal("INVALID_ARGUMENT", "it has no window: it was started headless", "Stop it, then start it.")
    await browser.show()
    return {}


async def _hide(keeper: Keeper, request: Answer) -> Answer:
    await (await _browser(keeper)).hide()
    return {}


async def _wake(keeper: Keeper, request: Answer) -> Answer:
    async def wake(browser: KeptBrowser) -> None:
        if not await browser.is_worker_running():
            await browser.wake_worker()
        await browser.ensure_native_port()

    await _with_browser(keeper, wake)
    return {}


async def _sign_in(keeper: Keeper, request: Answer) -> Answer:
    await trio.lowlevel.checkpoint()
    if not keeper.request_sign_in(by_person=request.get("reason") is None):
        raise Refusal(
            "AUTH_REQUIRED",
            "the sign-in window was closed a moment ago and is not opened again by itself",
            "Ask the person to run: notebook-gateway browser sign-in",
        )
    return {}


async def _set_settings(keeper: Keeper, request: Answer) -> Answer:
    account, notebooks = request.get("account"), request.get("notebooks")
    ids = cast("list[object]", notebooks) if isinstance(notebooks, list) else None
    if not isinstance(account, str) or (notebooks != "*" and (ids is None or not all(isinstance(i, str) for i in ids))):
        raise Refusal("INVALID_ARGUMENT", "settings need an account and a list of notebooks or *", "Mend the request.")

    async def set_them(browser: KeptBrowser) -> None:
        await browser.set_settings(account, "*" if notebooks == "*" else cast("list[str]", notebooks))
        if keeper.account != account:
            await browser.open_notebook_tab(account)
            keeper.account = account

    await _with_browser(keeper, set_them)
    return {}


async def _get_settings(keeper: Keeper, request: Answer) -> Answer:
    return {"settings": await _with_browser(keeper, lambda browser: browser.get_settings())}


async def _notebooks(keeper: Keeper, request: Answer) -> Answer:
    return {"notebooks": await _with_browser(keeper, lambda browser: browser.notebooks())}


OPS: Final[dict[str, Callable[[Keeper, Answer], Awaitable[Answer]]]] = {
    "status": _status,
    "retry": _retry,
    "stop": _stop,
    "show": _show,
    "hide": _hide,
    "wake": _wake,
    "sign_in": _sign_in,
    "settings": _set_settings,
    "get_settings": _get_settings,
    "notebooks": _notebooks,
}
"""`notebooks` gives ids and titles of all notebooks, for the person who chooses among them. Whoever can connect here is
the same user, who can see them in the browser anyway; brokers never ask for it."""
