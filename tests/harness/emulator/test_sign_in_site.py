"""The sign-in host: a page with tokens that are not ours, the form, the cookie, and where it leads afterwards."""

from urllib.parse import urlencode

import pytest

from harness.emulator import PASSWORD, SIGN_IN_HOST, Emulator
from harness.emulator.sign_in_site import safe_continue
from tests.harness.client import Browser, Reply, page_data

FORM_URL = f"https://{SIGN_IN_HOST}/v3/signin/challenge"


async def sign_in(browser: Browser, email: str, password: str, target: str) -> Reply:
    body = urlencode({"email": email, "password": password, "continue": target}).encode()
    headers = {"content-type": "application/x-www-form-urlencoded"}
    return await browser.request("POST", FORM_URL, headers=headers, body=body)


async def test_c050_the_sign_in_page_has_tokens_and_a_prefix_of_its_own(emulator: Emulator) -> None:
    visitor = Browser(emulator)
    start = await visitor.request(
        "GET", f"https://{SIGN_IN_HOST}/ServiceLogin?continue=https%3A%2F%2Fnotebook.google.com%2F"
    )
    assert start.status == 302
    reply = await visitor.request("GET", str(start.header("location")))
    data = page_data(reply)
    assert data["Im6cmf"] == "/_/SignInUi"
    assert {"SNlM0e", "FdrFJe"} <= set(data)
    assert "oPEP7c" not in data
    assert 'name="password"' in reply.text


async def test_signing_in_sets_a_protected_cookie_and_leads_back(emulator: Emulator) -> None:
    visitor = Browser(emulator)
    target = "https://notebooklm.google.com/?authuser=0"
    reply = await sign_in(visitor, "grace@example.com", PASSWORD, target)
    cookie = str(reply.header("set-cookie")).lower()
    assert (reply.status, reply.header("location")) == (303, target)
    assert all(part in cookie for part in ("domain=.google.com", "secure", "httponly", "samesite=none"))
    assert (await visitor.open()).data["oPEP7c"] == "grace@example.com"
    await sign_in(visitor, "ada@example.com", PASSWORD, target)
    assert (await visitor.open("?authuser=1")).data["oPEP7c"] == "ada@example.com"


async def test_a_wrong_password_or_account_signs_nobody_in(emulator: Emulator) -> None:
    visitor = Browser(emulator)
    for email, password in (("ada@example.com", "guess"), ("nobody@example.com", PASSWORD), ("", "")):
        reply = await sign_in(visitor, email, password, "https://notebook.google.com/")
        assert (reply.status, reply.header("set-cookie")) == (401, None)
    assert visitor.cookies == {}


async def test_signing_out_ends_the_session_of_all_accounts(browser: Browser) -> None:
    reply = await browser.request("GET", f"https://{SIGN_IN_HOST}/Logout")
    assert reply.status == 302
    assert (await browser.request("GET", "https://notebook.google.com/?authuser=1")).status == 302


@pytest.mark.parametrize(
    "url",
    [
        None,
        "",
        "https://evil.example/",
        "http://notebook.google.com/",
        "https://notebook.google.com.evil.example/",
        "https://notebook.google.com@evil.example/",
        "https://user@notebook.google.com/",
        "https://notebook.google.com:8443/",
        "https://notebook.google.com:x/",
        "https://accounts.google.com/",
        "//notebook.google.com/",
        "javascript:alert(1)",
    ],
)
async def test_c049_after_signing_in_nobody_is_led_anywhere_but_to_a_notebook_host(
    emulator: Emulator, url: str | None
) -> None:
    assert safe_continue(url) == "https://notebook.google.com/"
    reply = await sign_in(Browser(emulator), "ada@example.com", PASSWORD, url or "")
    assert reply.header("location") == "https://notebook.google.com/"
