"""The keeper with a real browser, against the emulated service: lazy start, crash, stopped worker, no process left."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import attrs
import pytest
import trio

from cdp.polling import until
from harness.bare import Bare, open_bare
from harness.mcp_client import SERVE_COMMAND, open_client
from harness.person import sign_in_once
from native_host.paths import HOME_VARIABLE, config_file, keeper_socket
from native_host.resource_profile import limits_of
from onboarding.keeper_client import KeeperClient, KeeperStatus, NoKeeper
from onboarding.keeper_states import KeeperState
from tests.e2e.tool_calls import call, succeed

pytestmark = pytest.mark.browser

CYCLES = int(os.environ.get("NOTEBOOK_GATEWAY_KEEPER_CYCLES", "2"))
"""`make keeper-cycles` runs fifty."""
WITHIN_S = 90


@attrs.frozen
class Kept:
    """A configured home folder whose browser can be started."""

    bare: Bare
    client: KeeperClient

    async def command(self, *words: str, check: bool = True) -> str:
        command = [sys.executable, "-P", "-m", "notebook_gateway", *words]
        ended = await trio.run_process(
            command, env={**os.environ, **self.bare.env}, capture_stdout=True, check=check, stdin=subprocess.DEVNULL
        )
        return ended.stdout.decode()

    async def start(self) -> KeeperStatus:
        await self.command("browser", "start", "--headless", "--json")
        return await self.client.status()

    def left_over(self) -> list[str]:
        """Every living process that belongs to this home folder, by what its environment says."""
        wanted = os.fsencode(f"{HOME_VARIABLE}={self.bare.home}")
        found: list[str] = []
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit() or int(entry.name) == os.getpid():
                continue
            try:
                if wanted in (entry / "environ").read_bytes().split(b"\0"):
                    found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace"))
            except OSError:
                continue  # ended while we looked
        return found


@asynccontextmanager
async def open_kept(within_s: float = WITHIN_S, settings: str = "") -> AsyncGenerator[Kept, None]:
    async with open_bare() as bare:
        bare.home.mkdir(mode=0o700)
        account = bare.emulator.default_account
        config_file(bare.home).write_text(
            f'account = "{account}"\nbrowser = "managed"\nbrowser_headless = true\n{settings}'
        )
        kept = Kept(bare, KeeperClient(bare.home))
        try:
            with trio.fail_after(within_s):
                yield kept
        except BaseException:
            print((bare.home / "logs" / "keeper.log").read_text())  # shown by pytest beside the failure
            raise
        finally:
            with trio.move_on_after(20, shield=True):
                with suppress(NoKeeper):
                    await kept.client.stop()


async def until_gone(kept: Kept) -> None:
    async def is_gone() -> bool:
        await trio.lowlevel.checkpoint()
        return not kept.left_over()

    with trio.fail_after(15):
        await until(is_gone)


async def test_start_and_stop_again_and_again_leave_no_process_and_no_zombie() -> None:
    async with open_kept(within_s=60 * CYCLES) as kept:
        children = _zombies_of_ours()
        for _ in range(CYCLES):
            with trio.fail_after(60):
                status = await kept.start()
                assert status.state is KeeperState.UP
                assert json.loads(await kept.command("browser", "start", "--json"))["pid"] == status.pid, "one keeper"
                await kept.command("browser", "stop")
                await until_gone(kept)
        assert not keeper_socket(kept.bare.home).exists()
        assert _zombies_of_ours() == children


async def test_a_browser_that_was_killed_is_back() -> None:
    async with open_kept() as kept:
        first = await kept.start()
        assert first.browser_pid is not None
        os.kill(first.browser_pid, signal.SIGKILL)

        async def is_back() -> bool:
            status = await kept.client.status()
            return status.state is KeeperState.UP and status.browser_pid not in (None, first.browser_pid)

        with trio.fail_after(30):
            await until(is_back)
        assert (await kept.client.status()).restarts == 1


async def test_a_worker_whose_process_was_killed_is_awake_again_with_no_call_from_anybody() -> None:
    async with open_kept() as kept:
        status = await kept.start()
        (pid,) = _extension_processes(status.browser_pid)
        os.kill(pid, signal.SIGKILL)

        async def is_awake() -> bool:
            await trio.lowlevel.checkpoint()
            return _extension_processes(status.browser_pid) not in ([], [pid])

        with trio.fail_after(20):
            await until(is_awake)
            assert (await kept.client.status()).worker_running
        assert (await kept.client.status()).browser_pid == status.browser_pid


async def test_a_keeper_that_was_killed_takes_its_browser_along_and_the_next_one_starts() -> None:
    async with open_kept() as kept:
        status = await kept.start()
        os.kill(status.pid, signal.SIGKILL)
        await until_gone(kept)
        again = await kept.start()
        assert again.pid != status.pid


async def test_the_resource_profile_holds_for_keeper_browser_and_broker() -> None:
    """ADR-008: what /proc says of each, the extension's renderer included.

    Chromium gives its threads priorities of its own where it may, which only root may, as these tests often are.
    """
    cpu = str(min(os.sched_getaffinity(0)))
    table = f'[resources]\ncpus = "{cpu}"\nmemory_mb = 4096\nnice = 3\n'
    expected = {"cpus": cpu, "memory_mb": 4096, "nice": 3}
    async with open_kept(settings=table) as kept:
        status = await kept.start()
        assert status.browser_pid is not None
        async with open_client(SERVE_COMMAND, env={**os.environ, **kept.bare.env}) as client:
            await client.initialize()
            assert [limits_of(status.pid), limits_of(client.process.pid)] == [expected, expected]
        of_chrome = [limits_of(pid) for pid in (status.browser_pid, *_extension_processes(status.browser_pid))]
        assert len(of_chrome) > 1
        for limits in of_chrome:
            assert limits is not None
            assert (limits["cpus"], limits["memory_mb"]) == (cpu, 4096)
        shown = json.loads(await kept.command("status", "--json", check=False))["resources"]
        assert shown["profile"] == expected
        assert shown["processes"]["keeper"] == expected
        assert shown["processes"]["browser"]["cpus"] == cpu


async def test_a_sigterm_ends_keeper_and_browser() -> None:
    async with open_kept() as kept:
        os.kill((await kept.start()).pid, signal.SIGTERM)
        await until_gone(kept)


async def test_the_first_call_that_needs_a_browser_starts_it_and_it_outlives_the_session() -> None:
    """Never before that call: the handshake and `tools/list` start nothing."""
    async with open_kept() as kept:
        account = kept.bare.emulator.default_account
        await kept.start()
        await kept.command("browser", "stop")
        await until_gone(kept)
        env = {**os.environ, **kept.bare.env}
        async with open_client(SERVE_COMMAND, env=env) as client:
            await client.initialize()
            await client.request("tools/list", {})
            with pytest.raises(NoKeeper):
                await kept.client.status()
            answer = await call(client, "list_notebooks", {})
            assert answer["error"]["code"] in ("COMPANION_OFFLINE", "AUTH_REQUIRED"), "nobody has signed in yet"
            assert (await kept.client.status()).browser_pid is not None
        await kept.client.set_settings(account, "*")
        async with trio.open_nursery() as nursery:
            nursery.start_soon(sign_in_once, kept.bare.home, account)
            await kept.command("browser", "sign-in")
        with trio.fail_after(40):

            async def is_signed_in() -> bool:
                status = await kept.client.status()
                return status.state is KeeperState.UP and status.page == "app"

            await until(is_signed_in)
        await kept.command("allow", "add", "--all")
        async with open_client(SERVE_COMMAND, env=env) as client:
            await client.initialize()
            assert len((await succeed(client, "list_notebooks", {}))["notebooks"]) > 1
        assert (await kept.client.status()).state is KeeperState.UP


def _extension_processes(browser_pid: int | None) -> list[int]:
    """Return the renderers of extensions that live in the browser's session."""
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                if (
                    b"--extension-process" in (entry / "cmdline").read_bytes()
                    and os.getsid(int(entry.name)) == browser_pid
                ):
                    found.append(int(entry.name))
    return found


def _zombies_of_ours() -> int:
    """Count our own children that have ended and were not reaped."""
    count = 0
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            count += fields[0] == "Z" and int(fields[1]) == os.getpid()
    return count
