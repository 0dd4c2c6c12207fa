"""Run every benchmark, one after the other, and print the Markdown of ``docs/performance.md``'s tables."""

from __future__ import annotations

import platform
import subprocess
import sys

from bench import (
    brokers,
    cdp_clients,
    decode,
    frames,
    journal,
    list_sources,
    onboarding,
    relay_client,
    serve_start,
    upload,
    upload_latency,
    upload_memory,
)
from cdp.finder import find_browser


def main() -> None:
    """Print a heading and a table per benchmark."""
    browser = subprocess.run([str(find_browser().path), "--version"], capture_output=True, text=True, check=True)
    print(f"Python {platform.python_version()}, {browser.stdout.strip()}, {platform.system()} {platform.machine()}\n")
    sections = {
        "Start of `serve`": lambda: serve_start.table(serve_start.run()),
        "One `list_sources`, end to end": lambda: list_sources.table(list_sources.run()),
        "The broker's link beside a plain Trio client": lambda: relay_client.table(relay_client.run()),
        "Large answers through host and link": lambda: frames.table(frames.run()),
        "Decoding recorded bodies": lambda: decode.table(decode.run()),
        "Eight brokers on one companion": lambda: brokers.table(brokers.run()),
        "The journal, per write": lambda: journal.table(journal.run()),
        "An upload, end to end": lambda: upload.table(upload.run()),
        "Memory while 200 MB are uploaded": lambda: upload_memory.table(upload_memory.run()),
        "CDP clients": lambda: cdp_clients.table(cdp_clients.run()),
        "From launching a browser to the extension ready": lambda: onboarding.table(onboarding.run()),
        "`list_sources` while another broker uploads": lambda: upload_latency.table(upload_latency.run()),
    }
    wanted = sys.argv[1:]
    for title, make in sections.items():
        if not wanted or any(word in title for word in wanted):
            print(f"## {title}\n\n{make()}\n", flush=True)


if __name__ == "__main__":
    main()
