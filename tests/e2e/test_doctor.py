"""`doctor` on a chain that `onboard` made, in real Chromium: whole, broken in several places, signed out."""

from __future__ import annotations

import json
import socket
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest

from harness.bare import Bare
from native_host.paths import companion_socket, launcher_file
from onboarding.doctor.findings import Hop
from tests.e2e.test_onboard import a_person, onboard_with_person, run, tree

pytestmark = pytest.mark.browser

HARNESS_ONLY = "config.environment"
"""The harness tells by a variable how its browser is started, and doctor says so."""


async def doctor(bare: Bare, *more: str) -> tuple[int, dict[str, Any]]:
    ended: subprocess.CompletedProcess[bytes] = await run(bare, "doctor", "--json", *more)
    assert ended.stdout, ended.stderr.decode()
    return ended.returncode, json.loads(ended.stdout)


def ids(report: dict[str, Any]) -> list[str]:
    return [each["id"] for hop in report["hops"] for each in hop["findings"] if each["id"] != HARNESS_ONLY]


async def test_a_chain_is_walked_mended_and_reported_without_anything_private(tmp_path: Path) -> None:
    async with a_person() as bare:
        await onboard_with_person(bare, "--no-proof")

        code, report = await doctor(bare, "--bundle", str(tmp_path / "b.zip"))
        assert (code, report["ok"], ids(report)) == (0, True, [])
        assert [hop["hop"] for hop in report["hops"]] == list(Hop)
        assert {hop["verdict"] for hop in report["hops"]} == {"fine", "note"}

        with zipfile.ZipFile(tmp_path / "b.zip") as archive:
            told = b"".join(archive.read(name) for name in archive.namelist()).decode()
        assert "broker build" in told  # the host's log: what is private was not kept out by keeping everything out
        state = bare.emulator.state
        assert state.sessions
        for private in (
            *state.sessions,
            *(account.email for account in state.accounts),
            *(notebook.id for notebook in state.notebooks),
            *(notebook.title for notebook in state.notebooks if len(notebook.title) > 3),
            str(bare.person_home),
        ):
            assert private not in told

        assert (await run(bare, "browser", "stop")).returncode == 0
        launcher_file(bare.home).unlink()
        client = bare.person_home / ".claude.json"
        client.write_text(client.read_text().replace("/python", "/nowhere/python"))
        with socket.socket(socket.AF_UNIX) as left:
            left.bind(str(companion_socket(bare.home, 2**22 + 1)))
        code, report = await doctor(bare, "--fix")
        # The managed browser registers its host anew at each start, and a host that starts clears dead sockets away.
        assert report["mended"] == ["client.no-interpreter"]
        assert (code, ids(report)) == (0, [])

        state.sign_all_sessions_in([])
        code, report = await doctor(bare)
        assert (code, ids(report)) == (1, ["page.sign-in"])
        (behind,) = (hop for hop in report["hops"] if hop["hop"] == Hop.SHAPES)
        assert behind["verdict"] == "not_reached"


async def test_on_a_machine_that_was_never_set_up_it_says_so_and_writes_its_log_only() -> None:
    async with a_person() as bare:
        before = tree(bare.person_home)
        code, report = await doctor(bare, "--fix")
        assert (code, ids(report)) == (1, ["config.missing", "client.none", "socket.none"])
        assert report["mended"] == []
        log = Path(".notebook-gateway", "logs", "broker.log")  # of the server that was started to be asked its version
        assert set(tree(bare.person_home)) - set(before) == {str(log), *map(str, log.parents)} - {"."}
