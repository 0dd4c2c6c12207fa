"""Proportional memory (PSS) of the processes of a chain, by name. Linux only: reads /proc."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

SAMPLE_S = 0.25


def chain_processes(broker_pid: int, browser_pid: int) -> dict[int, str]:
    """Return the broker and all that the browser's session holds, the native host among them: pid to name."""
    found = {broker_pid: "broker (`serve`)"}
    session = os.getsid(browser_pid)
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                pid = int(entry.name)
                if os.getsid(pid) == session:
                    found[pid] = _name_of((entry / "cmdline").read_bytes())
    return found


def _name_of(command_line: bytes) -> str:
    arguments = command_line.replace(b"\0", b" ").decode(errors="replace").split()
    if any("native_host" in argument for argument in arguments):
        return "native host"
    kind = next((a.partition("=")[2] for a in arguments if a.startswith("--type=")), "browser process")
    if kind == "renderer":
        return "extension's renderer" if "--extension-process" in arguments else "pages' renderers"
    service = next((a.partition("=")[2] for a in arguments if a.startswith("--utility-sub-type=")), "")
    return (
        "network service"
        if service.startswith("network")
        else "rest of the browser"
        if kind != "browser process"
        else kind
    )


def pss_mb(processes: dict[int, str]) -> dict[str, float]:
    """Return MB by name, those of one name added up; what has ended counts nothing."""
    total = dict.fromkeys(processes.values(), 0.0)
    for pid, name in processes.items():
        with suppress(OSError, StopIteration):
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
            total[name] += next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) * 1024 / 1e6
    return total
