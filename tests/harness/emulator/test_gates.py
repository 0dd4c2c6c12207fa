"""The pages between a person and the app, over TLS as a browser sees them."""

from __future__ import annotations

from urllib.parse import urlencode

from harness.emulator import PASSWORD, SIGN_IN_HOST, Emulator
from tests.harness.client import Browser
from tests.harness.emulator.test_sign_in_site import sign_in

APP = "https://notebook.google.com/?authuser=ada%40example.com"


async def test_an_account_in_the_wrong_region_is_led_to_the_page_that_says_so(emulator: Emulator) -> None:
    browser = Browser.signed_in(emulator, (0,))
    emulator.service.state.options.gate = "region"
    reply = await browser.request("GET", APP)
    assert (reply.status, reply.header("location")) == (302, "https://notebooklm.google/?location=unsupported")
    assert "not available" in (await browser.request("GET", str(reply.header("location")))).text


async def test_a_consent_is_asked_for_once_and_leads_back_to_the_very_page(emulator: Emulator) -> None:
    browser = Browser.signed_in(emulator, (0,))
    emulator.service.state.options.gate = "consent"
    reply = await browser.request("GET", APP)
    page = await browser.request("GET", str(reply.header("location")))
    assert "Accept" in page.text
    headers = {"content-type": "application/x-www-form-urlencoded"}
    saved = await browser.request(
        "POST", "https://consent.google.com/save", headers=headers, body=urlencode({"continue": APP}).encode()
    )
    assert (saved.status, saved.header("location")) == (303, APP)
    assert (await browser.request("GET", APP)).status == 200


async def test_behind_the_wall_the_right_password_signs_nobody_in(emulator: Emulator) -> None:
    browser = Browser(emulator)
    emulator.service.state.options.gate = "wall"
    reply = await sign_in(browser, "ada@example.com", PASSWORD, APP)
    assert (reply.status, reply.header("location")) == (303, f"https://{SIGN_IN_HOST}/v3/signin/rejected")
    assert browser.cookies == {}
    assert "may not be secure" in (await browser.request("GET", str(reply.header("location")))).text
