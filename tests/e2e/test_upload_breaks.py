"""Uploads across breaks: whatever ends under them, one row with the right bytes, and never a second registration.

On a chain of this module's own, because what is killed here changes the companion's socket.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio

from cdp.connection import Connection
from harness import extension
from harness.chain import open_chain
from harness.control import Control
from harness.emulator import serve
from harness.emulator.hosts import DEFAULT_HOST, NOTEBOOK_HOSTS
from harness.home import temporary_home
from harness.mcp_client import McpClient
from harness.process import running_chain
from harness.tabs import close_tabs, reload_tab
from native_host.paths import HOME_VARIABLE, companion_sockets
from tests.e2e.test_lifecycle import kill_host
from tests.e2e.writing import Service, digest, done, file_source, make_file, open_session, refused, settle

pytestmark = pytest.mark.browser

ADA = "ada@example.com"
GRACE = "grace@example.com"
FILE_BYTES = 1_800_000
"""Enough for a third part that is not the last."""
HELD_MS = 60_000
"""How long the service holds a part: until the break."""


@pytest.fixture(scope="module")
def gateway_chain() -> Generator[dict[str, Any]]:
    """A chain for this module, in place of the session's."""
    with running_chain() as chain:
        yield chain


@pytest.fixture
def home(chain: dict[str, Any]) -> Path:
    return Path(chain["env"][HOME_VARIABLE])


Break = Callable[[Connection, Path], Awaitable[None]]


async def _reload_tab(browser: Connection, home: Path) -> None:
    await reload_tab(browser)


async def _close_tab(browser: Connection, home: Path) -> None:
    await close_tabs(browser)


async def _stop_worker(browser: Connection, home: Path) -> None:
    await extension.stop_worker(browser)


async def _kill_host(browser: Connection, home: Path) -> None:
    await kill_host(companion_sockets(home)[0])


async def _reload_extension(browser: Connection, home: Path) -> None:
    await extension.reload_extension(browser)


BREAKS: dict[str, tuple[Break, int]] = {
    "tab reloaded": (_reload_tab, 1),
    "tab closed": (_close_tab, 1),
    "worker stopped": (_stop_worker, 1),
    "host killed": (_kill_host, 1),
    "extension reloaded": (_reload_extension, 2),
}
"""What breaks → how many sessions the upload takes: an extension that was reloaded has forgotten the first."""


def assert_one_row_with(service: Service, path: Path, *, starts: int) -> None:
    """The service has one row, registered once, and one session of it was finalised, with the file's bytes."""
    (source,) = service.sources()
    uploads = service.control.uploads()
    assert [upload["sha256"] for upload in uploads if upload["status"] == "final"] == [digest(path)]
    assert {upload["source"] for upload in uploads} == {source["id"]}
    assert (service.writes().count("o4cbdc"), service.writes().count("upload.start")) == (1, starts)


@pytest.mark.parametrize("name", BREAKS)
async def test_an_upload_goes_on_after_a_break_from_where_the_service_is(
    agent: McpClient, service: Service, project: Path, browser: Connection, home: Path, name: str
) -> None:
    break_it, starts = BREAKS[name]
    path = make_file(project, f"{name}.pdf", FILE_BYTES)
    service.fault("upload.slice", "delay", delay_ms=HELD_MS, skip=2)
    results: list[dict[str, Any]] = []

    async def upload() -> None:
        results.append(await done(agent, "add_source", file_source(path)))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(upload)
        await service.wait_for("upload.slice", 3)
        await break_it(browser, home)
    assert [source["id"] for source in service.sources()] == [results[0]["source_id"]]
    assert_one_row_with(service, path, starts=starts)
    if starts == 1:  # what had arrived was not sent again
        offsets = [part["params"]["offset"] for part in service.requests("upload.slice", "upload.finalize")]
        assert offsets.count(0) == 1


async def test_a_page_of_another_account_gets_no_part_and_the_repeat_goes_on_once_the_first_is_back(
    agent: McpClient, service: Service, project: Path, browser: Connection
) -> None:
    path = make_file(project, "another account.pdf", FILE_BYTES)
    service.fault("upload.slice", "delay", delay_ms=HELD_MS, skip=2)
    arguments = file_source(path)
    errors: list[dict[str, Any]] = []

    async def upload() -> None:
        errors.append(await refused(agent, "add_source", arguments))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(upload)
        await service.wait_for("upload.slice", 3)
        service.control.change_state({"signed_in": [GRACE]})
        await reload_tab(browser)
    assert (errors[0]["code"], errors[0]["details"]["cause"]) == ("MUTATION_UNKNOWN", "ACCOUNT_MISMATCH")
    assert GRACE not in str(errors[0])
    assert {request["rpc"] for request in service.control.requests() if request["account"] == GRACE} <= {"page"}
    service.control.change_state({"signed_in": [ADA, GRACE]})
    await reload_tab(browser)
    result = await done(agent, "add_source", arguments)
    assert result["source_id"] == errors[0]["details"]["source_id"]
    assert_one_row_with(service, path, starts=1)


async def test_an_upload_goes_on_when_the_page_moves_to_another_host_of_the_service(
    agent: McpClient, service: Service, project: Path, browser: Connection
) -> None:
    path = make_file(project, "moved.pdf", FILE_BYTES)
    service.fault("upload.slice", "delay", delay_ms=HELD_MS, skip=2)
    landed = next(host for host in NOTEBOOK_HOSTS if host != DEFAULT_HOST)
    redirects = {host: landed for host in NOTEBOOK_HOSTS if host != landed}
    async with trio.open_nursery() as nursery:
        nursery.start_soon(done, agent, "add_source", file_source(path))
        await service.wait_for("upload.slice", 3)
        service.control.change_state({"host_redirects": {ADA: redirects}})
        await reload_tab(browser)
    assert_one_row_with(service, path, starts=1)
    assert {request["host"] for request in service.requests("upload.query", "upload.finalize")} == {landed}
    service.control.change_state({"host_redirects": {ADA: {landed: DEFAULT_HOST}}})
    await reload_tab(browser)


@pytest.mark.parametrize("name", ["tab reloaded", "worker stopped", "extension reloaded"])
async def test_a_break_under_the_finalisation_ends_in_one_file_or_in_an_honest_unknown(
    agent: McpClient, service: Service, project: Path, browser: Connection, home: Path, name: str
) -> None:
    break_it, _ = BREAKS[name]
    path = make_file(project, f"{name} at the end.pdf", FILE_BYTES // 4)
    service.fault("upload.finalize", "delay", delay_ms=1_500)
    arguments = file_source(path)
    envelopes: list[dict[str, Any]] = []

    async def upload() -> None:
        envelopes.append(await settle(agent, "add_source", arguments))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(upload)
        await service.wait_for("upload.finalize")
        await break_it(browser, home)
    (source,) = service.sources()
    if envelopes[0]["ok"]:
        assert_one_row_with(service, path, starts=1)
    else:
        error = envelopes[0]["error"]
        assert (error["code"], error["details"]["source_id"]) == ("MUTATION_UNKNOWN", source["id"])
        assert service.writes().count("upload.start") == 1
    assert service.writes().count("o4cbdc") == 1


@pytest.mark.parametrize("at", ["upload.start", "upload.slice"])
async def test_a_broker_killed_under_an_upload_is_followed_by_one_that_goes_on(
    agent: McpClient, service: Service, project: Path, chain: dict[str, Any], at: str
) -> None:
    path = make_file(project, f"broker killed at {at}.pdf", FILE_BYTES // 2)
    arguments = file_source(path)
    service.fault(at, "delay", delay_ms=1_000)
    async with open_session(chain["env"], cwd=project) as doomed, trio.open_nursery() as nursery:
        nursery.start_soon(doomed.call_tool, "add_source", arguments)
        await service.wait_for(at)
        doomed.process.kill()
        nursery.cancel_scope.cancel()
    result = await done(agent, "add_source", arguments)
    assert [source["id"] for source in service.sources()] == [result["source_id"]]
    # A start whose answer nobody took leaves a session without a byte.
    assert_one_row_with(service, path, starts=2 if at == "upload.start" else 1)


async def test_an_upload_begins_anew_for_the_same_row_after_the_browser_was_restarted(
    project: Path,
) -> None:
    path = make_file(project, "browser restarted.pdf", FILE_BYTES)
    results: list[dict[str, Any]] = []
    with temporary_home() as home:
        folder = home / "emulator"
        folder.mkdir(mode=0o700)
        async with serve(folder=folder) as emulator:
            service = Service(Control(emulator.control_url, emulator.control_token))
            fault = partial(service.fault, "upload.slice", "delay", delay_ms=HELD_MS, skip=2)
            await trio.to_thread.run_sync(fault)
            async with trio.open_nursery() as nursery:
                async with open_chain(home=home, emulator=emulator) as first:
                    agent = await nursery.start(_keep_session, first.env, project)

                    async def upload() -> None:
                        results.append(await done(agent, "add_source", file_source(path)))
                        nursery.cancel_scope.cancel()

                    nursery.start_soon(upload)
                    await service.wait_for("upload.slice", 3)
                async with open_chain(home=home, emulator=emulator):
                    while not results:
                        await agent.request("ping", {})
            await trio.to_thread.run_sync(partial(assert_one_row_with, service, path, starts=2))


async def _keep_session(env: dict[str, str], cwd: Path, task_status: trio.TaskStatus[McpClient]) -> None:
    async with open_session(env, cwd=cwd) as client:
        task_status.started(client)
        await trio.sleep_forever()
