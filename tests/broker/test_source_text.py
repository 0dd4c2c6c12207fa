from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.batchexecute import decode_reply_untrusted
from broker.errors import UpstreamSchemaDrift
from broker.source_text import decode_source_text
from tests.broker.wire_values import damaged, json_values, list_paths
from tests.shared import recordings

(RECORDED,) = [decode_reply_untrusted(entry["response"]["body"], "hizoJc") for entry in recordings("hizoJc")]
PATHS = list_paths(RECORDED)
SOURCE_ROW: list[Any] = [["5e000000-0001-4000-8000-000000000001"], "T"]


def test_the_recorded_text_is_as_long_as_its_blocks_say() -> None:
    source_text = decode_source_text(RECORDED)
    assert source_text.index.length_utf16 == 8407
    assert source_text.source.revision == "59732f07-bb2d-4c52-982c-f30a405ee2c2"
    assert source_text.text.startswith("Skip to contentNavigation Menu")


@pytest.mark.parametrize("tail", [[], [None, None, None], [None, None, []], [None, None, [[]]], [None, None, [[[]]]]])
def test_a_source_without_body_has_an_empty_text(tail: list[Any]) -> None:
    assert decode_source_text([SOURCE_ROW, *tail]).text == ""


def test_text_that_does_not_fit_its_offsets_is_drift() -> None:
    body = [[[0, 3, [[[0, 3, ["four"]]]]]]]
    with pytest.raises(UpstreamSchemaDrift):
        decode_source_text([SOURCE_ROW, None, None, [body]])


def test_content_is_not_shown_by_repr() -> None:
    assert "Skip to content" not in repr(decode_source_text(RECORDED))


@given(json_values)
def test_any_payload_decodes_or_drifts(payload: object) -> None:
    with contextlib.suppress(UpstreamSchemaDrift):
        decode_source_text(payload)


@given(st.sampled_from(PATHS), json_values, st.booleans())
def test_a_recorded_text_with_a_damaged_slot_decodes_or_drifts(
    path: tuple[int, ...], replacement: object, cut: bool
) -> None:
    with contextlib.suppress(UpstreamSchemaDrift):
        decode_source_text(damaged(RECORDED, path, replacement, cut=cut))
