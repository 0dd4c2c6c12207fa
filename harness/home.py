"""The private home folder of one chain: made before it, removed after it, with the files that onboarding writes."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from native_host import paths

_PREFIX: Final = "notebook-gateway-harness-"


@contextmanager
def temporary_home() -> Generator[Path]:
    """Make an empty home folder (0700), and remove it with everything in it."""
    # The native host computes its socket's place from the resolved path; on macOS the temporary folder is a link.
    home = Path(tempfile.mkdtemp(prefix=_PREFIX)).resolve()
    try:
        paths.ensure_private_folder(paths.run_folder(home))
        yield home
    finally:
        shutil.rmtree(home, ignore_errors=True)
        shutil.rmtree(paths.fallback_run_folder(home), ignore_errors=True)


def write_configuration(home: Path, account: str, notebooks: Sequence[str] | str) -> None:
    """Write config.toml and allowlist.json. `notebooks` is a list of ids, or "*" for all.

    The emulated account needs no protection from many requests, and tests and benchmarks make them.
    """
    settings = f"account = {json.dumps(account)}\nrequests_per_minute = 0\n"
    paths.config_file(home).write_text(settings, encoding="utf-8")
    allowed = notebooks if isinstance(notebooks, str) else list(notebooks)
    allowlist = {"version": 1, "accounts": {account: {"notebooks": allowed}}}
    paths.allowlist_file(home).write_text(json.dumps(allowlist, indent=2) + "\n", encoding="utf-8")


def write_browser_file(home: Path, pid: int, cdp_url: str) -> None:
    """Say who owns the browser, so that `notebook-gateway allow` can set the extension's own allowlist too."""
    path = paths.browser_file(home)
    path.touch(mode=0o600)
    path.write_text(json.dumps({"pid": pid, "cdp_url": cdp_url}) + "\n", encoding="utf-8")


def forget_back_offs(env: Mapping[str, str]) -> None:
    """Let brokers of the chain whose `env` this is ask the service again at once, whatever it answered before."""
    for path in paths.requests_files(paths.home_folder(env)):
        path.unlink(missing_ok=True)
