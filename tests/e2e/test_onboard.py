"""`onboard` from an empty home directory, the person played at the emulator's sign-in page, then `uninstall`.

Nothing is set up directly: the cookies come from the sign-in page that was typed into and clicked.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio

from harness.bare import Bare, open_bare
from harness.mcp_client import open_client
from harness.person import sign_in_always, sign_in_and_consent, sign_in_once
from tests.e2e.everyday_browser import an_everyday_browser, follow_the_daily_guide, is_ours, sign_in_in_tab

pytestmark = pytest.mark.browser

COMMAND = (sys.executable, "-P", "-m", "notebook_gateway")
RUN_TIMEOUT_S = 150
SCRIPTED = ("onboard", "--json", "--non-interactive", "--allow-all", "--client", "claude-code")
STEPS = ["browser", "host", "sign-in", "start", "extension", "page", "account", "port", "notebooks", "client", "proof"]


@asynccontextmanager
async def a_person() -> AsyncGenerator[Bare]:
    """Run the emulator and an empty home directory; whatever was started in it is uninstalled at the end."""
    async with open_bare() as bare:
        try:
            yield bare
        finally:
            with trio.CancelScope(shield=True):
                await run(bare, "uninstall", "--yes")


async def run(bare: Bare, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    with trio.fail_after(RUN_TIMEOUT_S):
        return await trio.run_process(
            [*COMMAND, *arguments],
            env={**os.environ, **bare.env},
            cwd="/",
            check=False,
            capture_stdout=True,
            capture_stderr=True,
        )


async def onboard(bare: Bare, *more: str, account: str = "ada@example.com") -> tuple[int, list[dict[str, object]]]:
    """Run `onboard` as a script does, and return its exit code and its lines."""
    result = await run(bare, *SCRIPTED, "--account", account, *more)
    lines = [json.loads(line) for line in result.stdout.decode().splitlines()]
    assert lines, result.stderr.decode()
    return result.returncode, lines


async def onboard_with_person(bare: Bare, *more: str, signs_in_as: str = "ada@example.com") -> list[dict[str, object]]:
    """Run `onboard` and play the person; return its lines."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(sign_in_once, bare.home, signs_in_as)
        _, lines = await onboard(bare, *more)
        nursery.cancel_scope.cancel()
    return lines


def ends(lines: list[dict[str, object]]) -> dict[str, str]:
    """Return how each step ended."""
    return {str(line["step"]): str(line["status"]) for line in lines if line["event"] == "step"}


def failure(lines: list[dict[str, object]]) -> tuple[object, object]:
    return lines[-1].get("code"), lines[-1].get("fix")


def tree(folder: Path, counts: Callable[[Path, Path], bool] = lambda path, folder: True) -> dict[str, tuple[int, str]]:
    """Return mode and digest of everything under `folder` that `counts`; what does not is not even looked at."""
    return {
        str(path.relative_to(folder)): (
            stat.S_IMODE(path.lstat().st_mode),
            hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "",
        )
        for path in (Path(parent, name) for parent, folders, files in os.walk(folder) for name in (*folders, *files))
        if counts(path, folder)
    }


async def test_one_command_leads_from_an_empty_home_to_an_answer_and_uninstall_leaves_it_as_it_was() -> None:
    async with a_person() as bare:
        (bare.person_home / ".claude.json").write_text('{\n  // mine\n  "theme": "dark"\n}\n')
        before = tree(bare.person_home)

        lines = await onboard_with_person(bare)
        assert lines[-1] == {"event": "end", "ok": True}
        assert ends(lines) == dict.fromkeys(STEPS, "done")

        entry = json.loads((bare.person_home / ".claude.json").read_text().replace("// mine", ""))
        server = entry["mcpServers"]["notebook-gateway"]
        async with open_client([server["command"], *server["args"]], env={**bare.env, **server["env"]}) as client:
            await client.initialize()
            listed = await client.call_tool("list_notebooks", {})
            chosen = listed["structuredContent"]["result"]["notebooks"][0]["id"]
            await client.call_tool("select_notebook", {"notebook_id": chosen})
            asked = await client.call_tool(
                "query_notebook",
                {"question": "In one sentence: what are these sources about?", "request_key": "onboarded-1"},
            )
            assert asked["structuredContent"]["ok"], asked

        code, again = await onboard(bare, "--no-proof")
        assert code == 0
        assert [line["step"] for line in again if line.get("changed")] == []

        assert (await run(bare, "uninstall", "--yes")).returncode == 0
        assert tree(bare.person_home) == before


async def test_a_person_who_never_signs_in_is_waited_for_until_the_deadline() -> None:
    async with a_person() as bare:
        code, lines = await onboard(bare, "--sign-in-timeout", "3")
        assert code == 1
        assert failure(lines) == ("sign-in.timeout", "Run the command again and sign in.")
        # Nothing is left running that would be in the way of the next try.
        assert (await onboard_with_person(bare, "--no-proof"))[-1]["ok"] is True


async def test_c051_another_account_than_the_configured_one_is_named_and_nothing_is_read() -> None:
    async with a_person() as bare:
        lines = await onboard_with_person(bare, signs_in_as="grace@example.com")
        assert failure(lines)[0] == "account.mismatch"
        assert "grace@example.com" not in str(lines[-1]["message"])


async def test_without_an_answer_to_a_question_a_script_is_told_the_option() -> None:
    async with a_person() as bare:
        result = await run(bare, "onboard", "--json", "--non-interactive")
        last = json.loads(result.stdout.decode().splitlines()[-1])
        assert result.returncode == 1
        assert (last["code"], last["fix"]) == ("config.no-account", "Say which: --account you@example.com")


@pytest.mark.parametrize(("gate", "code"), [("region", "sign-in.region"), ("wall", "sign-in.wall")])
async def test_a_page_that_no_signing_in_gets_past_ends_the_wait_and_is_named(gate: str, code: str) -> None:
    async with a_person() as bare:
        bare.emulator.state.options.gate = gate
        lines = await onboard_with_person(bare)
        assert failure(lines)[0] == code
        bare.emulator.state.options.gate = "open"
        assert (await onboard_with_person(bare, "--no-proof"))[-1]["ok"] is True


async def test_a_page_that_asks_for_consent_is_the_persons_to_answer_in_the_same_window() -> None:
    async with a_person() as bare:
        bare.emulator.state.options.gate = "consent"
        async with trio.open_nursery() as nursery:
            nursery.start_soon(sign_in_and_consent, bare.home, "ada@example.com")
            _, lines = await onboard(bare, "--no-proof")
            nursery.cancel_scope.cancel()
        assert lines[-1] == {"event": "end", "ok": True}
        assert [session.has_consented for session in bare.emulator.state.sessions.values()] == [True]


async def test_c051_the_right_account_is_signed_in_beside_the_wrong_one_on_the_next_run() -> None:
    async with a_person() as bare:
        assert failure(await onboard_with_person(bare, signs_in_as="grace@example.com"))[0] == "account.mismatch"
        assert (await onboard_with_person(bare, "--no-proof"))[-1] == {"event": "end", "ok": True}


async def test_a_browser_on_another_machine_is_refused_because_of_its_native_host() -> None:
    async with a_person() as bare:
        code, lines = await onboard(bare, "--cdp-url", "ws://198.51.100.7:9222/devtools/browser/1")
        assert code == 1
        assert failure(lines) == (
            "browser.remote",
            "Run notebook-gateway onboard on that machine, beside the browser.",
        )


async def test_a_running_browser_is_attached_to_and_left_running() -> None:
    async with a_person() as bare, an_everyday_browser(bare) as everyday:
        before = tree(bare.person_home, is_ours)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(sign_in_in_tab, everyday, "ada@example.com")
            _, lines = await onboard(bare, "--cdp-url", f"http://127.0.0.1:{everyday.port}")
            nursery.cancel_scope.cancel()
        assert lines[-1] == {"event": "end", "ok": True}
        assert (await run(bare, "uninstall", "--yes")).returncode == 0
        assert not everyday.launched.has_exited
        assert tree(bare.person_home, is_ours) == before


async def test_the_everyday_browser_is_set_up_by_the_person_who_is_told_each_step() -> None:
    async with a_person() as bare, an_everyday_browser(bare) as everyday:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(follow_the_daily_guide, everyday, "ada@example.com")
            _, lines = await onboard(bare, "--daily")
            nursery.cancel_scope.cancel()
        assert lines[-1] == {"event": "end", "ok": True}
        told = [str(line["message"]) for line in lines if line.get("status") == "waiting"]
        assert ["chrome://extensions" in told[0], "ada@example.com" in told[1]] == [True, True]
        code, again = await onboard(bare, "--daily", "--no-proof")
        assert (code, [line["step"] for line in again if line.get("changed")]) == (0, [])


async def test_after_the_browser_was_killed_at_any_step_the_next_run_goes_on() -> None:
    """One home, and a kill at each step in turn, so that every run also starts from what the former left."""
    async with a_person() as bare:
        before = tree(bare.person_home)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(sign_in_always, bare.home, "ada@example.com")
            for step in STEPS:
                await kill_browser_at(bare, step)
            _, lines = await onboard(bare)
            nursery.cancel_scope.cancel()
        assert lines[-1] == {"event": "end", "ok": True}
        assert (await run(bare, "uninstall", "--yes")).returncode == 0
        assert tree(bare.person_home) == before


async def kill_browser_at(bare: Bare, step: str) -> None:
    """Start `onboard`, kill every process on our profile when `step` starts, and wait for its end, however it is."""
    process = await trio.lowlevel.open_process(
        [*COMMAND, *SCRIPTED, "--account", "ada@example.com"],
        env={**os.environ, **bare.env},
        cwd="/",
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    mark = f'"step": "{step}", "status": "started"'.encode()
    seen, killed = b"", False
    with trio.fail_after(RUN_TIMEOUT_S):
        async for data in process.stdout:
            seen += data
            if mark in seen and not killed:
                killed = True
                kill_profile(bare.home / "profile")
        await process.wait()
    assert killed


def kill_profile(profile: Path) -> None:
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if f"--user-data-dir={profile}".encode() in (folder / "cmdline").read_bytes():
                os.kill(int(folder.name), 9)
        except OSError:
            continue  # it has ended by itself
