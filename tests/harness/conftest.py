"""Fixtures for tests that talk to the emulator without a browser."""

from collections.abc import AsyncIterator

import pytest

from harness.emulator import Emulator, serve
from tests.harness.client import Browser, Control, Page


@pytest.fixture
async def emulator() -> AsyncIterator[Emulator]:
    async with serve() as running:
        running.service.state.options.chunk_delay_ms = 0
        yield running


@pytest.fixture
def browser(emulator: Emulator) -> Browser:
    """A browser in which Ada (0) and Grace (1) are signed in."""
    return Browser.signed_in(emulator)


@pytest.fixture
async def page(browser: Browser) -> Page:
    """Ada's app page."""
    return await browser.open()


@pytest.fixture
def control(emulator: Emulator) -> Control:
    return Control(emulator)
