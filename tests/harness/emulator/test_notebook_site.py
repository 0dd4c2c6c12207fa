"""Pages of the notebook hosts: bootstrap keys, accounts, the two signed-out modes, moves between hosts, faults."""

import json
import re
from urllib.parse import parse_qs, urlsplit

import pytest

from harness.emulator import NOTEBOOK_HOSTS, SIGN_IN_HOST, Emulator
from harness.emulator.seed import LIGHTHOUSE_ID
from tests.harness.client import OPTIONS, Browser, Control, connect, page_data, send
from tests.shared import shared_path


@pytest.mark.parametrize("host", NOTEBOOK_HOSTS)
async def test_a_page_has_the_recorded_keys_in_their_order_and_types(browser: Browser, host: str) -> None:
    recorded = re.search(
        r"WIZ_global_data = (\{.*?\});</script>", shared_path("wire/recorded/page/home.html").read_text()
    )
    assert recorded is not None
    data = (await browser.open(host=host)).data
    assert list(data) == list(json.loads(recorded[1]))
    assert {key: type(value) for key, value in data.items()} == {
        key: type(value) for key, value in json.loads(recorded[1]).items()
    }
    assert data["cfb2h"] == data["KjTSIf"]
    assert re.fullmatch(r"boq_labs-tailwind-frontend_\d{8}\.\d\d_p\d", data["cfb2h"])
    assert re.fullmatch(r"\S+:\d{13}", data["SNlM0e"])
    assert -(2**63) <= int(data["FdrFJe"]) < 2**63
    assert len(data["S06Grb"]) == 21
    assert re.fullmatch(r".{16}/.{17}", data["WZsZ1e"])
    assert (data["Im6cmf"], data["oPEP7c"], data["QrtxK"]) == ("/_/LabsTailwindUi", "ada@example.com", "0")


async def test_a_page_has_the_recorded_protections(browser: Browser) -> None:
    reply = await browser.request("GET", f"https://notebook.google.com/notebook/{LIGHTHOUSE_ID}")
    policies = [value for name, value in reply.headers if name == "content-security-policy"]
    nonce = re.search(r'<script data-id="_gd" nonce="([^"]+)">', reply.text)
    assert nonce is not None
    assert policies[0] == "require-trusted-types-for 'script'"
    assert f"'nonce-{nonce[1]}'" in policies[1]
    assert reply.header("x-frame-options") == "DENY"
    assert "no-store" in str(reply.header("cache-control"))
    assert str(reply.header("cross-origin-opener-policy")).startswith("same-origin")


@pytest.mark.parametrize(
    ("authuser", "email", "index"),
    [
        ("", "ada@example.com", "0"),
        ("?authuser=1", "grace@example.com", "1"),
        ("?authuser=grace@example.com", "grace@example.com", "1"),
        ("?authuser=ada@example.com", "ada@example.com", "0"),
        ("?authuser=7", "ada@example.com", "0"),
        ("?authuser=nobody@example.com", "ada@example.com", "0"),
    ],
)
async def test_authuser_selects_the_account_and_falls_back_silently(
    browser: Browser, authuser: str, email: str, index: str
) -> None:
    """The silent fall-back is the trap of case C-051."""
    data = (await browser.open(authuser)).data
    assert (data["oPEP7c"], data["QrtxK"]) == (email, index)


async def test_c052_indexes_shift_when_an_account_signs_out(browser: Browser, control: Control) -> None:
    await control.change(signed_in=["grace@example.com"])
    assert (await browser.open("?authuser=0")).data["oPEP7c"] == "grace@example.com"
    await control.change(signed_in=[])
    assert (await browser.request("GET", "https://notebook.google.com/")).status == 302


async def test_signed_out_pages_lead_to_the_sign_in_host_and_back(emulator: Emulator) -> None:
    reply = await Browser(emulator).request("GET", f"https://notebook.google.com/notebook/{LIGHTHOUSE_ID}?authuser=1")
    parts = urlsplit(str(reply.header("location")))
    assert (reply.status, parts.hostname, parts.path) == (302, SIGN_IN_HOST, "/v3/signin/identifier")
    assert parse_qs(parts.query)["continue"] == [f"https://notebook.google.com/notebook/{LIGHTHOUSE_ID}?authuser=1"]


async def test_since_october_a_signed_out_page_can_be_a_page_without_tokens(
    emulator: Emulator, control: Control
) -> None:
    await control.change(signed_out_page="bare")
    visitor = Browser(emulator)
    reply = await visitor.request("GET", "https://notebook.google.com/")
    data = page_data(reply)
    assert reply.status == 200
    assert data["Im6cmf"] == "/_/LabsTailwindUi"
    assert not {"SNlM0e", "FdrFJe", "oPEP7c", "WZsZ1e"} & set(data)
    login = await visitor.request("GET", "https://notebook.google.com/login")
    assert urlsplit(str(login.header("location"))).hostname == SIGN_IN_HOST


async def test_login_of_somebody_signed_in_leads_to_the_app(browser: Browser) -> None:
    reply = await browser.request("GET", "https://notebooklm.google.com/login")
    assert (reply.status, reply.header("location")) == (302, "https://notebooklm.google.com/")


async def test_an_account_can_be_moved_from_one_host_to_another(browser: Browser, control: Control) -> None:
    moved = {"ada@example.com": {"notebook.google.com": "notebooklm.google.com"}}
    await control.change(host_redirects=moved)
    reply = await browser.request("GET", "https://notebook.google.com/?authuser=0")
    assert (reply.status, reply.header("location")) == (302, "https://notebooklm.google.com/?authuser=0")
    assert (await browser.open("?authuser=1")).data["oPEP7c"] == "grace@example.com"
    page = await browser.open("?authuser=0", host="notebooklm.google.com")
    assert len((await page.result("wXbhsf", [None, 1, None, OPTIONS]))[0]) == 7


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "notebook.google.com.evil.example", "www.google.com"])
async def test_any_other_host_is_misdirected(emulator: Emulator, host: str) -> None:
    cookie = Browser.signed_in(emulator).fields(host, None)
    reply = await send(await connect(emulator, "notebook.google.com"), "GET", "/", cookie)
    assert reply.status == 421


async def test_page_faults(browser: Browser, control: Control) -> None:
    url = "https://notebook.google.com/"
    await control.fault("page", "signed_out")
    assert (await browser.request("GET", url)).status == 302
    await control.fault("page", "http_429", retry_after_s=3)
    assert (await browser.request("GET", url)).header("retry-after") == "3"
    await control.fault("page", "http_error", http_status=500)
    assert (await browser.request("GET", url)).status == 500
    await control.fault("page", "disconnect", bytes=100)
    assert not (await browser.request("GET", url)).complete
    await control.fault("page", "body", body="<p>Something else")
    assert (await browser.request("GET", url)).text == "<p>Something else"
    await control.fault("page", "delay", delay_ms=1)
    assert (await browser.request("GET", url)).status == 200
    faults = [entry["faults"] for entry in await control.requests()]
    assert faults == [["signed_out"], ["http_429"], ["http_error"], ["disconnect"], ["body"], ["delay"]]


async def test_c051_any_key_of_the_page_can_drift(browser: Browser, control: Control) -> None:
    await control.fault("page", "drift", slot=["oPEP7c"])
    await control.fault("page", "drift", slot=["oM1Kwf"], action="replace", value="home@example.com")
    data = (await browser.open()).data
    assert ("oPEP7c" in data, data["oM1Kwf"]) == (False, "home@example.com")
    await control.fault("page", "drift", slot=["SNlM0e"], action="retype")
    assert (await browser.open()).data["SNlM0e"] == 7
    await control.fault("page", "drift", slot=["noSuchKey"])
    reply = await browser.request("GET", "https://notebook.google.com/")
    assert (reply.status, "no slot ['noSuchKey']" in reply.text) == (500, True)
