"""What lies outside the service: web pages and Drive files. No network: contents are made up, or set by a test."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

from harness.emulator.model import DriveFile, WebPage
from harness.emulator.state import ServiceState

_PARAGRAPHS: Final = 24


def page_at(state: ServiceState, url: str, otherwise: WebPage | None = None) -> WebPage:
    """Return what an address leads to: what a test put there, else a page long enough to be a real one."""
    return state.web_pages.get(url) or otherwise or _made_up_page(url)


def _made_up_page(url: str) -> WebPage:
    parts = urlsplit(url)
    place = parts.hostname or "nowhere"
    lines = [f"# What {place} says", "", "Skip to content", ""]
    for number in range(1, _PARAGRAPHS + 1):
        lines.append(
            f"Paragraph {number} of {parts.path or '/'} at {place} tells of tides, lamps and the people there."
        )
    return WebPage(f"{parts.path.strip('/') or 'Home'} - {place}", "\n".join(lines))


def drive_file_at(state: ServiceState, file_id: str, mime_type: str) -> DriveFile:
    """Return a Drive file: the one that a test put there, else one of the asked type with a name of its own."""
    text = f"The document {file_id} is about rubies, resin and rope."
    return state.drive_files.get(file_id) or DriveFile(file_id, mime_type, f"Drive file {file_id[:6]}", text)
