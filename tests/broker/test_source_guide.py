from __future__ import annotations

import contextlib

import pytest
from hypothesis import given

from broker.batchexecute import decode_reply_untrusted
from broker.errors import UpstreamSchemaDrift
from broker.source_guide import SourceGuide, decode_source_guide
from tests.broker.wire_values import json_values
from tests.shared import recordings


def test_the_recorded_guide_decodes() -> None:
    for entry in recordings("tr032e"):
        guide = decode_source_guide(decode_reply_untrusted(entry["response"]["body"], "tr032e"))
        assert guide.summary.startswith("This educational repository")
        assert len(guide.keywords) == 5


@pytest.mark.parametrize("payload", [[], [None], [[]], [[[]]], [[[None, []]]], [[[None, [None], [[]]]]]])
def test_a_source_without_guide_has_an_empty_one(payload: object) -> None:
    assert decode_source_guide(payload) == SourceGuide("", ())


@pytest.mark.parametrize("payload", [None, "x", [[["x", "summary"]]], [[[None, ["s"], [[1]]]]]])
def test_other_shapes_are_drift(payload: object) -> None:
    with pytest.raises(UpstreamSchemaDrift):
        decode_source_guide(payload)


@given(json_values)
def test_any_payload_decodes_or_drifts(payload: object) -> None:
    with contextlib.suppress(UpstreamSchemaDrift):
        decode_source_guide(payload)
