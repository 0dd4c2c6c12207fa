from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.utf16 import utf16_length
from broker.wire_json import BadJson, clean_text, decode_json_untrusted
from tests.broker.wire_values import json_values
from tests.shared import case_input


@given(json_values)
def test_json_is_read_as_the_standard_library_reads_it(value: object) -> None:
    text = json.dumps(value)
    expected = json.loads(text)
    read = decode_json_untrusted(text)
    if "\\ud" in text or any(len(digits) > 18 for digits in text.split(",")):
        # Unpaired surrogates are replaced and integers beyond 64 bits become floats: the two stated differences.
        json.dumps(read, ensure_ascii=False).encode()
    else:
        assert read == expected


@pytest.mark.parametrize(
    "text", ["", "NaN", "[Infinity]", "[1e999]", '["\\ud83d", NaN]', '["\\ud83d", 1e999]', "[1,]", "{"]
)
def test_what_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(BadJson):
        decode_json_untrusted(text)


@pytest.mark.parametrize("filler", ["", '"\\ud83d",'])
def test_bottomless_nesting_is_refused(filler: str) -> None:
    with pytest.raises(BadJson):
        decode_json_untrusted("[" * 50_000 + filler + "]" * 50_000)


def test_c071_a_half_pair_becomes_one_replacement_character_of_the_same_length() -> None:
    for case in json.loads(case_input("C-071-offsets-lone.json").read_text()):
        text = decode_json_untrusted(case["json_text"])
        assert isinstance(text, str)
        assert len(text) == case["codepoint_length"]
        assert utf16_length(text) == case["utf16_length"]
        assert "\ufffd" in text
        text.encode()


def test_a_half_pair_in_the_text_itself_is_replaced_too() -> None:
    assert decode_json_untrusted('{"\ud83d": ["\ude00"]}') == {"\ufffd": ["\ufffd"]}


@given(st.text(st.characters()))
def test_clean_text_keeps_both_lengths_and_can_be_encoded(text: str) -> None:
    cleaned = clean_text(text)
    cleaned.encode()
    assert len(cleaned) == len(text)
    assert utf16_length(cleaned) == utf16_length(text)
