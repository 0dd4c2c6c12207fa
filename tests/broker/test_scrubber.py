import json
import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.log_file import JsonLine
from broker.scrubber import REMOVED, may_hold_secret, scrub_content, scrub_json, scrub_quoted, scrub_text
from tests.shared import case_input

MARKERS: dict[str, str] = json.loads(case_input("C-029-markers.json").read_text())
# The places in which each of them travels; the texts around them are what an error could quote.
QUOTED = {
    "csrf": [f"at={MARKERS['csrf']}&", f'{{"SNlM0e":"{MARKERS["csrf"]}"}}', f"{MARKERS['csrf']}:1768963652873"],
    "session_id": [f"f.sid={MARKERS['session_id']}&rt=c", f'"FdrFJe":"{MARKERS["session_id"]}"'],
    "cookie": [f"Cookie: {MARKERS['cookie']}; path=/", MARKERS["cookie"]],
    "upload_url": [MARKERS["upload_url"], f"PUT {MARKERS['upload_url']} 500"],
    "oauth_path": [f"redirected to {MARKERS['oauth_path']}"],
    "user_id": [f"user {MARKERS['user_id']} denied", f'["{MARKERS["user_id"]}"]'],
}
SECRET_PARTS = (
    "CSRF-MARKER-1",
    "7777777777777777771",
    "COOKIE-MARKER-2",
    "UPLOAD-MARKER-3",
    "GRANT-MARKER-4",
    "100000000000000000005",
)


@pytest.mark.parametrize("text", [text for texts in QUOTED.values() for text in texts])
def test_c029_no_marker_survives_in_what_we_say(text: str):
    assert QUOTED.keys() == MARKERS.keys()
    scrubbed = scrub_text(f"the service answered 400: {text} (stage start)")
    assert not any(part in scrubbed for part in SECRET_PARTS)
    assert "the service answered 400" in scrubbed
    assert "(stage start)" in scrubbed


@pytest.mark.parametrize(
    "secret",
    [
        "AAbbCCddEEff00112233:1768963652873",
        "at=AAbbCCddEEff00112233%3A1768963652873&",
        '\\"SNlM0e\\":\\"AAbbCCddEEff\\"',
        "aB3defghijklmno1/aB3defghijklmno12",
        "__Secure-3PSIDTS=sidts-abcdef0123",
        "SAPISID=aB3defgh/IjKl",
        "SID=g.a000abcdef",
        "?upload_id=ABPnzm_xyz123&more",
        "Authorization: Bearer ya29.a0AfH6SMBx_abcdefgh",
        "SAPISIDHASH 1700000000_0123456789abcdef",
    ],
)
def test_what_is_unmistakably_a_secret_is_masked_in_content_too_in_the_same_length(secret: str):
    text = f"Before {secret} after 😀."
    scrubbed = scrub_content(text)
    assert "***" in scrubbed
    assert len(scrubbed) == len(text)
    assert scrubbed.startswith("Before ")
    assert scrubbed.endswith(" after 😀.")
    assert scrub_text(text) != text


@pytest.mark.parametrize(
    "text",
    [
        "The cookie SID and the token SNlM0e are explained in chapter 3.",
        "Session ids such as f.sid are 64-bit numbers; SID = 5.",
        "See https://accounts.google.com/o/oauth2/auth for the flow.",
        "https://example.com/search?q=risk&page=2#results",
        "The distance is 9460730472580800000 mm, the id 100000000000000000005.",
        "src/components/Button1/aB3defghijklmno12.tsx",
        "1a2b3c4d-0001-4a00-8b00-00000000000a",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "She is the bearer of good news, and of responsibility.",
        "At 10:30 on 2026-01-21, key=value pairs were read; code=5.",
        "كتب ABCDEFGHIJKLMNOP/نص 👩‍👩‍👧",
        "Inside = outside, NID cards and SIDs.",
        "AAAA: 1768963652873",
    ],
)
def test_ordinary_text_arrives_as_it_is(text: str):
    assert scrub_content(text) == text


def test_our_own_sentences_keep_what_people_need():
    text = "Notebook 1a2b3c4d-0001-4a00-8b00-00000000000a: HTTP 429 from https://notebook.google.com/x, wait 30 s."
    assert scrub_text(text) == text
    assert (
        scrub_text("GET https://notebook.google.com/a?b=c failed")
        == f"GET https://notebook.google.com/a?{REMOVED} failed"
    )


@pytest.mark.parametrize("secret", [*MARKERS.values(), "AF0123456789abcdefABCDEF", "eyJhbGciOiJIUzI1NiJ9"])
def test_c029_no_token_survives_in_a_quoted_sentence_even_without_a_name(secret: str):
    scrubbed = scrub_quoted(f"You have reached it: {secret} today, see 1a2b3c4d-0001-4a00-8b00-00000000000a.")
    assert secret not in scrubbed
    assert not any(part in scrubbed for part in SECRET_PARTS)
    assert scrubbed.startswith("You have reached it: ")
    assert scrubbed.endswith(" today, see 1a2b3c4d-0001-4a00-8b00-00000000000a.")


def test_sentences_of_the_service_are_quoted_as_they_are():
    text = "You have reached today's limit of 50 queries (RESOURCE_EXHAUSTED). Try again on 2026-12-01T08:30Z."
    assert scrub_quoted(text) == text


@given(st.text())
def test_the_cheap_look_never_misses_what_the_rules_would_find(text: str):
    if scrub_content(text) != text:
        assert may_hold_secret(text)


@pytest.mark.parametrize("texts", QUOTED.values(), ids=QUOTED)
def test_the_cheap_look_works_on_a_whole_json_document(texts: list[str]):
    for text in texts:
        if scrub_content(text) != text:
            assert may_hold_secret(json.dumps({"result": [{"title": text}]}, ensure_ascii=False))


def test_json_is_scrubbed_in_every_text_and_keeps_its_shape():
    value = {"a": ["SID=abcdefgh", 5, None, True], "b": {"c": "plain"}}
    assert scrub_json(value, scrub_content) == {"a": ["SID=********", 5, None, True], "b": {"c": "plain"}}


def test_c029_log_records_and_tracebacks_are_scrubbed():
    try:
        raise ValueError(f"body was at={MARKERS['csrf']}&f.sid={MARKERS['session_id']}")
    except ValueError as error:
        record = logging.LogRecord(
            "broker",
            logging.ERROR,
            __file__,
            1,
            "failed: %s",
            (MARKERS["upload_url"],),
            (ValueError, error, error.__traceback__),
        )
    line = JsonLine().format(record)
    assert not any(part in line for part in SECRET_PARTS)
    fields = json.loads(line)
    assert fields["level"] == "error"
    assert "ValueError" in fields["exception"]
    assert "\n" not in line
