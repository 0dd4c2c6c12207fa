from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.added_sources import decode_added_source, decode_registered_file
from broker.batchexecute import decode_reply_untrusted
from broker.errors import GatewayError, UpstreamRejected, UpstreamSchemaDrift
from tests.broker.wire_values import damaged, json_values, list_paths
from tests.shared import recordings

SOURCE_1 = "5e000000-0001-4000-8000-000000000001"
SOURCE_2 = "5e000000-0002-4000-8000-000000000002"
NAME = "report.txt"
STUB = [[SOURCE_1], NAME, [None, None, None, None, 0]]
REGISTERED = [[STUB], None, [[STUB]]]
ROW = [[SOURCE_1], "T", [None, 3], [None, 2]]
ADDED = [[ROW]]


def test_recorded_additions_decode_in_full() -> None:
    kinds = list[str]()
    for entry in recordings("izAoDd"):
        source = decode_added_source(decode_reply_untrusted(entry["response"]["body"], "izAoDd"))
        spec = entry["request"]["params"][0][0]
        kinds.append(source.kind)
        assert source.state == "ready"
        assert source.created_at is not None
        assert source.revision is not None
        assert source.failure is None
        assert source.drive_file_id == (spec[0][0] if spec[0] else None)
        assert source.url == (spec[2][0] if spec[2] else None)
        if spec[1]:
            assert source.title == spec[1][0]
    assert sorted(kinds) == ["google_docs", "text", "text", "web_page"]


def test_the_recorded_registration_gives_the_id_of_its_row() -> None:
    (entry,) = recordings("o4cbdc")
    payload: Any = decode_reply_untrusted(entry["response"]["body"], "o4cbdc")
    name = entry["request"]["params"][0][0][0]
    assert decode_registered_file(payload, name) == payload[0][0][0][0]


@pytest.mark.parametrize("payload", [[], [None], [[]], [None, None, []]])
def test_an_answer_without_the_source_is_no_success_and_no_proof(payload: Any) -> None:
    """The service leaves out what it could not add (only reported publicly)."""
    with pytest.raises(UpstreamRejected) as caught:
        decode_added_source(payload)
    assert not caught.value.definite


@pytest.mark.parametrize("payload", [[[ROW, ROW]], ["text"], [["text"]], [[[["no id"], "T"]]], [[[[SOURCE_1], 7]]], {}])
def test_an_answer_of_another_shape_is_drift(payload: Any) -> None:
    with pytest.raises(UpstreamSchemaDrift) as caught:
        decode_added_source(payload)
    assert caught.value.rpc_id == "izAoDd"


@pytest.mark.parametrize(
    "payload",
    [
        [[STUB], None, [[STUB]]],
        [[STUB]],
        [None, None, [[STUB]]],
        [STUB],
        [[[None, True, [SOURCE_1]], NAME]],
        [[SOURCE_1, NAME]],
        [None, [[[SOURCE_1], NAME]], [[[SOURCE_1], NAME]]],
        [[[[NAME, SOURCE_1]]]],
    ],
)
def test_the_id_is_found_at_its_path_or_beside_the_name(payload: Any) -> None:
    """Other clients accept several nestings of this answer (wire reference, 6)."""
    assert decode_registered_file(payload, NAME) == SOURCE_1


@pytest.mark.parametrize(
    "payload",
    [
        [],
        [None],
        [[[["no id"], NAME]]],
        [None, [[SOURCE_1], "another.txt"]],
        [None, [[SOURCE_1], NAME], [[SOURCE_2], NAME]],
        [None, [[SOURCE_1, SOURCE_2], NAME]],
        [None, [[SOURCE_1.upper()], NAME]],
        {},
        "text",
    ],
)
def test_no_id_or_several_are_drift_and_never_a_guess(payload: Any) -> None:
    with pytest.raises(UpstreamSchemaDrift) as caught:
        decode_registered_file(payload, NAME)
    assert caught.value.rpc_id == "o4cbdc"
    assert NAME not in caught.value.message


@given(st.sampled_from(list_paths(ADDED)), json_values, st.booleans())
def test_a_damaged_addition_is_read_or_refused_and_nothing_else(path: tuple[int, ...], value: Any, cut: bool) -> None:
    with contextlib.suppress(GatewayError):
        decode_added_source(damaged(ADDED, path, value, cut=cut))


@given(st.sampled_from(list_paths(REGISTERED)), json_values, st.booleans())
def test_a_damaged_registration_gives_the_id_or_is_refused(path: tuple[int, ...], value: Any, cut: bool) -> None:
    with contextlib.suppress(GatewayError):
        assert decode_registered_file(damaged(REGISTERED, path, value, cut=cut), NAME) == SOURCE_1
