"""The checks before an answer, and each fault as a client meets it."""

import json
import time
from typing import Any

import pytest

from harness.emulator import NOTEBOOK_HOSTS, Emulator
from harness.emulator.app import BATCHEXECUTE_PATH
from harness.emulator.requests import encode_batchexecute
from harness.emulator.seed import DEMO_QUESTION, LIGHTHOUSE_ID
from tests.harness.client import OPTIONS, Browser, Control, Page, body_rows, question_params
from tests.shared import case_input

LIST = [None, 1, None, OPTIONS]
GET = [LIGHTHOUSE_ID, None, OPTIONS, None, 0]


async def list_status(page: Page, **changes: Any) -> int:
    """Ask for the list of notebooks with something changed, and return the HTTP status."""
    url = changes.get("url", page.url(BATCHEXECUTE_PATH, rpcids="wXbhsf", **{"source-path": "/"}))
    headers = {**page.call_headers(), **changes.get("headers", {})}
    body = encode_batchexecute("wXbhsf", LIST, changes.get("at", page.data["SNlM0e"]))
    return (await page.browser.request("POST", url, headers=headers, body=body)).status


async def test_answers_have_the_headers_of_the_service(page: Page) -> None:
    reply = await page.call("wXbhsf", LIST)
    assert reply.header("content-type") == "application/json; charset=utf-8"
    assert str(reply.header("content-disposition")).startswith("attachment")
    assert "no-store" in str(reply.header("cache-control"))


@pytest.mark.parametrize("host", NOTEBOOK_HOSTS)
async def test_every_notebook_host_answers_data_calls(browser: Browser, host: str) -> None:
    page = await browser.open(host=host)
    assert len((await page.result("wXbhsf", LIST))[0]) == 7


async def test_c053_a_wrong_or_missing_form_token_is_answered_with_400(page: Page) -> None:
    token = page.data["SNlM0e"]
    assert await list_status(page) == 200
    assert await list_status(page, at=token.partition(":")[0] + ":1") == 200  # the stamp itself is not a secret
    for wrong in ("x" + token, token.partition(":")[0], token + "x", ""):
        assert await list_status(page, at=wrong) == 400


async def test_c053_tokens_go_stale_and_a_fresh_page_has_good_ones(page: Page, control: Control) -> None:
    await control.change(rotate_tokens=True)
    assert await list_status(page) == 400
    fresh = await page.browser.open()
    assert await list_status(fresh) == 200
    assert [entry["token"] for entry in await control.requests() if entry["rpc"] == "wXbhsf"] == ["stale", "valid"]


async def test_a_wrong_session_id_origin_or_cookie_is_refused(page: Page) -> None:
    other_sid = page.url(BATCHEXECUTE_PATH, rpcids="wXbhsf", **{"source-path": "/"}).replace("f.sid=", "f.sid=1")
    assert await list_status(page, url=other_sid) == 400
    for origin in ("https://evil.example", "https://notebooklm.google.com", "null"):
        assert await list_status(page, headers={"origin": origin}) == 403
    page.browser.cookies.clear()
    assert await list_status(page) == 401


async def test_tokens_of_one_account_do_not_serve_another(browser: Browser) -> None:
    grace = await browser.open("?authuser=1")
    grace.authuser = None  # the call now goes to account 0 with the tokens of account 1
    assert await list_status(grace) == 400


async def test_a_malformed_call_is_400_and_is_logged(page: Page, control: Control) -> None:
    url = page.url(BATCHEXECUTE_PATH, rpcids="wXbhsf", **{"source-path": "/"})
    reply = await page.browser.request("POST", url, headers=page.call_headers(), body=b"f.req=1&at=2&")
    assert (reply.status, reply.header("content-type")) == (400, "text/html; charset=utf-8")
    assert (await control.requests())[-1]["status"] == 400


async def test_delay_holds_the_answer_back(page: Page, control: Control) -> None:
    await control.fault("wXbhsf", "delay", delay_ms=60)
    start = time.monotonic()
    await page.result("wXbhsf", LIST)
    assert time.monotonic() - start >= 0.06


async def test_http_429_says_when_to_come_back_or_not(page: Page, control: Control) -> None:
    await control.fault("wXbhsf", "http_429", retry_after_s=7)
    await control.fault("stream", "http_429", retry_after_s=None)
    reply = await page.call("wXbhsf", LIST)
    assert (reply.status, reply.header("retry-after")) == (429, "7")
    reply = await page.ask_raw(question_params("?", LIGHTHOUSE_ID, [], None))
    assert (reply.status, reply.header("retry-after")) == (429, None)


async def test_http_errors_are_html(page: Page, control: Control) -> None:
    await control.fault("rLM1Ne", "http_error", http_status=503)
    reply = await page.call("rLM1Ne", GET)
    assert (reply.status, reply.text[:15]) == (503, "<!doctype html>")
    assert (await page.call("rLM1Ne", GET)).status == 200


async def test_c056_c057_status_rows_with_and_without_a_quota_detail(page: Page, control: Control) -> None:
    await control.fault("rLM1Ne", "status", code=13)
    assert await page.status("rLM1Ne", GET) == [13]
    await control.fault("rLM1Ne", "status", code=8, user_displayable=True)
    expected = case_input("C-057-numbers-only.txt").read_text(encoding="utf-8")
    assert await page.status("rLM1Ne", GET) == body_rows(expected)[0][5]
    await control.fault("rLM1Ne", "status", code=8, user_displayable=True, sentence="Come back tomorrow.")
    assert "Come back tomorrow." in json.dumps(await page.status("rLM1Ne", GET))


async def test_drift_changes_one_slot_and_only_for_the_asked_number_of_times(page: Page, control: Control) -> None:
    (plain,) = await page.result("rLM1Ne", GET)
    await control.fault("rLM1Ne", "drift", slot=[0, 2], action="remove")
    await control.fault("rLM1Ne", "drift", slot=[0, 0], action="retype")
    (row,) = await page.result("rLM1Ne", GET)
    assert row == [7, plain[1], *plain[3:]]
    await control.fault("rLM1Ne", "drift", slot=[0, 1], action="replace", value="text")
    assert (await page.result("rLM1Ne", GET))[0][1] == "text"
    assert await page.result("rLM1Ne", GET) == [plain]


async def test_drift_of_a_slot_that_is_not_there_is_loud(page: Page, control: Control) -> None:
    await control.fault("rLM1Ne", "drift", slot=[0, 99])
    await control.fault("stream", "drift", slot=[7])
    reply = await page.call("rLM1Ne", GET)
    assert (reply.status, "no slot [0, 99]" in reply.text) == (500, True)
    source = (await page.source_ids(LIGHTHOUSE_ID))[0]
    reply = await page.ask_raw(question_params(DEMO_QUESTION, LIGHTHOUSE_ID, [source], None))
    assert (reply.status, "no slot [7]" in reply.text) == (500, True)


@pytest.mark.parametrize("size", [0, 1, 700])
async def test_c064_disconnect_sends_that_many_bytes_and_no_end(page: Page, control: Control, size: int) -> None:
    whole = (await page.call("hPTbtc", [OPTIONS, None, LIGHTHOUSE_ID, 20])).body
    await control.fault("rLM1Ne", "disconnect", bytes=size)
    reply = await page.call("rLM1Ne", GET)
    assert (len(reply.body), reply.complete) == (size, False)
    await control.fault("hPTbtc", "disconnect", bytes=len(whole) - 1)
    reply = await page.call("hPTbtc", [OPTIONS, None, LIGHTHOUSE_ID, 20])
    assert (len(reply.body), reply.complete) == (len(whole) - 1, False)


async def test_c064_a_stream_can_be_cut_inside_a_chunk(page: Page, control: Control) -> None:
    params = question_params(DEMO_QUESTION, LIGHTHOUSE_ID, await page.source_ids(LIGHTHOUSE_ID), None)
    await control.fault("stream", "disconnect", bytes=5_000)
    reply = await page.ask_raw(params)
    assert (len(reply.body), reply.complete) == (5_000, False)
    assert (await page.ask_raw(params)).complete


async def test_signed_out_is_401_or_a_redirect_to_the_sign_in_host(page: Page, control: Control) -> None:
    await control.fault("wXbhsf", "signed_out")
    assert (await page.call("wXbhsf", LIST)).status == 401
    await control.fault("wXbhsf", "signed_out", answer="redirect")
    reply = await page.call("wXbhsf", LIST)
    assert reply.status == 302
    assert str(reply.header("location")).startswith("https://accounts.google.com/")


async def test_c058_the_answer_can_be_for_another_method_or_for_none(page: Page, control: Control) -> None:
    await control.fault("wXbhsf", "other_id", rpc_id="aB3dEf")
    assert body_rows((await page.call("wXbhsf", LIST)).text)[0][:2] == ["wrb.fr", "aB3dEf"]
    await control.fault("wXbhsf", "no_data")
    assert [row[0] for row in body_rows((await page.call("wXbhsf", LIST)).text)] == ["di", "af.httprm", "e"]


async def test_c060_bare_lengths_and_any_body_of_a_field_case_can_be_served(page: Page, control: Control) -> None:
    await control.fault("wXbhsf", "bare_lengths")
    body_rows((await page.call("wXbhsf", LIST)).text, bare_lengths=True)
    text = case_input("C-054-utf16-lengths.txt").read_text(encoding="utf-8")
    await control.fault("wXbhsf", "body", body=text)
    assert (await page.call("wXbhsf", LIST)).text == text
    await control.fault("stream", "body", body=text)
    assert (await page.ask_raw(question_params("?", LIGHTHOUSE_ID, [], None))).text == text


async def test_a_fault_can_be_meant_for_one_account(browser: Browser, control: Control) -> None:
    await control.fault("wXbhsf", "http_error", http_status=500, account="grace@example.com", times=None)
    ada, grace = await browser.open(), await browser.open("?authuser=grace@example.com")
    assert [(await page.call("wXbhsf", LIST)).status for page in (ada, grace, ada, grace)] == [200, 500, 200, 500]


async def test_requests_are_logged_with_what_a_test_wants_to_know_and_no_secret(
    page: Page, control: Control, emulator: Emulator
) -> None:
    await control.fault("rLM1Ne", "delay", delay_ms=0)
    await page.call("rLM1Ne", GET, f"/notebook/{LIGHTHOUSE_ID}")
    entry = (await control.requests())[-1]
    assert entry == {
        "rpc": "rLM1Ne",
        "host": "notebook.google.com",
        "path": BATCHEXECUTE_PATH,
        "query_keys": ["f.sid", "hl", "rpcids", "rt", "source-path"],
        "account": "ada@example.com",
        "authuser": None,
        "source_path": f"/notebook/{LIGHTHOUSE_ID}",
        "params": GET,
        "token": "valid",
        "status": 200,
        "faults": ["delay"],
    }
    text = (await control.request("GET", "/requests")).text
    assert not [secret for secret in emulator.secrets() if secret in text]
